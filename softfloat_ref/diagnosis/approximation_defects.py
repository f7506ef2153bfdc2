"""Defects of approximations: the table, the address, the polynomial, the ends, the sign, the rounding, the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Final

from softfloat_ref.diagnosis.answer_defects import wire_defects
from softfloat_ref.diagnosis.defects import defective, replaced, within
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis
from softfloat_ref.diagnosis.policy_space import ROUNDS
from softfloat_ref.diagnosis.roundings import with_policy
from softfloat_ref.diagnosis.stepped_defects import stepped_defects
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.approximation import Approximation, Part
from softfloat_ref.oracle.approximation_steps import (
    Coefficients,
    Segment,
    address,
    coefficients,
    cut_product,
    in_table,
    outside,
    segment,
    unpack,
)
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.policies import parse_rounding
from softfloat_ref.oracle.rounding_steps import answer
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import ApproximationUnit

_SWAPPED_SEGMENTS: Final = 24  # segments of a part, up to which any two may be swapped; of more, neighbours
_LOST_BITS: Final = 4  # bits of an address that may be lost
_SUSPECTED_SHARE: Final = 0.75  # of the mismatches, that lie in a segment whose row is suspected
_SUSPECTED_SEGMENTS: Final = 3


def approximation_defects(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    """Every listed defect that the approximation can have."""
    yield from _roundings(unit)
    yield from _polynomials(unit)
    yield from _addresses(unit)
    yield from _swapped(unit)
    yield from _ends(unit)
    yield from _signs(unit)
    yield from _answers(unit)
    yield from stepped_defects(unit)


def entries_suggested_by(unit: ApproximationUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
    """Wrong entries of the segments in which most mismatches lie."""
    wrong = [c.inputs[0] for c in cases if not c.agrees]
    counts = Counter(at for code in wrong if (at := _place(unit.approximation, code)) is not None)
    for at, count in counts.most_common(_SUSPECTED_SEGMENTS):
        if count >= _SUSPECTED_SHARE * len(wrong):
            yield from _entries(unit, *at)


def _place(a: Approximation, code: int) -> tuple[int, int] | None:
    """The part and the row of an operand; None outside the tables."""
    negative, magnitude = unpack(code, a.fmt)
    number = negative if len(a.parts) > 1 else 0
    part = a.parts[number]
    return (number, segment(magnitude, part, a).row) if in_table(magnitude, part) else None


def _in_part(a: Approximation, number: int) -> str:
    return f" of {('positive', 'negative')[number]} operands" if len(a.parts) > 1 else ""


# -- the table -----------------------------------------------------------------------------------------------------


def _entries(unit: ApproximationUnit, number: int, row: int) -> Iterator[Hypothesis]:
    """Each coefficient of a row with a bit inverted, or one off, or missing."""
    a = unit.approximation
    part, where = a.parts[number], f"of segment {row}{_in_part(a, number)}"
    for i, width in enumerate(a.widths):
        c = part.rows[row][i]
        values = {f"bit {b} inverted": _signed(c ^ 1 << b, width) for b in range(width)}
        for text, value in (values | {"one too large": c + 1, "one too small": c - 1, "zero": 0}).items():
            if value == c or not -1 << width <= 2 * value < 1 << width:
                continue
            sentence = f"has a wrong entry in its table: c{i} {where} {value}, not {c}"
            yield defective(unit, f"c{i} {where}: {text}", sentence, _entry(part, row, i, value))


def _entry(part: Part, row: int, i: int, value: int) -> Change:
    """Another coefficient in a row."""

    def wrong(here: Traced, right: Function, number: int, of: Part) -> Coefficients:
        own: Coefficients = right(number, of)
        if number != row or of is not part:
            return own
        return own._replace(values=(*own.values[:i], value, *own.values[i + 1 :]))

    return replaced(coefficients, wrong)


def _signed(x: int, width: int) -> int:
    x &= (1 << width) - 1
    return x - (x >> (width - 1) << width)


def _swapped(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    """Segments with one another's rows, and all with the row of their neighbour."""
    a = unit.approximation
    for number, part in enumerate(a.parts):
        count, where = len(part.rows), _in_part(a, number)
        pairs = combinations(range(count), 2) if count <= _SWAPPED_SEGMENTS else ((i, i + 1) for i in range(count - 1))
        for i, j in pairs:
            sentence = f"swaps the rows of segments {i} and {j}{where}"
            yield defective(unit, f"segments {i} and {j}{where} swapped", sentence, _rows(part, {i: j, j: i}))
        for by, text in ((1, "next"), (-1, "previous")):
            others = {i: min(max(i + by, 0), count - 1) for i in range(count)}
            sentence = f"takes the row of the {text} segment{where}"
            yield defective(unit, f"rows of the {text} segment{where}", sentence, _rows(part, others))


def _rows(part: Part, others: dict[int, int]) -> Change:
    """Other rows in place of some."""
    return replaced(coefficients, lambda here, right, row, of: right(others.get(row, row) if of is part else row, of))


# -- the address, the polynomial, the rounding -----------------------------------------------------------------------


def _addresses(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    for lost in range(1, min(_LOST_BITS, unit.approximation.shift) + 1):
        bits = f"last {lost} bits" if lost > 1 else "last bit"
        sentence = f"cuts the reduced operand: it loses the {bits} of the address"
        cut = replaced(address, lambda here, right, magnitude, a, n=lost: right(magnitude, a) >> n << n)
        yield defective(unit, f"{bits} of the address lost", sentence, cut)


def _polynomials(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    a = unit.approximation
    for i, cut in enumerate(a.cuts):
        if cut:
            nearest = _cut_product(i, lambda right, x, cut: right(x + (1 << cut >> 1), cut))
            sentence = f"rounds the product that c{i} is added to, to nearest"
            yield defective(unit, f"product below c{i} rounded", sentence, *nearest)
            zero = _cut_product(i, lambda right, x, cut: -right(-x, cut) if x < 0 else right(x, cut))
            sentence = f"cuts the product that c{i} is added to toward zero, not down"
            yield defective(unit, f"product below c{i} toward zero", sentence, *zero)
        for by in (-1, 1):
            if cut + by >= 0:
                other = _cut_product(i, lambda right, x, cut, by=by: right(x, cut + by))  # type: ignore[misc]
                sentence = f"cuts {cut + by} bits off the product that c{i} is added to, not {cut}"
                yield defective(unit, f"product below c{i} cut by {cut + by}", sentence, *other)
    for i, width in enumerate(a.widths):
        sentence = f"does not add c{i}" if i < a.degree else f"leaves out the term of degree {i}"
        yield defective(unit, f"c{i} missing", sentence, _coefficient(i, lambda c: 0))
        mask = (1 << width) - 1
        unsigned = _coefficient(i, lambda c, mask=mask: c & mask)  # type: ignore[misc]
        yield defective(unit, f"c{i} unsigned", f"takes the coefficients c{i} as unsigned", unsigned)


def _cut_product(i: int, other: Callable[[Function, int, int], int]) -> tuple[Change, ...]:
    """The product that a coefficient is added to, cut in another way: other(right, product, cut)."""
    return within(("coefficient", i), [replaced(cut_product, lambda here, right, x, cut: other(right, x, cut))])


def _coefficient(i: int, other: Callable[[int], int]) -> Change:
    """Another coefficient of a degree, in every row."""

    def wrong(here: Traced, right: Function, row: int, part: Part) -> Coefficients:
        own: Coefficients = right(row, part)
        values = (other(c) if k == i else c for k, c in enumerate(own.values))
        return own._replace(values=tuple(values))

    return replaced(coefficients, wrong)


def _roundings(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    for name, sentence in ROUNDS.items():
        if not parse_rounding(name).stochastic and name != unit.approximation.rounding:
            yield defective(unit, f"rounding = {name}", sentence, *with_policy(rounding=name))


# -- the ends, the sign, the answer ----------------------------------------------------------------------------------


def _ends(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    last = unit.approximation.fmt.inf_code

    def below(magnitude: int, part: Part) -> bool:
        return magnitude < part.first and bool(part.rows)

    def above(magnitude: int, part: Part) -> bool:
        return part.after <= magnitude <= last and bool(part.rows)

    sentence = "computes the first segment below the table, too"
    yield defective(unit, "first segment below the table", sentence, *_held(below, lambda part: 0))
    sentence = "does not saturate: it computes the last segment above the table"
    yield defective(unit, "no saturation: last segment", sentence, *_held(above, lambda part: len(part.rows) - 1))

    def zero(here: Traced, right: Function, magnitude: int, code: int, part: Part, a: Approximation) -> Value:
        return exact.zero(0) if above(magnitude, part) else right(magnitude, code, part, a)

    sentence = "does not saturate: it gives zero above the table"
    yield defective(unit, "no saturation: zero", sentence, replaced(outside, zero))


def _held(beyond: Callable[[int, Part], bool], row: Callable[[Part], int]) -> tuple[Change, ...]:
    """A row of the table beyond one of its ends."""

    def held(here: Traced, right: Function, magnitude: int, part: Part, a: Approximation) -> Segment:
        own: Segment = right(magnitude, part, a)
        return own._replace(row=row(part)) if beyond(magnitude, part) else own

    inside = replaced(in_table, lambda here, right, magnitude, part: beyond(magnitude, part) or right(magnitude, part))
    return inside, replaced(segment, held)


def _signs(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    a = unit.approximation
    if not a.fmt.sign_bit:
        return
    if a.symmetry != "odd":  # of those, that is the sign of the result
        unsigned = replaced(unpack, lambda here, right, code, fmt: (0, right(code, fmt)[1]))
        yield defective(unit, "operand's sign lost", "ignores the sign of the operand", unsigned)
    if a.out.sign_bit:
        out, nan = a.out.sign_bit, a.nan_code
        lost = _after(lambda c: c if c == nan else c & ~out)
        yield defective(unit, "result's sign lost", "loses the sign of the result", lost)
        flipped = _after(lambda c: c if c == nan else c ^ out)
        yield defective(unit, "result's sign inverted", "gives every result the other sign", flipped)


def _after(change: Callable[[int], int]) -> Change:
    """Another code of the result."""
    return replaced(answer, lambda here, right, codes: right((change(codes[0]),)))


def _answers(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    a = unit.approximation
    out = a.out

    def beside(by: int, inside: bool) -> Change:
        def wrong(here: Traced, right: Function, codes: tuple[int]) -> tuple[int]:
            code = codes[0]
            beyond = out.is_nan(code) or (inside and _place(a, here.case.inputs[0]) is None)
            size = code & out.magnitude_mask
            return right((code + by if not beyond and 0 <= size + by <= out.max_code else code,))  # type: ignore[no-any-return]

        return replaced(answer, wrong)

    for by, text in ((1, "large"), (-1, "small")):
        sentence = f"gives results one ulp too {text} in magnitude"
        yield defective(unit, f"one ulp too {text}", sentence, beside(by, False))
        yield defective(unit, f"one ulp too {text} in the table", f"{sentence}, in the table", beside(by, True))
    yield from wire_defects(unit)
