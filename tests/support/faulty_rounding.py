"""Devices that compute an operation exactly and round it in a way of their own, without the steps of the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from softfloat_ref.diagnosis.hypotheses import Inputs, Model
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import context, exactly
from softfloat_ref.units import OperationUnit

EXTRA_BITS = 200  # of quotients
Reader = Callable[[int], Value]
Rounder = Callable[[Value, int, int], tuple[int, int]]  # from the exact value, the right code and the right flags


def device(
    unit: OperationUnit, readers: Sequence[Reader] = (), change: Rounder | None = None, to: Format | None = None
) -> Model:
    """An operation whose operands are read by other decoders, whose finite results are rounded by `change`, or which
    rounds to another format."""
    ctx = context(unit.signature, unit.policy)._replace(bits=EXTRA_BITS)
    encode, read = encoder(to or unit.out, unit.policy), readers or list(map(decoder, unit.formats))

    def model(inputs: Inputs) -> tuple[int, int]:
        values = [f(x) for f, x in zip(read, inputs, strict=True)]
        value, flags = exactly(unit.signature.operation, ctx, values)
        code, more = encode(value, 0)
        if change is not None and value.kind == FINITE and value.significand:
            code, more = change(value, code, more)
        return code, flags | more

    return model


def cut(x: Value, unit: int) -> tuple[int, int, int]:
    """A magnitude in units of 2^unit: the whole part, the first bit below it, and whether any other bit is set."""
    shift = unit - x.exponent - 1
    if shift <= 0:
        wide, rest = x.significand << -shift, x.sticky
    else:
        wide, rest = x.significand >> shift, int(x.sticky or x.significand & (1 << shift) - 1 != 0)
    return wide >> 1, wide & 1, rest


def nearest(x: Value, unit: int) -> int:
    """A magnitude in units of 2^unit, to nearest, ties to even."""
    kept, half, rest = cut(x, unit)
    return kept + (half and (rest or kept & 1))
