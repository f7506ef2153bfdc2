"""Defects of block conversions: in the scale, in the lanes, in the elements' rounding; and in dequantized values."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.conditions import FEWEST
from softfloat_ref.diagnosis.hypotheses import (
    Case,
    Hypothesis,
    Inputs,
    Model,
    Output,
    Stepwise,
    changed,
    expected_model,
    in_turn,
)
from softfloat_ref.diagnosis.operand_defects import hidden_bit, low_exponent
from softfloat_ref.diagnosis.rounding_defects import NARROW, VALUE_DEFECTS, rounded_to, stage_defects, staged
from softfloat_ref.diagnosis.twins import twins
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.blocks.quantize import block_scale, dequantize_block, divide, flush, special_element
from softfloat_ref.oracle.codec import Encoder, decoder, encoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.units import DequantizeUnit, QuantizeUnit

_ONE: Final = exact.finite(0, 1, 0)
Values = list[Value]
ScaleOf = Callable[[Sequence[Value]], int]
ChangeValues = Callable[[Sequence[int], Values], Values]


@dataclass(frozen=True)
class Quantizer:
    """A quantization in steps, for a device with one wrong step."""

    unit: QuantizeUnit

    @cached_property
    def block(self) -> BlockFormat:
        return self.unit.block

    @cached_property
    def encode(self) -> Encoder:
        return encoder(self.block.element, self.unit.policy)

    def model(self, **steps: Any) -> WrongBlock:
        """The quantization with some steps replaced, by the names in WrongBlock."""
        return WrongBlock(self, **steps)

    def codes(self, inputs: Inputs, steps: WrongBlock) -> Output:
        """The scale and the elements."""
        found = [decoder(self.unit.values, self.unit.policy.flush_inputs)(x) for x in inputs[: self.block.size]]
        if steps.values is not None:
            found = steps.values(inputs[: self.block.size], found)
        second = decoder(FP32)(inputs[self.block.size]) if self.unit.two_levels else _ONE
        words = inputs[self.block.size + self.unit.two_levels :] or (0,) * self.block.size
        scale_of = self._scale(second)
        code = scale_of(found) if steps.scale is None else steps.scale(scale_of, found)
        used = steps.used(code) if steps.used else code
        codes = self._elements(found, used, second, words, steps.encode or self.encode)
        return (code, *(steps.lanes(codes) if steps.lanes else codes))

    def _scale(self, second: Value) -> ScaleOf:
        return lambda values: block_scale(values, self.block, self.unit.profile, second)

    def _elements(
        self, values: Values, scale: int, second: Value, words: Sequence[int], encode: Encoder
    ) -> tuple[int, ...]:
        block, policy, profile = self.block, self.unit.policy, self.unit.profile
        factor = decoder(block.scale)(scale)
        if factor.kind == NAN:
            return (special_element(block, policy),) * block.size
        divisor = exact.multiply(factor, second)
        bits = block.element.precision + policy.random_count + 4
        codes = []
        for x, r in zip(flush(values, profile), words, strict=False):
            if x.kind == FINITE and x.significand:
                x = divide(x, divisor, bits + 16) if divisor.significand else exact.zero(x.sign)
            codes.append(encode(x, r)[0])
        return tuple(codes)


@dataclass(frozen=True)
class WrongBlock(Stepwise):
    """A quantization with wrong steps: how the scale follows from the values, the scale that elements are divided by,
    the values, how an element is rounded, and the order of the elements."""

    quantizer: Quantizer
    scale: Callable[[ScaleOf, Sequence[Value]], int] | None = None
    used: Callable[[int], int] | None = None
    values: ChangeValues | None = None
    encode: Encoder | None = None
    lanes: Callable[[tuple[int, ...]], tuple[int, ...]] | None = None

    def __call__(self, inputs: Inputs) -> Output | None:
        try:
            return self.quantizer.codes(inputs, self)
        except Error:
            return None

    def joined(self, other: Model) -> WrongBlock | None:
        if isinstance(other, OtherUnit):
            return dataclasses.replace(self, quantizer=Quantizer(other.unit))
        if not isinstance(other, WrongBlock) or (self.encode and other.encode) or (self.scale and other.scale):
            return None
        return WrongBlock(
            self.quantizer,
            self.scale or other.scale,
            in_turn(self.used, other.used),
            _both_values(self.values, other.values),
            self.encode or other.encode,
            in_turn(self.lanes, other.lanes),
        )


@dataclass(frozen=True)
class OtherUnit(Stepwise):
    """The quantization of another unit: of another profile, or with another rounding."""

    unit: QuantizeUnit

    def __call__(self, inputs: Inputs) -> Output | None:
        width = self.unit.input_width if self.unit.policy.random_count else self.unit.operand_width
        return expected_model(self.unit)(inputs[:width])

    def joined(self, other: Model) -> WrongBlock | None:
        return dataclasses.replace(other, quantizer=Quantizer(self.unit)) if isinstance(other, WrongBlock) else None


def _both_values(first: ChangeValues | None, second: ChangeValues | None) -> ChangeValues | None:
    """One change of the values after the other."""
    if first is None or second is None:
        return first or second
    return lambda codes, values: second(codes, first(codes, values))


def block_defects(unit: QuantizeUnit) -> Iterator[Hypothesis]:
    """Every listed defect that the quantization can have."""
    q = Quantizer(unit)
    last = changed(q.model(), lambda _, found: (*found[1:], found[0]))
    yield Hypothesis("scale last", "gives the scale after the elements, not before", last)
    yield from _scale_defects(q)
    yield from _twin_elements(q)
    yield from _lane_defects(q)
    yield from _value_defects(q)
    if not unit.policy.flush_outputs:
        flushing = encoder(q.block.element, unit.policy.replace(flush_outputs=True))
        yield Hypothesis("flush_outputs = on", "flushes tiny elements to zero", q.model(encode=flushing))
    rows = (x._replace(says=f"{x.says}, in its elements") for x in stage_defects() if not x.name.startswith("output"))
    yield from staged(rows, q.block.element, unit.policy, lambda encode: q.model(encode=encode))


def _twin_elements(q: Quantizer) -> Iterator[Hypothesis]:
    """Elements taken for the format's twin: in scale and elements, or in the elements alone."""
    for name, says, twin in twins(q.block.element):
        other = dataclasses.replace(q.unit, block=dataclasses.replace(q.block, element=twin))
        yield Hypothesis(f"elements as {name}", f"takes the elements' format for {says}", OtherUnit(other))
        yield Hypothesis(
            f"elements as {name}, scale kept",
            f"has the right scale, and takes the elements' format for {says}",
            q.model(encode=encoder(twin, q.unit.policy)),
        )


def suggested_by(unit: QuantizeUnit, cases: Sequence[Case]) -> Iterator[Hypothesis]:
    """Defects with a number that mismatches suggest: how far the scale is off, and the elements of a NaN scale."""
    q = Quantizer(unit)
    for by in usual(c.got[0] - c.expected[0] for c in cases):
        steps = f"{abs(by)} {'high' if by > 0 else 'low'}"
        shifted = partial(_moved_by, by=by, scale=q.block.scale)
        yield Hypothesis(
            f"scale {steps}",
            f"has its scale {steps}, and divides by that",
            q.model(scale=lambda f, v, shifted=shifted: shifted(f(v))),
            size=3,
        )
        yield Hypothesis(
            f"scale byte {steps}",
            f"outputs a scale {steps}, but divides by the right one",
            changed(q.model(), lambda _, found, shifted=shifted: (shifted(found[0]), *found[1:])),  # type: ignore[misc]
            size=3,
        )
    nan = q.block.scale.canonical_nan if q.block.scale.has_nan else -1
    wrong = [c for c in cases if not c.agrees and c.expected[0] == nan == c.got[0]]
    if wrong and len({x for c in wrong for x in c.got[1:]}) == 1:
        code = wrong[0].got[1]
        yield Hypothesis(
            f"elements {q.block.element.hex(code)} under a NaN scale",
            f"gives {q.block.element.hex(code)} for every element under a NaN scale",
            changed(q.model(), lambda _, found: (found[0], *(code,) * (len(found) - 1)) if found[0] == nan else found),
        )


def usual(offsets: Iterable[int]) -> list[int]:
    """The two most frequent offsets, without zero."""
    counted = Counter(x for x in offsets if x)
    return [x for x, n in counted.most_common(2) if n >= FEWEST]


def _moved_by(code: int, by: int, scale: Format) -> int:
    return code if scale.is_nan(code) else min(max(code + by, 0), scale.max_code)


# -- the scale -------------------------------------------------------------------------------------------------------


def _scale_defects(q: Quantizer) -> Iterator[Hypothesis]:
    scale, element = q.block.scale, q.block.element
    offsets = {1: "one step too high", -1: "one step too low", 2: "two steps too high", -2: "two steps too low"}
    if element.exponent_bits:
        offsets[element.emax] = "without the element's emax"
        bias = element.emax - element.bias
        text = f"off by the element's bias ({element.bias} instead of emax {element.emax})"
        offsets[bias] = f"{offsets[bias]}, {text}" if bias in offsets else text
        offsets.pop(0, None)
    for by, says in offsets.items():
        yield Hypothesis(
            f"scale {by:+d}",
            f"has its scale {says}",
            q.model(scale=lambda f, v, by=by: f(_binades(q, v, by))),
        )
        yield Hypothesis(
            f"scale byte {by:+d}",
            f"outputs a scale {says}, but divides by the right one",
            q.model(scale=lambda f, v, by=by: moved(f(v), by, scale), used=lambda c, by=by: moved(c, -by, scale)),
        )
    if not scale.mantissa_bits:
        yield Hypothesis(
            "scale wraps",
            "does not clamp the scale's exponent to its minimum: it wraps around",
            _wrapping_model(q),
        )
    for n, lane in ((0, "first"), (q.block.size - 1, "last")):
        yield Hypothesis(
            f"amax without the {lane} lane",
            f"leaves the {lane} lane out of the largest magnitude",
            q.model(scale=lambda f, v, n=n: f([x for i, x in enumerate(v) if i != n or x.kind != FINITE])),
        )
    for kind, name in ((NAN, "NaN"), (INF, "infinity")):
        yield Hypothesis(
            f"amax skips {name}",
            f"skips {name} in the search for the largest magnitude; such elements saturate",
            q.model(
                scale=lambda f, v, k=kind: f([x for x in v if x.kind != k]),
                values=partial(_nothing_left, kind),
                encode=_saturating(q),
            ),
        )
    yield Hypothesis(
        "amax signed",
        "uses the largest value instead of the largest magnitude",
        q.model(scale=lambda f, v: f([x for x in v if not x.sign] or [exact.zero(0)])),
    )


def _binades(q: Quantizer, values: Sequence[Value], by: int) -> Values:
    """The values `by` binades higher, after flushing, so that the scale is `by` steps higher."""
    return [
        x._replace(exponent=x.exponent + by) if x.kind == FINITE and x.significand else x
        for x in flush(values, q.unit.profile)
    ]


def moved(code: int, by: int, scale: Format) -> int:
    """A scale moved by some binades, within its format; a NaN stays."""
    if scale.is_nan(code):
        return code
    return min(max(code + (by << scale.mantissa_bits), 0), scale.max_code)


def _wrapped(q: Quantizer, right: ScaleOf, values: Sequence[Value]) -> int:
    """A scale whose exponent wraps around instead of being clamped to its minimum."""
    scale, code = q.block.scale, right(values)
    finite = [x for x in flush(values, q.unit.profile) if x.kind == FINITE and x.significand]
    if scale.is_nan(code) or not finite:
        return code
    wanted = max(map(exact.top, finite)) - q.block.element.emax + scale.bias
    return wanted % (1 << scale.width) if wanted < 0 else code


def _nothing_left(skipped: int, codes: Sequence[int], values: Values) -> Values:
    """Zeros in place of skipped values, if the block contains only those and zeros."""
    if any(x.kind != skipped and not x.is_zero for x in values):
        return values
    return [exact.zero(x.sign) for x in values]


def _wrapping_model(q: Quantizer) -> Model:
    """A scale that wraps around. Even if it becomes the NaN code, the elements are divided by a number."""
    scale, decode, size = q.block.scale, decoder(q.unit.values), q.block.size
    right, wrong = (
        q.model(),
        q.model(scale=partial(_wrapped, q), used=lambda c: scale.max_code if scale.is_nan(c) else c),
    )

    def model(inputs: Inputs) -> Output | None:
        finite = all(decode(x).kind == FINITE for x in inputs[:size])
        return wrong(inputs) if finite else right(inputs)

    return model


def _saturating(q: Quantizer) -> Encoder:
    """The elements' rounding with NaN and Inf treated as huge numbers."""
    huge = encoder(q.block.element, q.unit.policy.replace(overflow=Overflow.SAT_FINITE))

    def encode(x: Value, random_bits: int) -> tuple[int, int]:
        return huge(exact.inf(x.sign), 0) if x.kind != FINITE else q.encode(x, random_bits)

    return encode


# -- lanes and values ------------------------------------------------------------------------------------------------


def _lane_orders(size: int) -> Iterator[tuple[str, str, list[int]]]:
    """Wrong orders of a block's lanes, each with a name and in words: the numbers of the lanes, as they come out."""
    lanes, half = list(range(size)), size // 2
    yield "lanes reversed", "has its lanes in reverse order", lanes[::-1]
    yield "neighbours exchanged", "exchanges neighbouring lanes", [i ^ 1 if i ^ 1 < size else i for i in lanes]
    yield "lanes one up", "has each element one lane too far up", [*lanes[-1:], *lanes[:-1]]
    yield "lanes one down", "has each element one lane too far down", [*lanes[1:], *lanes[:1]]
    interleaved = [i // 2 + half * (i % 2) if i < 2 * half else i for i in lanes]
    yield "halves interleaved", "interleaves the two halves of the block", interleaved


def _lane_defects(q: Quantizer) -> Iterator[Hypothesis]:
    for name, says, order in _lane_orders(q.block.size):
        yield Hypothesis(name, says, q.model(lanes=lambda c, order=order: tuple(c[i] for i in order)))


def _value_defects(q: Quantizer) -> Iterator[Hypothesis]:
    fmt = q.unit.values
    unflushed = Quantizer(dataclasses.replace(q.unit, profile=q.unit.profile.replace(flush="never")))
    as_normal, low = partial(_each, partial(hidden_bit, fmt=fmt)), partial(_each, partial(low_exponent, fmt=fmt))
    positive = partial(_each, lambda c, x: x._replace(sign=0))
    yield Hypothesis(
        "subnormals as normal",
        "treats subnormal values as normal, with a leading one",
        unflushed.model(values=as_normal),
    )
    yield Hypothesis(
        "subnormals with exponent 0",
        "gives subnormal values the exponent 0 instead of 1",
        unflushed.model(values=low),
    )
    yield Hypothesis("sign ignored", "ignores the values' sign", q.model(values=positive))
    for name in NARROW:
        if CATALOGUE[name].mantissa_bits < fmt.mantissa_bits:
            narrow = rounded_to(name, Policy())
            model = q.model(values=partial(_each, lambda _, x, narrow=narrow: narrow(x)))  # type: ignore[misc]
            says = f"rounds its values to {name} first"
            yield Hypothesis(f"values rounded to {name}", says, model)


def _each(change: Callable[[int, Value], Value], codes: Sequence[int], values: Values) -> Values:
    """The finite values, each changed depending on its code."""
    return [change(c, x) if x.kind == FINITE else x for c, x in zip(codes, values, strict=True)]


# -- dequantization --------------------------------------------------------------------------------------------------


def value_defects(unit: DequantizeUnit) -> Iterator[Hypothesis]:
    """Every listed defect that the dequantization can have."""
    block, size = unit.block, unit.block.size

    def model(
        encode: Encoder, change: Callable[[int, tuple[int, ...]], tuple[int, tuple[int, ...]]] | None = None
    ) -> Model:
        def run(inputs: Inputs) -> Output:
            second = decoder(FP32)(inputs[1 + size]) if unit.two_levels else _ONE
            scale, codes = inputs[0], tuple(inputs[1 : 1 + size])
            if change is not None:
                scale, codes = change(scale, codes)
            return tuple(encode(x, 0)[0] for x in dequantize_block(scale, codes, block, second))

        return run

    saturate = unit.profile.dequantize_overflow == "saturate"
    policy = Policy(overflow=Overflow.SAT_PROPAGATE if saturate else Overflow.SAT_NONE)
    right = encoder(FP32, policy)
    for row in (*VALUE_DEFECTS, *stage_defects()):
        if (encode := row.stage(FP32, policy)) is not None:
            yield Hypothesis(row.name, row.says, model(encode))
    scale = block.scale
    for by in (1, -1):
        yield Hypothesis(
            f"scale {by:+d}",
            f"reads the scale one step off ({by:+d})",
            model(right, lambda s, c, by=by: (moved(s, by, scale), c)),  # type: ignore[misc]
        )
    zeroed = changed(
        model(right), lambda inputs, found: found if inputs[0] else tuple(x & FP32.sign_bit for x in found)
    )
    yield Hypothesis("scale 00 as 0.0", "treats the smallest scale as zero or infinitely small", zeroed)
    if scale.has_nan:
        top, nan = scale.max_code, scale.canonical_nan
        yield Hypothesis(
            "NaN scale a number",
            "treats the NaN of the scale as a number",
            model(right, lambda s, c: (top if s == nan else s, c)),
        )
    for name, says, twin in twins(block.element):
        other = dataclasses.replace(unit, block=dataclasses.replace(block, element=twin))
        yield Hypothesis(f"elements as {name}", f"takes the elements' format for {says}", expected_model(other))
    for name, says, order in _lane_orders(size):
        reordered = model(right, lambda s, c, order=order: (s, tuple(c[i] for i in order)))  # type: ignore[misc]
        yield Hypothesis(name, says, reordered)


def values_suggested_by(unit: DequantizeUnit, cases: Sequence[Case]) -> Iterator[Hypothesis]:
    """A scale off by the number of binades that most wrong values are off; one lane with one value."""
    pairs = (pair for c in cases if not c.agrees for pair in zip(c.got, c.expected, strict=True))
    right = expected_model(unit)
    for by in usual(binades_off(got, expected, FP32) for got, expected in pairs):
        if abs(by) == 1:  # one of the listed defects
            continue
        steps = f"{abs(by)} {'high' if by > 0 else 'low'}"
        yield Hypothesis(
            f"scale {steps}",
            f"reads the scale {steps}",
            lambda inputs, by=by: right((moved(inputs[0], by, unit.block.scale), *inputs[1:])),  # type: ignore[misc]
            size=3,
        )
    wrong = {(i, x) for c in cases for i, (x, y) in enumerate(zip(c.got, c.expected, strict=True)) if x != y}
    if len(wrong) == 1:
        ((lane, code),) = wrong
        stuck = changed(right, lambda _, found: (*found[:lane], code, *found[lane + 1 :]))
        yield Hypothesis(f"lane {lane} = {FP32.hex(code)}", f"always gives {FP32.hex(code)} in lane {lane}", stuck)


def binades_off(got: int, expected: int, fmt: Format) -> int:
    """By how many binades a normal number is off, if only its exponent is wrong; else 0."""
    m = fmt.mantissa_bits
    exponents = [(x & fmt.magnitude_mask) >> m for x in (got, expected)]
    normal = all(fmt.min_normal_code <= x & fmt.magnitude_mask <= fmt.max_code for x in (got, expected))
    same = not (got ^ expected) & (fmt.sign_bit | (1 << m) - 1)
    return exponents[0] - exponents[1] if normal and same else 0
