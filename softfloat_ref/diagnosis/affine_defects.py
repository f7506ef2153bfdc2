"""Defects of affine quantizers and dequantizers: in scale and zero point, in the rounding, at the ends of the range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from softfloat_ref.diagnosis.answer_defects import wire_defects
from softfloat_ref.diagnosis.defects import Faulty, defective, replaced, within
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model
from softfloat_ref.diagnosis.operand_defects import NARROW, narrow_defects, reading, reading_defects, rounded_to
from softfloat_ref.diagnosis.random_defects import random_defects
from softfloat_ref.diagnosis.rounding_defects import ROUNDING_DEFECTS, VALUE_DEFECTS, WRAPS
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.affine import (
    FP32,
    AffineFormat,
    Rule,
    before_rounding,
    clamped,
    difference,
    fp32,
    times_scale,
    zero_point,
)
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.oracle.rounding_steps import destination
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import AffineDequantizeUnit, AffineQuantizeUnit
from softfloat_ref.units.affine import integer

_VISIBLE_ROUNDINGS: Final = ("exponent +1", "exponent -1", "rounds away")  # those that integers show
_SATURATING: Final = Policy(overflow=Overflow.SAT_FINITE)
_CUT_PLACES: Final = (1, 2, 3, 4)  # binary places below the integer to which a quotient is cut
_ONE: Final = exact.finite(0, 1, 0)


def quantize_defects(unit: AffineQuantizeUnit, source: str) -> Iterator[Hypothesis]:
    """Every listed defect that the quantization can have. source: the random source, if known."""
    if not (unit.affine.symmetric and unit.affine.signed):
        yield defective(unit, "zero point left out", "does not add the zero point", _zero_point(lambda z: 0))
        yield defective(unit, "zero point subtracted", "subtracts the zero point", _zero_point(lambda z: -z))
        text = "clamps before it adds the zero point, and again afterwards"
        yield Hypothesis("clamped before the zero point", text, _clamped_first(unit))
    text = "multiplies by the scale instead of dividing"
    yield defective(unit, "scale multiplied", text, replaced(before_rounding, _multiplied))
    yield from _scales_read(unit)
    yield from _range_defects(unit)
    yield from reading_defects(unit, ", in its values", ("subnormals flushed", "sign ignored"), ["value"])
    yield from narrow_defects(unit, _SATURATING, "value")
    yield from _quotient_defects(unit)
    yield from (row.of(unit) for row in ROUNDING_DEFECTS if row.name in _VISIBLE_ROUNDINGS)
    yield from wire_defects(unit)
    if unit.policy.random_count:
        yield from random_defects(unit, source)


def _zero_point(other: Callable[[int], int]) -> Change:
    return replaced(zero_point, lambda here, right, z: right(other(z)))


def _scales_read(unit: AffineQuantizeUnit | AffineDequantizeUnit) -> Iterator[Hypothesis]:
    """Other scales read than the one given."""
    for name, text, other in (
        ("scale ignored", "ignores the scale", lambda scale: _ONE),
        (
            "scale as a power of two",
            "treats the scale as a power of two: it ignores the significand",
            lambda scale: exact.finite(0, 1, exact.top(scale)),
        ),
    ):
        read_wrongly = reading(lambda code, x, fmt, other=other: other(x))  # type: ignore[misc]
        yield defective(unit, name, text, *within("scale", [read_wrongly]))


def _multiplied(here: Traced, right: Function, x: Value, scale: Value, offset: Value, rule: Rule, bits: int) -> Value:
    product = exact.multiply(x, scale)
    total = exact.add(fp32(product) if rule.arithmetic == "fp32" else product, offset)
    return fp32(total) if rule.arithmetic != "exact" else total


def _quotient_defects(unit: AffineQuantizeUnit) -> Iterator[Hypothesis]:
    """Defects of the number before it is rounded."""
    for n in _CUT_PLACES:
        places = f"{n} place{'s' * (n > 1)} below the integer"
        text = f"cuts the quotient {places} before it rounds, without a sticky bit"
        yield defective(unit, f"quotient cut {places}", text, _then(partial(_cut, places=n)))
    for name in ("fp32", "bf16", "fp16"):
        if name != "fp32" or unit.rule.arithmetic == "exact":
            text = f"rounds to {name} first, then again"
            yield defective(unit, f"double rounding via {name}", text, _then(rounded_to(name, _SATURATING)))


def _then(other: Callable[[Value], Value]) -> Change:
    """The number before rounding, changed."""
    return replaced(before_rounding, lambda here, right, *args: other(right(*args)))


def _cut(x: Value, places: int) -> Value:
    """A number cut after this many binary places."""
    drop = -places - x.exponent
    if x.kind != FINITE or drop <= 0:
        return x
    left = x.significand >> drop
    return exact.finite(x.sign, left, -places) if left else exact.zero(x.sign)


def _clamped_first(unit: AffineQuantizeUnit) -> Model:
    """Rounded without the zero point, clamped, the zero point added, and clamped again."""
    rule = unit.rule
    if rule.order != "outside":  # fp32-fma always adds before rounding
        rule = rule.replace(arithmetic="exact" if rule.arithmetic == "exact" else "fp32", order="outside")
    twice = replaced(clamped, lambda here, right, q, added, fmt: right(right(q, 0, fmt), added, fmt))
    return Faulty(replace(unit, rule=rule), (twice,))


def _range_defects(unit: AffineQuantizeUnit) -> Iterator[Hypothesis]:
    fmt = unit.affine
    wraps = WRAPS.changes if WRAPS.fits(destination(fmt.wide, unit.policy)) else ()
    unclamped = replaced(clamped, lambda here, right, q, added, fmt: q + added)
    yield defective(unit, "no clamp", "does not clamp: integers out of range wrap around", *wraps, unclamped)
    full = -(1 << (fmt.bits - 1)) if fmt.signed else 0
    text = "also uses the lowest integer, which the narrow range excludes"
    ranges = [
        ("clamped to the full range", text, full, fmt.highest),
        ("clamped to the narrow range", f"never gives {full}, the lowest integer", full + 1, fmt.highest),
        ("clamped to half the range", "never gives an integer below zero", 0, fmt.highest),
        ("clamped one below the end", f"never gives {fmt.highest}, the highest integer", fmt.lowest, fmt.highest - 1),
    ]
    for name, text, low, high in ranges:
        if (low, high) != (fmt.lowest, fmt.highest):
            yield defective(unit, name, text, replaced(clamped, partial(_held, low, high)))


def _held(low: int, high: int, here: Traced, right: Function, q: int, added: int, fmt: AffineFormat) -> int:
    """An integer in another range."""
    return min(max(q + added, low), high)


# -- dequantization --------------------------------------------------------------------------------------------------


def dequantize_defects(unit: AffineDequantizeUnit) -> Iterator[Hypothesis]:
    """Every listed defect that the dequantization can have."""
    left_out = replaced(difference, lambda here, right, q, z: q)
    yield defective(unit, "zero point left out", "does not subtract the zero point", left_out)
    added = replaced(difference, lambda here, right, q, z: q + z)
    yield defective(unit, "zero point added", "adds the zero point", added)
    wrong = "signed" if not unit.affine.signed else "unsigned"
    other = replaced(integer, lambda here, right, code, fmt: right(code, replace(fmt, signed=not fmt.signed)))
    yield defective(unit, f"integers {wrong}", f"treats its integers as {wrong}", other)
    yield defective(
        unit,
        "zero point on its own",
        "multiplies integer and zero point by the scale, each rounded to fp32, and then subtracts",
        replaced(times_scale, _two_products, integer),
    )
    yield from _scales_read(unit)
    yield from (row.of(unit) for row in VALUE_DEFECTS)
    for name in NARROW:
        narrow = rounded_to(name, _TO_FP32)
        rounds = replaced(times_scale, lambda here, right, n, scale, narrow=narrow: narrow(right(n, scale)))
        yield defective(unit, f"values rounded to {name}", f"rounds its values to {name}", rounds)
    to = destination(FP32, _TO_FP32)
    yield from (row.of(unit) for row in ROUNDING_DEFECTS if row.fits(to))
    yield from wire_defects(unit)


_TO_FP32: Final = Policy(overflow=Overflow.SAT_NONE)


def _two_products(here: Traced, right: Function, n: int, scale: Value) -> Value:
    """The products of the integer and of the zero point; n is their difference."""
    q = here.last(integer) or 0
    a, b = (fp32(right(x, scale)) for x in (q, q - n))
    return exact.add(a, exact.negate(b))
