"""DP: operands on which accumulators differ, the probes of accumulate/probes.py among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice
from typing import Final

from softfloat_ref.accumulate import ACCUMULATORS
from softfloat_ref.accumulate.probes import PROBES, Probe
from softfloat_ref.codec import decoder, encode
from softfloat_ref.coverage.dot_events import DotEvents, DotSetting, Line
from softfloat_ref.coverage.dot_model import DotModel, Names
from softfloat_ref.coverage.dot_models import DOT_MODELS
from softfloat_ref.coverage.memo import remembered
from softfloat_ref.errors import Error
from softfloat_ref.formats import Format

_EACH: Final = 2  # cases kept for each accumulator
_TRIED: Final = 120  # cases tried at most
_SOURCES: Final = ("DC", "DO", "DA", "DT")  # whose cases are tried


class Differences(DotModel):
    """DP: cases known to give another result on another accumulator of the catalogue, one by one; and the probes."""

    id = "DP"
    title = "cases that tell the accumulator from each other one of the catalogue; the probes"

    def names(self, where: DotSetting) -> Names:
        """A bin an accumulator from which a case tells this one, and a probe that the formats can express."""
        return dict.fromkeys(self._found(where), "")

    def _found(self, where: DotSetting) -> dict[str, list[Line]]:
        def make() -> dict[str, list[Line]]:
            probes = {f"probe{i}": [line] for i, probe in enumerate(PROBES) if (line := _probe(where, probe))}
            return probes | _differing(where)

        return remembered(where.memo, "DP.cases", make)

    def facts(self, e: DotEvents) -> Iterable[str]:
        """Where these are the operands of such a case."""

        def make() -> dict[Line, list[str]]:
            found: dict[Line, list[str]] = {}
            for name, lines in self._found(e.where).items():
                for line in lines:
                    found.setdefault(line, []).append(f"DP/{name}")
            return found

        return remembered(e.where.memo, "DP.lines", make).get(e.whole, ())

    def cases(self, where: DotSetting, name: str) -> Iterator[Line]:
        """Those cases."""
        return iter(self._found(where)[name[3:]])


def _differing(where: DotSetting) -> dict[str, list[Line]]:
    others = {}
    for name, unit in ACCUMULATORS.items():
        try:
            found = where.by(unit)
        except Error:
            continue  # it does not give such results
        if found.result == where.setting.result and name != where.unit.name:
            others[name] = found
    differing: dict[str, list[Line]] = {name: [] for name in others}
    for line in _tried(where):
        events, wanted = DotEvents(where, line), None
        for name, other in others.items():
            if len(differing[name]) < _EACH:
                wanted = events.result[0] if wanted is None else wanted
                if events.by(other)[0] != wanted:
                    differing[name].append(line)
    return {name: lines for name, lines in differing.items() if lines}


def _tried(where: DotSetting) -> Iterator[Line]:
    """The probes, then a case of each bin of the models that look for differences, spread over the bins."""
    yield from (line for probe in PROBES if (line := _probe(where, probe)))
    names = [
        (model, b.id) for model in map(DOT_MODELS.__getitem__, _SOURCES) for b in model.bins(where) if not b.unreachable
    ]
    step = max(-(-len(names) // _TRIED), 1)
    for model, name in names[::step]:
        yield from islice(model.cases(where, name), 1)


def _probe(where: DotSetting, probe: Probe) -> Line | None:
    """The probe in these formats; None where they cannot express it."""
    if len(probe.pairs) > where.k:
        return None
    pairs = {}
    for i, pair in enumerate(probe.pairs):
        codes = [_exactly(side.fmt, x) for side, x in zip((where.a, where.b), pair, strict=True)]
        if codes[0] is None or codes[1] is None:
            return None
        pairs[i] = codes[0], codes[1]
    c = _exactly(where.c, probe.c)
    return None if c is None else where.line(pairs, c)


def _exactly(fmt: Format, x: Fraction | int) -> int | None:
    code = encode(x, fmt).bits
    value = decoder(fmt)(code)
    return code if value.is_finite and value.as_fraction() == x else None


ALL_DOT_MODELS: Final[dict[str, DotModel]] = {**DOT_MODELS, "DP": Differences()}
