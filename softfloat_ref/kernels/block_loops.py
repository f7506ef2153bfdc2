"""The compiled loops of block formats whose scales are powers of two: float32 bits to scales and elements, and back.

An element is the value with its exponent moved by the scale's, so the branch-free conversion of kernels/convert.py does
it with another lowest binade. The scale is looked up by the largest magnitude's exponent field and a threshold.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from softfloat_ref.kernels.convert import I32, U32, finite_code32
from softfloat_ref.kernels.jit import compiled

TILE: Final = 256  # columns at a time where blocks do not run along the last axis
NAN: Final = np.float32(np.nan)
_INF: Final = U32(0x7F800000)
_HIDDEN: Final = U32(0x800000)


@compiled(forceinline=True)
def _scale_code(largest: Any, start: Any, threshold: Any, zero_scale: Any) -> Any:
    """The scale's code of a block's largest finite magnitude."""
    if largest == U32(0):
        return zero_scale
    field = largest >> U32(23)
    return start[field] + (1 if (largest & U32(0x7FFFFF)) >= threshold[field] else 0)


@compiled(nogil=True)
def quantize_rows(
    x: Any, size: int, emin: int, start: Any, threshold: Any, rules: Any, p: Any, codes: Any, scales: Any, redo: Any
) -> None:
    """Rows (rows, length) in blocks of `size` along them; the last block may be short.

    rules: scale of a block of zeros, scale that is NaN (-1: none), code of every element under it. redo: set where a
    block is left to the oracle: subnormal values that the scale makes normal ones.
    """
    zero_scale, nan_scale, nan_code = rules[0], rules[1], rules[2]
    length = x.shape[1]
    for row in range(x.shape[0]):
        for block in range(scales.shape[1]):
            first, end = block * size, min((block + 1) * size, length)
            values, made = x[row, first:end], codes[row, first:end]  # from 0 on, so that the compiler vectorises
            largest, lowest = _extremes(values, p)
            scale = nan_scale if largest >= _INF else _scale_code(largest, start, threshold, zero_scale)
            scales[row, block] = scale
            if scale == nan_scale:
                made[:] = nan_code
                continue
            least = emin + scale
            if least < 1 and lowest < U32(0x7FFFFF):
                redo[row, block] = 1
            _elements(values, made, I32(least), p)


@compiled()
def _extremes(values: Any, p: Any) -> Any:
    """The largest magnitude, and the smallest nonzero one less 1 (as unsigned: of zeros, the largest number)."""
    largest, lowest = U32(0), U32(0xFFFFFFFF)
    for k in range(values.size):
        magnitude = U32(values[k] & U32(0x7FFFFFFF))
        magnitude = U32(0) if p.flush and magnitude < _HIDDEN else magnitude
        largest = U32(max(largest, magnitude))
        lowest = U32(min(lowest, U32(magnitude - U32(1))))
    return largest, lowest


@compiled()
def _elements(values: Any, made: Any, least: Any, p: Any) -> None:
    for k in range(values.size):
        made[k] = finite_code32(values[k], least, p)


@compiled(nogil=True)
def quantize_columns(
    x: Any, size: int, emin: int, start: Any, threshold: Any, rules: Any, p: Any, codes: Any, scales: Any, redo: Any
) -> None:
    """As quantize_rows, for (outer, length, columns) in blocks along the middle axis."""
    zero_scale, nan_scale, nan_code = rules[0], rules[1], rules[2]
    length, columns = x.shape[1], x.shape[2]
    largest, lowest = np.zeros(TILE, np.uint32), np.zeros(TILE, np.uint32)
    least, special = np.zeros(TILE, np.int32), np.zeros(TILE, np.uint8)
    for outer in range(x.shape[0]):
        for block in range(scales.shape[1]):
            first = block * size
            end = min(first + size, length)
            for left in range(0, columns, TILE):
                width = min(TILE, columns - left)
                largest[:], lowest[:] = 0, 0xFFFFFFFF
                for k in range(first, end):
                    _column_extremes(x[outer, k, left : left + width], largest, lowest, p)
                for c in range(width):
                    top = largest[c]
                    scale = nan_scale if top >= _INF else _scale_code(top, start, threshold, zero_scale)
                    scales[outer, block, left + c] = scale
                    special[c] = scale == nan_scale
                    least[c] = emin + scale
                    if least[c] < 1 and lowest[c] < U32(0x7FFFFF) and not special[c]:
                        redo[outer, block, left + c] = 1
                for k in range(first, end):
                    made = codes[outer, k, left : left + width]
                    _column_elements(x[outer, k, left : left + width], made, least, p)
                for c in range(width):
                    if special[c]:
                        for k in range(first, end):
                            codes[outer, k, left + c] = nan_code


@compiled()
def _column_extremes(values: Any, largest: Any, lowest: Any, p: Any) -> None:
    for c in range(values.size):
        magnitude = U32(values[c] & U32(0x7FFFFFFF))
        magnitude = U32(0) if p.flush and magnitude < _HIDDEN else magnitude
        largest[c] = U32(max(largest[c], magnitude))
        lowest[c] = U32(min(lowest[c], U32(magnitude - U32(1))))


@compiled()
def _column_elements(values: Any, made: Any, least: Any, p: Any) -> None:
    for c in range(values.size):
        made[c] = finite_code32(values[c], least[c], p)


@compiled(nogil=True)
def dequantize_rows(codes: Any, scales: Any, size: int, table: Any, factors: Any, out: Any) -> None:
    """(rows, length) codes and (rows, blocks) scales to values: table by element code, factors by scale code."""
    length = codes.shape[1]
    for row in range(codes.shape[0]):
        for block in range(scales.shape[1]):
            factor = factors[scales[row, block]]
            first, end = block * size, min((block + 1) * size, length)
            elements, values = codes[row, first:end], out[row, first:end]
            for k in range(elements.size):
                value = table[elements[k]] * factor
                values[k] = np.float32(value) if value == value else NAN  # one NaN, whatever the product's


@compiled(nogil=True)
def dequantize_columns(codes: Any, scales: Any, size: int, table: Any, factors: Any, out: Any) -> None:
    """As dequantize_rows, for (outer, length, columns) with blocks along the middle axis."""
    for outer in range(codes.shape[0]):
        for k in range(codes.shape[1]):
            block = k // size
            for c in range(codes.shape[2]):
                value = table[codes[outer, k, c]] * factors[scales[outer, block, c]]
                out[outer, k, c] = np.float32(value) if value == value else NAN
