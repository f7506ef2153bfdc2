"""Rates: medians of several runs, shown beside a peer's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Final, NamedTuple

RUNS: Final = 5


class Row(NamedTuple):
    """A measured rate, and the peer's rate on the same work, if there is one."""

    work: str
    rate: float
    unit: str
    peer: str = ""
    peer_rate: float = 0.0


def median_seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """The median of several runs, after one warm-up."""
    times = []
    for _ in range(RUNS + 1):
        begin = clock()
        work()
        times.append(clock() - begin)
    return statistics.median(times[1:])


def median_rate(count: int, work: Callable[[], object]) -> float:
    """count over the median seconds of a run."""
    return count / median_seconds(work, time.perf_counter)


def show(rows: list[Row]) -> None:
    """Print one line per row."""
    for row in rows:
        peer = f"   {row.peer} {row.peer_rate:,.0f}, ratio {row.rate / row.peer_rate:.2f}" if row.peer else ""
        print(f"{row.work:44}{row.rate:>12,.0f} {row.unit}{peer}")
