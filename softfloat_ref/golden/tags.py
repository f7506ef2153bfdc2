"""Tags: why each case of a set exists, as runs of cases with the same tag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

UNTAGGED: Final = "case"
MAX_GROUPS: Final = 64  # that a manifest lists; beyond, only the files with tags have them

Run = tuple[str, int]  # a tag, and how many cases in a row have it


class TagCursor:
    """The tags of a set's cases, queried in increasing order; without runs, or after the last, UNTAGGED."""

    def __init__(self, vectors: Any) -> None:
        self._runs: Iterator[Run] = iter(getattr(vectors, "tag_runs", tuple)())
        self._tag = UNTAGGED
        self._left = 0  # of the current run
        self._at = 0

    def take(self, start: int, count: int) -> list[Run]:
        """The runs of `count` cases from case number `start` on, which must not lie before an earlier query."""
        self._next(start - self._at)
        return self._next(count)

    def _next(self, count: int) -> list[Run]:
        runs: list[Run] = []
        self._at += count
        while count > 0:
            n = min(count, self._filled())
            runs.append((self._tag, n))
            self._left -= n
            count -= n
        return runs

    def _filled(self) -> int:
        """The rest of the current run, or of the next run with cases."""
        while not self._left:
            self._tag, self._left = next(self._runs, (UNTAGGED, 1 << 62))
        return self._left


def defined_runs(runs: Iterable[Run], undefined: Iterable[int]) -> list[Run]:
    """The runs without the cases at those places, which have no defined result."""
    defined: list[Run] = []
    places = iter(undefined)
    place, end = next(places, -1), 0
    for tag, count in runs:
        end += count
        rest = count
        while 0 <= place < end:
            rest -= 1
            place = next(places, -1)
        if rest:
            defined.append((tag, rest))
    return defined


def merge_runs(runs: Iterable[Run]) -> Iterator[Run]:
    """The runs with neighbours of the same tag as one."""
    tag, total = "", 0
    for name, count in runs:
        if name != tag and total:
            yield tag, total
            total = 0
        tag = name
        total += count
    if total:
        yield tag, total


def groups(runs: Iterable[Run]) -> list[dict[str, Any]] | None:
    """The runs as a manifest lists them: tag, the number of the first line (from 0), and the count; None
    if there are too many runs."""
    entries: list[dict[str, Any]] = []
    first = 0
    for tag, count in runs:
        if len(entries) == MAX_GROUPS:
            return None
        entries.append({"tag": tag, "first": first, "count": count})
        first += count
    return entries
