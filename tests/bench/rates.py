"""Rates: medians of several runs, shown beside a peer's."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

RUNS: Final = 5
_THREADS: Final = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


class Row(NamedTuple):
    """A measured rate, and the rates of peers on the same work, if they are installed."""

    work: str
    rate: float
    unit: str
    peer: str = ""
    peer_rate: float | None = None
    others: Mapping[str, float] = {}

    @property
    def peers(self) -> dict[str, float]:
        """The rates of the peers, by their names."""
        return {**({self.peer: self.peer_rate} if self.peer_rate else {}), **self.others}


def one_thread() -> None:
    """Limit numpy's matrix products to one thread; numpy reads this when it is imported."""
    for name in _THREADS:
        os.environ.setdefault(name, "1")


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


def show(*rows: Row) -> None:
    """Print one line per row."""
    for row in rows:
        peers = "".join(f"   {name} {rate:,.0f}, ratio {row.rate / rate:.2f}" for name, rate in row.peers.items())
        print(f"{row.work:44}{row.rate:>12,.0f} {row.unit}{peers}")
