"""Models whose cells are regions of the exact result; rulers: their points, and the intervals between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from softfloat_ref.coverage.engine.framework import Bins, Cell, Line
from softfloat_ref.coverage.operation.regions import between, point, units
from softfloat_ref.coverage.operation.setting import Events, OperationModel, Setting
from softfloat_ref.coverage.operation.solve import solve
from softfloat_ref.coverage.operation.unreachable import unreachable
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value

SEEDS: Final = 6  # how often a solver is called again, for other operands


class RegionModel(OperationModel):
    """A model whose cells are regions of the exact result."""

    @abstractmethod
    def region(self, where: Setting, cell: Cell) -> Value:
        """The region of a cell."""

    def never(self, where: Setting, cell: Cell) -> str:
        return unreachable(where, self.region(where, cell))

    def cases(self, where: Setting, cell: Cell) -> Iterator[Line]:
        barren = 0
        for seed in range(SEEDS):
            found = None
            for found in solve(where, self.region(where, cell), seed):
                yield found
            barren += found is None
            if where.unary or (barren > 1 and where.fused):  # whose searches are long
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


class _Laid(NamedTuple):
    """Rulers by the exponent of the numbers on them; those that begin at zero."""

    by_top: dict[int, list[Ruler]]
    from_zero: list[Ruler]


class RulerModel(RegionModel):
    """A model whose cells are the points of rulers, and what lies between them: ruler, multiple, whether between."""

    @abstractmethod
    def rulers(self, where: Setting) -> Iterable[Ruler]:
        """The stretches of the model; they do not overlap."""

    def bins(self, where: Setting) -> Bins:
        """A point, then what follows it, along each ruler."""
        return {
            (r, k, part): r.label(k, part)
            for r in self.rulers(where)
            for k in range(r.low, r.high + 1)
            for part in (False, True)
            if (k < r.high if part else k)
        }

    def region(self, where: Setting, cell: Cell) -> Value:
        ruler, k, part = cell
        return between(ruler.sign, k, ruler.unit) if part else point(ruler.sign, k, ruler.unit)

    def measured(self, e: Events) -> Value:
        """The number that is measured: the exact result."""
        return e.exact

    def hits(self, e: Events) -> Iterable[Cell]:
        x, laid = self.measured(e), e.where.once(self.id, lambda: self._lay(e.where))
        if x.kind != FINITE or x.significand == 0:
            return
        for r in laid.by_top.get(exact.top(x), laid.from_zero):
            if x.sign == r.sign:
                yield (r, *units(x, r.unit))

    def _lay(self, where: Setting) -> _Laid:
        laid = _Laid({}, [])
        for r in self.rulers(where):
            if r.low == 0:
                laid.from_zero.append(r)
            for top in range(r.unit + max(r.low, 1).bit_length() - 1, r.unit + r.high.bit_length()):
                laid.by_top.setdefault(top, []).append(r)
        return laid
