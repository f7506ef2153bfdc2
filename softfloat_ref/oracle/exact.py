"""Exact numbers, as decoded from bits, and exact integer arithmetic on them.

Quotients and square roots without a finite binary form have as many bits as the caller requests, and a sticky bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error

FINITE: Final = 0
INF: Final = 1
NAN: Final = 2


class Value(NamedTuple):
    """NaN, Inf, or (-1)^sign * significand * 2^exponent, exactly.

    sticky: 1 if the true magnitude is larger than that, by less than one unit of the significand. For a NaN,
    significand is the payload, with `exponent` bits (from the bit below the quiet bit down), and signaling tells its
    kind. `GENERATED` is the NaN of an invalid operation, which has no payload. A signalling NaN
    of -1 bits is an operand that is not supported: operations on it are invalid, and their result is GENERATED.
    """

    kind: int
    sign: int
    significand: int = 0
    exponent: int = 0
    sticky: int = 0
    signaling: bool = False

    @property
    def is_nan(self) -> bool:
        return self.kind == NAN

    @property
    def is_unsupported(self) -> bool:
        return self.kind == NAN and self.signaling and self.exponent < 0

    @property
    def is_inf(self) -> bool:
        return self.kind == INF

    @property
    def is_finite(self) -> bool:
        return self.kind == FINITE

    @property
    def is_zero(self) -> bool:
        return self.kind == FINITE and self.significand == 0 and self.sticky == 0

    def as_fraction(self) -> Fraction:
        """The exact value. Raises Error for NaN and Inf, and for a quotient or root that was cut."""
        if self.kind != FINITE or self.sticky:
            raise Error(f"{self} has no exact rational value")
        magnitude = (
            Fraction(self.significand << self.exponent)
            if self.exponent >= 0
            else Fraction(self.significand, 1 << -self.exponent)
        )
        return -magnitude if self.sign else magnitude

    def __float__(self) -> float:
        """The nearest float64, for display; `as_fraction` gives the exact value."""
        if self.kind == NAN:
            return math.copysign(math.nan, -1.0 if self.sign else 1.0)
        if self.kind == INF:
            return -math.inf if self.sign else math.inf
        if self.significand == 0:
            return -0.0 if self.sign else 0.0
        top = self.significand.bit_length() + self.exponent
        if top > 1100 or top < -1200:
            size = math.inf if top > 0 else 0.0
        else:
            try:
                size = float(Fraction(self.significand) * Fraction(2) ** self.exponent)
            except OverflowError:
                size = math.inf
        return -size if self.sign else size


GENERATED: Final = Value(NAN, 0, 0, -1)


def zero(sign: int) -> Value:
    """Zero of that sign."""
    return Value(FINITE, sign)


def inf(sign: int) -> Value:
    """Infinity of that sign."""
    return Value(INF, sign)


def finite(sign: int, significand: int, exponent: int) -> Value:
    """(-1)^sign * significand * 2^exponent."""
    return Value(FINITE, sign, significand, exponent)


def top(x: Value) -> int:
    """The exponent of the leading bit of a nonzero number: floor(log2 |x|)."""
    return x.exponent + x.significand.bit_length() - 1


def whole(x: Value) -> int:
    """The integer part of a finite number: rounded toward zero."""
    size = x.significand << x.exponent if x.exponent >= 0 else x.significand >> -x.exponent
    return -size if x.sign else size


def trailing_zeros(n: int) -> int:
    """The number of zero bits at the end of an integer that is not zero."""
    return (n & -n).bit_length() - 1


class Multiples(NamedTuple):
    """Finite numbers as integers in one unit, 2^exponent."""

    integers: list[int]
    exponent: int


def aligned(numbers: Sequence[Value]) -> Multiples:
    """Finite numbers in the unit of the smallest bit that any of them has."""
    exponent = min((x.exponent for x in numbers if x.significand), default=0)
    shifted = [x.significand << x.exponent - exponent if x.significand else 0 for x in numbers]
    return Multiples([-v if x.sign else v for v, x in zip(shifted, numbers, strict=True)], exponent)


def normal(x: Value) -> Value:
    """A finite number without zeros at the end of its significand, so that equal numbers are equal tuples."""
    if not x.significand:
        return Value(FINITE, x.sign)
    zeros = trailing_zeros(x.significand)
    return Value(FINITE, x.sign, x.significand >> zeros, x.exponent + zeros, x.sticky)


def negate(x: Value) -> Value:
    """-x."""
    return Value(x.kind, x.sign ^ 1, x.significand, x.exponent, x.sticky, x.signaling)


def magnitude(x: Value) -> Value:
    """|x|."""
    return Value(x.kind, 0, x.significand, x.exponent, x.sticky, x.signaling)


def add(a: Value, b: Value, zero_sign: int = 0) -> Value:
    """a + b for finite numbers. zero_sign: the sign of a zero sum of numbers with opposite signs (IEEE 754 6.3)."""
    _, sa, ma, ea, *_ = a
    _, sb, mb, eb, *_ = b
    if ma == 0 and mb == 0:
        return Value(FINITE, sa if sa == sb else zero_sign)
    if ma == 0:
        return b
    if mb == 0:
        return a
    e = ea if ea < eb else eb
    ma <<= ea - e
    mb <<= eb - e
    total = (-ma if sa else ma) + (-mb if sb else mb)
    if total == 0:
        return Value(FINITE, zero_sign)
    return Value(FINITE, 1, -total, e) if total < 0 else Value(FINITE, 0, total, e)


def multiply(a: Value, b: Value) -> Value:
    """a * b for finite numbers."""
    return Value(FINITE, a.sign ^ b.sign, a.significand * b.significand, a.exponent + b.exponent)


def divide(a: Value, b: Value, bits: int) -> Value:
    """a / b for finite numbers, b nonzero: at least `bits` bits of the quotient, and a sticky bit."""
    if a.significand == 0:
        return Value(FINITE, a.sign ^ b.sign)
    shift = max(0, bits + b.significand.bit_length() - a.significand.bit_length())
    quotient, remainder = divmod(a.significand << shift, b.significand)
    return Value(FINITE, a.sign ^ b.sign, quotient, a.exponent - b.exponent - shift, int(remainder != 0))


def square_root(a: Value, bits: int) -> Value:
    """The square root of a finite nonnegative number: at least `bits` bits, and a sticky bit."""
    if a.significand == 0:
        return a
    shift = max(0, 2 * bits - a.significand.bit_length())
    shift += (a.exponent - shift) & 1
    radicand = a.significand << shift
    root = math.isqrt(radicand)
    return Value(FINITE, 0, root, (a.exponent - shift) // 2, int(root * root != radicand))


def reciprocal_square_root(a: Value, bits: int) -> Value:
    """1 / sqrt(a) for a positive number: at least `bits` bits, and a sticky bit."""
    odd = a.exponent & 1
    root = root_of_ratio(1, a.significand << odd, bits)
    return root._replace(exponent=root.exponent - (a.exponent - odd) // 2)


def root_of_ratio(numerator: int, denominator: int, bits: int) -> Value:
    """sqrt(numerator / denominator) for positive integers: at least `bits` bits, and a sticky bit."""
    # sqrt(n / d) = sqrt(n 4^k / d) 2^-k; k is large enough for the bits.
    k = max(0, bits + 1 + (denominator.bit_length() - numerator.bit_length()) // 2)
    root, inexact = integer_root(numerator << 2 * k, denominator)
    return Value(FINITE, 0, root, -k, inexact)


def integer_root(numerator: int, denominator: int) -> tuple[int, int]:
    """floor(sqrt(numerator / denominator)), and whether that is less than the root."""
    quotient, remainder = divmod(numerator, denominator)
    root = math.isqrt(quotient)
    return root, int(remainder != 0 or root * root != quotient)


def remainder(a: Value, b: Value) -> Value:
    """a - b * n, where n is the integer nearest to a / b, ties to even (IEEE 754 5.3.1). For finite a and nonzero b."""
    if a.significand == 0 or top(a) < top(b) - 1:
        return a
    e = min(a.exponent, b.exponent)
    divisor = b.significand << (b.exponent - e)
    # The remainder by twice the divisor suffices to find n's parity, without a huge dividend. A power other than 1 is
    # taken only where b is not shifted.
    rest = a.significand * pow(2, a.exponent - e, 2 * b.significand) % (2 * divisor)
    odd = rest >= divisor
    rest -= divisor if odd else 0
    if 2 * rest > divisor or (2 * rest == divisor and odd):
        rest -= divisor
    if rest == 0:
        return Value(FINITE, a.sign)
    return Value(FINITE, a.sign ^ (rest < 0), abs(rest), e)


def compare(a: Value, b: Value) -> int:
    """-1, 0 or 1: the order of two numbers, including infinities; zeros are equal."""
    ra, rb = _rank(a), _rank(b)
    if ra != rb:
        return 1 if ra > rb else -1
    if a.kind == INF or a.significand == 0:
        return 0
    ta, tb = top(a), top(b)
    if ta != tb:
        order = 1 if ta > tb else -1
    else:
        e = min(a.exponent, b.exponent)
        ma, mb = a.significand << (a.exponent - e), b.significand << (b.exponent - e)
        order = (ma > mb) - (ma < mb)
    return -order if a.sign else order


def compare_ratio(numerator: int, denominator: int, x: Value) -> int:
    """-1, 0 or 1: the order of a positive quotient and a positive number."""
    other = x.significand * denominator
    shift = x.exponent
    return compare(finite(0, numerator, 0), finite(0, other, shift))


def _rank(x: Value) -> int:
    size = 2 if x.kind == INF else int(x.significand != 0)
    return -size if x.sign else size


def from_fraction(x: Fraction, bits: int) -> Value:
    """A rational number: exact if it is dyadic, else cut to at least `bits` bits, with a sticky bit."""
    sign, numerator, denominator = int(x < 0), abs(x.numerator), x.denominator
    if denominator & (denominator - 1) == 0:
        return Value(FINITE, sign, numerator, 1 - denominator.bit_length())
    return divide(finite(sign, numerator, 0), finite(0, denominator, 0), bits)
