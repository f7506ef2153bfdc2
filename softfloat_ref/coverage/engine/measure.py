"""The coverage of cases: a report of every bin with its count, or the reason why it may be empty; and waivers."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from softfloat_ref.base import disk_cache
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.names import matches
from softfloat_ref.base.tables import read_toml
from softfloat_ref.coverage.engine.framework import Bin, Coverage, Line, PartsCoverage, grouped

SCHEMA: Final = 1
MOST: Final = 1 << 17  # default number of cases to measure
LISTED: Final = 20  # maximum number of empty bins to list
_ENTRIES: Final = {"bin": "an id or a pattern with * and ?", "reason": "the reason why its bins need not be hit"}
STATUSES: Final = ("hit", "empty", "waived", "unreachable")
OUTSIDE: Final = "outside"  # one more, of sets with a range of their operands


class BinLine(NamedTuple):
    """A bin in a report. why: the reason of a waiver, the proof that it is unreachable, or why it is taken to lie
    outside of the range of the operands."""

    id: str
    status: str
    hits: int
    why: str = ""


class ModelReport(NamedTuple):
    """A model in a report. not_reached: names that a bounded search has no case of, and that no measured case hits."""

    id: str
    title: str
    bins: tuple[BinLine, ...]
    part: str = ""  # its name, in a report of a unit with several
    not_reached: tuple[str, ...] = ()

    @property
    def totals(self) -> dict[str, int]:
        """The number of bins of each status."""
        counts = Counter(b.status for b in self.bins)
        return {status: counts[status] for status in (*STATUSES, OUTSIDE) if status != OUTSIDE or counts[OUTSIDE]}


@dataclass(frozen=True)
class CoverageReport:
    """A coverage report. name: of the set; measured: which of its cases; cases: their number."""

    name: str
    measured: str
    cases: int
    models: tuple[ModelReport, ...]

    @property
    def empty(self) -> list[str]:
        """The bins that may be reachable, are not waived, and were not hit."""
        return [b.id for m in self.models for b in m.bins if b.status == "empty"]

    @property
    def parts(self) -> dict[str, CoverageReport]:
        """The report of each part by its name; none for a unit without parts."""
        by_part = grouped(self.models, lambda m: [m.part] if m.part else [])
        return {name: replace(self, name=name, models=tuple(models)) for name, models in by_part.items()}

    @property
    def totals(self) -> dict[str, int]:
        """The number of bins of each status."""
        totals = sum((Counter(m.totals) for m in self.models), Counter[str]())
        return {status: totals[status] for status in (*STATUSES, OUTSIDE) if status != OUTSIDE or totals[OUTSIDE]}

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `coverage report --json` prints it."""
        return {
            "schema": SCHEMA,
            "set": self.name,
            "measured": self.measured,
            "cases": self.cases,
            "totals": self.totals,
            **({"parts": {name: part.totals for name, part in parts.items()}} if (parts := self.parts) else {}),
            "models": [
                {
                    "id": m.id,
                    "title": m.title,
                    "totals": m.totals,
                    "bins": [_entry(b) for b in m.bins],
                    **({"not_reached": list(m.not_reached)} if m.not_reached else {}),
                }
                for m in self.models
            ],
        }


def _entry(b: BinLine) -> dict[str, Any]:
    return {k: v for k, v in b._asdict().items() if v != ""}


def count(coverage: Coverage, cases: Iterable[Line]) -> tuple[Counter[str], int]:
    """The hits of each bin, and the total number of cases."""
    hits: Counter[str] = Counter()
    looked_at = 0
    for case in cases:
        hits.update(coverage.hits(case))
        looked_at += 1
    return hits, looked_at


def report(
    coverage: Coverage, name: str, measured: str, counted: tuple[Counter[str], int], waived: Mapping[str, str]
) -> CoverageReport:
    """The report of the counts. waived: the reasons of bins that need not be hit. What a search did not reach is a bin
    if a case hits it."""
    hits, cases = counted
    titles, parts, not_reached = coverage.titles, isinstance(coverage, PartsCoverage), coverage.not_reached()
    models = tuple(
        ModelReport(
            k,
            titles[k],
            tuple(_line(b, hits[b.id], waived) for b in (*listed, *(Bin(x) for x in not_reached[k] if hits[x]))),
            k.partition("/")[0] if parts else "",
            tuple(x for x in not_reached[k] if not hits[x]),
        )
        for k, listed in coverage.bins().items()
    )
    return CoverageReport(name, measured, cases, models)


def _line(b: Bin, hits: int, waived: Mapping[str, str]) -> BinLine:
    if hits:
        return BinLine(b.id, "hit", hits)
    if b.unreachable:
        return BinLine(b.id, "unreachable", 0, b.unreachable)
    if b.id in waived:
        return BinLine(b.id, "waived", 0, waived[b.id])
    return BinLine(b.id, OUTSIDE, 0, b.outside) if b.outside else BinLine(b.id, "empty", 0)


def set_report(vectors: Any, waived: Mapping[str, str] | None = None, most: int = MOST) -> CoverageReport | None:
    """The coverage of a vector set's cases, at most the first `most`. None for a set without models."""
    coverage: Coverage | None = getattr(vectors, "coverage", None)
    if coverage is None:
        return None
    counted = count(coverage, islice(vectors.inputs(), most))
    which = "every case" if counted[1] == vectors.count else f"the first {counted[1]} of {vectors.count} cases"
    return report(coverage, vectors.name, which, counted, waived or {})


@lru_cache(maxsize=16)
def summary(vectors: Any) -> dict[str, Any] | None:
    """The coverage of a set's directed cases in numbers, for its manifest; None if the set has no models."""
    coverage: Coverage | None = getattr(vectors, "coverage", None)
    if coverage is None or isinstance(coverage, PartsCoverage):  # the cases of parts have no tags
        return None
    cases = [case for _, case in vectors.directed()]
    file = disk_cache.path_for(vectors.cases.origin, "coverage", cases)
    if (stored := disk_cache.load(file)) is not None:
        return dict(stored)
    # With random words, cases may have lost those with which they hit the bin they were made for.
    known = {name for name, _ in vectors.directed()} if vectors.unit.random_field is None else set()
    totals = _summary(coverage, cases, known)
    disk_cache.store(file, totals)
    return totals


def _summary(coverage: Coverage, cases: Sequence[Line], known: Set[str]) -> dict[str, Any]:
    """known: bins that some of the cases were made for, and hit; only models with other bins are looked at."""
    names = coverage.names()
    left = {model: set(listed) - known for model, listed in names.items()}
    for case in cases:
        among = [model for model, missing in left.items() if missing]
        if not among:
            break
        hits = coverage.hits_of(among, case)
        for model in among:
            left[model] -= hits
    models = {model: {"bins": len(listed), "hit": len(listed) - len(left[model])} for model, listed in names.items()}
    totals = {key: sum(m[key] for m in models.values()) for key in ("bins", "hit")}
    return {"measured": "the directed cases", "cases": len(cases), **totals, "models": models}


def require(result: CoverageReport) -> int:
    """Print the empty bins; returns 1 if there are any."""
    for name in result.empty[:LISTED]:
        print(f"empty: {name}")
    if len(result.empty) > LISTED:
        print(f"... and {len(result.empty) - LISTED} more")
    totals = result.totals
    reachable = totals["hit"] + totals["empty"]
    print(f"{result.name}: {totals['hit']} of {reachable} reachable bins hit by {result.cases} cases", file=sys.stderr)
    return int(bool(result.empty))


# -- waivers: bins that need not be hit, with the reason, from a TOML file ---------------------------------------------


def read_waivers(path: str | Path, coverage: Coverage) -> dict[str, str]:
    """The reason for each bin that a file waives. Raises Error for entries that match no bin of the set.

    The file has tables `[[waive]]` with `bin`, an id or a pattern with * and ?, and `reason`.
    """
    table = read_toml(str(path))
    entries = table.get("waive")
    if set(table) != {"waive"} or not isinstance(entries, list) or not entries:
        raise Error(f"{path}: waivers must be [[waive]] tables with bin and reason, and nothing else")
    known = [b.id for listed in coverage.bins().values() for b in listed]
    waived: dict[str, str] = {}
    for number, entry in enumerate(entries, 1):
        pattern, reason = _waiver(path, number, entry)
        for name in _matching(path, pattern, known):
            waived.setdefault(name, reason)
    return waived


def _waiver(path: str | Path, number: int, entry: Any) -> tuple[str, str]:
    if not isinstance(entry, dict) or set(entry) != {"bin", "reason"}:
        raise Error(f"{path}: waiver {number} must have a bin and a reason, and nothing else")
    for name, value in entry.items():
        if not isinstance(value, str):
            raise Error(f"{path}: waiver {number}: its {name} is not a string")
        if not value.strip():
            raise Error(f"{path}: waiver {number}: its {name} is empty; give {_ENTRIES[name]}")
    return entry["bin"], " ".join(entry["reason"].split())


def _matching(path: str | Path, pattern: str, known: Collection[str]) -> list[str]:
    """The bins of a pattern, in which only * and ? are special."""
    plain = pattern.replace("[", "[[]")
    names = [name for name in known if matches(name, plain)]
    if not names:
        raise Error(f"{path}: {unknown('bin', pattern, known)}")
    return names
