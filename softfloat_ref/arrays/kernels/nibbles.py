"""Packed elements of four bits to values, through a table that has the value of every scale with every element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.jit import compiled

Array = NDArray[Any]


def values(data: Array, scales: Array, size: int, table: Array, shape: tuple[int, int]) -> NDArray[np.float32]:
    """The values of rows of bytes, the even element in the low half, and of a scale code for each `size` elements of a
    row. table: float32 by scale code and element code; shape: of the values."""
    rows, length = shape
    out = np.empty((rows, data.shape[1] * 2), np.float32)
    if scales.shape[1] * size == out.shape[1]:  # complete blocks only: as one row
        look_up(data.reshape(1, -1), scales.reshape(1, -1), size, table, out.reshape(1, -1))
    else:
        look_up(data, scales, size, table, out)
    return out[:, :length]


@compiled(nogil=True)
def look_up(data: Any, scales: Any, size: int, table: Any, out: Any) -> None:
    """out = table[scale, element] for rows of bytes; the last block of a row may be short."""
    half = size // 2
    for row in range(data.shape[0]):
        for block in range(scales.shape[1]):
            own = table[scales[row, block]]
            for i in range(block * half, min(block * half + half, data.shape[1])):
                byte = data[row, i]
                out[row, 2 * i] = own[byte & 15]
                out[row, 2 * i + 1] = own[byte >> 4]
