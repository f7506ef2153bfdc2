"""Defects of dot products: in lanes, operands and scales, and in each rounding of the accumulator's tree."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.block_defects import binades_off, moved, usual
from softfloat_ref.diagnosis.defects import defective, in_parts, replaced, within
from softfloat_ref.diagnosis.format_defects import others, siblings
from softfloat_ref.diagnosis.hypotheses import SHARE, Hypothesis, Model, WrongCode
from softfloat_ref.diagnosis.operand_defects import OF_SUBNORMALS, nan_readings, reading, reading_defects
from softfloat_ref.diagnosis.rounding_defects import ROUNDING_DEFECTS, RoundingDefect
from softfloat_ref.diagnosis.roundings import with_policy, with_zero
from softfloat_ref.diagnosis.suggested_roundings import suggested_rows
from softfloat_ref.diagnosis.sum_defects import sum_defects, wrapped_products
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate.dots import Operand, block_factor, in_order
from softfloat_ref.oracle.accumulate.evaluate import narrowed
from softfloat_ref.oracle.accumulate.terms import Decode, Scale
from softfloat_ref.oracle.accumulate.trees import RESULT, Round, walk
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.rounding_steps import Destination, answer, destination, read
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import DotUnit

_FORMATS: Final = ("fp16", "bf16", "tf32", "fp32", "fp64")
_LAST_ROUND: Final = re.compile(r"-> (\w+):(\w+)")


def dot_defects(unit: DotUnit, model_of: Callable[[DotUnit], Model]) -> Iterator[Hypothesis]:
    """Every listed defect that the dot product can have. model_of: how another dot product answers."""
    yield from _held_defects(unit, model_of)
    yield from product_defects(unit)
    yield from _nan_defects(unit)
    for sign, shown in ((0, "+0"), (1, "-0")):

        def signed(here: Traced, right: Function, codes: Sequence[int], sign: int = sign) -> Any:
            *steps, code, flags = codes
            return right((*steps, with_zero(sign, code, unit.out), flags))

        yield defective(unit, f"zeros {shown}", f"gives {shown} for every zero", replaced(answer, signed))


def product_defects(unit: DotUnit, flags: bool = True) -> Iterator[Hypothesis]:
    """Those that each dot product of a matrix product can have, too. flags: whether it raises any."""
    yield from _rounding_defects(unit, (x for x in (*ROUNDING_DEFECTS, *_POLICIES) if flags or not x.only_flags))
    yield from _lane_defects(unit)
    yield from _operand_defects(unit)
    yield from _other_elements(unit)
    yield from _scale_defects(unit)
    yield from sum_defects(unit)


_POLICIES: Final = (
    RoundingDefect("tininess before rounding", "detects tininess before rounding", with_policy(tininess="before")),
    RoundingDefect("saturation", "saturates", with_policy(overflow="sat-finite")),
    RoundingDefect("FTZ", "flushes tiny results to zero", with_policy(flush_outputs=True)),
    *(RoundingDefect(m, f"rounds by {m}", with_policy(rounding=m)) for m in ("rtz", "rna", "rto", "rup", "rdn")),
)


def _rounding_defects(unit: DotUnit, rows: Iterable[RoundingDefect]) -> Iterator[Hypothesis]:
    rounds = [x for x in walk(unit.accumulator.root) if isinstance(x, Round)]
    of = {"sums": "of its sums"} if len(rounds) > 1 else {"sums": "of the sum"}
    if len(rounds) > 1:
        of = {"inner": "of inner sums", "last": "of the last sum", **of}
    destinations = [_destination(unit, x) for x in rounds]
    for row in rows:
        if not row.of_output and any(map(row.fits, destinations)):
            for part, shown in of.items():
                yield row.guarded.of(unit, part, f" {shown}", f", in the rounding {shown}")


def _destination(unit: DotUnit, node: Round) -> Destination:
    """Where a node rounds to."""
    rules, to = unit.accumulator, node.choice(unit.setting.result.name)
    fmt = unit.setting.result if to.fmt == RESULT else get_format(to.fmt)
    return destination(narrowed(fmt, to.kept), rules.policy(to.rounding), rules.overflow, rules.zero)


def _held_defects(unit: DotUnit, model_of: Callable[[DotUnit], Model]) -> Iterator[Hypothesis]:
    """The running result rounded to another format first, and then to its own."""
    tree = unit.accumulator.tree
    last = list(_LAST_ROUND.finditer(tree))[-1:]
    for name in _FORMATS:
        for match in (m for m in last if name != (unit.out.name if m[1] == RESULT else m[1])):
            changed = f"{tree[: match.start()]}-> {name}:{match[2]} {tree[match.start() :]}"
            try:
                other = dataclasses.replace(unit, accumulator=unit.accumulator.replace(tree=changed))
            except Error:
                continue
            text = f"keeps the running result in {name}"
            yield Hypothesis(f"running result in {name}", text, model_of(other))


# -- lanes, operands, scales -----------------------------------------------------------------------------------------


def _zero(here: Traced, right: Function, code: int, decode: Decode, fmt: Format) -> Value:
    """Zero in place of a finite value; a NaN or Inf stays."""
    x = right(code, decode, fmt)
    zero = code & fmt.sign_bit if fmt.negative_zero else 0
    return right(zero, decode, fmt) if x.kind == FINITE else x  # type: ignore[no-any-return]


def _lane_defects(unit: DotUnit) -> Iterator[Hypothesis]:
    k = unit.k
    ends = {0: "first lane", k - 1: "last lane"}
    for lane in (0, *range(k - 1, 0, -1)):
        name = ends.get(lane, f"lane {lane}")
        text = f"leaves {'the ' if lane in ends else ''}{name} out of the sum"
        yield defective(unit, f"{name} left out", text, *within(("a", lane), [replaced(read, _zero)]))
    without_c = within("c", [replaced(read, lambda here, right, code, decode, fmt: right(0, decode, fmt))])
    yield defective(unit, "c left out", "leaves c out of the sum", *without_c)
    reverse = replaced(in_order, lambda here, right, terms: right(terms[::-1]))
    yield defective(unit, "order reversed", "adds the products in reverse order", reverse)


def _nan_defects(unit: DotUnit) -> Iterator[Hypothesis]:
    """NaNs of one lane, or of the scales of one operand, that are numbers."""
    for (lane, name), side in product(((0, "first"), (unit.k - 1, "last")), "ab"):
        text = f"treats a NaN in the {name} lane of {side} as a number"
        number = within((side, lane), [_number_lane(side, lane)])
        yield defective(unit, f"NaN in the {name} lane of {side} a number", text, *number)
    for side, beside in (("a", "b"), ("b", "a")):
        scale = getattr(getattr(unit, side), "scale", None)
        if scale is None:
            continue
        yield defective(
            unit,
            f"NaN scale of {side} a number",
            f"treats the NaN scale of {side} as a number",
            *_scales(side, lambda s, scale=scale: scale.max_code if scale.is_nan(s) else s),  # type: ignore[misc]
            *within(beside, [_one_more(side, scale)]),
        )


def _number_lane(side: str, lane: int) -> Change:
    """A NaN in this lane read as the number that its code would be; a NaN in another lane stays a NaN."""

    def wrong(here: Traced, right: Function, code: int, decode: Decode, fmt: Format) -> Value:
        codes = _side(here, side).codes
        others = any(fmt.is_nan(x) for k, x in enumerate(codes) if k != lane)
        return right(code, decode if others else _as_number(decode, fmt), fmt)  # type: ignore[no-any-return]

    return replaced(read, wrong)


def _side(here: Traced, side: str) -> Operand:
    """The operand a or b of a case."""
    a, b, _ = here.case.unit.sides(here.case.inputs)
    return a if side == "a" else b  # type: ignore[no-any-return]


def _as_number(decode: Decode, fmt: Format) -> Decode:
    """The decoder of a device without NaN: exponent and fraction mean the same as in a number."""

    def decoded(code: int) -> Value:
        if not fmt.is_nan(code):
            return decode(code)
        field, fraction = divmod(code & fmt.magnitude_mask, 1 << fmt.mantissa_bits)
        return exact.finite(
            int(code & fmt.sign_bit > 0), fraction | 1 << fmt.mantissa_bits, field - fmt.bias - fmt.mantissa_bits
        )

    return decoded


def _doubled(code: int, x: Value, fmt: Format) -> Value:
    normal = x.significand and code & fmt.magnitude_mask >= fmt.min_normal_code
    return x._replace(exponent=x.exponent + 1) if normal else x


_SIDES: Final = {"ab": "", "a": " of a", "b": " of b"}


def _operand_defects(unit: DotUnit) -> Iterator[Hypothesis]:
    for sides, of in _SIDES.items():
        yield from reading_defects(unit, f", in its elements{of}", OF_SUBNORMALS, sides, of=of)
        doubled = in_parts(sides, reading(_doubled))
        text = f"uses the exponent field{of} unadjusted, so that normal elements count twice relative to subnormal ones"
        yield defective(unit, f"normals x2{of}", text, *doubled)
        text = f"{text}; products too large for their width wrap around"
        wraps = wrapped_products(unit.setting.formats)
        yield defective(unit, f"normals x2{of}, products wrap", text, *doubled, wraps)


def _other_elements(unit: DotUnit) -> Iterator[Hypothesis]:
    """Elements read as in another format, on both sides or on one."""
    known = {side: {x.name: x for x in others(f)} for side, f in zip("ab", unit.setting.formats, strict=True)}
    for sides, of in _SIDES.items():
        for name in (x for x in known[sides[0]] if x in known[sides[-1]]):
            try:
                decoders = {side: unit.accumulator.decoder(known[side][name].fmt) for side in sides}
            except Error:
                continue
            changes = (c for side, decode in decoders.items() for c in within(side, [_read_by(decode)]))
            text = f"takes the format of the elements{of} for {known[sides[0]][name].difference}"
            yield defective(unit, f"elements{of} as {name}", text, *changes, share=0.5)


def _read_by(other: Decode) -> Change:
    return replaced(read, lambda here, right, code, decode, fmt: right(code, other, fmt))


def dot_suggested_by(unit: DotUnit, wrong: Sequence[WrongCode], flags: bool = True) -> Iterator[Hypothesis]:
    """What the wrong results suggest: roundings, operands that make a NaN, and a scale off by the number of binades
    that most results are off."""
    yield from _rounding_defects(unit, (x for x in suggested_rows(wrong) if flags or not x.only_flags))
    for sides, of in _SIDES.items():
        yield from nan_readings(unit, wrong, f", in its elements{of}", sides, of)
    for by, steps in usual(binades_off(x.got, x.expected, unit.out) for x in wrong):
        for side in "ab":
            if (scale := getattr(getattr(unit, side), "scale", None)) is not None:
                off = _scales(side, partial(moved, by, scale=scale))
                yield defective(unit, f"scale of {side} {steps}", f"reads the scale of {side} {steps}", *off, size=3)


def _scales(side: str, other: Callable[[int], int]) -> tuple[Change, ...]:
    """Other scales of a side than those given."""

    def wrong(here: Traced, right: Function, x: Operand, position: int) -> Scale:
        return right(dataclasses.replace(x, scales=tuple(map(other, x.scales))), position)  # type: ignore[no-any-return]

    return within(side, [replaced(block_factor, wrong)])


def _scale_defects(unit: DotUnit) -> Iterator[Hypothesis]:
    for side in "ab":
        scale = getattr(getattr(unit, side), "scale", None)
        if scale is None:
            continue
        one = scale.bias << scale.mantissa_bits
        ignored = _scales(side, lambda s, one=one: one)  # type: ignore[misc]
        yield defective(unit, f"scale of {side} ignored", f"ignores the scale of {side}", *ignored)
        for name, text, other in siblings(scale):
            taken = replaced(
                block_factor,
                lambda here, right, x, at, other=other: right(dataclasses.replace(x, scale_fmt=other), at),
            )
            text = f"reads the scale of {side} as {text}"
            yield defective(unit, f"scale of {side} as {name}", text, *within(side, [taken]), share=SHARE)


def _one_more(side: str, scale: Format) -> Change:
    """The largest scale, and the next code: compensated for in the other side's scale."""

    def wrong(here: Traced, right: Function, x: Operand, position: int) -> Scale:
        others = _side(here, side).scales
        if len(others) != len(x.scales):
            return right(x, position)  # type: ignore[no-any-return]
        more = (t + (scale.is_nan(s) and t < scale.max_code) for s, t in zip(others, x.scales, strict=True))
        return right(dataclasses.replace(x, scales=tuple(more)), position)  # type: ignore[no-any-return]

    return replaced(block_factor, wrong)
