"""DP: operands on which accumulators differ, the probes of accumulate/probes.py among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.coverage.codes import operand
from softfloat_ref.coverage.dot.setting import DotEvents, DotModel, DotSetting
from softfloat_ref.coverage.engine.framework import Bins, Cell, Line, SearchedModel, grouped
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate import ACCUMULATORS
from softfloat_ref.oracle.accumulate.dots import Accumulation
from softfloat_ref.oracle.accumulate.probes import PROBES, Probe
from softfloat_ref.oracle.formats import Format

_ACCUMULATOR_CASES: Final = 2  # cases kept for each accumulator
_MOST_TRIED: Final = 120  # cases tried at most
_PROBE_BITS: Final = 256  # of a probe's numbers, which are dyadic


class Differences(SearchedModel[DotSetting, DotEvents]):
    """DP: for each other accumulator of the catalogue, cases on which its result differs; and the probes.

    others: models that supply candidate cases.
    """

    id = "DP"
    title = "cases that tell the accumulator from each other one of the catalogue; the probes"

    def __init__(self, others: Iterable[DotModel]) -> None:
        self._others = tuple(others)

    def wanted(self, where: DotSetting) -> Bins:
        """A probe that the formats can express, and each other accumulator with results in the same format."""
        probes = {("probe", i): f"probe{i}" for i, _ in _probes(where)}
        return probes | {("", name): name for name in self._comparable(where)}

    def _by_cell(self, where: DotSetting) -> dict[Cell, list[Line]]:
        def make() -> dict[Cell, list[Line]]:
            probes: dict[Cell, list[Line]] = {("probe", i): [line] for i, line in _probes(where)}
            return probes | {("", name): lines for name, lines in self._differing(where).items()}

        return where.once("DP.cases", make)

    def hits(self, e: DotEvents) -> Iterable[Cell]:
        """The cells of which these operands are a case."""

        known = self._by_cell(e.where)
        return e.where.once("DP.lines", lambda: grouped(known, lambda cell: known[cell])).get(e.line, ())

    def _comparable(self, where: DotSetting) -> dict[str, Accumulation]:
        """The dot product by each other accumulator of the catalogue that gives results in the same format."""

        def make() -> dict[str, Accumulation]:
            comparable = {}
            for name, accumulator in ACCUMULATORS.items():
                with suppress(Error):  # it does not take these formats
                    setting = where.by(accumulator)
                    if setting.result == where.setting.result and name != where.accumulator.name:
                        comparable[name] = setting
            return comparable

        return where.once("DP.comparable", make)

    def _differing(self, where: DotSetting) -> dict[str, list[Line]]:
        others = self._comparable(where)
        differing: dict[str, list[Line]] = {name: [] for name in others}
        for line in self.searched(where):
            events, wanted = DotEvents(where, line), None
            for name, other in others.items():
                if len(differing[name]) < _ACCUMULATOR_CASES:
                    wanted = events.result[0] if wanted is None else wanted
                    if events.by(other)[0] != wanted:
                        differing[name].append(line)
        return {name: lines for name, lines in differing.items() if lines}

    def searched(self, where: DotSetting) -> Iterator[Line]:
        """The probes, then a case of each bin of the models that look for differences, spread over the bins."""
        yield from (line for _, line in _probes(where))
        cells = [(m, cell) for m in self._others for cell in m.bins(where) if not m.never(where, cell)]
        for model, cell in cells[:: max(-(-len(cells) // _MOST_TRIED), 1)]:
            yield from islice(model.cases(where, cell), 1)


def _probes(where: DotSetting) -> Iterator[tuple[int, Line]]:
    """The probes that these formats can express."""
    for number, probe in enumerate(PROBES):
        line = _probe(where, probe) if len(probe.pairs) <= where.k else None
        if line is not None:
            yield number, line


def _probe(where: DotSetting, probe: Probe) -> Line | None:
    pairs = {}
    for i, (x, y) in enumerate(probe.pairs):
        a, b = _exactly(where.a.fmt, x), _exactly(where.b.fmt, y)
        if a is None or b is None:
            return None
        pairs[i] = a, b
    c = _exactly(where.c, probe.c)
    return None if c is None else where.line(pairs, c)


def _exactly(fmt: Format, x: Fraction | int) -> int | None:
    return operand(fmt, exact.from_fraction(Fraction(x), _PROBE_BITS))
