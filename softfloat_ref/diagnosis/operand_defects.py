"""Defects of operands: how their codes are read, and formats that are taken for each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from softfloat_ref.diagnosis.defects import Faulty, defective, in_parts, replaced
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import Decoder, decoder, encoder
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding_steps import read
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import SteppedUnit

ValueChange = Callable[[int, Value, Format], Value]  # from a code, its value and its format


def reading(change_of: ValueChange) -> Change:
    """Finite operands changed after they are read, depending on their codes."""

    def wrong(here: Traced, right: Function, code: int, decode: Decoder, fmt: Format) -> Value:
        x = right(code, decode, fmt)
        return change_of(code, x, fmt) if x.kind == FINITE else x

    return replaced(read, wrong)


def _is_subnormal(code: int, fmt: Format) -> bool:
    """Whether a code is that of a subnormal number or of zero."""
    return code & fmt.magnitude_mask < fmt.min_normal_code


def _flushed(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands as zeros."""
    return exact.zero(x.sign) if _is_subnormal(code, fmt) else x


def _low_exponent(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands with the exponent 0 of their field instead of 1."""
    return _scaled(x, -1) if _is_subnormal(code, fmt) else x


def _scaled(x: Value, places: int) -> Value:
    return x._replace(exponent=x.exponent + places) if x.significand else x


def _hidden_bit(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands (not zero) read as normal ones: a leading one, and the exponent of field 0."""
    if not _is_subnormal(code, fmt) or not x.significand:
        return x
    return exact.finite(x.sign, x.significand | 1 << fmt.mantissa_bits, x.exponent - 1)


OPERAND_DEFECTS: Final[tuple[tuple[str, str, ValueChange], ...]] = (
    ("subnormals flushed", "treats subnormals as zero", _flushed),
    ("subnormals with exponent 0", "gives subnormals the exponent 0 in place of 1", _low_exponent),
    ("subnormals as normal", "treats subnormals as normal numbers, with a leading one", _hidden_bit),
    ("exponent one high", "reads the exponent one too high", lambda code, x, fmt: _scaled(x, 1)),
    ("exponent one low", "reads the exponent one too low", lambda code, x, fmt: _scaled(x, -1)),
    (
        "last bit ignored",
        "ignores the last bit of the significand",
        lambda code, x, fmt: x._replace(significand=x.significand & ~1) if x.significand > 1 else x,
    ),
    ("sign ignored", "ignores the sign", lambda code, x, fmt: x._replace(sign=0)),
    ("sign inverted", "inverts the sign", lambda code, x, fmt: x._replace(sign=1 - x.sign)),
)
OPERAND_NAMES: Final = tuple(name for name, *_ in OPERAND_DEFECTS)
NARROW: Final = ("bf16", "fp16")


def reading_defects(
    unit: SteppedUnit,
    where: str,
    names: Collection[str] = OPERAND_NAMES,
    parts: Sequence[object] = (),
    of: str = "",
    more: Sequence[Change] = (),
) -> Iterator[Hypothesis]:
    """Some of these defects, of the operands read in some parts of the computation; without parts, of all.

    of, where: follow the names and the descriptions. more: changes that each needs besides.
    """
    for name, text, change in OPERAND_DEFECTS:
        if name in names:
            yield defective(unit, name + of, text + where, *in_parts(parts, reading(change)), *more)


def narrow_defects(unit: Any, policy: Policy, *parts: object) -> Iterator[Hypothesis]:
    """Values rounded to a narrower format first."""
    for name in NARROW:
        if CATALOGUE[name].mantissa_bits < unit.values.mantissa_bits:
            narrow = rounded_to(name, policy)
            changes = in_parts(parts, reading(lambda code, x, fmt, narrow=narrow: narrow(x)))  # type: ignore[misc]
            yield defective(unit, f"values rounded to {name}", f"rounds its values to {name} first", *changes)


def rounded_to(name: str, policy: Policy) -> Callable[[Value], Value]:
    """The rounding of a value to a format of the catalogue."""
    first, back = encoder(CATALOGUE[name], policy), decoder(CATALOGUE[name])
    return lambda x: back(first(x, 0)[0])


# -- formats that differ only in their special codes, and are taken for each other -------------------------------------

_WIDEST_BITS: Final = 8  # bits of formats that have twins in use
_KINDS: Final = (
    ("its IEEE twin", "with the codes of the largest exponent for Inf and NaN", "ieee", True, "inf"),
    ("its fn twin", "without Inf, and with NaN only at the largest code", "top", False, "nan"),
    ("its finite twin", "without Inf and NaN", "none", False, "max"),
)
TWINS: Final = tuple(name for name, *_ in _KINDS)


class Twin(NamedTuple):
    """A format with other special codes. difference: how it differs."""

    name: str
    difference: str
    fmt: Format


def twins(fmt: Format) -> Iterator[Twin]:
    """The formats of the same fields with other special codes."""
    if fmt.width > _WIDEST_BITS or not fmt.exponent_bits or fmt.p3109 or not fmt.zero or fmt.nan == "negative-zero":
        return
    for name, difference, nan, infinity, overflow in _KINDS:
        if nan != fmt.nan:
            fields = {"nan": nan, "infinity": infinity, "overflow": overflow, "signaling": False}
            twin = dataclasses.replace(fmt, name=f"{fmt.name}-{nan}", **fields)  # type: ignore[arg-type]
            yield Twin(name, f"{name}, {difference}", twin)


def twin_elements(unit: Any) -> Iterator[Hypothesis]:
    """Elements of blocks taken for the format's twin, in everything that the unit does."""
    for name, text, twin in twins(unit.block.element):
        other = dataclasses.replace(unit, block=dataclasses.replace(unit.block, element=twin))
        yield Hypothesis(f"elements as {name}", f"takes the elements' format for {text}", Faulty(other))
