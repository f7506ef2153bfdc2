"""The steps of block quantizers that compute in FP32: each exact, rounded once."""

from __future__ import annotations

from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32
from softfloat_ref.oracle.blocks.scale_rules import quotient
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.policies import Policy

_NEAREST: Final = Policy()
SCALE_BITS: Final = 64  # bits of a quotient that is rounded to FP32 or to a scale; more than any scale format has


def fp32(x: Value) -> Value:
    """A number rounded to FP32, as one step of an FP32 computation."""
    return decoder(FP32)(encoder(FP32, _NEAREST)(x, 0)[0])


def fp32_quotient(a: Value, b: Value) -> Value:
    """a / b rounded to FP32; b is finite and nonzero."""
    return fp32(quotient(a, b, SCALE_BITS)) if a.kind == FINITE else a


def fp32_divided(a: Value, b: Value) -> Value:
    """a / b in FP32's arithmetic; a is finite or Inf, b is not negative."""
    if b.kind != FINITE:
        return exact.GENERATED if a.kind != FINITE or b.kind == NAN else exact.zero(a.sign)
    if not b.significand:
        return exact.GENERATED if a.is_zero else exact.inf(a.sign)
    return fp32_quotient(a, b) if a.significand else a


def fp32_product(a: Value, b: Value) -> Value:
    """a * b rounded to FP32; a is finite."""
    if b.kind == INF:
        return exact.GENERATED if a.is_zero else exact.inf(a.sign)
    return fp32(exact.multiply(a, b)._replace(sticky=a.sticky))


def fp32_multiplied(a: Value, b: Value) -> Value:
    """a * b in FP32's arithmetic; a is finite or Inf, b is finite and not negative."""
    if a.kind != FINITE:
        return exact.GENERATED if not b.significand else a
    return fp32_product(a, b) if a.significand else a
