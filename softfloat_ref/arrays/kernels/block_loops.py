"""The compiled loops of block formats with power-of-two scales: float32 bits to scales and elements, and back.

Dividing by the scale only moves the exponent, so elements use the branch-free conversion of kernels/convert.py with
another lowest binade. The scale follows from the exponent field of the largest magnitude and a threshold.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels import blocks32
from softfloat_ref.arrays.kernels.convert import I32, U32, finite_code32, plain
from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.arrays.kernels.nearest import ALL, magnitude_code, signed, unpacked

TILE: Final = 4096  # columns at a time if blocks do not run along the last axis
SPAN: Final = 2048  # values at a time if they do
TOGETHER: Final = 1024  # values of several short rows at a time, at most divided_loops.PART
NAN: Final = np.float32(np.nan)
_INF: Final = U32(0x7F800000)
_HIDDEN: Final = U32(0x800000)
_FRACTION: Final = U32(0x7FFFFF)
_SMALLEST: Final = np.float32(2.0**-126)  # smallest normal


@compiled(forceinline=True)
def _scale_code(largest: Any, table: Any, zero_scale: Any) -> Any:
    """The code of the scale for a block's largest finite magnitude."""
    return zero_scale if largest == U32(0) else blocks32.scale_code(largest, table)


@compiled(nogil=True)
def quantize_rows(
    x: Any, size: int, emin: int, table: Any, rules: Any, numbers: Any, codes: Any, scales: Any, redo: Any
) -> None:
    """Quantize x (rows, length) in blocks of `size` along the rows; the last block of a row may be short.

    table: see block_dispatch. rules: scale of an all-zero block, NaN scale (-1: none), code of every element under it.
    numbers: the fields of a convert.Plain. redo: set for blocks that are left to the oracle, which have subnormal
    values that the scale makes normal.
    """
    p = plain(numbers)
    zero_scale, nan_scale, nan_code = rules[0], rules[1], rules[2]
    length, step = x.shape[1], max(SPAN // size, 1)  # blocks at a time
    largest, least = np.empty(step, np.uint32), np.empty(step * size, np.int32)
    for row in range(x.shape[0]):
        for early in range(0, scales.shape[1], step):
            late = min(early + step, scales.shape[1])
            begin, end = early * size, min(late * size, length)
            values, elements = x[row, begin:end], codes[row, begin:end]  # indices start at 0, so the loop vectorises
            largest_of_blocks(values, size, largest)
            special = False
            for block in range(late - early):
                top = _flushed(largest[block], p)
                scale = nan_scale if top >= _INF else _scale_code(top, table, zero_scale)
                scales[row, early + block] = scale
                special |= scale == nan_scale or emin + scale < 1
                least[block * size : (block + 1) * size] = I32(emin + scale)
            _elements(values, elements, least, p)
            for block in range(late - early if special else 0):
                scale, part = scales[row, early + block], slice(block * size, min((block + 1) * size, values.size))
                if scale == nan_scale:
                    elements[part] = nan_code
                elif emin + scale < 1 and not p.flush:
                    redo[row, early + block] = _has_subnormal(values[part])


@compiled(nogil=True)
def quantize_rows32(
    x: Any, emin: int, table: Any, rules: Any, numbers: Any, near: Any, codes: Any, scales: Any, redo: Any
) -> None:
    """As quantize_rows, for blocks of 32. near: the fields of a nearest.Nearest."""
    fields = unpacked(near)
    size, step = blocks32.SIZE, blocks32.TOGETHER
    largest, least = np.empty(step, np.uint32), np.empty(step, np.int32)
    complete = x.shape[1] // size
    for row in range(x.shape[0]):
        only = slice(row, row + 1)
        for early in range(0, complete, step):
            late = min(early + step, complete)
            part, some = slice(early * size, late * size), slice(early, late)
            values, elements = x[row, part], codes[row, part]
            blocks32.largest_of_blocks(values, late - early, largest)
            if blocks32.scales_of_blocks(largest, late - early, table, rules[0], emin, scales[row, some], least):
                blocks32.elements(values, elements, least, late - early, fields)
            else:
                arguments = (x[only, part], size, emin, table, rules, numbers)
                quantize_rows(*arguments, codes[only, part], scales[only, some], redo[only, some])
        if complete < scales.shape[1]:
            part, some = slice(complete * size, x.shape[1]), slice(complete, complete + 1)
            arguments = (x[only, part], size, emin, table, rules, numbers)
            quantize_rows(*arguments, codes[only, part], scales[only, some], redo[only, some])


@compiled(forceinline=True)
def _flushed(magnitude: Any, p: Any) -> Any:
    return U32(0) if p.flush and magnitude < _HIDDEN else magnitude


@compiled()
def largest_of_blocks(values: Any, size: int, largest: Any) -> None:
    """The largest magnitude of each block, the last of which may be short."""
    for block in range(-(-values.size // size)):
        largest[block] = _largest(values[block * size : min((block + 1) * size, values.size)])


@compiled()
def _largest(values: Any) -> Any:
    top = U32(0)
    for k in range(values.size):
        top = max(top, U32(values[k] & U32(0x7FFFFFFF)))
    return top


@compiled()
def _has_subnormal(values: Any) -> bool:
    for k in range(values.size):
        magnitude = U32(values[k] & U32(0x7FFFFFFF))
        if U32(0) < magnitude < _HIDDEN:
            return True
    return False


@compiled()
def _elements(values: Any, out: Any, least: Any, p: Any) -> None:
    """Codes of values, each with its block's lowest binade: one loop over many blocks, long enough to be vectorised."""
    for k in range(values.size):
        out[k] = finite_code32(values[k], least[k], p)


@compiled()
def _near_elements(values: Any, out: Any, least: Any, p: Any) -> None:
    """The same, for p a nearest.Nearest and binades above float32's subnormals."""
    for k in range(values.size):
        code = magnitude_code(values[k], least[k], p)
        out[k] = signed(p.beyond if code > p.limit else code, values[k], p)


@compiled(nogil=True)
def quantize_columns(
    x: Any, size: int, emin: int, table: Any, rules: Any, numbers: Any, near: Any, codes: Any, scales: Any,
    redo: Any,
) -> None:  # fmt: skip
    """As quantize_rows, for (outer, length, columns) with blocks along the middle axis. near: the fields of a
    nearest.Nearest, or empty."""
    p, has_near = plain(numbers), near.size > 0
    fields = unpacked(near if has_near else numbers)
    zero_scale, nan_scale, nan_code = rules[0], rules[1], rules[2]
    length, columns = x.shape[1], x.shape[2]
    together = rows_together(columns, size)
    largest, least = np.zeros(TILE, np.uint32), np.zeros(TILE, np.int32)
    special = np.zeros(TILE, np.uint8)
    for outer in range(x.shape[0]):
        flat, coded = x[outer].reshape(-1), codes[outer].reshape(-1)
        for block in range(scales.shape[1]):
            first = block * size
            end = min(first + size, length)
            for left in range(0, columns, TILE):
                width = min(TILE, columns - left)
                largest[:width] = 0
                for k in range(first, end):
                    larger(x[outer, k, left : left + width], largest)
                is_near = has_near
                for c in range(width):
                    top = _flushed(largest[c], p)
                    scale = nan_scale if top >= _INF else _scale_code(top, table, zero_scale)
                    scales[outer, block, left + c] = scale
                    special[c] = scale == nan_scale
                    least[c] = emin + scale if top else blocks32.FAR
                    is_near &= special[c] or least[c] > ALL
                    if least[c] < 1 and not p.flush and not special[c]:
                        redo[outer, block, left + c] = _has_subnormal(x[outer, first:end, left + c])
                repeat(least, width, min(together, end - first))
                for k in range(first, end, together):
                    part = slice(k * columns + left, (min(k + together, end) - 1) * columns + left + width)
                    values, elements = flat[part], coded[part]
                    if is_near:
                        _near_elements(values, elements, least, fields)
                    else:
                        _elements(values, elements, least, p)
                for c in range(width):
                    if special[c]:
                        for k in range(first, end):
                            codes[outer, k, left + c] = nan_code


@compiled(forceinline=True)
def rows_together(columns: int, size: int) -> int:
    """How many rows of a block of so many columns a loop takes at a time: of narrow arrays several, since it is slow on
    few values. Then the columns are the whole array's, so that these rows follow each other in memory."""
    return max(min(TOGETHER // max(columns, 1), size), 1)


@compiled()
def repeat(row: Any, width: int, count: int) -> None:
    """Make `count` rows of the first one, of `width` numbers."""
    for i in range(width, count * width):
        row[i] = row[i - width]


@compiled()
def larger(values: Any, largest: Any) -> None:
    """Raise `largest` to the magnitudes of values."""
    for c in range(values.size):
        largest[c] = max(largest[c], U32(values[c] & U32(0x7FFFFFFF)))


@compiled(nogil=True)
def dequantize_rows(
    codes: Any, scales: Any, size: int, table: Any, factors: Any, short: Any, single: Any, out: Any
) -> None:
    """out = values of codes (rows, length) and scales (rows, blocks). table: by element code; factors: by scale code.

    short: the table in float32. single: factors by scale code where all float32 products are exact and normal, else
    0."""
    length, step = codes.shape[1], max(SPAN // size, 1)
    spread, wide = np.empty(step * size, np.float32), np.empty(step * size, np.float64)
    for row in range(codes.shape[0]):
        for early in range(0, scales.shape[1], step):
            some = scales[row, early : min(early + step, scales.shape[1])]
            begin, end = early * size, min((early + step) * size, length)
            elements, values = codes[row, begin:end], out[row, begin:end]
            if _all_exact(some, single):
                for block in range(some.size):
                    spread[block * size : (block + 1) * size] = single[some[block]]
                _products(elements, short, spread, values)
            else:
                for block in range(some.size):
                    wide[block * size : (block + 1) * size] = factors[some[block]]
                _rounded_products(elements, table, wide, values)


@compiled(nogil=True)
def dequantize_rows32(
    codes: Any, scales: Any, table: Any, factors: Any, units: Any, decoded: Any, short: Any, single: Any, out: Any
) -> None:
    """As dequantize_rows, for blocks of 32. units: `single` times the smallest subnormal, or 0."""
    size, step = blocks32.SIZE, blocks32.TOGETHER
    unit = np.empty(step, np.float32)
    complete = codes.shape[1] // size
    for row in range(codes.shape[0]):
        place = slice(row, row + 1)
        if complete < scales.shape[1]:
            part, last = slice(complete * size, codes.shape[1]), slice(complete, complete + 1)
            dequantize_rows(
                codes[place, part], scales[place, last], size, table, factors, short, single, out[place, part]
            )
        for early in range(0, complete, step):
            count = min(step, complete - early)
            usual = True
            for block in range(count):
                unit[block] = units[scales[row, early + block]]
                usual &= unit[block] != 0
            part = slice(early * size, (early + count) * size)
            if not (usual and blocks32.values_of(codes[row, part], unit, count, out[row, part], decoded)):
                some = scales[place, early : early + count]
                dequantize_rows(codes[place, part], some, size, table, factors, short, single, out[place, part])


@compiled()
def _all_exact(scales: Any, single: Any) -> bool:
    exact = True
    for block in range(scales.size):
        exact &= single[scales[block]] != 0
    return exact


@compiled()
def _products(codes: Any, table: Any, factors: Any, out: Any) -> None:
    for k in range(codes.size):
        out[k] = table[codes[k]] * factors[k]


@compiled()
def _rounded_products(codes: Any, table: Any, factors: Any, out: Any) -> None:
    """The products in float64, which are exact, rounded to float32."""
    for k in range(codes.size):
        value = table[codes[k]] * factors[k]
        out[k] = np.float32(value) if value == value else NAN  # one NaN, whatever the payload of the product


@compiled(nogil=True)
def dequantize_columns(
    codes: Any, scales: Any, size: int, table: Any, factors: Any, short: Any, single: Any, out: Any
) -> None:
    """As dequantize_rows, for (outer, length, columns) with blocks along the middle axis."""
    spread, wide, columns = np.empty(TILE, np.float32), np.empty(TILE, np.float64), codes.shape[2]
    together = rows_together(columns, size)
    for outer in range(codes.shape[0]):
        flat, values = codes[outer].reshape(-1), out[outer].reshape(-1)
        for block in range(scales.shape[1]):
            first, end = block * size, min((block + 1) * size, codes.shape[1])
            for left in range(0, columns, TILE):
                width = min(TILE, columns - left)
                some, count = scales[outer, block, left : left + width], min(together, end - first)
                exact = _all_exact(some, single)
                for c in range(width):
                    spread[c], wide[c] = single[some[c]], factors[some[c]]
                if exact:
                    repeat(spread, width, count)
                else:
                    repeat(wide, width, count)
                for k in range(first, end, together):
                    part = slice(k * columns + left, (min(k + together, end) - 1) * columns + left + width)
                    if exact:
                        _products(flat[part], short, spread, values[part])
                    else:
                        _rounded_products(flat[part], table, wide, values[part])


@compiled(nogil=True)
def rescale_values(x: Any, scales: Any, size: int, table: Any, flush: Any, out: Any) -> None:
    """(outer, length, columns) values times the table's entry for the scale of their block along the middle axis."""
    if x.shape[2] == 1:
        for outer in range(x.shape[0]):
            for block in range(scales.shape[1]):
                factor = table[scales[outer, block, 0]]
                part = slice(block * size, min((block + 1) * size, x.shape[1]))
                _rescale(x[outer, part, 0], factor, flush, out[outer, part, 0])
        return
    factors = np.empty(x.shape[2], np.float64)
    for outer in range(x.shape[0]):
        for block in range(scales.shape[1]):
            for c in range(x.shape[2]):
                factors[c] = table[scales[outer, block, c]]
            for k in range(block * size, min((block + 1) * size, x.shape[1])):
                for c in range(x.shape[2]):
                    value = x[outer, k, c]
                    out[outer, k, c] = np.float32(_kept(value, flush) * factors[c])


@compiled()
def _rescale(values: Any, factor: Any, flush: Any, out: Any) -> None:
    for k in range(values.size):
        out[k] = np.float32(_kept(values[k], flush) * factor)


@compiled(forceinline=True)
def _kept(value: Any, flush: Any) -> Any:
    return np.float64(value) * (0.0 if flush and abs(value) < _SMALLEST else 1.0)
