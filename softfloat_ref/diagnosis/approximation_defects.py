"""Defects of approximations: the table, the address, the polynomial, the ends, the sign, the rounding, the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import ClassVar, Final

from softfloat_ref.diagnosis.answer_defects import wire_defects
from softfloat_ref.diagnosis.defects import Faulty, defective, replaced, within
from softfloat_ref.diagnosis.hypotheses import Case, Hypothesis, Model, changed
from softfloat_ref.diagnosis.policy_space import ROUNDS
from softfloat_ref.diagnosis.rounding_defects import with_policy
from softfloat_ref.diagnosis.spaces import Space
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

_PAIRS: Final = 24  # segments of a part, up to which any two may be swapped; of more, neighbours
_CUT: Final = 4  # bits of an address that may be lost
_SHARE: Final = 0.75  # of the mismatches, that lie in a segment whose row is suspected
_SUSPECTED: Final = 3


class ApproximationSpace(Space[ApproximationUnit]):
    """The unit itself, and its defects."""

    kind: ClassVar[str] = "unit"

    def defects_of(self, made: ApproximationUnit) -> Iterator[Hypothesis]:
        yield from _roundings(made)
        yield from _polynomials(made)
        yield from _addresses(made)
        yield from _swapped(made)
        yield from _ends(made)
        yield from _signs(made)
        yield from _answers(made)
        yield from stepped_defects(made)

    def model_of(self, made: ApproximationUnit) -> Model:
        return Faulty(made)

    def suggested(self, point: ApproximationUnit, cases: Sequence[Case]) -> Iterator[Hypothesis]:
        """Wrong entries of the segments in which most mismatches lie."""
        counts: dict[tuple[int, int], int] = {}
        wrong = [c.inputs[0] for c in cases if not c.agrees]
        for code in wrong:
            place = _place(point.approximation, code)
            if place is not None:
                counts[place] = counts.get(place, 0) + 1
        for place in sorted(counts, key=lambda p: -counts[p])[:_SUSPECTED]:
            if counts[place] >= _SHARE * len(wrong):
                yield from _entries(point, *place)

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        def after(change: Callable[[int], int]) -> Model:
            return changed(under, lambda _, codes: (change(codes[0]), *codes[1:]))

        return wire_defects(self.unit.approximation.out.width, after)


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
            says = f"has a wrong entry in its table: c{i} {where} {value}, not {c}"
            yield defective(unit, f"c{i} {where}: {text}", says, _entry(part, row, i, value))


def _entry(part: Part, row: int, i: int, value: int) -> Change:
    """Another coefficient in a row."""

    def wrong(here: Traced, right: Function, number: int, of: Part) -> Coefficients:
        found: Coefficients = right(number, of)
        if number != row or of is not part:
            return found
        return found._replace(values=(*found.values[:i], value, *found.values[i + 1 :]))

    return replaced(coefficients, wrong)


def _signed(x: int, width: int) -> int:
    x &= (1 << width) - 1
    return x - (x >> (width - 1) << width)


def _swapped(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    """Segments with one another's rows, and all with the row of their neighbour."""
    a = unit.approximation
    for number, part in enumerate(a.parts):
        count, where = len(part.rows), _in_part(a, number)
        pairs = combinations(range(count), 2) if count <= _PAIRS else ((i, i + 1) for i in range(count - 1))
        for i, j in pairs:
            says = f"swaps the rows of segments {i} and {j}{where}"
            yield defective(unit, f"segments {i} and {j}{where} swapped", says, _rows(part, {i: j, j: i}))
        for by, text in ((1, "next"), (-1, "previous")):
            others = {i: min(max(i + by, 0), count - 1) for i in range(count)}
            says = f"takes the row of the {text} segment{where}"
            yield defective(unit, f"rows of the {text} segment{where}", says, _rows(part, others))


def _rows(part: Part, others: dict[int, int]) -> Change:
    """Other rows in place of some."""
    return replaced(coefficients, lambda here, right, row, of: right(others.get(row, row) if of is part else row, of))


# -- the address, the polynomial, the rounding -----------------------------------------------------------------------


def _addresses(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    for lost in range(1, min(_CUT, unit.approximation.shift) + 1):
        bits = f"last {lost} bits" if lost > 1 else "last bit"
        says = f"cuts the reduced operand: it loses the {bits} of the address"
        cut = replaced(address, lambda here, right, magnitude, a, n=lost: right(magnitude, a) >> n << n)
        yield defective(unit, f"{bits} of the address lost", says, cut)


def _polynomials(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    a = unit.approximation
    for i, cut in enumerate(a.cuts):
        if cut:
            nearest = _cut_product(i, lambda right, x, cut: right(x + (1 << cut >> 1), cut))
            says = f"rounds the product that c{i} is added to, to nearest"
            yield defective(unit, f"product below c{i} rounded", says, *nearest)
            zero = _cut_product(i, lambda right, x, cut: -right(-x, cut) if x < 0 else right(x, cut))
            says = f"cuts the product that c{i} is added to toward zero, not down"
            yield defective(unit, f"product below c{i} toward zero", says, *zero)
        for by in (-1, 1):
            if cut + by >= 0:
                other = _cut_product(i, lambda right, x, cut, by=by: right(x, cut + by))  # type: ignore[misc]
                says = f"cuts {cut + by} bits off the product that c{i} is added to, not {cut}"
                yield defective(unit, f"product below c{i} cut by {cut + by}", says, *other)
    for i, width in enumerate(a.widths):
        says = f"does not add c{i}" if i < a.degree else f"leaves out the term of degree {i}"
        yield defective(unit, f"c{i} missing", says, _coefficient(i, lambda c: 0))
        mask = (1 << width) - 1
        unsigned = _coefficient(i, lambda c, mask=mask: c & mask)  # type: ignore[misc]
        yield defective(unit, f"c{i} unsigned", f"takes the coefficients c{i} as unsigned", unsigned)


def _cut_product(i: int, other: Callable[[Function, int, int], int]) -> tuple[Change, ...]:
    """The product that a coefficient is added to, cut in another way: other(right, product, cut)."""
    return within(("coefficient", i), [replaced(cut_product, lambda here, right, x, cut: other(right, x, cut))])


def _coefficient(i: int, other: Callable[[int], int]) -> Change:
    """Another coefficient of a degree, in every row."""

    def wrong(here: Traced, right: Function, row: int, part: Part) -> Coefficients:
        found: Coefficients = right(row, part)
        values = (other(c) if k == i else c for k, c in enumerate(found.values))
        return found._replace(values=tuple(values))

    return replaced(coefficients, wrong)


def _roundings(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    for name, says in ROUNDS.items():
        if not parse_rounding(name).stochastic and name != unit.approximation.rounding:
            yield defective(unit, f"rounding = {name}", says, *with_policy(rounding=name))


# -- the ends, the sign, the answer ----------------------------------------------------------------------------------


def _ends(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    last = unit.approximation.fmt.inf_code

    def below(magnitude: int, part: Part) -> bool:
        return magnitude < part.first and bool(part.rows)

    def above(magnitude: int, part: Part) -> bool:
        return part.after <= magnitude <= last and bool(part.rows)

    says = "computes the first segment below the table, too"
    yield defective(unit, "first segment below the table", says, *_held(below, lambda part: 0))
    says = "does not saturate: it computes the last segment above the table"
    yield defective(unit, "no saturation: last segment", says, *_held(above, lambda part: len(part.rows) - 1))

    def zero(here: Traced, right: Function, magnitude: int, code: int, part: Part, a: Approximation) -> Value:
        return exact.zero(0) if above(magnitude, part) else right(magnitude, code, part, a)

    says = "does not saturate: it gives zero above the table"
    yield defective(unit, "no saturation: zero", says, replaced(outside, zero))


def _held(beyond: Callable[[int, Part], bool], row: Callable[[Part], int]) -> tuple[Change, ...]:
    """A row of the table beyond one of its ends."""

    def held(here: Traced, right: Function, magnitude: int, part: Part, a: Approximation) -> Segment:
        found: Segment = right(magnitude, part, a)
        return found._replace(row=row(part)) if beyond(magnitude, part) else found

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
        says = f"gives results one ulp too {text} in magnitude"
        yield defective(unit, f"one ulp too {text}", says, beside(by, False))
        yield defective(unit, f"one ulp too {text} in the table", f"{says}, in the table", beside(by, True))
    yield from wire_defects(out.width, lambda change: Faulty(unit, (_after(change),)))
