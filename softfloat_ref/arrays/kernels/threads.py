"""Array work run_slices by threads: the compiled loops release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.base.numbers import integer

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

SHARE_SIZE: Final = 1 << 18  # elements that a thread takes at a time
MAX_THREADS: Final = 1024


def thread_count(threads: Any) -> int:
    """A number of threads. Raises Error for anything else."""
    return integer(threads, "threads", 1, MAX_THREADS)


def run_slices(count: int, size: int, threads: int, work: Callable[[slice], Any]) -> None:
    """Run `work` on slices of `count` items of `size` elements each, in this thread and `threads` - 1 others.

    Each thread takes the next slice when it finishes one, and this thread starts at once, so late threads cost nothing.
    """
    step = max(1, SHARE_SIZE // max(size, 1))
    if threads <= 1 or count < 2 * step:
        work(slice(0, count))
        return
    starts = iter(range(0, count, step))  # next() on a range iterator is atomic

    def drain() -> None:
        for at in starts:
            work(slice(at, min(at + step, count)))

    others = [_pool(threads - 1, os.getpid()).submit(drain) for _ in range(threads - 1)]
    try:
        drain()
    finally:
        for _ in starts:  # if this thread failed, the others stop after their slice
            pass
        waited = [other for other in others if not other.cancel()]
    for other in waited:
        other.result()


@lru_cache(maxsize=4)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Threads kept for later calls; a forked process gets its own."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads)
