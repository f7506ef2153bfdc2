"""Models of the operands: their classes, and the shapes of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cmp_to_key
from typing import Final

from softfloat_ref.base.search import find_first
from softfloat_ref.coverage.classes import class_of, complete, members
from softfloat_ref.coverage.engine.framework import Bins, Cell, Line, cross
from softfloat_ref.coverage.vector.setting import VectorEvents, VectorModel, VectorSetting, is_float
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import INF, Value

_ENDS: Final = {0: "first", -1: "last"}
_SIGNS: Final = ("zero", "pos", "neg")
_MOST_EXPONENTS: Final = 40  # bins of exponents, at most


class VectorOperands(VectorModel):
    """VO: every class of each operand, in its first and its last lane."""

    id = "VO"
    title = "classes of each operand, in its first and its last lane"

    def bins(self, where: VectorSetting) -> Bins:
        counts = {f.name: f.lanes for f in where.operands}
        return {
            (name, lane, kind): f"{name}.{_ENDS[lane]}.{kind}"
            for name, fmt in where.formats.items()
            for lane in ((0, -1) if counts[name] > 1 else (0,))
            for kind in members(fmt)
        } | {("visible", n): f"visible.{n}" for n in self._visible(where)}

    @staticmethod
    def _visible(where: VectorSetting) -> list[int]:
        n = where.length
        return sorted({0, 1, n // 2, n - 1, n}) if where.unit.masked else []

    def hits(self, e: VectorEvents) -> Iterable[Cell]:
        for name, fmt in e.where.formats.items():
            for lane in _ENDS:
                yield name, lane, class_of(fmt, e.codes[name][lane])
        if e.where.unit.masked:
            yield "visible", e.codes["visible"][0]

    def cases(self, where: VectorSetting, cell: Cell) -> Iterator[Line]:
        if cell[0] == "visible":
            for turn in range(where.tries):
                yield where.line(turn, visible=[cell[1]])
            return
        name, lane, kind = cell
        lanes = find_first(f.lanes for f in where.operands if f.name == name)
        for turn, code in enumerate(members(where.formats[name])[kind]):
            codes = [where.plain(name, i, turn) for i in range(lanes)]
            codes[lane] = code
            yield where.line(turn, **{name: codes})


def exponents(where: VectorSetting) -> list[int]:
    """Exponents of distances, and of ratios: those of the format's numbers, of wide formats some."""
    fmt = where.fmt
    low, high = fmt.emin - fmt.mantissa_bits, fmt.emax + 1
    step = max(1, (high - low) // _MOST_EXPONENTS)
    return sorted({*range(low, high, step), high - 1, high})


def ordered(numbers: Iterable[Value]) -> list[Value]:
    """Numbers by value, the largest first."""
    return sorted(numbers, key=cmp_to_key(exact.compare), reverse=True)


class ExponentShapes(VectorModel):
    """VX: the exponents of a softmax: equal ones, ties of the largest, masks, spreads."""

    id = "VX"
    title = "lanes: equal ones, how many are the largest, how many are -Inf, the exponent of their spread"

    def applies(self, where: VectorSetting) -> bool:
        return not where.row.epsilon and where.length > 1

    def bins(self, where: VectorSetting) -> Bins:
        n = where.length
        masks = sorted({1, n // 2, n - 1, n} if where.fmt.infinity and where.fmt.signed else set())
        return (
            cross("{kind}.{sign}", kind=["equal"], sign=_SIGNS if where.fmt.signed else _SIGNS[:2])
            | cross("{kind}.{k}", kind=["largest"], k=sorted({1, 2, 3, 4, n // 2, n - 1} & {*range(1, n)}))
            | cross("{kind}.{k}", kind=["minus-inf"], k=masks)
            | cross("{kind}.{e}", kind=["spread"], e=exponents(where))
            | {("neighbours",): "neighbours"}
            | ({("plus-inf",): "plus-inf"} if where.fmt.infinity else {})
        )

    def hits(self, e: VectorEvents) -> Iterable[Cell]:
        numbers = e.numbers or []
        finite = ordered(x for x in numbers if x.kind != INF)
        if any(x.kind == INF and not x.sign for x in numbers):
            yield ("plus-inf",)
        elif len(finite) < len(numbers):
            yield "minus-inf", len(numbers) - len(finite)
        if len(finite) < 2:
            return
        largest = sum(not exact.compare(x, finite[0]) for x in finite)
        spread = exact.add(finite[0], exact.negate(finite[-1]))
        if not spread.significand:
            yield "equal", _sign(finite[0])
            return
        yield "largest", largest
        yield "spread", exact.top(spread)
        if largest == 1 and _neighbours(e.where, finite[:2]):
            yield ("neighbours",)

    def cases(self, where: VectorSetting, cell: Cell) -> Iterator[Line]:
        for turn in range(where.tries):
            lanes = self._lanes(where, cell, turn)
            if lanes is not None:
                yield where.with_main(turn, lanes)

    def _lanes(self, where: VectorSetting, cell: Cell, turn: int) -> Sequence[int] | None:
        n, fmt = where.length, where.fmt
        mixed = [where.plain(where.main, i, turn) for i in range(n)]
        match cell:
            case "equal", sign:
                code = 0 if sign == "zero" else fmt.max_code >> 1 + turn % 4
                return [complete(fmt, int(sign == "neg"), code)] * n
            case "largest", k:
                top = where.ranks[1] >> turn % 4
                low = [where.ranked(top - 1 - (i * 7 + turn) % max(1, top // 2)) for i in range(n - k)]
                return _rotated([where.ranked(top)] * k + low, turn)
            case "minus-inf", k:
                return _rotated([fmt.inf_code | fmt.sign_bit] * k + mixed[k:], turn)
            case "plus-inf", *_:
                return _rotated([fmt.inf_code, *mixed[1:]], turn)
            case "neighbours", *_:
                top = where.ranks[1] // 2 + turn
                return _rotated([where.ranked(top), *[where.ranked(top - 1)] * (n - 1)], turn)
            case _, e:
                return self._spread(where, e, turn)
        return None

    def _spread(self, where: VectorSetting, e: int, turn: int) -> Sequence[int]:
        """Two ends that are about 2^e apart, and lanes at one of them."""
        far = where.number(exact.finite(1, 3 if turn & 1 else 2, e - 1))
        near = where.number(exact.zero(0))
        if not where.fmt.signed:
            far, near = near, far
        if e > where.fmt.emax:
            near = where.number(exact.finite(0, 1, where.fmt.emax))
            far = complete(where.fmt, int(where.fmt.signed), where.fmt.max_code)
        return _rotated([near, far, *[far if turn & 2 else near] * (where.length - 2)], turn)


class NumberShapes(VectorModel):
    """VN: numbers to be normalized: equal ones, zeros, one that is not, spreads, a mean square below epsilon."""

    id = "VN"
    title = "lanes: zeros, equal ones, one that is not zero, ratios of magnitudes, mean square against epsilon"

    def applies(self, where: VectorSetting) -> bool:
        return where.row.epsilon

    def bins(self, where: VectorSetting) -> Bins:
        sides = ("below", "above") if where.unit.exact_epsilon else ()
        bins = (
            cross("{kind}.{sign}", kind=["equal"], sign=_SIGNS if where.fmt.signed else _SIGNS[:2])
            | cross("{kind}.{side}", kind=["epsilon"], side=sides)
            | ({("plus-inf",): "infinite"} if where.fmt.infinity else {})
        )
        if where.length > 1:
            spans = range(
                0, where.fmt.emax - where.fmt.emin + 1, max(1, (where.fmt.emax - where.fmt.emin) // _MOST_EXPONENTS)
            )
            bins |= cross("{kind}.{lane}", kind=["alone"], lane=_ENDS.values())
            bins |= cross("{kind}.{e}", kind=["ratio"], e=spans if is_float(where.fmt) else ())
        return bins

    def hits(self, e: VectorEvents) -> Iterable[Cell]:
        numbers = e.numbers or []
        if any(x.kind == INF for x in numbers):
            yield ("plus-inf",)
            return
        if not numbers:
            return
        if all(not exact.compare(x, numbers[0]) for x in numbers):
            yield "equal", _sign(numbers[0])
        sizes = [x for x in numbers if x.significand]
        if len(sizes) == 1 < len(numbers):
            yield from (("alone", _ENDS[i]) for i in _ENDS if numbers[i].significand)
        if sizes:
            tops = [exact.top(x) for x in sizes]
            yield "ratio", max(tops) - min(tops)
        if epsilon := e.where.unit.exact_epsilon:
            yield "epsilon", "below" if _mean_square(e.where, numbers) < epsilon else "above"

    def cases(self, where: VectorSetting, cell: Cell) -> Iterator[Line]:
        for turn in range(where.tries):
            yield where.with_main(turn, self._lanes(where, cell, turn))

    def _lanes(self, where: VectorSetting, cell: Cell, turn: int) -> Sequence[int]:
        n, fmt = where.length, where.fmt
        mixed = [where.plain("x", i, turn) for i in range(n)]
        match cell:
            case "equal", sign:
                return [complete(fmt, int(sign == "neg"), 0 if sign == "zero" else fmt.max_code >> 1 + turn % 4)] * n
            case "alone", lane:
                code = mixed[0] or fmt.max_code
                return [code, *[0] * (n - 1)] if lane == _ENDS[0] else [*[0] * (n - 1), code]
            case "plus-inf", *_:
                return _rotated([fmt.inf_code, *mixed[1:]], turn)
            case "epsilon", "below":
                return [complete(fmt, int(fmt.signed and i & 1), fmt.min_code + i % 2) for i in range(n)]
            case "ratio", e:
                low = where.number(exact.finite(0, 1, max(fmt.emin, -e)))
                high = where.number(exact.finite(0, 1, max(fmt.emin, -e) + e))
                return _rotated([low, high, *[low | fmt.sign_bit if turn & 1 else high] * (n - 2)], turn)
        return mixed


def _rotated(lanes: Sequence[int], turn: int) -> list[int]:
    """The lanes, moved round: what is worth testing is not always in the first."""
    at = turn % len(lanes)
    return [*lanes[at:], *lanes[:at]]


def _sign(x: Value) -> str:
    return _SIGNS[0] if not x.significand else _SIGNS[1 + x.sign]


def _neighbours(where: VectorSetting, pair: Sequence[Value]) -> bool:
    """Whether two numbers, the larger first, are neighbours in the main format."""
    decode = decoder(where.fmt)
    code = where.number(pair[1])
    rank = -(code & where.fmt.magnitude_mask) if pair[1].sign else code
    if where.fmt.twos_complement or not where.ranks[0] <= rank < where.ranks[1]:
        return False
    return not exact.compare(decode(where.ranked(rank + 1)), pair[0])


def _mean_square(where: VectorSetting, numbers: Sequence[Value]) -> Fraction:
    """What epsilon is added to: the mean of squares, of layer norm about the mean."""
    at = exact.aligned(numbers)
    n, total = len(numbers), sum(at.integers)
    squares = Fraction(sum(x * x for x in at.integers), n)
    if where.row.centred:
        squares -= Fraction(total * total, n * n)
    return squares * Fraction(2) ** (2 * at.exponent)
