"""Requantization by its definition in fractions, for a few rules, written from the libraries' documents alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

HALF = Fraction(1, 2)


def halves_up(x: Fraction) -> int:
    return math.floor(x + HALF)


def halves_away(x: Fraction) -> int:
    return math.floor(x + HALF) if x >= 0 else math.ceil(x - HALF)


def wrap(x: int, bits: int) -> int:
    return (x + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def saturate(x: int, bits: int) -> int:
    return min(max(x, -1 << bits - 1), (1 << bits - 1) - 1)


def twice(x: int, m: int, shift: int, bits: int, high: Callable[[int, int], int] = saturate) -> int:
    """gemmlowp's two steps, after a shift to the left that wraps."""
    shifted = wrap(x << max(shift, 0), bits)
    doubled = high(halves_up(Fraction(shifted * m, 1 << bits - 1)), bits)
    return halves_away(Fraction(doubled, 1 << max(-shift, 0)))


def once(x: int, m: int, shift: int, fraction: int) -> int:
    """One rounding of the whole product."""
    return halves_up(Fraction(x * m) * Fraction(2) ** (shift - fraction))


def tosa(x: int, m: int, shift: int, double: bool, middle: int = 31) -> int:
    """The specification's sum: half, and for a double rounding half of 2^middle with the sign of the value."""
    total = x * m + (1 << shift - 1)
    if double and shift > middle:
        total += (1 << middle - 1) * (1 if x >= 0 else -1)
    return total >> shift
