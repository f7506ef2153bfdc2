"""Defects of block conversions: in the scale, in the lanes, in the elements' rounding; and in dequantized values."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from softfloat_ref.diagnosis.conditions import FEWEST
from softfloat_ref.diagnosis.defects import Faulty, defective, replaced, within
from softfloat_ref.diagnosis.hypotheses import Case, Hypothesis, Output
from softfloat_ref.diagnosis.operand_defects import hidden_bit, low_exponent, reading
from softfloat_ref.diagnosis.rounding_defects import (
    NARROW,
    VALUE_DEFECTS,
    rounded_to,
    rounding_defects,
    with_policy,
)
from softfloat_ref.diagnosis.twins import twins
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32
from softfloat_ref.oracle.blocks.quantize import (
    block_scale,
    flush,
    lanes,
    scale_of,
    to_fp32,
    used_scale,
    wanted_scale,
)
from softfloat_ref.oracle.blocks.scale_rules import WantedScale
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.oracle.rounding_steps import Destination, answer, destination, read, rounded
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import DequantizeUnit, QuantizeUnit, SteppedUnit

_ONE: Final = exact.finite(0, 1, 0)
_ELEMENTS: Final = "elements"  # the part of a quantization in which elements are divided and rounded
Values = Sequence[Value]


def block_defects(unit: QuantizeUnit) -> Iterator[Hypothesis]:
    """Every listed defect that the quantization can have."""
    last = replaced(answer, lambda here, right, codes: right((*codes[1:], codes[0])))
    yield defective(unit, "scale last", "gives the scale after the elements, not before", last)
    yield from _scale_defects(unit)
    yield from _twin_elements(unit)
    yield from lane_defects(unit, unit.block.size)
    yield from _value_defects(unit)
    if not unit.policy.flush_outputs:
        flushing = within(_ELEMENTS, with_policy(flush_outputs=True))
        yield defective(unit, "flush_outputs = on", "flushes tiny elements to zero", *flushing)
    to = destination(unit.block.element, unit.policy)
    for row in rounding_defects():
        if not row.name.startswith("output") and row.fits(to):
            changes = within(_ELEMENTS, row.changes)
            yield defective(unit, row.name, f"{row.says}, in its elements", *changes, size=row.size)


def _twin_elements(unit: QuantizeUnit) -> Iterator[Hypothesis]:
    """Elements taken for the format's twin: in scale and elements, or in the elements alone."""
    for name, says, twin in twins(unit.block.element):
        other = dataclasses.replace(unit, block=dataclasses.replace(unit.block, element=twin))
        yield Hypothesis(f"elements as {name}", f"takes the elements' format for {says}", Faulty(other))
        yield defective(
            unit,
            f"elements as {name}, scale kept",
            f"has the right scale, and takes the elements' format for {says}",
            *within(_ELEMENTS, _rounding_to(twin)),
        )


def _rounding_to(fmt: Format) -> tuple[Change, ...]:
    return (replaced(rounded, lambda here, right, x, r, to: right(x, r, to.to(fmt))),)


def suggested_by(unit: QuantizeUnit, cases: Sequence[Case]) -> Iterator[Hypothesis]:
    """Defects with a number that mismatches suggest: how far the scale is off, and the elements of a NaN scale."""
    scale, element = unit.block.scale, unit.block.element
    for by in usual(c.got[0] - c.expected[0] for c in cases):
        steps = f"{abs(by)} {'high' if by > 0 else 'low'}"
        shifted = partial(_moved_by, by=by, scale=scale)
        yield defective(unit, f"scale {steps}", f"has its scale {steps}, and divides by that", _scale(shifted), size=3)
        yield defective(
            unit,
            f"scale byte {steps}",
            f"outputs a scale {steps}, but divides by the right one",
            _scale_given(shifted),
            size=3,
        )
    nan = scale.canonical_nan if scale.has_nan else -1
    wrong = [c for c in cases if not c.agrees and c.expected[0] == nan == c.got[0]]
    if wrong and len({x for c in wrong for x in c.got[1:]}) == 1:
        yield defective(
            unit,
            f"elements {element.hex(wrong[0].got[1])} under a NaN scale",
            f"gives {element.hex(wrong[0].got[1])} for every element under a NaN scale",
            replaced(answer, partial(_all_elements, nan, wrong[0].got[1])),
        )


def _all_elements(nan: int, code: int, here: Traced, right: Function, codes: tuple[int, ...]) -> Output:
    return right((nan, *(code,) * (len(codes) - 1)) if codes[0] == nan else codes)  # type: ignore[no-any-return]


def _scale(moved: Callable[[int], int]) -> Change:
    """Another scale, by which elements are divided too."""
    return replaced(block_scale, lambda here, right, *args: moved(right(*args)))


def _scale_given(moved: Callable[[int], int]) -> Change:
    """Another scale as an output only."""
    return replaced(answer, lambda here, right, codes: right((moved(codes[0]), *codes[1:])))


def usual(offsets: Iterable[int]) -> list[int]:
    """The two most frequent offsets, without zero."""
    counted = Counter(x for x in offsets if x)
    return [x for x, n in counted.most_common(2) if n >= FEWEST]


# -- the scale -------------------------------------------------------------------------------------------------------


def _scale_defects(unit: QuantizeUnit) -> Iterator[Hypothesis]:
    scale, element, size = unit.block.scale, unit.block.element, unit.block.size
    offsets = {1: "one step too high", -1: "one step too low", 2: "two steps too high", -2: "two steps too low"}
    if element.exponent_bits:
        offsets[element.emax] = "without the element's emax"
        bias = element.emax - element.bias
        text = f"off by the element's bias ({element.bias} instead of emax {element.emax})"
        offsets[bias] = f"{offsets[bias]}, {text}" if bias in offsets else text
        offsets.pop(0, None)
    for by, says in offsets.items():
        yield defective(unit, f"scale {by:+d}", f"has its scale {says}", replaced(wanted_scale, partial(_binades, by)))
        yield defective(
            unit,
            f"scale byte {by:+d}",
            f"outputs a scale {says}, but divides by the right one",
            _scale_given(lambda code, by=by: moved(code, by, scale)),  # type: ignore[misc]
        )
    if not scale.mantissa_bits:
        yield defective(
            unit,
            "scale wraps",
            "does not clamp the scale's exponent to its minimum: it wraps around",
            replaced(scale_of, _wrapped),
            replaced(used_scale, _number_used, scale_of),
        )
    for n, lane in ((0, "first"), (size - 1, "last")):
        left_out = _magnitudes(lambda v, n=n: [x for i, x in enumerate(v) if i != n or x.kind != FINITE])  # type: ignore[misc]
        says = f"leaves the {lane} lane out of the largest magnitude"
        yield defective(unit, f"amax without the {lane} lane", says, left_out)
    for kind, name in ((NAN, "NaN"), (INF, "infinity")):
        yield defective(
            unit,
            f"amax skips {name}",
            f"skips {name} in the search for the largest magnitude; such elements saturate",
            _magnitudes(lambda v, kind=kind: [x for x in v if x.kind != kind]),  # type: ignore[misc]
            replaced(flush, partial(_nothing_left, kind)),
            *within(_ELEMENTS, [replaced(rounded, _saturating)]),
        )
    signed = _magnitudes(lambda v: [x for x in v if not x.sign] or [exact.zero(0)])
    yield defective(unit, "amax signed", "uses the largest value instead of the largest magnitude", signed)


def _magnitudes(chosen: Callable[[Values], Values]) -> Change:
    """The scale of other values than those of the block."""
    return replaced(block_scale, lambda here, right, values, *args: right(chosen(values), *args))


def _binades(by: int, here: Traced, right: Function, amax: Value, *args: Any) -> WantedScale:
    """The scale of a magnitude `by` binades higher, which is `by` steps higher."""
    return right(amax._replace(exponent=amax.exponent + by), *args)  # type: ignore[no-any-return]


def moved(code: int, by: int, scale: Format) -> int:
    """A scale moved by some binades, within its format; a NaN stays."""
    return _moved_by(code, by << scale.mantissa_bits, scale)


def _moved_by(code: int, by: int, scale: Format) -> int:
    return code if scale.is_nan(code) else min(max(code + by, 0), scale.max_code)


def _wrapped(here: Traced, right: Function, amax: Value | None, *args: Any) -> int:
    """A scale whose exponent wraps around instead of being clamped to its minimum."""
    code, (fmt, *_) = right(amax, *args), args
    if amax is None or fmt.scale.is_nan(code):
        return code  # type: ignore[no-any-return]
    wanted = exact.top(amax) - fmt.element.emax + fmt.scale.bias
    return wanted % (1 << fmt.scale.width) if wanted < 0 else code  # type: ignore[no-any-return]


def _number_used(here: Traced, right: Function, code: int, scale: Format) -> int:
    """Even if the scale wraps to the NaN code, the elements are divided by a number."""
    wrapped = here.last(scale_of) == code and scale.is_nan(code)
    return right(scale.max_code if wrapped else code, scale)  # type: ignore[no-any-return]


def _nothing_left(skipped: int, here: Traced, right: Function, values: Values, *args: Any) -> Values:
    """Zeros in place of skipped values, if the block contains only those and zeros."""
    if all(x.kind == skipped or x.is_zero for x in values):
        values = [exact.zero(x.sign) for x in values]
    return right(values, *args)  # type: ignore[no-any-return]


def _saturating(here: Traced, right: Function, x: Value, r: int, to: Destination) -> tuple[int, int]:
    """Elements rounded with NaN and Inf treated as huge numbers."""
    if x.kind == FINITE:
        return right(x, r, to)  # type: ignore[no-any-return]
    return right(exact.inf(x.sign), 0, to.under(overflow=Overflow.SAT_FINITE))  # type: ignore[no-any-return]


# -- lanes and values ------------------------------------------------------------------------------------------------


def _lane_orders(size: int) -> Iterator[tuple[str, str, list[int]]]:
    """Wrong orders of a block's lanes, each with a name and in words: the numbers of the lanes, as they come out."""
    order, half = list(range(size)), size // 2
    yield "lanes reversed", "has its lanes in reverse order", order[::-1]
    yield "neighbours exchanged", "exchanges neighbouring lanes", [i ^ 1 if i ^ 1 < size else i for i in order]
    yield "lanes one up", "has each element one lane too far up", [*order[-1:], *order[:-1]]
    yield "lanes one down", "has each element one lane too far down", [*order[1:], *order[:1]]
    interleaved = [i // 2 + half * (i % 2) if i < 2 * half else i for i in order]
    yield "halves interleaved", "interleaves the two halves of the block", interleaved


def lane_defects(unit: SteppedUnit, size: int) -> Iterator[Hypothesis]:
    """Wrong orders of the lanes of a block."""
    for name, says, order in _lane_orders(size):
        reordered = replaced(lanes, lambda here, right, c, order=order: right(tuple(c[i] for i in order)))
        yield defective(unit, name, says, reordered)


def _value_defects(unit: QuantizeUnit) -> Iterator[Hypothesis]:
    fmt = unit.values
    unflushed = replaced(flush, lambda here, right, values, profile: list(values))
    for name, says, change_of in (
        ("subnormals as normal", "treats subnormal values as normal, with a leading one", hidden_bit),
        ("subnormals with exponent 0", "gives subnormal values the exponent 0 instead of 1", low_exponent),
    ):
        yield defective(unit, name, says, reading(change_of), unflushed)
    positive = reading(lambda code, x, fmt: x._replace(sign=0))
    yield defective(unit, "sign ignored", "ignores the values' sign", positive)
    for name in NARROW:
        if CATALOGUE[name].mantissa_bits < fmt.mantissa_bits:
            narrow = rounded_to(name, Policy())
            read_narrow = reading(lambda code, x, fmt, narrow=narrow: narrow(x))  # type: ignore[misc]
            yield defective(unit, f"values rounded to {name}", f"rounds its values to {name} first", read_narrow)


# -- dequantization --------------------------------------------------------------------------------------------------


def value_defects(unit: DequantizeUnit) -> Iterator[Hypothesis]:
    """Every listed defect that the dequantization can have."""
    scale, element = unit.block.scale, unit.block.element
    to = to_fp32(unit.profile.dequantize_overflow == "saturate")
    for row in (*VALUE_DEFECTS, *rounding_defects()):
        if row.fits(to):
            yield defective(unit, row.name, row.says, *row.changes)
    for by in (1, -1):
        yield defective(unit, f"scale {by:+d}", f"reads the scale one step off ({by:+d})", *_scale_read(by))
    zeroed = replaced(answer, _zeros_under_scale_0)
    yield defective(unit, "scale 00 as 0.0", "treats the smallest scale as zero or infinitely small", zeroed)
    if scale.has_nan:
        number = _other_codes(lambda code: scale.max_code if code == scale.canonical_nan else code)
        says = "treats the NaN of the scale as a number"
        yield defective(unit, "NaN scale a number", says, *within("scale", number))
    for name, says, twin in twins(element):
        other = dataclasses.replace(unit, block=dataclasses.replace(unit.block, element=twin))
        yield Hypothesis(f"elements as {name}", f"takes the elements' format for {says}", Faulty(other))
    yield from lane_defects(unit, unit.block.size)


def _other_codes(other: Callable[[int], int]) -> tuple[Change, ...]:
    """Other codes read than those given."""
    return (replaced(read, lambda here, right, code, decode, fmt: right(other(code), decode, fmt)),)


def _scale_read(by: int) -> tuple[Change, ...]:
    """A scale read some binades off."""
    off = replaced(read, lambda here, right, code, decode, fmt: right(moved(code, by, fmt), decode, fmt))
    return within("scale", [off])


def _zeros_under_scale_0(here: Traced, right: Function, codes: tuple[int, ...]) -> Output:
    return right(codes if here.case.inputs[0] else tuple(x & FP32.sign_bit for x in codes))  # type: ignore[no-any-return]


def values_suggested_by(unit: DequantizeUnit, cases: Sequence[Case]) -> Iterator[Hypothesis]:
    """A scale off by the number of binades that most wrong values are off; one lane with one value."""
    pairs = (pair for c in cases if not c.agrees for pair in zip(c.got, c.expected, strict=True))
    for by in usual(binades_off(got, expected, FP32) for got, expected in pairs):
        if abs(by) == 1:  # one of the listed defects
            continue
        steps = f"{abs(by)} {'high' if by > 0 else 'low'}"
        yield defective(unit, f"scale {steps}", f"reads the scale {steps}", *_scale_read(by), size=3)
    wrong = {(i, x) for c in cases for i, (x, y) in enumerate(zip(c.got, c.expected, strict=True)) if x != y}
    if len(wrong) == 1:
        ((lane, code),) = wrong
        stuck = replaced(answer, lambda here, right, codes: right((*codes[:lane], code, *codes[lane + 1 :])))
        says = f"always gives {FP32.hex(code)} in lane {lane}"
        yield defective(unit, f"lane {lane} = {FP32.hex(code)}", says, stuck)


def binades_off(got: int, expected: int, fmt: Format) -> int:
    """By how many binades a normal number is off, if only its exponent is wrong; else 0."""
    m = fmt.mantissa_bits
    exponents = [(x & fmt.magnitude_mask) >> m for x in (got, expected)]
    normal = all(fmt.min_normal_code <= x & fmt.magnitude_mask <= fmt.max_code for x in (got, expected))
    same = not (got ^ expected) & (fmt.sign_bit | (1 << m) - 1)
    return exponents[0] - exponents[1] if normal and same else 0
