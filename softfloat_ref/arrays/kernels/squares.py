"""The compiled loop that compares values with their quantized values: exact sums of squares, counts, largest errors.

A sum of squares is exact: significands of 53 bits are squared in three partial products, which are added to integers,
one set for each exponent. So the sums do not depend on the order of the values.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels.jit import compiled

EXPONENTS: Final = 2047  # exponent fields of finite float64 values
PARTS: Final = 6  # lower and upper 32 bits of each of three partial products
LOW_BITS: Final = 27  # a significand is high * 2^27 + low
COUNTS: Final = ("specials", "lost", "flushed")
_LOW: Final = (1 << LOW_BITS) - 1
_HALF: Final = (1 << 32) - 1
_FRACTION: Final = (1 << 52) - 1


@compiled(forceinline=True)
def _add_square(bits: Any, sums: Any) -> None:
    """Add the square of a finite float64, given as int64 bits without the sign."""
    field, significand = bits >> 52, bits & _FRACTION
    if field:
        significand |= _FRACTION + 1
    else:
        field = 1
    high, low = significand >> LOW_BITS, significand & _LOW
    place = sums[field]
    product = high * high
    place[0] += product & _HALF
    place[1] += product >> 32
    product = high * low
    place[2] += product & _HALF
    place[3] += product >> 32
    product = low * low
    place[4] += product & _HALF
    place[5] += product >> 32


@compiled(nogil=True)
def compare(x: Any, y: Any, signal: Any, noise: Any, counts: Any, largest: Any, odd: Any) -> Any:
    """Add the squares of x and of y - x to `signal` and `noise`, int64 (EXPONENTS, PARTS); returns the number of `odd`.

    x, y: float64. counts: those of COUNTS, int64. largest: the largest |x|, error and relative error so far, float64.
    odd: receives the indices of values whose difference float64 does not hold, and which are in no sum.
    """
    x_bits, n = x.view(np.int64), 0
    for i in range(x.size):
        a, b = x[i], y[i]
        if not np.isfinite(a):
            counts[0] += 1
            continue
        magnitude = abs(a)
        largest[0] = max(largest[0], magnitude)
        if not np.isfinite(b):
            counts[1] += 1
            continue
        bits = x_bits[i] & np.int64(0x7FFFFFFFFFFFFFFF)
        difference = b - a
        part = difference - b
        rest = (b - (difference - part)) - (a + part)  # Knuth's two-sum: the rounding error of the difference
        error = abs(difference)
        largest[1] = max(largest[1], error)
        if b == 0 and bits != 0:
            counts[2] += 1
        elif bits != 0:
            largest[2] = max(largest[2], error / magnitude)
        tiny = bits >> 52 == 0 and bits != 0  # a process may flush subnormal differences
        if rest != 0 or tiny or not np.isfinite(error):
            odd[n] = i
            n += 1
            continue
        _add_square(bits, signal)
        _add_square(np.float64(error).view(np.int64), noise)
    return n
