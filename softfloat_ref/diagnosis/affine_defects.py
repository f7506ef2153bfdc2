"""Defects of affine quantizers and dequantizers: in scale and zero point, in the rounding, at the ends of the range."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from softfloat_ref.diagnosis.answer_defects import wire_defects
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, Model, Output, changed, defined, expected_model
from softfloat_ref.diagnosis.operand_defects import flushed
from softfloat_ref.diagnosis.operation_models import Run
from softfloat_ref.diagnosis.random_defects import random_defects
from softfloat_ref.diagnosis.rounding_defects import (
    NARROW,
    VALUE_DEFECTS,
    WRAPS,
    of_encoders,
    rounded_to,
    rounding_defects,
)
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.affine import FP32, before_rounding, check_scale, fp32
from softfloat_ref.oracle.codec import Encoder, decoder, encoder, needed_bits
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import CATALOGUE
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.units import AffineDequantizeUnit, AffineQuantizeUnit, Unit
from softfloat_ref.units.affine import integer, parameters

_OF_INTEGERS: Final = ("exponent +1", "exponent -1", "rounds away")  # stages that are visible in integers
_SATURATING: Final = Policy(overflow=Overflow.SAT_FINITE)
_PLACES: Final = (1, 2, 3, 4)  # binary places below the integer to which a quotient is cut
MORE_BITS: Final = 16  # extra bits of quotients, for defects that depend on bits below the guard bit
Sum = Callable[[Value, Value, Value], Value]  # from a value, a scale and the addend before rounding


def _quantizer(
    unit: AffineQuantizeUnit,
    *,
    value: Callable[[int, Value], Value] | None = None,
    scale: Callable[[Value], Value] | None = None,
    zero_point: Callable[[int], int] | None = None,
    before: Sum | None = None,
    encode: Encoder | None = None,
    after: Callable[[int, int], int] | None = None,
) -> Model:
    """The quantization with some steps replaced: the value, the scale and the zero point; the number to round; how it
    is rounded; and the integer from that and the addend after rounding. NaN and Inf are handled correctly."""
    fmt, rule = unit.affine, unit.rule
    wide = unit.affine.wide
    bits = needed_bits(wide, unit.policy) + MORE_BITS
    decode, decode_scale = decoder(unit.values, unit.policy.flush_inputs), decoder(FP32)
    encoded, total = encode or encoder(wide, unit.policy), before or partial(before_rounding, rule=rule, bits=bits)
    final = after or partial(_held, fmt.lowest, fmt.highest)

    def model(inputs: Inputs) -> Sequence[int]:
        x = decode(inputs[0])
        if x.kind != FINITE:
            return unit.answer(inputs)
        found = parameters(inputs[1:], fmt)
        s = decode_scale(found.scale)
        check_scale(s, rule)
        x, s = value(inputs[0], x) if value else x, scale(s) if scale else s
        z = zero_point(found.zero_point) if zero_point else found.zero_point
        inside = rule.order == "inside"
        word = inputs[-1] if unit.policy.random_count else 0
        code = encoded(total(x, s, _integer(z if inside else 0)), word)[0]
        q = code - ((code & wide.sign_bit) << 1)
        added = 0 if inside else z
        return (final(q, added) % (1 << fmt.bits),)

    return defined(model)


def _integer(n: int) -> Value:
    return exact.finite(int(n < 0), abs(n), 0)


def quantize_defects(unit: AffineQuantizeUnit, source: str) -> Iterator[Hypothesis]:
    """Every listed defect that the quantization can have. source: the random source, if known."""
    if not (unit.affine.symmetric and unit.affine.signed):
        yield Hypothesis("zero point left out", "does not add the zero point", _quantizer(unit, zero_point=lambda z: 0))
        yield Hypothesis("zero point subtracted", "subtracts the zero point", _quantizer(unit, zero_point=lambda z: -z))
        yield Hypothesis(
            "clamped before the zero point",
            "clamps before it adds the zero point, and again afterwards",
            _clamped_first(unit),
        )
    yield from _scale_defects(unit)
    yield from _range_defects(unit)
    yield from _value_defects(unit)
    yield from _quotient_defects(unit)
    rows = (row for row in rounding_defects() if row.name in _OF_INTEGERS)
    yield from of_encoders(rows, unit.affine.wide, unit.policy, lambda encode: _quantizer(unit, encode=encode))
    yield from answer_defects(unit, expected_model(unit))
    if unit.policy.random_count:
        yield from _random_defects(unit, source)


def _scale_defects(unit: AffineQuantizeUnit) -> Iterator[Hypothesis]:
    steps = fp32 if unit.rule.arithmetic == "fp32" else lambda x: x
    last = fp32 if unit.rule.arithmetic != "exact" else lambda x: x

    def multiplied(x: Value, scale: Value, offset: Value) -> Value:
        return last(exact.add(steps(exact.multiply(x, scale)), offset))

    yield Hypothesis(
        "scale multiplied", "multiplies by the scale instead of dividing", _quantizer(unit, before=multiplied)
    )
    yield Hypothesis("scale ignored", "ignores the scale", _quantizer(unit, scale=lambda s: exact.finite(0, 1, 0)))
    yield Hypothesis(
        "scale as a power of two",
        "treats the scale as a power of two: it ignores the significand",
        _quantizer(unit, scale=power_of_two),
    )


def _quotient_defects(unit: AffineQuantizeUnit) -> Iterator[Hypothesis]:
    """Defects of the number before it is rounded."""
    bits = needed_bits(unit.affine.wide, unit.policy) + MORE_BITS
    total = partial(before_rounding, rule=unit.rule, bits=bits)
    for n in _PLACES:
        places = f"{n} place{'s' * (n > 1)} below the integer"
        says = f"cuts the quotient {places} before it rounds, without a sticky bit"
        yield Hypothesis(f"quotient cut {places}", says, _quantizer(unit, before=lambda *x, n=n: _cut(total(*x), n)))
    for name in ("fp32", "bf16", "fp16"):
        if name == "fp32" and unit.rule.arithmetic != "exact":
            continue
        then = rounded_to(name, _SATURATING)
        model = _quantizer(unit, before=lambda *x, then=then: then(total(*x)))
        yield Hypothesis(f"double rounding via {name}", f"rounds to {name} first, then again", model)


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
    held = partial(_held, unit.affine.lowest, unit.affine.highest)
    return _quantizer(replace(unit, rule=rule), after=lambda n, added: held(held(n, 0), added))


def power_of_two(scale: Value) -> Value:
    """A scale without the bits below its leading one."""
    return exact.finite(0, 1, exact.top(scale))


def _range_defects(unit: AffineQuantizeUnit) -> Iterator[Hypothesis]:
    fmt = unit.affine
    yield Hypothesis(
        "no clamp",
        "does not clamp: integers out of range wrap around",
        _quantizer(unit, encode=_unbounded(unit), after=operator.add),
    )
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
    for name, says, low, high in ranges:
        if (low, high) != (fmt.lowest, fmt.highest):
            yield Hypothesis(name, says, _quantizer(unit, after=partial(_held, low, high)))


def _held(low: int, high: int, q: int, added: int) -> int:
    """An integer, clamped after the addition."""
    return min(max(q + added, low), high)


def _unbounded(unit: AffineQuantizeUnit) -> Encoder:
    """The rounding to integers, where an integer that does not fit keeps its last bits."""
    wide, policy = unit.affine.wide, unit.policy
    return WRAPS.encoder(wide, policy) or encoder(wide, policy)


def _value_defects(unit: AffineQuantizeUnit) -> Iterator[Hypothesis]:
    fmt = unit.values
    yield Hypothesis(
        "subnormals flushed",
        "treats subnormal values as zero",
        _quantizer(unit, value=lambda c, x: flushed(c, x, fmt)),
    )
    yield Hypothesis(
        "sign ignored", "ignores the value's sign", _quantizer(unit, value=lambda c, x: x._replace(sign=0))
    )
    for name in NARROW:
        if CATALOGUE[name].mantissa_bits < fmt.mantissa_bits:
            narrow = rounded_to(name, _SATURATING)
            model = _quantizer(unit, value=lambda c, x, narrow=narrow: narrow(x))  # type: ignore[misc]
            yield Hypothesis(f"values rounded to {name}", f"rounds its values to {name} first", model)


def _random_defects(unit: AffineQuantizeUnit, source: str) -> Iterator[Hypothesis]:
    arity, n = unit.operand_width, unit.policy.random_count

    def right(codes: Sequence[int], r: int) -> tuple[int, int]:
        return unit.answer((*codes, r % (1 << n)))[0], 0

    def model(run: Run) -> Model:
        return defined(lambda inputs: run(inputs[:arity], inputs[arity])[:1])

    yield from random_defects(model, right, n, arity, source)


def answer_defects(unit: Unit, under: Model) -> Iterator[Hypothesis]:
    """Wiring defects of the only result, for a device that otherwise follows `under`."""
    return wire_defects(unit.results[0].width, lambda change: changed(under, lambda _, found: (change(found[0]),)))


# -- dequantization --------------------------------------------------------------------------------------------------


def _product(n: int, scale: Value) -> Value:
    return exact.multiply(_integer(n), scale)


def _dequantizer(
    unit: AffineDequantizeUnit,
    *,
    steps: Callable[[int, int], int] = lambda q, z: q - z,
    product: Callable[[int, Value], Value] = _product,
    encode: Encoder | None = None,
    signed: bool | None = None,
) -> Model:
    """The dequantization with some steps replaced: integer and zero point to a number of steps; its product with the
    scale; the rounding; whether the integer is signed."""
    fmt, encoded = unit.affine, encode or encoder(FP32, _TO_FP32)
    turn = (1 << fmt.bits) * {None: 0, True: -1, False: 1}[signed]

    def model(inputs: Inputs) -> Output:
        found = parameters(inputs[1:], fmt)
        q = integer(inputs[0], fmt)
        q += turn if inputs[0] >> (fmt.bits - 1) else 0
        x = product(steps(q, found.zero_point), decoder(FP32)(found.scale))
        return (encoded(x, 0)[0],)

    return defined(model)


_TO_FP32: Final = Policy(overflow=Overflow.SAT_NONE)


def dequantize_defects(unit: AffineDequantizeUnit) -> Iterator[Hypothesis]:
    """Every listed defect that the dequantization can have."""
    yield Hypothesis(
        "zero point left out", "does not subtract the zero point", _dequantizer(unit, steps=lambda q, z: q)
    )
    yield Hypothesis("zero point added", "adds the zero point", _dequantizer(unit, steps=lambda q, z: q + z))
    wrong = "signed" if not unit.affine.signed else "unsigned"
    yield Hypothesis(
        f"integers {wrong}", f"treats its integers as {wrong}", _dequantizer(unit, signed=not unit.affine.signed)
    )
    yield Hypothesis(
        "zero point on its own",
        "multiplies integer and zero point by the scale, each rounded to fp32, and then subtracts",
        _two_products(unit),
    )
    yield Hypothesis("scale ignored", "ignores the scale", _dequantizer(unit, product=lambda n, scale: _integer(n)))
    yield Hypothesis(
        "scale as a power of two",
        "treats the scale as a power of two: it ignores the significand",
        _dequantizer(unit, product=lambda n, scale: _product(n, power_of_two(scale))),
    )

    def rounded(encode: Encoder) -> Model:
        return _dequantizer(unit, encode=encode)

    yield from of_encoders(VALUE_DEFECTS, FP32, _TO_FP32, rounded)
    for name in NARROW:
        narrow = rounded_to(name, _TO_FP32)
        model = _dequantizer(unit, product=lambda n, scale, narrow=narrow: narrow(_product(n, scale)))  # type: ignore[misc]
        yield Hypothesis(f"values rounded to {name}", f"rounds its values to {name}", model)
    yield from of_encoders(rounding_defects(), FP32, _TO_FP32, rounded)
    yield from answer_defects(unit, expected_model(unit))


def _two_products(unit: AffineDequantizeUnit) -> Model:
    def model(inputs: Inputs) -> Output:
        found = parameters(inputs[1:], unit.affine)
        scale = decoder(FP32)(found.scale)
        a, b = (fp32(_product(n, scale)) for n in (integer(inputs[0], unit.affine), found.zero_point))
        return (encoder(FP32, _TO_FP32)(exact.add(a, exact.negate(b)), 0)[0],)

    return defined(model)
