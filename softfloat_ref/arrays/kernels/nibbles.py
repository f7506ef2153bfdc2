"""Packed elements of four bits to values, through a table that has the value of every scale with every element."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.jit import compiled

Array = NDArray[Any]
U64: Final = np.uint64


def values(data: Array, scales: Array, size: int, table: Array, shape: tuple[int, int]) -> NDArray[np.float32]:
    """The values of rows of bytes, the even element in the low half, and of a scale code for each `size` elements of a
    row. table: float32 by scale code and element code; shape: of the values."""
    rows, length = shape
    out = np.empty((rows, data.shape[1] * 2), np.float32)
    if scales.shape[1] * size == out.shape[1]:  # complete blocks only: as one row
        look_up(data.reshape(1, -1), scales.reshape(1, -1), size, table.reshape(-1), out.reshape(1, -1))
    else:
        look_up(data, scales, size, table.reshape(-1), out)
    return out[:, :length]


@compiled(nogil=True)
def look_up(data: Any, scales: Any, size: int, table: Any, out: Any) -> None:
    """out = table[scale, element] for rows of bytes; the last block of a row may be short. table: flat, 16 entries for
    each of 256 scales. Positions are unsigned, so that none is taken to count from the end."""
    half, length = U64(size // 2), U64(data.shape[1])
    for row in range(data.shape[0]):
        codes, values = data[row], out[row]
        begin = U64(0)
        for block in range(scales.shape[1]):
            base = U64(scales[row, block]) << U64(4)
            end = min(begin + half, length)
            for i in range(begin, end):
                byte = U64(codes[i])
                values[i + i] = table[base | (byte & U64(15))]
                values[i + i + U64(1)] = table[base | (byte >> U64(4))]
            begin = end


def values_of_halves(data: Array, scales: int, group: int, table: Array) -> NDArray[np.float32]:
    """The values of blocks (blocks, bytes) that begin with a number of scales, each a byte, followed by the elements of
    each scale's group, its first half in the low halves of bytes. table: as of `values`."""
    out = np.empty((len(data), scales * group), np.float32)
    look_up_halves(data, scales, group // 2, table.reshape(-1), out)
    return out


@compiled(nogil=True)
def look_up_halves(data: Any, scales: int, half: int, table: Any, out: Any) -> None:
    """out = table[scale, element] for blocks, one a row."""
    length = U64(half)
    for row in range(data.shape[0]):
        codes, values = data[row], out[row]
        byte, low = U64(scales), U64(0)
        for group in range(scales):
            base = U64(codes[group]) << U64(4)
            for _ in range(half):
                pair = U64(codes[byte])
                values[low] = table[base | (pair & U64(15))]
                values[low + length] = table[base | (pair >> U64(4))]
                byte += U64(1)
                low += U64(1)
            low += length
