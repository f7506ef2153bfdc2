"""Defects of block conversions: in the scale, in the lanes, in the elements' rounding; and in dequantized values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from softfloat_ref.diagnosis.conditions import FEWEST
from softfloat_ref.diagnosis.defects import defective, replaced, within
from softfloat_ref.diagnosis.format_defects import format_readings, other_elements, others
from softfloat_ref.diagnosis.hypotheses import SHARE, AnsweredCase, Hypothesis, Output, wrong_codes
from softfloat_ref.diagnosis.lane_defects import lane_defects, lanes_suggested_by
from softfloat_ref.diagnosis.logarithm_defects import logarithm_defects
from softfloat_ref.diagnosis.operand_defects import OF_SUBNORMALS, nan_readings, narrow_defects, reading_defects
from softfloat_ref.diagnosis.rounding_defects import ROUNDING_DEFECTS, VALUE_DEFECTS, RoundingDefect
from softfloat_ref.diagnosis.roundings import to_format, with_policy
from softfloat_ref.diagnosis.suggested_roundings import suggested_rows
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.dequantize import to_fp32
from softfloat_ref.oracle.blocks.elements import used_scale
from softfloat_ref.oracle.blocks.formats import FP32
from softfloat_ref.oracle.blocks.scale_rules import WantedScale
from softfloat_ref.oracle.blocks.scale_search import better_scale
from softfloat_ref.oracle.blocks.scales import block_scale, flush, scale_of, wanted_scale
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.oracle.rounding_steps import Destination, answer, destination, read, rounded
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import DequantizeUnit, QuantizeUnit

_ONE: Final = exact.finite(0, 1, 0)
_ELEMENTS: Final = "elements"  # the part of a quantization in which elements are divided and rounded
_CHOICES: Final[tuple[tuple[str, str, Function], ...]] = (
    ("first scale", "always takes the rule's scale", lambda here, right, a, b, *errors: a),
    ("second scale", "always takes the scale times 3/2", lambda here, right, a, b, *errors: b),
    (
        "ties to the second scale",
        "takes the scale times 3/2 where both errors are equal",
        lambda here, right, a, b, of_a, of_b: right(b, a, of_b, of_a),
    ),
    (
        "scale with the larger error",
        "takes the scale with the larger error",
        lambda here, right, a, b, of_a, of_b: right(a, b, of_b, of_a),
    ),
)
Values = Sequence[Value]


def block_defects(unit: QuantizeUnit) -> Iterator[Hypothesis]:
    """Every listed defect that the quantization can have."""
    last = replaced(answer, lambda here, right, codes: right((*codes[1:], codes[0])))
    yield defective(unit, "scale last", "gives the scale after the elements, not before", last)
    yield from _scale_defects(unit)
    yield from logarithm_defects(unit)
    yield from other_elements(unit)
    for name, text, other in others(unit.block.element):
        text = f"has the right scale, and takes the elements' format for {text}"
        read_otherwise = within(_ELEMENTS, to_format(lambda fmt, other=other: other))  # type: ignore[misc]
        yield defective(unit, f"elements as {name}, scale kept", text, *read_otherwise, share=SHARE)
    yield from lane_defects(unit, unit.block.size)
    unflushed = replaced(flush, lambda here, right, values, profile: list(values))
    of_subnormals = [x for x in OF_SUBNORMALS if x != "subnormals flushed"]
    yield from reading_defects(unit, ", in its values", of_subnormals, more=[unflushed])
    yield from format_readings(unit, unit.values, {f"{unit.values.name} values": ["values"]})
    yield from reading_defects(unit, ", in its values", ("sign ignored",))
    yield from narrow_defects(unit, Policy())
    if not unit.policy.flush_outputs:
        flushing = within(_ELEMENTS, with_policy(flush_outputs=True))
        yield defective(unit, "flush_outputs = on", "flushes tiny elements to zero", *flushing)
    yield from _rounded_elements(unit, (x for x in ROUNDING_DEFECTS if not x.of_output and not x.only_flags))


def _rounded_elements(unit: QuantizeUnit, rows: Iterable[RoundingDefect]) -> Iterator[Hypothesis]:
    """The elements rounded with these defects."""
    to = destination(unit.block.element, unit.policy)
    return (row.of(unit, _ELEMENTS, where=", in its elements") for row in rows if row.fits(to))


def suggested_by(unit: QuantizeUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
    """Defects with a number that mismatches suggest: how far the scale is off, and the elements of a NaN scale."""
    scale, element = unit.block.scale, unit.block.element
    wrong = wrong_codes(unit, cases)
    rows = suggested_rows([x for x in wrong if x.place])
    yield from _rounded_elements(unit, (x for x in rows if not x.only_flags))
    yield from nan_readings(unit, wrong, ", in its values", ["values"])
    yield from lanes_suggested_by(unit, cases, "values")
    for by, steps in usual(c.got[0] - c.expected[0] for c in cases):
        off = partial(_moved_by, by, scale=scale)
        both = replaced(block_scale, lambda here, right, *args, off=off: off(right(*args)))
        yield defective(unit, f"scale {steps}", f"has its scale {steps}, and divides by that", both, size=3)
        text = f"outputs a scale {steps}, but divides by the right one"
        yield defective(unit, f"scale byte {steps}", text, _scale_given(off), size=3)
    nan = scale.canonical_nan if scale.has_nan else -1
    under_nan = [c for c in cases if not c.agrees and c.expected[0] == nan == c.got[0]]
    if under_nan and len({x for c in under_nan for x in c.got[1:]}) == 1:
        code = under_nan[0].got[1]

        def filled(here: Traced, right: Function, codes: Output) -> Output:
            return right((nan, *(code,) * (len(codes) - 1)) if codes[0] == nan else codes)  # type: ignore[no-any-return]

        text = f"gives {element.hex(code)} for every element under a NaN scale"
        yield defective(unit, f"elements {element.hex(code)} under a NaN scale", text, replaced(answer, filled))


def _scale_given(moved: Callable[[int], int]) -> Change:
    """Another scale as an output only."""
    return replaced(answer, lambda here, right, codes: right((moved(codes[0]), *codes[1:])))


def usual(offsets: Iterable[int]) -> Iterator[tuple[int, str]]:
    """The two most frequent offsets, without zero; each also in words."""
    counted = Counter(x for x in offsets if x)
    return ((x, offset_text(x)) for x, n in counted.most_common(2) if n >= FEWEST)


def offset_text(by: int) -> str:
    """By how many steps something is off."""
    return f"{abs(by)} {'high' if by > 0 else 'low'}"


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
    for by, text in offsets.items():
        yield defective(unit, f"scale {by:+d}", f"has its scale {text}", replaced(wanted_scale, partial(_binades, by)))
        yield defective(
            unit,
            f"scale byte {by:+d}",
            f"outputs a scale {text}, but divides by the right one",
            _scale_given(partial(moved, by, scale=scale)),
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
        text = f"leaves the {lane} lane out of the largest magnitude"
        yield defective(unit, f"amax without the {lane} lane", text, left_out)
    for kind, name in ((NAN, "NaN"), (INF, "infinity")):
        yield defective(
            unit,
            f"amax skips {name}",
            f"skips {name} in the search for the largest magnitude; such elements saturate",
            _magnitudes(lambda v, kind=kind: [x for x in v if x.kind != kind]),  # type: ignore[misc]
            replaced(flush, partial(_nothing_left, kind)),
            *within(_ELEMENTS, [replaced(rounded, _saturating)]),
        )
    if unit.profile.scale_search != "none":
        for name, text, wrong in _CHOICES:
            yield defective(unit, name, text, replaced(better_scale, wrong))
    signed = _magnitudes(lambda v: [x for x in v if not x.sign] or [exact.zero(0)])
    yield defective(unit, "amax signed", "uses the largest value instead of the largest magnitude", signed)


def _magnitudes(chosen: Callable[[Values], Values]) -> Change:
    """The scale of other values than those of the block."""
    return replaced(block_scale, lambda here, right, values, *args: right(chosen(values), *args))


def _binades(by: int, here: Traced, right: Function, amax: Value, *args: Any) -> WantedScale:
    """The scale of a magnitude `by` binades higher, which is `by` steps higher."""
    return right(amax._replace(exponent=amax.exponent + by), *args)  # type: ignore[no-any-return]


def moved(by: int, code: int, scale: Format) -> int:
    """A scale moved by some binades, within its format; a NaN stays."""
    return _moved_by(by << scale.mantissa_bits, code, scale)


def _moved_by(by: int, code: int, scale: Format) -> int:
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


# -- dequantization --------------------------------------------------------------------------------------------------


def value_defects(unit: DequantizeUnit) -> Iterator[Hypothesis]:
    """Every listed defect that the dequantization can have."""
    scale, to = unit.block.scale, to_fp32(unit.profile.dequantize_overflow == "saturate")
    yield from (row.of(unit) for row in (*VALUE_DEFECTS, *ROUNDING_DEFECTS) if row.fits(to) and not row.only_flags)
    if unit.block.element.exponent_bits:
        yield from reading_defects(unit, ", in its elements", parts=[_ELEMENTS], of=" of the elements")
    yield from reading_defects(unit, ", in its scale", OF_SUBNORMALS, ["scale"], " of the scale")
    for by in ("+1", "-1"):
        off = _scale_read(partial(moved, int(by)))
        yield defective(unit, f"scale {by}", f"reads the scale one step off ({by})", *off)
    zeroed = replaced(
        answer,
        lambda here, right, codes: right(codes if here.case.inputs[0] else tuple(x & FP32.sign_bit for x in codes)),
    )
    yield defective(unit, "scale 00 as 0.0", "treats the smallest scale as zero or infinitely small", zeroed)
    if scale.has_nan:
        number = _scale_read(lambda code, fmt: fmt.max_code if code == fmt.canonical_nan else code)
        yield defective(unit, "NaN scale a number", "treats the NaN of the scale as a number", *number)
    yield from other_elements(unit)
    yield from lane_defects(unit, unit.block.size)


def _scale_read(other: Callable[[int, Format], int]) -> tuple[Change, ...]:
    """Another scale than the one given."""
    wrong = replaced(read, lambda here, right, code, decode, fmt: right(other(code, fmt), decode, fmt))
    return within("scale", [wrong])


def values_suggested_by(unit: DequantizeUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
    """A scale off by the number of binades that most wrong values are off; one lane with one value."""
    pairs = (pair for c in cases if not c.agrees for pair in zip(c.got, c.expected, strict=True))
    for by, steps in usual(binades_off(got, expected, FP32) for got, expected in pairs):
        if abs(by) > 1:  # others are listed defects
            off = _scale_read(partial(moved, by))
            yield defective(unit, f"scale {steps}", f"reads the scale {steps}", *off, size=3)
    to = to_fp32(unit.profile.dequantize_overflow == "saturate")
    wrong = wrong_codes(unit, cases)
    yield from (row.of(unit) for row in suggested_rows(wrong) if row.fits(to) and not row.only_flags)
    for part in (_ELEMENTS, "scale"):
        yield from nan_readings(unit, wrong, f", in its {part}", [part], f" of the {part}")
    yield from lanes_suggested_by(unit, cases, _ELEMENTS)


def binades_off(got: int, expected: int, fmt: Format) -> int:
    """By how many binades a normal number is off, if only its exponent is wrong; else 0."""
    m = fmt.mantissa_bits
    exponents = [(x & fmt.magnitude_mask) >> m for x in (got, expected)]
    normal = all(fmt.min_normal_code <= x & fmt.magnitude_mask <= fmt.max_code for x in (got, expected))
    same = not (got ^ expected) & (fmt.sign_bit | (1 << m) - 1)
    return exponents[0] - exponents[1] if normal and same else 0
