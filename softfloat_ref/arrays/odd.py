"""Sums of float64 arrays rounded to odd."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def odd_sum(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """a + b rounded to odd in float64, so that a second rounding to fewer bits is correct; a may be infinite.

    The rounding error of a sum is itself a float64 (Knuth's two-sum). If it is nonzero and the sum is even, the result
    is the neighbour in the direction of the error, which is odd (Boldo and Melquiond, IEEE Trans. Computers 57, 2008).
    """
    total = a + b
    with np.errstate(invalid="ignore"):  # Inf - Inf
        part = total - a
        error = (a - (total - part)) + (b - part)
    bits = total.view(np.int64).copy()
    move = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    away = (error > 0) == (total > 0)
    bits[move] += np.where(away, 1, -1)[move]
    odd: NDArray[np.float64] = bits.view(np.float64)
    return odd
