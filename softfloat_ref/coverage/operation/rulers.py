"""Models whose cells are regions of the exact result; rulers: their points, and the intervals between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from softfloat_ref.coverage.engine.framework import Bins, Cell, Line, grouped
from softfloat_ref.coverage.operation.reach import units
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationModel, OperationSetting
from softfloat_ref.coverage.operation.solve import solve, unreachable
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value

SEEDS: Final = 6  # how often a solver is called again, for other operands


class RegionModel(OperationModel):
    """A model whose cells are regions of the exact result."""

    @abstractmethod
    def regions(self, where: OperationSetting, cell: Cell) -> list[Value]:
        """The regions of a cell; an exact result in any of them hits it."""

    def never(self, where: OperationSetting, cell: Cell) -> str:
        first = ""
        for region in self.regions(where, cell):
            if not (reason := unreachable(where, region)):
                return ""
            first = first or reason
        return first

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        misses, (region, *_) = 0, self.regions(where, cell)
        for seed in range(SEEDS):
            line = None
            for line in solve(where, region, seed):
                yield line
            misses += line is None
            if where.unary or (misses > 1 and where.fused):  # whose searches are long
                return


class Ruler(NamedTuple):
    """A stretch of the number line: the multiples of 2^unit from `low` to `high`, and the intervals between them.

    name: goes before each name. zero: the multiple that is called 0; step: multiples to a unit of the names.
    """

    name: str
    sign: int
    unit: int
    low: int
    high: int
    zero: int
    step: int
    signed: bool = True

    def label(self, k: int, part: bool) -> str:
        """The name of the k-th multiple, or of what follows it."""
        first = self._number(k)
        return f"{self.name}{first}" if not part else f"{self.name}{first}to{self._number(k + 1)}"

    def _number(self, k: int) -> str:
        quotient, part = divmod(abs(k - self.zero), self.step)
        fraction = f".{100 * part // self.step:02d}".rstrip("0") if part else ""
        sign = "-" if k < self.zero else "+" if self.signed and k > self.zero else ""
        return f"{sign}{quotient}{fraction}"


class RulerModel(RegionModel):
    """A model whose cells are the points of rulers, and what lies between them: ruler, multiple, whether between."""

    @abstractmethod
    def rulers(self, where: OperationSetting) -> Iterable[Ruler]:
        """The stretches of the model; they do not overlap."""

    def bins(self, where: OperationSetting) -> Bins:
        """A point, then what follows it, along each ruler."""
        return {
            (r, k, part): r.label(k, part)
            for r in self.rulers(where)
            for k in range(r.low, r.high + 1)
            for part in (False, True)
            if (k < r.high if part else k)
        }

    def regions(self, where: OperationSetting, cell: Cell) -> list[Value]:
        ruler, k, part = cell
        return [Value(FINITE, ruler.sign, k, ruler.unit, int(part))]

    def measured(self, e: OperationEvents) -> Value:
        """The number that is measured: the exact result."""
        return e.exact

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        x, by_top = self.measured(e), e.where.once(self.id, lambda: self._by_top(e.where))
        if x.kind != FINITE or x.significand == 0:
            return
        for r in by_top.get(exact.top(x), by_top[None]):
            if x.sign == r.sign:
                yield (r, *units(x, r.unit))

    def _by_top(self, where: OperationSetting) -> dict[int | None, list[Ruler]]:
        """Rulers by the exponent of the numbers on them; under None those that begin at zero."""

        def tops(r: Ruler) -> Iterator[int | None]:
            yield from (None,) if r.low == 0 else ()
            yield from range(r.unit + max(r.low, 1).bit_length() - 1, r.unit + r.high.bit_length())

        return {None: [], **grouped(self.rulers(where), tops)}
