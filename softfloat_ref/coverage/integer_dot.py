"""Coverage of dot products of integers: ends of the factors, lanes, ends of the accumulator, steps that do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import Final

from softfloat_ref.coverage.engine.framework import (
    SIGNS,
    BaseSetting,
    Bins,
    Cell,
    Coverage,
    Line,
    Model,
    ReachedModel,
    cross,
    word,
)
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.integer_dots import Stage, ends, integer, products_of, stages, started
from softfloat_ref.units import IntegerDotUnit

_BESIDE: Final = (-2, -1, 0, 1, 2)  # from an end of the accumulator's range
_TRIES: Final = 12


class IntegerDotSetting(BaseSetting):
    """A dot product of integers."""

    def __init__(self, unit: IntegerDotUnit) -> None:
        super().__init__()
        self.unit = unit
        self.a, self.b, self.c, self.k = unit.a, unit.b, unit.c, unit.k

    def events(self, line: Line) -> IntegerDotEvents:
        return IntegerDotEvents(self, line)

    def line(self, a: Sequence[int], b: Sequence[int], c: int, clear: int = 0) -> Line:
        """The inputs of a case of integers; what does not fit is cut."""
        coded = [x & (1 << f.width) - 1 for f, codes in ((self.a, a), (self.b, b)) for x in codes]
        return (*coded, *([clear] if self.unit.clear else []), c & (1 << self.c.width) - 1)

    def drawn(self, seed: int) -> tuple[list[int], list[int]]:
        """Vectors of any integers."""
        sides = []
        for i, f in enumerate((self.a, self.b)):
            mask = (1 << f.width) - 1
            words = (word(seed, 2 * k + i) << 32 | word(seed + 1, 2 * k + i) for k in range(self.k))
            sides.append([integer(x & mask, f) for x in words])
        return sides[0], sides[1]

    def largest_factors(self, sign: int) -> tuple[int, int] | None:
        """The factors whose product is the farthest from zero, of that sign; None if none has it."""
        pairs = product(ends(self.a), ends(self.b))
        largest = max(pairs, key=lambda xy: -xy[0] * xy[1] if sign else xy[0] * xy[1])
        return largest if (largest[0] * largest[1] < 0) == bool(sign) and largest[0] * largest[1] else None


class IntegerDotEvents:
    """A case, and its facts."""

    def __init__(self, where: IntegerDotSetting, line: Line) -> None:
        self.where = where
        self.a, self.b, code, self.clear = where.unit.sides(line)
        self.c = integer(code, where.c)

    @cached_property
    def products(self) -> tuple[int, ...]:
        return products_of(self.where.unit.setting, self.a, self.b)

    @cached_property
    def stages(self) -> list[Stage]:
        return stages(self.where.unit.setting, self.products, started(self.clear, self.c))


class _IntegerDotModel(Model[IntegerDotSetting, IntegerDotEvents]):
    """A model of dot products of integers."""


def _class(x: int, fmt: Format) -> str:
    low, high = ends(fmt)
    return {low: "low", high: "high", 0: "0", 1: "1", -1: "-1"}.get(x, "other")


def _members(fmt: Format) -> dict[str, int]:
    """Integers of each class."""
    low, high = ends(fmt)
    named = {"low": low, "high": high, "0": 0, "1": 1, "-1": -1, "other": high // 2 + 1}
    return {name: x for name, x in named.items() if low <= x <= high and _class(x, fmt) == name}


class Factors(_IntegerDotModel):
    """IF: the ends of both factors crossed, alone in the first lane, in the last one, and in every lane."""

    id = "IF"
    title = "integers: ends of both factors crossed, in the first lane, the last one, and all"
    _PLACES: Final = ("first", "last", "all")

    def bins(self, where: IntegerDotSetting) -> Bins:
        places = self._PLACES if where.k > 1 else ("all",)
        return cross("{place}.{a}*{b}", place=places, a=_members(where.a), b=_members(where.b))

    def hits(self, e: IntegerDotEvents) -> Iterable[Cell]:
        where = e.where
        pairs = {
            (_class(integer(x, where.a), where.a), _class(integer(y, where.b), where.b))
            for x, y in zip(e.a, e.b, strict=True)
        }
        if len(pairs) == 1:
            yield "all", *pairs.pop()
        for place, k in (("first", 0), ("last", where.k - 1)):
            if where.k > 1 and not any(x for i, x in enumerate(e.products) if i != k):
                x, y = integer(e.a[k], where.a), integer(e.b[k], where.b)
                yield place, _class(x, where.a), _class(y, where.b)

    def cases(self, where: IntegerDotSetting, cell: Cell) -> Iterator[Line]:
        place, a, b = cell
        x, y, k = _members(where.a)[a], _members(where.b)[b], where.k
        lanes = range(k) if place == "all" else [0 if place == "first" else k - 1]
        for c in (0, 1, ends(where.c)[0]):
            a_side, b_side = ([v if i in lanes else 0 for i in range(k)] for v in (x, y))
            yield where.line(a_side, b_side, c)


class Lanes(_IntegerDotModel):
    """IL: each product alone."""

    id = "IL"
    title = "integers: the product of each lane alone, of each sign"

    def bins(self, where: IntegerDotSetting) -> Bins:
        signs = {s: name for s, name in SIGNS.items() if where.largest_factors(s)}
        return cross("{sign}.lane{lane}", sign=signs, lane=range(where.k))

    def hits(self, e: IntegerDotEvents) -> Iterable[Cell]:
        alone = [i for i, x in enumerate(e.products) if x]
        if len(alone) == 1:
            yield int(e.products[alone[0]] < 0), alone[0]

    def cases(self, where: IntegerDotSetting, cell: Cell) -> Iterator[Line]:
        sign, lane = cell
        for x, y in filter(None, [where.largest_factors(sign)]):
            a, b = ([v if i == lane else 0 for i in range(where.k)] for v in (x, y))
            yield where.line(a, b, 0)


class Ends(ReachedModel[IntegerDotSetting, IntegerDotEvents]):
    """IE: the exact sum of a step beside the ends of the accumulator."""

    id = "IE"
    title = "integers: the exact sum of the last step beside both ends of the accumulator, and beside 0"

    def wanted(self, where: IntegerDotSetting) -> Bins:
        names = {d: f"{d:+d}" if d else "0" for d in _BESIDE}
        return cross("{end}{d}", end=("low", "zero", "high"), d=names)

    def hits(self, e: IntegerDotEvents) -> Iterable[Cell]:
        last, (low, high) = e.stages[-1].exact, ends(e.where.c)
        for name, end in (("low", low), ("zero", 0), ("high", high)):
            if last - end in _BESIDE:
                yield name, last - end

    def cases(self, where: IntegerDotSetting, cell: Cell) -> Iterator[Line]:
        """Vectors of any integers, and c so that the sum is the wanted one."""
        end, d = cell
        low, high = ends(where.c)
        wanted = {"low": low, "zero": 0, "high": high}[end] + d
        for turn in range(_TRIES):
            a, b = where.drawn(turn)
            shorter = turn % where.k if turn % 2 else 0  # fewer products stay nearer to the end
            a = [x if i >= shorter else 0 for i, x in enumerate(a)]
            c = wanted - sum(x * y for x, y in zip(a, b, strict=True))
            if low <= c <= high:
                yield where.line(a, b, c)
        for sign in SIGNS:
            for x, y in filter(None, [where.largest_factors(sign)]):
                c = wanted - where.k * x * y
                if low <= c <= high:
                    yield where.line([x] * where.k, [y] * where.k, c)


class Overflows(ReachedModel[IntegerDotSetting, IntegerDotEvents]):
    """IO: a step that does not fit, and what follows."""

    id = "IO"
    title = "integers: the first step that does not fit, in which direction, and whether a later one goes back"

    def wanted(self, where: IntegerDotSetting) -> Bins:
        last = where.unit.step_count - 1
        steps = {0: "first", last: "last"}
        return cross("{step}.{sign}.{then}", step=steps, sign=SIGNS, then=("stays", "back"))

    def hits(self, e: IntegerDotEvents) -> Iterable[Cell]:
        """By the steps of the case. back: the sum of all products and c fits after all."""
        beyond = [i for i, s in enumerate(e.stages) if s.exact != s.kept]
        if not beyond:
            return
        low, high = ends(e.where.c)
        whole = started(e.clear, e.c) + sum(e.products)
        yield beyond[0], int(e.stages[beyond[0]].exact < low), "back" if low <= whole <= high else "stays"

    def cases(self, where: IntegerDotSetting, cell: Cell) -> Iterator[Line]:
        """Products of one sign in the step, from an end of the range, or to just past it, and then as many of the
        other sign."""
        step, sign, then = cell
        forward, backward = where.largest_factors(sign), where.largest_factors(1 - sign)
        if forward is None or (then == "back" and backward is None):
            return
        size = where.unit.sums.step or where.k
        first, end = step * size, min((step + 1) * size, where.k)
        low, high = ends(where.c)
        end_of, beyond = (low, low - 1) if sign else (high, high + 1)
        for more in range(1, end - first + 1):
            pairs = [(0, 0)] * where.k
            pairs[first : first + more] = [forward] * more
            if then == "back" and backward is not None:
                pairs[end : end + more] = [backward] * len(pairs[end : end + more])
            a, b = [x for x, _ in pairs], [y for _, y in pairs]
            total = more * forward[0] * forward[1]
            yield from (where.line(a, b, c) for c in (end_of, beyond - total) if low <= c <= high)


MODELS: Final = (Factors(), Lanes(), Ends(), Overflows())


@lru_cache(maxsize=64)
def integer_dots(unit: IntegerDotUnit) -> Coverage:
    """The coverage of a dot product of integers."""
    return Coverage(IntegerDotSetting(unit), MODELS)
