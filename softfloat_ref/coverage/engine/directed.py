"""Directed cases of a set, in an order in which every prefix is useful; and levels, which set their number."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from softfloat_ref.base import disk_cache
from softfloat_ref.coverage.engine.framework import Coverage, Line

EXHAUSTIVE: Final = "exhaustive"
RANDOM: Final = "random"  # the tag of cases that are
MAX_EXHAUSTIVE_BITS: Final = 32
Turn = tuple[str, Iterator[Line]]  # a bin, and the cases that are left for it


class Level(NamedTuple):
    """cases: the total number; blocks: the total number of blocks or dot products. each: directed cases per bin.
    directed: the maximum number of directed cases."""

    cases: int
    blocks: int
    each: int
    directed: int


LEVELS: Final = {
    "0": Level(500, 500, 1, 400),
    "1": Level(50_000, 10_000, 4, 1 << 20),
    "2": Level(2_000_000, 200_000, 32, 1 << 20),
}


def stream(coverage: Coverage, each: int) -> Iterator[tuple[str, Line]]:
    """Bin and case: the first case of every bin, the models taking turns, then the second of every bin, and so on.

    In the first round, bins that a case of another bin has already hit come last. No case comes twice: a case
    already generated for another bin is skipped.
    """
    bins = [[(name, coverage.cases(name)) for name in names] for names in coverage.names().values()]
    turns = [x for row in itertools.zip_longest(*bins) for x in row if x is not None]
    seen: set[Line] = set()
    hit: set[str] = set()
    later: list[Turn] = []
    for name, cases in turns:
        if name in hit:
            later.append((name, cases))
            continue
        for tag, case in _round([(name, cases)], seen):
            hit.update(coverage.hits(case))
            yield tag, case
    for listed in (later, *itertools.repeat(turns, each - 1)):
        yield from _round(listed, seen)


def _round(turns: Iterable[Turn], seen: set[Line]) -> Iterator[tuple[str, Line]]:
    """The next case of each bin that is not one of those seen."""
    for name, cases in turns:
        case = next((x for x in cases if x not in seen), None)
        if case is not None:
            seen.add(case)
            yield name, case


@lru_cache(maxsize=256)
def directed(
    coverage: Coverage, each: int, most: int, origin: disk_cache.CacheKey | None = None
) -> tuple[tuple[str, Line], ...]:
    """At most that many directed cases of a set, with their tags. origin: what they follow from; with it they are kept
    on disk."""
    file = disk_cache.path_for(origin, "directed", each)
    stored = disk_cache.load(file)
    if stored is not None and (stored["most"] >= most or len(stored["cases"]) < stored["most"]):
        return tuple((name, tuple(case)) for name, case in stored["cases"][:most])
    start = time.perf_counter()
    cases = tuple(itertools.islice(stream(coverage, each), most))
    if time.perf_counter() - start >= disk_cache.WORTH_S:
        disk_cache.store(file, {"most": most, "cases": cases})
    return cases
