"""Defects of approximations: the table, the address, the polynomial, the ends, the sign, the rounding, the answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Final

from softfloat_ref.diagnosis.answer_defects import wire_defects
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Model, as_model, expected_model, with_change
from softfloat_ref.diagnosis.policy_space import ROUNDS
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.approximation import Approximation, Part, horner
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.policies import parse_rounding
from softfloat_ref.units import ApproximationUnit

_SWAPPED_SEGMENTS: Final = 24  # segments of a part, up to which any two may be swapped; of more, neighbours
_LOST_BITS: Final = 4  # bits of an address that may be lost
_SUSPECTED_SHARE: Final = 0.75  # of the mismatches, that lie in a segment whose row is suspected
_SUSPECTED_SEGMENTS: Final = 3


class ApproximationSpace(Space[ApproximationUnit]):
    """The unit itself, and its defects."""

    kind: ClassVar[str] = "unit"

    def defects_of(self, unit: Any) -> Iterator[Hypothesis]:
        a: Approximation = unit.approximation
        yield from _roundings(a)
        yield from _polynomials(a)
        yield from _addresses(a)
        yield from _swapped(a)
        yield from _ends(a)
        yield from _signs(a)
        yield from _answers(unit)

    def suggested(self, point: ApproximationUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        """Wrong entries of the segments in which most mismatches lie."""
        a = point.approximation
        counts: dict[tuple[int, int], int] = {}
        wrong = [c.inputs[0] for c in cases if not c.agrees]
        for code in wrong:
            place = _place(a, code)
            if place is not None:
                counts[place] = counts.get(place, 0) + 1
        for place in sorted(counts, key=lambda p: -counts[p])[:_SUSPECTED_SEGMENTS]:
            if counts[place] >= _SUSPECTED_SHARE * len(wrong):
                yield from _entries(a, *place)

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        return wire_defects(self.unit.approximation.out.width, lambda change: _after(under, change))


def _model(a: Approximation) -> Model:
    return expected_model(ApproximationUnit(a))


def _after(model: Model, change: Callable[[int], int]) -> Model:
    return with_change(model, lambda _, codes: (change(codes[0]), *codes[1:]))


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
class _Coarse(Approximation):
    """Some of the last bits of the address are lost."""

    lost: int = 0

    def steps(self, magnitude: int) -> int:
        return super().steps(magnitude) >> self.lost << self.lost


@dataclass(frozen=True)
class _Rounded(Approximation):
    """The product that a coefficient is added to is rounded to nearest, ties up, or cut toward zero, not down."""

    place: int = 0
    toward_zero: bool = False

    def polynomial(self, row: Sequence[int], d: int) -> int:
        total = row[-1]
        for i in range(self.degree - 1, -1, -1):
            product, cut = total * d, self.cuts[i]
            if i != self.place:
                product >>= cut
            elif self.toward_zero:
                product = -(-product >> cut) if product < 0 else product >> cut
            else:
                product = product + (1 << cut >> 1) >> cut
            total = product + row[i]
        return total


@dataclass(frozen=True)
class _Unsigned(Approximation):
    """A coefficient is taken as unsigned."""

    place: int = 0

    def polynomial(self, row: Sequence[int], d: int) -> int:
        taken = [c & ((1 << self.widths[i]) - 1) if i == self.place else c for i, c in enumerate(row)]
        return horner(taken, d, self.cuts)


@dataclass(frozen=True)
class _Missing(Approximation):
    """A term is missing."""

    place: int = 0

    def polynomial(self, row: Sequence[int], d: int) -> int:
        return horner([0 if i == self.place else c for i, c in enumerate(row)], d, self.cuts)


def _changed(kind: type[Approximation], a: Approximation, **more: Any) -> Model:
    fields = {f.name: getattr(a, f.name) for f in dataclasses.fields(Approximation)}
    other = kind(**fields, **more)
    return as_model(lambda inputs: (other.answer(inputs[0]),))


def _addresses(a: Approximation) -> Iterator[Hypothesis]:
    for lost in range(1, min(_LOST_BITS, a.shift) + 1):
        bits = f"last {lost} bits" if lost > 1 else "last bit"
        text = f"cuts the reduced operand: it loses the {bits} of the address"
        yield Hypothesis(f"{bits} of the address lost", text, _changed(_Coarse, a, lost=lost))


def _polynomials(a: Approximation) -> Iterator[Hypothesis]:
    for i, cut in enumerate(a.cuts):
        if cut:
            text = f"rounds the product that c{i} is added to, to nearest"
            yield Hypothesis(f"product below c{i} rounded", text, _changed(_Rounded, a, place=i))
            text = f"cuts the product that c{i} is added to toward zero, not down"
            yield Hypothesis(f"product below c{i} toward zero", text, _changed(_Rounded, a, place=i, toward_zero=True))
        for step in (-1, 1):
            if cut + step >= 0:
                cuts = (*a.cuts[:i], cut + step, *a.cuts[i + 1 :])
                text = f"cuts {cut + step} bits off the product that c{i} is added to, not {cut}"
                other = dataclasses.replace(a, cuts=cuts)
                yield Hypothesis(f"product below c{i} cut by {cut + step}", text, _model(other))
    for i in range(a.degree + 1):
        text = f"does not add c{i}" if i < a.degree else f"leaves out the term of degree {i}"
        yield Hypothesis(f"c{i} missing", text, _changed(_Missing, a, place=i))
        yield Hypothesis(f"c{i} unsigned", f"takes the coefficients c{i} as unsigned", _changed(_Unsigned, a, place=i))


def _roundings(a: Approximation) -> Iterator[Hypothesis]:
    for name, text in ROUNDS.items():
        if not parse_rounding(name).stochastic and name != a.rounding:
            yield Hypothesis(f"rounding = {name}", text, _model(dataclasses.replace(a, rounding=name)))


# -- the ends, the sign, the answer ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Endless(Approximation):
    """Below the table, its first row holds; or above it, its last row, or nothing but zero."""

    end: str = "small"

    def of_part(self, part: Part, magnitude: int, code: int) -> Value:
        if self.end == "small" and magnitude < part.first and part.rows:
            return self.of_row(part, 0, self.distance(magnitude))
        if self.end != "small" and part.after <= magnitude <= self.fmt.inf_code and part.rows:
            if self.end == "last row":
                return self.of_row(part, len(part.rows) - 1, self.distance(magnitude))
            return exact.zero(0)
        return super().of_part(part, magnitude, code)


def _ends(a: Approximation) -> Iterator[Hypothesis]:
    text = "computes the first segment below the table, too"
    yield Hypothesis("first segment below the table", text, _changed(_Endless, a, end="small"))
    text = "does not saturate: it computes the last segment above the table"
    yield Hypothesis("no saturation: last segment", text, _changed(_Endless, a, end="last row"))
    text = "does not saturate: it gives zero above the table"
    yield Hypothesis("no saturation: zero", text, _changed(_Endless, a, end="zero"))


def _signs(a: Approximation) -> Iterator[Hypothesis]:
    bit = a.fmt.sign_bit
    plain = _model(a)
    if not bit:
        return
    if a.symmetry != "odd":  # of those, that is the sign of the result
        yield Hypothesis("operand's sign lost", "ignores the sign of the operand", lambda i: plain((i[0] & ~bit,)))
    if a.out.sign_bit:
        out, nan = a.out.sign_bit, a.nan_code
        unsigned = _after(plain, lambda c: c if c == nan else c & ~out)
        yield Hypothesis("result's sign lost", "loses the sign of the result", unsigned)
        flipped = _after(plain, lambda c: c if c == nan else c ^ out)
        yield Hypothesis("result's sign inverted", "gives every result the other sign", flipped)


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
    yield from wire_defects(out.width, lambda change: _after(plain, change))
