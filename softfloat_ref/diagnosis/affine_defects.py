"""Defects of affine quantizers and dequantizers: in scale and zero point, in the rounding, at the ends of the range."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from softfloat_ref.diagnosis.answer_defects import wire_defects
from softfloat_ref.diagnosis.defects import Faulty, defective, replaced, within
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model, as_model, expected_model, with_change
from softfloat_ref.diagnosis.operand_defects import flushed, reading
from softfloat_ref.diagnosis.operation_models import Run
from softfloat_ref.diagnosis.random_defects import random_defects
from softfloat_ref.diagnosis.rounding_defects import NARROW, VALUE_DEFECTS, WRAPS, rounded_to, rounding_defects
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
from softfloat_ref.oracle.formats import CATALOGUE
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.oracle.rounding_steps import destination
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import AffineDequantizeUnit, AffineQuantizeUnit, Unit
from softfloat_ref.units.affine import integer

_VISIBLE_ROUNDINGS: Final = (
    "exponent +1",
    "exponent -1",
    "rounds away",
)  # roundings' defects that are visible in integers
_SATURATING: Final = Policy(overflow=Overflow.SAT_FINITE)
_CUT_PLACES: Final = (1, 2, 3, 4)  # binary places below the integer to which a quotient is cut
_ONE: Final = exact.finite(0, 1, 0)


def quantize_defects(unit: AffineQuantizeUnit, source: str) -> Iterator[Hypothesis]:
    """Every listed defect that the quantization can have. source: the random source, if known."""
    if not (unit.affine.symmetric and unit.affine.signed):
        yield defective(unit, "zero point left out", "does not add the zero point", _zero_point(lambda z: 0))
        yield defective(unit, "zero point subtracted", "subtracts the zero point", _zero_point(lambda z: -z))
        yield Hypothesis(
            "clamped before the zero point",
            "clamps before it adds the zero point, and again afterwards",
            _clamped_first(unit),
        )
    yield from _scale_defects(unit)
    yield from _range_defects(unit)
    yield from _value_defects(unit)
    yield from _quotient_defects(unit)
    for row in rounding_defects():
        if row.name in _VISIBLE_ROUNDINGS:
            yield defective(unit, row.name, row.description, *row.changes, size=row.size)
    yield from answer_defects(unit, expected_model(unit))
    if unit.policy.random_count:
        yield from _random_defects(unit, source)


def _zero_point(other: Callable[[int], int]) -> Change:
    return replaced(zero_point, lambda here, right, z: right(other(z)))


def _scale_read(other: Callable[[Value], Value]) -> tuple[Change, ...]:
    """Another scale than the one given."""
    return within("scale", [reading(lambda code, x, fmt: other(x))])


def _scale_defects(unit: AffineQuantizeUnit) -> Iterator[Hypothesis]:
    yield defective(
        unit,
        "scale multiplied",
        "multiplies by the scale instead of dividing",
        replaced(before_rounding, _multiplied),
    )
    yield from _scales_read(unit)


def _scales_read(unit: AffineQuantizeUnit | AffineDequantizeUnit) -> Iterator[Hypothesis]:
    yield defective(unit, "scale ignored", "ignores the scale", *_scale_read(lambda scale: _ONE))
    text = "treats the scale as a power of two: it ignores the significand"
    yield defective(unit, "scale as a power of two", text, *_scale_read(power_of_two))


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


def power_of_two(scale: Value) -> Value:
    """A scale without the bits below its leading one."""
    return exact.finite(0, 1, exact.top(scale))


def _range_defects(unit: AffineQuantizeUnit) -> Iterator[Hypothesis]:
    fmt = unit.affine
    wraps = WRAPS.changes if WRAPS.fits(destination(fmt.wide, unit.policy)) else ()
    unclamped = replaced(clamped, lambda here, right, q, added, fmt: q + added)
    yield defective(unit, "no clamp", "does not clamp: integers out of range wrap around", *wraps, unclamped)
    full = -(1 << (fmt.bits - 1)) if fmt.signed else 0
    ranges = [
        (
            "clamped to the full range",
            "also uses the lowest integer, which the narrow range excludes",
            full,
            fmt.highest,
        ),
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


def _value_defects(unit: AffineQuantizeUnit) -> Iterator[Hypothesis]:
    zeros = within("value", [reading(flushed)])
    yield defective(unit, "subnormals flushed", "treats subnormal values as zero", *zeros)
    positive = within("value", [reading(lambda code, x, fmt: x._replace(sign=0))])
    yield defective(unit, "sign ignored", "ignores the value's sign", *positive)
    for name in NARROW:
        if CATALOGUE[name].mantissa_bits < unit.values.mantissa_bits:
            narrow = rounded_to(name, _SATURATING)
            changes = within("value", [reading(lambda code, x, fmt, narrow=narrow: narrow(x))])  # type: ignore[misc]
            yield defective(unit, f"values rounded to {name}", f"rounds its values to {name} first", *changes)


def _random_defects(unit: AffineQuantizeUnit, source: str) -> Iterator[Hypothesis]:
    arity, n = unit.operand_width, unit.policy.random_count

    def right(codes: Sequence[int], r: int) -> tuple[int, int]:
        return unit.answer((*codes, r % (1 << n)))[0], 0

    def model(run: Run) -> Model:
        return as_model(lambda inputs: run(inputs[:arity], inputs[arity])[:1])

    yield from random_defects(model, right, n, arity, source)


def answer_defects(unit: Unit, under: Model) -> Iterator[Hypothesis]:
    """Wiring defects of the only result, for a device that otherwise follows `under`."""
    return wire_defects(unit.results[0].width, lambda change: with_change(under, lambda _, codes: (change(codes[0]),)))


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
    to = destination(FP32, _TO_FP32)
    for row in VALUE_DEFECTS:
        yield defective(unit, row.name, row.description, *row.changes, size=row.size)
    for name in NARROW:
        narrow = rounded_to(name, _TO_FP32)
        rounds = replaced(times_scale, lambda here, right, n, scale, narrow=narrow: narrow(right(n, scale)))
        yield defective(unit, f"values rounded to {name}", f"rounds its values to {name}", rounds)
    for row in rounding_defects():
        if row.fits(to):
            yield defective(unit, row.name, row.description, *row.changes, size=row.size)
    yield from answer_defects(unit, expected_model(unit))


_TO_FP32: Final = Policy(overflow=Overflow.SAT_NONE)


def _two_products(here: Traced, right: Function, n: int, scale: Value) -> Value:
    """The products of the integer and of the zero point; n is their difference."""
    q = here.last(integer) or 0
    a, b = (fp32(right(x, scale)) for x in (q, q - n))
    return exact.add(a, exact.negate(b))
