"""Sums and quotients of float64 arrays rounded to odd."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.oracle.formats import CATALOGUE

QUOTIENT_BITS: Final = 24  # fraction bits of an inexact quotient; 25 bits times a divisor of 28 bits are exact
_EXPONENT_LIMIT: Final = 900  # quotients beyond 2^+-900 round like those at this limit
FP64: Final = CATALOGUE["fp64"]


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


def odd_quotient(x: NDArray[np.float64], divisors: NDArray[np.float64]) -> NDArray[np.float64]:
    """x / divisors to 25 bits, with a sticky bit below them if inexact. divisors: positive, of at most 28 bits.

    This is rounding to odd, so a second rounding to fewer bits is correct. The product of quotient and divisor is exact
    in float64; it shows whether the quotient is too large or inexact.
    """
    fractions, exponents = np.frexp(np.abs(x))
    parts, shifts = np.frexp(divisors)
    unit = np.int64(1 << (FP64.mantissa_bits - QUOTIENT_BITS))
    bits = (fractions / parts).view(np.int64) & -unit
    product = bits.view(np.float64) * parts
    bits -= np.where(product > fractions, unit, 0)
    bits |= np.where(product != fractions, unit >> 2, 0)
    places = np.clip(exponents - shifts, -_EXPONENT_LIMIT, _EXPONENT_LIMIT)
    quotient = np.where(fractions == 0, 0.0, np.ldexp(bits.view(np.float64), places))
    return np.copysign(quotient, x)
