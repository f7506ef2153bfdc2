"""Large arrays in parts: slabs, which are copied one at a time if strides or another type require a copy, and slices,
which threads share (the compiled loops release the interpreter lock)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.numbers import integer
from softfloat_ref.oracle.sources import RandomSource, is_source

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

SLAB_SIZE: Final = 1 << 18  # elements per slab: a few MiB
SHARE_SIZE: Final = 1 << 18  # elements that a thread takes at a time
MAX_THREADS: Final = 1024
Index = tuple[int | slice, ...]


@dataclass(frozen=True)
class From:
    """A random source that starts at a given position."""

    source: RandomSource
    first: int

    def bits(self, n: int, start: int, count: int) -> list[int]:
        return self.source.bits(n, self.first + start, count)

    def array(self, n: int, start: int, count: int) -> NDArray[np.uint64]:
        return self.source.array(n, self.first + start, count)

    def spec(self) -> str:
        return self.source.spec()


def slabs(shape: tuple[int, ...]) -> Iterator[Index]:
    """Indices of parts of at most SLAB_SIZE elements, in C order."""
    inner = prod(shape[1:])
    if not shape or prod(shape) <= SLAB_SIZE:
        yield ()
    elif len(shape) > 1 and inner >= SLAB_SIZE:
        for i in range(shape[0]):
            for rest in slabs(shape[1:]):
                yield (i, *rest)
    else:
        step = SLAB_SIZE // inner
        for i in range(0, shape[0], step):
            yield (slice(i, i + step),)


def needs_copy(x: object, out: object) -> bool:
    """Whether an array is large and must be copied: it or `out` is not contiguous, or its type must be converted."""
    if not isinstance(x, np.ndarray) or isinstance(x, np.ma.MaskedArray) or x.size <= SLAB_SIZE:
        return False
    scattered = isinstance(out, np.ndarray) and not out.flags.c_contiguous
    return scattered or not x.flags.c_contiguous or not x.dtype.isnative or x.dtype.kind == "i"


def by_slabs(
    x: NDArray[Any], random_bits: Any, out: NDArray[Any], convert: Callable[[NDArray[Any], Any, NDArray[Any]], Any]
) -> None:
    """Call convert(values, random bits, out) on each slab, made contiguous, and store the results in `out`."""
    first = 0
    for index in slabs(x.shape):
        values = np.ascontiguousarray(x[index])
        place = out[index]
        buffer = place if place.flags.c_contiguous else np.empty(place.shape, place.dtype)
        convert(values, _part(random_bits, index, first, x.shape), buffer)
        if buffer is not place:
            place[...] = buffer
        first += values.size


def _part(random_bits: Any, index: Index, first: int, shape: tuple[int, ...]) -> Any:
    if is_source(random_bits):
        return From(random_bits, first)
    fits = isinstance(random_bits, np.ndarray) and random_bits.shape == shape
    return random_bits[index] if fits else random_bits


# -- threads ----------------------------------------------------------------------------------------------------------


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
