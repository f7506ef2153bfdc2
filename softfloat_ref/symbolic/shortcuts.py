"""Functions that stand in place of some of the oracle's, where these would make terms that solvers are slow with.

A sum: an exact sum of exponents far apart has hundreds of bits. Where the smaller number is below all bits that decide
how the larger one is rounded, only its sign counts: the true sum lies within one unit of a number that is a few bits
longer than the larger one, which is what a sticky bit says (exact.Value, rounding.round_pack).

A sum as circuits make it, of two numbers of one format: aligned to the larger exponent, with a sticky bit for what is
shifted out, or both in fixed point. Only a sum of exponents four or more apart loses something, and is then at least
half of the larger number, which is normal: its leading one stands at most a place below that number's.

The largest magnitude of a block: of values of one format, that of the largest code.
"""

from __future__ import annotations

from collections.abc import Sequence

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import _decode
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format


def far_sum(a: Value, b: Value, zero_sign: int, first: bool, more: int) -> Value:
    """a + b for finite numbers, as exact.add, but where one is far larger, with a sticky bit for the other.

    first: whether a is the one that may be larger. more: bits below the larger number's; the smaller is less than the
    last of these, if neither is zero.
    """
    if a.significand == 0 or b.significand == 0:
        return _with_zero(a, b, zero_sign)
    large = a if first else b
    away = 0 if a.sign == b.sign else 1
    return Value(FINITE, large.sign, (large.significand << more) - away, large.exponent - more, 1)


def sum_of_two(a: Value, b: Value, zero_sign: int, from_here: int, to_here: int, more: int) -> Value:
    """a + b for finite numbers, as exact.add, but by far_sum where the exponents are as far apart as from_here, or as
    to_here the other way."""
    apart = a.exponent - b.exponent
    if apart >= from_here:
        return far_sum(a, b, zero_sign, True, more)
    if apart <= to_here:
        return far_sum(a, b, zero_sign, False, more)
    return near_sum(a, b, zero_sign)


def near_sum(a: Value, b: Value, zero_sign: int) -> Value:
    """a + b for finite numbers of exponents near each other."""
    return exact.add(a, b, zero_sign)


def aligned_sum(a: Value, b: Value, zero_sign: int, more: int) -> Value:
    """The same, of numbers of one format: with `more` bits below the last one of the larger exponent, the lowest of
    which is set if a bit below it is. more: at least 3, and all that rounding looks at."""
    if a.significand == 0 or b.significand == 0:
        return _with_zero(a, b, zero_sign)
    exponent = a.exponent if a.exponent > b.exponent else b.exponent
    x = _right_with_sticky_bit(a.significand << more, exponent - a.exponent)
    y = _right_with_sticky_bit(b.significand << more, exponent - b.exponent)
    return _signed_sum(-x if a.sign else x, -y if b.sign else y, exponent - more, zero_sign)


def _right_with_sticky_bit(significand: int, places: int) -> int:
    """A significand shifted right; its last bit is set, too, if a bit that is lost was."""
    shifted = significand >> places
    return shifted | (1 if shifted << places != significand else 0)


def fixed_point_sum(a: Value, b: Value, zero_sign: int, unit: int) -> Value:
    """The same, of multiples of 2^unit, which both numbers are."""
    if a.significand == 0 or b.significand == 0:
        return _with_zero(a, b, zero_sign)
    x, y = a.significand << a.exponent - unit, b.significand << b.exponent - unit
    return _signed_sum(-x if a.sign else x, -y if b.sign else y, unit, zero_sign)


def _with_zero(a: Value, b: Value, zero_sign: int) -> Value:
    """A sum of which a term is zero."""
    if a.significand == 0 and b.significand == 0:
        return Value(FINITE, a.sign if a.sign == b.sign else zero_sign)
    return b if a.significand == 0 else a


def _signed_sum(x: int, y: int, exponent: int, zero_sign: int) -> Value:
    """(x + y) * 2^exponent."""
    total = x + y
    if total == 0:
        return Value(FINITE, zero_sign)
    return Value(FINITE, int(total < 0), abs(total), exponent)


def placed_sum(values: Sequence[Value], unit: int) -> tuple[Value, Sequence[object]]:
    """The exact sum of numbers, as accumulate.evaluate.Step.sum: of multiples of 2^unit, which all of them are."""
    total = 0
    for x in values:
        total += (-x.significand if x.sign else x.significand) << x.exponent - unit
    if total:
        return Value(FINITE, int(total < 0), abs(total), unit), ()
    return exact.zero(min(x.sign for x in values)), ()


def near_dot_sum(a: Value, b: Value) -> tuple[Value, Sequence[object]]:
    """The same, of two numbers of exponents near each other."""
    return exact.add(a, b, 0), ()


def far_dot_sum(a: Value, b: Value, first: bool, more: int) -> tuple[Value, Sequence[object]]:
    """The same, where one is far larger."""
    return _with_sticky_bit(far_sum(a, b, 0, first, more)), ()


def short_dot_sum(a: Value, b: Value, from_here: int, to_here: int, more: int) -> tuple[Value, Sequence[object]]:
    """The same, by far_sum where that is enough."""
    return _with_sticky_bit(sum_of_two(a, b, 0, from_here, to_here, more)), ()


def _with_sticky_bit(x: Value) -> Value:
    """A sum with its sticky bit as the last one, which rounds alike."""
    return Value(FINITE, x.sign, (x.significand << 1) + x.sticky, x.exponent - 1)


def largest_by_code(values: Sequence[Value], fmt: Format) -> Value | None:
    """The largest magnitude of nonzero numbers of a float format, as blocks.scales.largest_magnitude.

    The code of a magnitude is its exponent, counted from the smallest, beside its significand: the leading one of a
    normal number adds one to the exponent field (of 0, which no normal number has).
    """
    largest = 0
    for x in values:
        largest = max(largest, (x.exponent - fmt.emin + fmt.mantissa_bits << fmt.mantissa_bits) + x.significand)
    return _decode(largest, fmt, False) if largest else None
