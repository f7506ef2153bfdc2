"""Defects of approximations: the table, the address, the polynomial, the ends, the sign, the rounding, the answer."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from softfloat_ref.diagnosis.answer_defects import wire_defects
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Model, as_model, expected_model, with_change
from softfloat_ref.diagnosis.policy_space import ROUNDS
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.approximation import Approximation, Part, horner
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.policies import parse_rounding
from softfloat_ref.units import ApproximationUnit

_SWAPPED_SEGMENTS: Final = 24  # segments of a part, up to which any two may be swapped; of more, neighbours
_LOST_BITS: Final = 4  # bits of an address that may be lost
_SUSPECTED_SHARE: Final = 0.75  # of the mismatches, that lie in a segment whose row is suspected
_SUSPECTED_SEGMENTS: Final = 3


def approximation_defects(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    """Every listed defect that the approximation can have."""
    a = unit.approximation
    yield from _roundings(a)
    yield from _polynomials(a)
    yield from _addresses(a)
    yield from _swapped(a)
    yield from _ends(a)
    yield from _signs(a)
    yield from _answers(unit)


def entries_suggested_by(a: Approximation, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
    """Wrong entries of the segments in which most mismatches lie."""
    wrong = [c.inputs[0] for c in cases if not c.agrees]
    counts = Counter(place for code in wrong if (place := _place(a, code)) is not None)
    for place, count in counts.most_common(_SUSPECTED_SEGMENTS):
        if count >= _SUSPECTED_SHARE * len(wrong):
            yield from _entries(a, *place)


def _model(a: Approximation) -> Model:
    return expected_model(ApproximationUnit(a))


def _place(a: Approximation, code: int) -> tuple[int, int] | None:
    """The part and the row of an operand; None outside the tables."""
    number = int(code & a.fmt.sign_bit != 0) if len(a.parts) > 1 else 0
    magnitude, part = code & a.fmt.magnitude_mask, a.parts[number]
    return (number, a.row(magnitude) - a.row(part.first)) if part.first <= magnitude < part.after else None


def _with_part(a: Approximation, number: int, part: Part) -> Approximation:
    return dataclasses.replace(a, negative=part) if number else dataclasses.replace(a, positive=part)


def _in_part(a: Approximation, number: int) -> str:
    return f" of {('positive', 'negative')[number]} operands" if len(a.parts) > 1 else ""


# -- the table -----------------------------------------------------------------------------------------------------


def _entries(a: Approximation, number: int, row: int) -> Iterator[Hypothesis]:
    """Each coefficient of a row with a bit inverted, or one off, or missing."""
    part = a.parts[number]
    for i, width in enumerate(a.widths):
        c = part.rows[row][i]
        values = {f"bit {b} inverted": _signed(c ^ 1 << b, width) for b in range(width)}
        for text, value in (values | {"one too large": c + 1, "one too small": c - 1, "zero": 0}).items():
            if value == c or not -1 << width <= 2 * value < 1 << width:
                continue
            rows = list(part.rows)
            rows[row] = (*rows[row][:i], value, *rows[row][i + 1 :])
            other = _with_part(a, number, dataclasses.replace(part, rows=tuple(rows)))
            where = f"c{i} of segment {row}{_in_part(a, number)}"
            yield Hypothesis(
                f"{where}: {text}", f"has a wrong entry in its table: {where} {value}, not {c}", _model(other)
            )


def _signed(x: int, width: int) -> int:
    x &= (1 << width) - 1
    return x - (x >> (width - 1) << width)


def _swapped(a: Approximation) -> Iterator[Hypothesis]:
    """Segments with one another's rows, and all with the row of their neighbour."""
    for number, part in enumerate(a.parts):
        count, where = len(part.rows), _in_part(a, number)
        pairs = combinations(range(count), 2) if count <= _SWAPPED_SEGMENTS else ((i, i + 1) for i in range(count - 1))
        for i, j in pairs:
            order = list(range(count))
            order[i], order[j] = j, i
            sentence = f"swaps the rows of segments {i} and {j}{where}"
            yield Hypothesis(f"segments {i} and {j}{where} swapped", sentence, _model(_ordered(a, number, order)))
        for step, text in ((1, "next"), (-1, "previous")):
            order = [min(max(i + step, 0), count - 1) for i in range(count)]
            sentence = f"takes the row of the {text} segment{where}"
            yield Hypothesis(f"rows of the {text} segment{where}", sentence, _model(_ordered(a, number, order)))


def _ordered(a: Approximation, number: int, order: Sequence[int]) -> Approximation:
    part = a.parts[number]
    exponents = tuple(part.exponents[i] for i in order) if len(part.exponents) > 1 else part.exponents
    rows = tuple(part.rows[i] for i in order)
    return _with_part(a, number, dataclasses.replace(part, rows=rows, exponents=exponents))


# -- the address, the polynomial, the rounding -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Wrong(Approximation):
    """lost: last bits of the address that are lost. evaluate: in place of the polynomial, from a row and the distance.
    end: below the table, its first row holds (first row); or above it, its last row, or nothing but zero."""

    lost: int = 0
    evaluate: Callable[[Sequence[int], int], int] | None = None
    end: str = ""

    def steps(self, magnitude: int) -> int:
        return super().steps(magnitude) >> self.lost << self.lost

    def polynomial(self, row: Sequence[int], d: int) -> int:
        return super().polynomial(row, d) if self.evaluate is None else self.evaluate(row, d)

    def of_part(self, part: Part, magnitude: int, code: int) -> Value:
        if self.end == "first row" and magnitude < part.first and part.rows:
            return self.of_row(part, 0, self.distance(magnitude))
        if self.end in ("last row", "zero") and part.after <= magnitude <= self.fmt.inf_code and part.rows:
            last = len(part.rows) - 1
            return exact.zero(0) if self.end == "zero" else self.of_row(part, last, self.distance(magnitude))
        return super().of_part(part, magnitude, code)


def _wrong(a: Approximation, **fields: Any) -> Model:
    known = {f.name: getattr(a, f.name) for f in dataclasses.fields(Approximation)}
    other = _Wrong(**known, **fields)
    return as_model(lambda inputs: (other.answer(inputs[0]),))


def _addresses(a: Approximation) -> Iterator[Hypothesis]:
    for lost in range(1, min(_LOST_BITS, a.shift) + 1):
        bits = f"last {lost} bits" if lost > 1 else "last bit"
        text = f"cuts the reduced operand: it loses the {bits} of the address"
        yield Hypothesis(f"{bits} of the address lost", text, _wrong(a, lost=lost))


def _polynomials(a: Approximation) -> Iterator[Hypothesis]:
    for i, cut in enumerate(a.cuts):
        if cut:
            text = f"rounds the product that c{i} is added to, to nearest"
            yield Hypothesis(f"product below c{i} rounded", text, _wrong(a, evaluate=_cutting(a, i, _nearest)))
            text = f"cuts the product that c{i} is added to toward zero, not down"
            yield Hypothesis(f"product below c{i} toward zero", text, _wrong(a, evaluate=_cutting(a, i, _toward_zero)))
        for step in (-1, 1):
            if cut + step >= 0:
                cuts = (*a.cuts[:i], cut + step, *a.cuts[i + 1 :])
                text = f"cuts {cut + step} bits off the product that c{i} is added to, not {cut}"
                other = dataclasses.replace(a, cuts=cuts)
                yield Hypothesis(f"product below c{i} cut by {cut + step}", text, _model(other))
    for i, width in enumerate(a.widths):
        text = f"does not add c{i}" if i < a.degree else f"leaves out the term of degree {i}"
        yield Hypothesis(f"c{i} missing", text, _wrong(a, evaluate=_with_coefficient(a, i, lambda c: 0)))
        unsigned = _with_coefficient(a, i, lambda c, width=width: c & (1 << width) - 1)  # type: ignore[misc]
        text = f"takes the coefficients c{i} as unsigned"
        yield Hypothesis(f"c{i} unsigned", text, _wrong(a, evaluate=unsigned))


def _with_coefficient(a: Approximation, place: int, other: Callable[[int], int]) -> Callable[[Sequence[int], int], int]:
    """The polynomial with another coefficient."""
    return lambda row, d: horner([other(c) if i == place else c for i, c in enumerate(row)], d, a.cuts)


def _cutting(a: Approximation, place: int, cut_by: Callable[[int, int], int]) -> Callable[[Sequence[int], int], int]:
    """The polynomial with another cut of the product that a coefficient is added to."""

    def evaluate(row: Sequence[int], d: int) -> int:
        total = row[-1]
        for i in range(a.degree - 1, -1, -1):
            product = total * d
            total = row[i] + (cut_by(product, a.cuts[i]) if i == place else product >> a.cuts[i])
        return total

    return evaluate


def _nearest(product: int, cut: int) -> int:
    """To nearest, ties up."""
    return product + (1 << cut >> 1) >> cut


def _toward_zero(product: int, cut: int) -> int:
    return -(-product >> cut) if product < 0 else product >> cut


def _roundings(a: Approximation) -> Iterator[Hypothesis]:
    for name, text in ROUNDS.items():
        if not parse_rounding(name).stochastic and name != a.rounding:
            yield Hypothesis(f"rounding = {name}", text, _model(dataclasses.replace(a, rounding=name)))


# -- the ends, the sign, the answer ----------------------------------------------------------------------------------


def _ends(a: Approximation) -> Iterator[Hypothesis]:
    text = "computes the first segment below the table, too"
    yield Hypothesis("first segment below the table", text, _wrong(a, end="first row"))
    text = "does not saturate: it computes the last segment above the table"
    yield Hypothesis("no saturation: last segment", text, _wrong(a, end="last row"))
    text = "does not saturate: it gives zero above the table"
    yield Hypothesis("no saturation: zero", text, _wrong(a, end="zero"))


def _signs(a: Approximation) -> Iterator[Hypothesis]:
    bit, plain, sign, nan = a.fmt.sign_bit, _model(a), a.out.sign_bit, a.nan_code
    if bit and a.symmetry != "odd":  # of those, that is the sign of the result
        yield Hypothesis("operand's sign lost", "ignores the sign of the operand", lambda i: plain((i[0] & ~bit,)))
    for name, text, change in (
        ("lost", "loses the sign of the result", lambda c: c & ~sign),
        ("inverted", "gives every result the other sign", lambda c: c ^ sign),
    ):
        changed = with_change(plain, lambda _, x, change=change: (x[0] if x[0] == nan else change(x[0]),))  # type: ignore[misc]
        if bit and sign:
            yield Hypothesis(f"result's sign {name}", text, changed)


def _answers(unit: ApproximationUnit) -> Iterator[Hypothesis]:
    a, plain = unit.approximation, expected_model(unit)
    out = a.out

    def stepped(step: int, inside: bool) -> Model:
        def run(inputs: Sequence[int]) -> tuple[int]:
            code = a.answer(inputs[0])
            beyond = out.is_nan(code) or (inside and _place(a, inputs[0]) is None)
            size = code & out.magnitude_mask
            return (code + step if not beyond and 0 <= size + step <= out.max_code else code,)

        return as_model(run)

    for step, text in ((1, "large"), (-1, "small")):
        sentence = f"gives results one ulp too {text} in magnitude"
        yield Hypothesis(f"one ulp too {text}", sentence, stepped(step, False))
        yield Hypothesis(f"one ulp too {text} in the table", f"{sentence}, in the table", stepped(step, True))
    yield from wire_defects(unit, plain)
