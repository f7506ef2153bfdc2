"""What a model is: named bins, which of them a case hits, and cases that hit one by construction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from softfloat_ref import exact
from softfloat_ref.coverage.cells import between, point, units
from softfloat_ref.coverage.events import Events, Setting
from softfloat_ref.coverage.factors import no_pair
from softfloat_ref.coverage.protocol import Bin as Bin
from softfloat_ref.coverage.quotients import product_between, quotient
from softfloat_ref.coverage.reach import excluded, span
from softfloat_ref.coverage.solve import Codes, decided, solve
from softfloat_ref.exact import FINITE, Value, finite

SIGNS: Final = ("pos", "neg")
SEEDS: Final = 6  # how often a solver is asked anew, for other operands


class Model(ABC):
    """A coverage model. id: IBM FPgen's number as B3, or a name of its own."""

    id: str
    title: str

    @abstractmethod
    def applies(self, where: Setting) -> bool:
        """Whether the model says anything of an operation under a policy."""

    @abstractmethod
    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """The bins, in a fixed order."""

    @abstractmethod
    def hits(self, e: Events) -> Iterable[str]:
        """The names of the bins a case hits."""

    @abstractmethod
    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Candidates for a bin, most of which hit it."""


# -- models whose bins are cells -------------------------------------------------------------------------------------


class CellModel(Model):
    """A model whose bins are cells of the exact result."""

    @abstractmethod
    def cells(self, where: Setting) -> dict[str, Value]:
        """The cell of each bin."""

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """A bin a cell, with the proof that nothing reaches it where there is one."""
        return tuple(Bin(name, unreachable(where, cell)) for name, cell in self.cells(where).items())

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Operands solved for."""
        cell = self.cells(where)[name]
        barren = 0
        for seed in range(SEEDS):
            found = None
            for found in solve(where, cell, seed):
                yield found
            barren += found is None
            if decided(where) or (barren > 1 and where.name == "fma"):  # whose searches are long
                return


def unreachable(where: Setting, cell: Value) -> str:
    """Why nothing has its exact result in a cell; '' where there is no proof."""
    reason = excluded(where, cell)
    if reason:
        return reason
    if decided(where):
        nothing = next(solve(where, cell), None) is None
        return "no operand lies between the two neighbours there" if nothing else ""
    if where.name == "mul" and not cell.sticky:
        pa, pb = (span(f).bits for f in where.formats)
        if no_pair(cell.significand, pa, pb):
            return "the significand is no product of two of the operands' precision"
    return _no_significands(where, cell) if cell.sticky and cell.significand else ""


def _no_significands(where: Setting, cell: Value) -> str:
    """Whether no two significands have their product, or quotient, in an interval."""
    if where.name not in ("mul", "div"):
        return ""
    pa, pb = (span(f).bits for f in where.formats)
    if where.name == "mul":
        there = product_between(cell.significand, pa, pb)
        return "" if there else "no product of two significands of the operands' precision lies there"
    there = quotient(cell.significand, pa, pb) is not None
    return "" if there else "no quotient of two significands of the operands' precision lies there"


class Ruler(NamedTuple):
    """A stretch of the number line: the multiples of 2^unit from `low` to `high`, and what lies between them.

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
        fraction = {0: "", 1: f".{100 * part // self.step:02d}".rstrip("0")}[int(part != 0)]
        sign = "-" if k < self.zero else "+" if self.signed and k > self.zero else ""
        return f"{sign}{quotient}{fraction}"


class _Rulers(NamedTuple):
    """Rulers by the exponent of the numbers on them, and their cells by bin."""

    by_top: dict[int, list[Ruler]]
    from_zero: list[Ruler]
    cells: dict[str, Value]

    @staticmethod
    def of(model: str, rulers: Iterable[Ruler]) -> _Rulers:
        made = _Rulers({}, [], {})
        for r in rulers:
            if r.low == 0:
                made.from_zero.append(r)
            for top in range(r.unit + max(r.low, 1).bit_length() - 1, r.unit + r.high.bit_length()):
                made.by_top.setdefault(top, []).append(r)
            for k in range(r.low, r.high + 1):
                if k:
                    made.cells[f"{model}/{r.label(k, False)}"] = point(r.sign, k, r.unit)
                if k < r.high:
                    made.cells[f"{model}/{r.label(k, True)}"] = between(r.sign, k, r.unit)
        return made

    def at(self, top: int) -> list[Ruler]:
        """The rulers that may hold a number of that exponent."""
        return self.by_top.get(top, self.from_zero)


class RulerModel(CellModel):
    """A model whose bins are the points of rulers, and what lies between them."""

    @abstractmethod
    def rulers(self, where: Setting) -> Iterable[Ruler]:
        """The stretches that the model looks at; they do not overlap."""

    def _laid_out(self, where: Setting) -> _Rulers:
        known = where.memo.get(self.id)
        if known is None:
            known = where.memo[self.id] = _Rulers.of(self.id, self.rulers(where))
        assert isinstance(known, _Rulers)
        return known

    def cells(self, where: Setting) -> dict[str, Value]:
        """The cells of the rulers."""
        return self._laid_out(where).cells

    def measured(self, e: Events) -> Value:
        """The number that is measured: the exact result."""
        return e.exact

    def hits(self, e: Events) -> Iterable[str]:
        """The bin that the number lies in."""
        x = self.measured(e)
        if x.kind != FINITE or x.significand == 0:
            return
        for r in self._laid_out(e.where).at(exact.top(x)):
            whole, part = units(x, r.unit)
            if x.sign == r.sign and max(r.low, 1 - part) <= whole <= r.high and not (part and whole == r.high):
                yield f"{self.id}/{r.label(whole, part)}"


def largest(where: Setting, sign: int) -> Value | None:
    """The largest finite value of the output format of that sign; None where it has no value of that sign."""
    fmt = where.out
    if sign and not fmt.signed and not where.target.drop_sign:
        return None
    code = fmt.max_negative_code if sign and fmt.signed else fmt.max_code
    significand, exponent = (code, 1 - fmt.bias - fmt.mantissa_bits) if fmt.twos_complement else fmt.magnitude(code)
    return finite(sign, significand, exponent)
