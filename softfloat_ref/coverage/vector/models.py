"""The models of functions of vectors, and VR, that of results: their classes, the flags, and how they are rounded."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from softfloat_ref.base import search
from softfloat_ref.coverage.classes import class_of, members
from softfloat_ref.coverage.codes import TailPlace, nearest, place_of
from softfloat_ref.coverage.engine.framework import BITS, SIGNS, Bins, Cell, Coverage, Line, cross, grouped
from softfloat_ref.coverage.vector.setting import MORE_BITS, ONE, TAIL, VectorEvents, VectorModel, VectorSetting
from softfloat_ref.coverage.vector.shapes import ExponentShapes, NumberShapes, VectorOperands
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.units import VectorUnit

_RUN_LENGTHS: Final = (4, 8)  # equal bits after the guard bit
_SEARCHED_PAIRS: Final = 2000  # pairs of lanes that are searched for runs
_RUN_PAIRS: Final = 16  # pairs that are kept for each
_SIDES: Final = {(0, 0): "above-number", (0, 1): "below-tie", (1, 0): "above-tie", (1, 1): "below-number"}


class Results(VectorModel):
    """VR: classes of results in any lane, flags, exact results, guard bits, results beside numbers and ties."""

    id = "VR"
    title = "classes of results, flags, exact results, last and guard bits, results just beside numbers and ties"

    def bins(self, where: VectorSetting) -> Bins:
        signs = {x: SIGNS[x] for x in self._signs(where)}
        kinds = [k for k in members(where.out) if k not in ("snan",)]
        return (
            cross("{kind}.{name}", kind=["gives"], name=kinds)
            | cross("{kind}.{flag}", kind=["flag"], flag=[f.name.lower() for f in Flags if f.name])
            | cross("{kind}.{sign}", kind=["exact"], sign=signs)
            | cross("{kind}.{sign}.lsb{lsb}.guard{guard}", kind=["last"], sign=signs, lsb=BITS, guard=BITS)
            | cross("{kind}{k}.{side}", kind=["run"], k=_RUN_LENGTHS, side=_SIDES.values())
        )

    @staticmethod
    def _signs(where: VectorSetting) -> tuple[int, ...]:
        if where.row.share:
            return (0,)
        return (1,) if not where.row.epsilon else (0, 1)

    def never(self, where: VectorSetting, cell: Cell) -> str:
        if cell[0] == "flag" and cell[1] == "divide_by_zero":
            return "no operation divides by zero"
        if cell == ("flag", "overflow") and where.row.share and where.out.emax >= 1:
            return "shares lie between 0 and 1"
        if cell[0] != "gives" or where.row.epsilon or where.policy_changes_numbers:
            return ""
        codes = [decoder(where.out)(code) for code in members(where.out)[cell[1]]]
        if any(x.is_nan for x in codes):
            return ""
        if where.row.share:
            return "" if any(not x.sign and exact.compare(x, ONE) <= 0 for x in codes) else "shares lie between 0 and 1"
        return "" if any(x.sign or x.is_zero for x in codes) else "logarithms of shares are not positive"

    def hits(self, e: VectorEvents) -> Iterable[Cell]:
        outputs, out = e.outputs, e.where.out
        for code in {*outputs[:-1]}:
            yield "gives", class_of(out, code)
        for flag in Flags:
            if outputs[-1] & flag and flag.name:
                yield "flag", flag.name.lower()
        for value in {value for value, _ in e.outcomes}:
            if value.is_finite and not value.sticky:
                yield "exact", value.sign
            yield from self._rounded(e, value)

    @staticmethod
    def _rounded(e: VectorEvents, value: Value) -> Iterator[Cell]:
        place = e.place(value)
        if place is None or not value.sticky or place.code > e.where.out.max_code:
            return
        yield "last", value.sign, place.kept & 1, place.guard
        yield from (("run", *run) for run in _runs_of(place))

    def cases(self, where: VectorSetting, cell: Cell) -> Iterator[Line]:
        match cell:
            case "gives", name:
                yield from self._of_class(where, name)
            case "run", k, side if not where.row.epsilon:
                yield from self._of_run(where, k, side)
            case "flag", "invalid":
                yield from (where.with_main(t, [where.fmt.canonical_nan] * where.length) for t in BITS)
                yield from (where.with_main(t, [where.fmt.inf_code] * where.length) for t in BITS)
                yield where.with_main(0, [0] * where.length)
            case "exact", _:
                yield from (
                    where.with_main(t, [where.plain(where.main, 0, t)] * where.length) for t in range(where.tries)
                )
        yield from (where.line(turn) for turn in range(where.tries))

    def _of_class(self, where: VectorSetting, name: str) -> Iterator[Line]:
        """Lanes of which one has a result of that class, or near it."""
        for turn, code in enumerate(members(where.out)[name]):
            wanted = decoder(where.out)(code)
            if where.row.epsilon:
                yield from self._normalized(where, wanted, turn)
            elif wanted.is_nan:
                yield where.with_main(turn, [where.fmt.canonical_nan] * where.length)
            elif where.length > 1:
                yield from self._beside(where, wanted, turn)
            else:
                yield where.with_main(turn, [0])

    def _beside(self, where: VectorSetting, wanted: Value, turn: int) -> Iterator[Line]:
        """Two lanes, the other ones vanishing: the second lane's result rises with its code."""
        zero, (low, high) = where.number(exact.zero(0)), where.ranks

        def reaches(rank: int) -> bool:
            return exact.compare(where.pair.unrounded((zero, where.ranked(rank)))[1][0], wanted) >= 0

        if wanted.is_inf or where.fmt.twos_complement:
            yield where.with_main(turn, where.padded([zero, where.vanishing]))
            return
        rank = search.first_that(low, high, reaches)
        for near in (rank - 1, rank, rank + 1, rank + 3):
            if low <= near <= high:
                yield where.with_main(turn, where.padded([zero, where.ranked(near)]))

    def _normalized(self, where: VectorSetting, wanted: Value, turn: int) -> Iterator[Line]:
        """Numbers about one, scaled by a gain; or one lane of the wanted size."""
        n = where.length
        ones = [where.number(exact.finite(int(i & 1), 1, 0)) for i in range(n)]
        if "gain" in where.formats:
            gain = nearest(where.formats["gain"], exact.magnitude(wanted)) if not wanted.is_nan else 0
            special = where.formats["gain"].inf_code if wanted.is_inf else gain
            bias = {"bias": [0] * n} if "bias" in where.formats else {}
            yield where.line(turn, x=ones, gain=[special] * n, **bias)
            yield where.line(turn, x=ones, gain=[max(special - 1, 0)] * n, **bias)
            if wanted.is_inf:
                yield where.line(turn, gain=[where.formats["gain"].max_code] * n, **bias)
        yield where.line(turn, x=[where.number(wanted), *ones[1:]] if wanted.is_finite else ones)

    def _of_run(self, where: VectorSetting, k: int, side: str) -> Iterator[Line]:
        """Pairs of lanes with a result beside a boundary, the other lanes vanishing."""
        pairs = where.once("runs", lambda: self._runs(where))
        for turn, pair in enumerate(pairs.get((k, side), ())):
            yield where.with_main(turn, where.padded(pair))

    @staticmethod
    def _runs(where: VectorSetting) -> dict[tuple[int, str], list[tuple[int, int]]]:
        """Pairs of lanes by the runs that their results have."""

        def runs(pair: tuple[int, int]) -> Iterator[tuple[int, str]]:
            for value, _ in where.pair.unrounded(pair, MORE_BITS):
                if value.is_finite and value.significand and value.sticky:
                    yield from _runs_of(place_of(value, where.target, TAIL))

        return grouped(itertools.islice(where.pairs(), _SEARCHED_PAIRS), runs, _RUN_PAIRS)


def _runs_of(place: TailPlace) -> Iterator[tuple[int, str]]:
    """The lengths of runs of equal bits after the guard bit, and what is beside."""
    zeros, ones = place.zeros, place.ones
    for k in _RUN_LENGTHS:
        if zeros >= k or ones >= k:
            yield k, _SIDES[place.guard, int(ones >= k)]


@lru_cache(maxsize=64)
def vector_functions(unit: VectorUnit) -> Coverage:
    """The coverage models of a function of vectors."""
    return Coverage(VectorSetting(unit), [VectorOperands(), ExponentShapes(), NumberShapes(), Results()])
