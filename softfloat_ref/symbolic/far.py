"""The sum of two numbers that are far apart, in a bounded frame: the larger one, and a sticky bit for the smaller.

An exact sum of exponents far apart has hundreds of bits. Where the smaller number is below all bits that decide how the
larger one is rounded, only its sign counts: the true sum lies within one unit of a number that is a few bits longer
than the larger one, which is what a sticky bit says (exact.Value, rounding.round_pack).
"""

from __future__ import annotations

from softfloat_ref.oracle.exact import FINITE, Value


def far_sum(a: Value, b: Value, zero_sign: int, first: bool, more: int) -> Value:
    """a + b for finite numbers, as exact.add, but with a sticky bit. first: whether a is the one that may be larger.

    more: bits below the larger number's; the smaller is less than the last of these, if neither is zero.
    """
    if a.significand == 0 and b.significand == 0:
        return Value(FINITE, a.sign if a.sign == b.sign else zero_sign)
    if a.significand == 0:
        return b
    if b.significand == 0:
        return a
    large = a if first else b
    away = 0 if a.sign == b.sign else 1
    return Value(FINITE, large.sign, (large.significand << more) - away, large.exponent - more, 1)
