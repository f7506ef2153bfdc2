"""The compiled loop of matrix products that are additions and multiplications of the processor: `native_products.py`
says which, and makes their instructions."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels.jit import compiled

LANES: Final = 256  # columns side by side


@compiled(forceinline=True)
def _add(slots: Any, out: int, first: int, second: int, lanes: int) -> None:
    """A sum. Where it replaces a term, the compiler has to see that it is the same one, to compute many at once."""
    total, x, y = slots[out], slots[first], slots[second]
    if out == first:
        for lane in range(lanes):
            total[lane] = total[lane] + y[lane]
    elif out == second:
        for lane in range(lanes):
            total[lane] = x[lane] + total[lane]
    else:
        for lane in range(lanes):
            total[lane] = x[lane] + y[lane]


@compiled(nogil=True)
def native_products(code: Any, count: int, a: Any, b: Any, size: int, out: Any) -> None:
    """out[i, j] += the products of a[i] and b[:, j], `size` at a time. code: rows of Instruction, the second -1 for
    products; count: the number of slots."""
    slots, k = np.empty((count, LANES), out.dtype), a.shape[1]
    for j in range(0, b.shape[1], LANES):
        lanes = min(LANES, b.shape[1] - j)
        for i in range(a.shape[0]):
            slots[0, :lanes] = out[i, j : j + lanes]
            for start in range(0, k, size):
                for n in range(code.shape[0]):
                    at, first, second = code[n, 0], code[n, 1], code[n, 2]
                    if second >= 0:
                        _add(slots, at, first, second, lanes)
                    elif start + first < k:
                        x, row, product = a[i, start + first], b[start + first, j : j + lanes], slots[at]
                        for lane in range(lanes):
                            product[lane] = x * row[lane]
                    else:
                        slots[at, :lanes] = 0
            out[i, j : j + lanes] = slots[0, :lanes]
