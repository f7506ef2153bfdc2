"""Values of real functions, from MPFR: cut toward zero, with a sticky bit.

MPFR rounds each of its functions correctly and says whether the result is exact; rounded toward zero to enough bits,
that is a prefix and a sticky bit, from which every rounding follows. A function of several steps is enclosed between
two numbers, each step rounded outward, with more and more bits until both have one prefix.
gmpy2 is loaded when the first value is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value

LIMIT: Final = 1 << 24  # beyond 2^LIMIT every format overflows, and below 2^-LIMIT it reaches zero
_GUARD: Final = 16
MOST_BITS: Final = 1 << 16  # of bounds


def function(name: str, bits: int, *operands: Value) -> Value:
    """A function of gmpy2's contexts for finite operands: exact, or cut to `bits` bits with a sticky bit.

    The operands are none at which the function is infinite or NaN. Zeros have their signs, in and out.
    """
    x = getattr(_context(bits, "RoundToZero", LIMIT), name)(*map(number, operands))
    sign, inexact = int(x.is_signed()), x.rc != 0
    significand, exponent = _parts(x)
    if not inexact:
        return Value(FINITE, sign, significand, exponent) if significand else exact.zero(sign)
    if not significand:
        return tiny(sign, bits)
    shift = bits - significand.bit_length()
    return Value(FINITE, sign, significand << shift, exponent - shift, 1)


def tiny(sign: int, bits: int) -> Value:
    """A number closer to zero than any that a format can tell from it."""
    return Value(FINITE, sign, 1 << (bits - 1), -2 * LIMIT, 1)


def number(x: Value) -> Any:
    """A finite value as an mpfr, exactly."""
    import gmpy2

    if not x.significand:
        return gmpy2.mpfr("-0" if x.sign else "0")
    context = _context(x.significand.bit_length(), "RoundToZero", 2 * LIMIT)
    significand = gmpy2.mpz(-x.significand if x.sign else x.significand)
    return context.mul_2exp(significand, x.exponent) if x.exponent >= 0 else context.div_2exp(significand, -x.exponent)


@lru_cache(maxsize=256)
def _context(bits: int, direction: str, limit: int) -> Any:
    import gmpy2

    return gmpy2.context(precision=bits, round=getattr(gmpy2, direction), emin=-limit, emax=limit)


def _parts(x: Any) -> tuple[int, int]:
    """The significand of |x|, without zeros at its end, and its exponent."""
    significand, exponent = map(int, x.as_mantissa_exp())
    significand = abs(significand)
    zeros = exact.trailing_zeros(significand) if significand else 0
    return significand >> zeros, exponent + zeros


# -- functions of several steps ----------------------------------------------------------------------------------------


class Bounds(NamedTuple):
    """Two nonnegative numbers of MPFR between which a number lies, or which it equals."""

    low: Any
    high: Any


class Outward:
    """Arithmetic on bounds of nonnegative numbers, with ends of `bits` bits that are rounded outward."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.down = _context(bits, "RoundDown", 1 << 30)
        self.up = _context(bits, "RoundUp", 1 << 30)

    def exactly(self, x: Value) -> Bounds:
        """|x|."""
        known = number(exact.magnitude(x))
        return Bounds(known, known)

    def of(self, name: str, *operands: Value) -> Bounds:
        """A function of exact operands, which may be negative."""
        known = [*map(number, operands)]
        return Bounds(getattr(self.down, name)(*known), getattr(self.up, name)(*known))

    @cached_property
    def pi(self) -> Bounds:
        return Bounds(self.down.const_pi(), self.up.const_pi())

    def rising(self, name: str, *x: Bounds) -> Bounds:
        """A function that grows, or stays, with each operand: add, mul, exp, ..."""
        return Bounds(
            getattr(self.down, name)(*(a.low for a in x)),
            getattr(self.up, name)(*(a.high for a in x)),
        )

    def falling(self, name: str, x: Bounds) -> Bounds:
        """A function that falls as its operand grows."""
        return Bounds(getattr(self.down, name)(x.high), getattr(self.up, name)(x.low))

    def divided(self, x: Bounds, y: Bounds) -> Bounds:
        """x / y."""
        return Bounds(self.down.div(x.low, y.high), self.up.div(x.high, y.low))

    def negative_exp(self, x: Bounds) -> Bounds:
        """e^-x."""
        return Bounds(self.down.exp(self.down.minus(x.high)), self.up.exp(self.up.minus(x.low)))


Enclosure = Callable[[Outward], Bounds]


def enclosed(enclosure: Enclosure, bits: int, sign: int = 0, most: int = MOST_BITS) -> Value:
    """A number whose magnitude has bounds, cut to `bits` bits, with a sticky bit; it must have no finite expansion.

    Raises Error if bounds of about `most` bits still have a number of `bits` bits between them.
    """
    precision = bits + _GUARD
    while precision <= most + 2 * bits:
        low, high = enclosure(Outward(precision))
        if exponent_of(high) < -LIMIT:
            return tiny(sign, bits)
        if low:
            first, last = _cut(low, bits, below=False), _cut(high, bits, below=True)
            if first == last:
                return Value(FINITE, sign, *first, 1)
        precision *= 2
    raise Error(f"a result is closer to a number of {bits} bits than {precision // 2} bits can tell")


def exponent_of(x: Any) -> int:
    """The exponent of a positive number's leading bit; a very large one for infinity."""
    if x.is_infinite():
        return 4 * LIMIT
    significand, exponent = _parts(x)
    return exponent + significand.bit_length() - 1


def _cut(x: Any, bits: int, below: bool) -> tuple[int, int]:
    """The first `bits` bits of a positive number and their unit; below: of the numbers just below it."""
    if x.is_infinite():
        return 0, 0
    significand, exponent = _parts(x)
    shift = bits - significand.bit_length()
    if shift < 0:
        return significand >> -shift, exponent - shift
    significand, exponent = significand << shift, exponent - shift
    if not below:
        return significand, exponent
    if significand == 1 << (bits - 1):  # the binade below has half the unit
        return (1 << bits) - 1, exponent - 1
    return significand - 1, exponent
