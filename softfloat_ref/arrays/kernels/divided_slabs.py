"""Arrays of blocks with scales of any format, slab by slab, in the loops of divided_loops.py and searched_loops.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.dispatch import as_word_type, read_only
from softfloat_ref.arrays.kernels.divided import DividedPlan
from softfloat_ref.arrays.slabs import run_slices

SLAB: Final = 1 << 17  # values
SMALL_SIZE: Final = 1 << 14  # values for which the steps of a job would take longer than the loops
_NO_WORDS: Final = np.zeros((1, 0), np.uint32)
Array = NDArray[Any]
Words = Callable[[int, int], Array]


def largest_finite(x: Array) -> int:
    """The largest finite magnitude of contiguous float32 bits."""
    return int(_loops().largest_finite(read_only(x.reshape(-1))))


def quantize(
    x: Array, size: int, plan: DividedPlan, words: Words | None, codes: Array, scales: Array, threads: int = 1
) -> Array:
    """Quantize float32 bits of shape (outer, length, inner) in blocks of `size` along the middle axis, into `codes` of
    that shape and `scales` (outer, blocks, inner).

    words: the random words from a position, so many, of the array in C order. Returns which blocks are left to the
    oracle, in the shape of the scales.
    """
    if plan.search and x.shape[2] > 1:
        return _turned(x, size, plan, words, codes, scales, threads)
    redo = np.zeros(scales.shape, np.uint8)
    arrays = read_only(x), codes, scales, redo
    if threads == 1 and x.shape[2] == 1 and 0 < x.size <= SMALL_SIZE and x.shape[1] % size == 0:
        _whole(size, plan, words, *(array.reshape(1, -1) for array in arrays))
    elif x.shape[2] == 1:
        one = threads == 1 and x.shape[1] % size == 0  # complete blocks only: as one row
        job = _SlabJob(size, plan, words, *(array.reshape(1, -1) if one else array[:, :, 0] for array in arrays))
        run_slices(job.x.shape[0], job.x.shape[1], threads, job.rows)
    else:
        job = _SlabJob(size, plan, words, *arrays)
        run_slices(x.shape[0], x.shape[1] * x.shape[2], threads, job.columns)
    return redo


def _whole(size: int, p: DividedPlan, words: Words | None, x: Array, codes: Array, scales: Array, redo: Array) -> None:
    """Quantize a small array of complete blocks, as one row: what `_SlabJob.rows` does, in fewer steps."""
    loops, inverse = _loops(), np.empty(scales.shape)
    _scales(loops.scales_of_rows, x, size, p, words, 0, scales, inverse, redo)
    drawn = _drawn(words, 0, x, p)
    loops.elements_of_rows(x, size, inverse, p.rules, p.plain, p.near, drawn, p.mode, p.bits, codes)


def _turned(
    x: Array, size: int, plan: DividedPlan, words: Words | None, codes: Array, scales: Array, threads: int
) -> Array:
    """`quantize` of blocks along the middle axis by the loops for rows: the only ones that search a scale."""
    rows = np.ascontiguousarray(x.swapaxes(1, 2)).reshape(-1, x.shape[1], 1)
    blocks = scales.swapaxes(1, 2).shape
    elements, own = np.empty(rows.shape, codes.dtype), np.empty((len(rows), scales.shape[1], 1), scales.dtype)
    drawn = None
    if words is not None:
        turned = np.ascontiguousarray(words(0, x.size).reshape(x.shape).swapaxes(1, 2)).reshape(-1)

        def drawn(start: int, count: int) -> Array:
            return turned[start : start + count]

    redo = quantize(rows, size, plan, drawn, elements, own, threads)
    codes[...] = elements.reshape(x.shape[0], x.shape[2], x.shape[1]).swapaxes(1, 2)
    scales[...] = own.reshape(blocks).swapaxes(1, 2)
    return redo.reshape(blocks).swapaxes(1, 2)


def _drawn(words: Words | None, start: int, x: Array, p: DividedPlan) -> Array:
    """The random words of values from a position on."""
    return _NO_WORDS if words is None else as_word_type(words(start, x.size), p.bits).reshape(x.shape)


def _scales(
    loop: Any, x: Array, size: int, p: DividedPlan, words: Words | None, start: int, scales: Array, inverse: Array,
    redo: Array,
) -> None:  # fmt: skip
    """Find scales by a loop, or by the one that searches them, whose errors depend on the random words."""
    arguments = x, size, p.rules, p.factors, p.rounded, p.powers, p.values
    if p.search:
        from softfloat_ref.arrays.kernels.searched_loops import searched_scales_of_rows

        own = p.plain, p.near, _drawn(words, start, x, p), p.mode, p.bits, p.search, p.elements
        searched_scales_of_rows(*arguments, *own, scales, inverse, redo)
    else:
        loop(*arguments, scales, inverse, redo)


@lru_cache(maxsize=1)
def _loops() -> Any:
    from softfloat_ref.arrays.kernels import divided_loops

    return divided_loops


class _SlabJob(NamedTuple):
    """The quantization of one array, slab by slab."""

    size: int
    plan: DividedPlan
    words: Words | None
    x: Array
    codes: Array
    scales: Array
    redo: Array

    def rows(self, part: slice) -> None:
        """Quantize some rows."""
        from softfloat_ref.arrays.kernels.divided_loops import elements_of_rows, scales_of_rows

        length, size = self.x.shape[1], self.size
        if self.x.size <= SLAB and part.stop - part.start == self.x.shape[0]:
            self._coded(elements_of_rows, ..., self._scaled(scales_of_rows, ..., ..., 0), 0)
            return
        many = max(SLAB // max(length, 1), 1)  # rows at a time
        wide = length if length <= SLAB or size > SLAB else SLAB // size * size  # values of a row at a time
        for top in range(part.start, part.stop, many):
            rows = slice(top, min(top + many, part.stop))
            for left in range(0, length, wide):
                right = min(left + wide, length)
                blocks = slice(left // size, -(-right // size))
                values = rows, slice(left, right)
                inverse = self._scaled(scales_of_rows, values, (rows, blocks), top * length + left)
                step = right - left if size <= SLAB else SLAB
                for begin in range(left, right, step):
                    place = rows, slice(begin, min(begin + step, right))
                    self._coded(elements_of_rows, place, inverse, top * length + begin)

    def columns(self, part: slice) -> None:
        """Quantize some of the arrays (length, columns)."""
        from softfloat_ref.arrays.kernels.divided_loops import elements_of_columns, scales_of_columns

        if self.x.size <= SLAB and part.stop - part.start == self.x.shape[0]:
            self._coded(elements_of_columns, ..., self._scaled(scales_of_columns, ..., ..., 0), 0)
            return
        length, columns = self.x.shape[1:]
        size = min(self.size, length)
        many = max(SLAB // max(size * columns, 1), 1) * size  # values of a column at a time
        step = many if size * columns <= SLAB else max(SLAB // max(columns, 1), 1)
        for outer in range(part.start, part.stop):
            for top in range(0, length, many):
                end = min(top + many, length)
                blocks = slice(top // size, -(-end // size))
                one = slice(outer, outer + 1)
                inverse = self._scaled(scales_of_columns, (one, slice(top, end)), (one, blocks), 0)
                for begin in range(top, end, step):
                    place = one, slice(begin, min(begin + step, end))
                    self._coded(elements_of_columns, place, inverse, (outer * length + begin) * columns)

    def _scaled(self, loop: Any, values: Any, blocks: Any, start: int) -> Array:
        """Compute scales; returns what the elements are multiplied by. start: the position of the first value."""
        x, scales, redo = self.x[values], self.scales[blocks], self.redo[blocks]
        inverse = np.empty(scales.shape)
        results = [scales, inverse, redo]
        if self.x.ndim == 2 and x.shape[1] % self.size == 0:  # complete blocks only: as one row
            x, *results = (array.reshape(1, -1) for array in (x, *results))
        _scales(loop, x, self.size, self.plan, self.words, start, *results)
        return inverse

    def _coded(self, loop: Any, values: Any, inverse: Array, start: int) -> None:
        x, p = self.x[values], self.plan
        drawn = _drawn(self.words, start, x, p)
        loop(x, self.size, inverse, p.rules, p.plain, p.near, drawn, p.mode, p.bits, self.codes[values])
