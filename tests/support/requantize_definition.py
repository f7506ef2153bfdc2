"""Requantization by its definition in fractions, for a few rules, written from the libraries' documents alone."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.requantization import RequantizeRule

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


# -- any rule ----------------------------------------------------------------------------------------------------------

ROUNDED: dict[str, Callable[[Fraction], int]] = {
    "rne": round,
    "rna": halves_away,
    "rtz": int,
    "rup": math.ceil,
    "rdn": math.floor,
    "rnu": halves_up,
    "rhz": lambda x: -halves_up(-x) if x > 0 else halves_up(x),
    "rto": lambda x: math.floor(x) | (x.denominator > 1),
}


class NoResult(Exception):
    """The rule has no result."""


def fit(x: int, bits: int, how: str) -> int:
    """A number in a register."""
    if how == "exact" or saturate(x, bits) == x:
        return x
    if how == "undefined":
        raise NoResult
    return saturate(x, bits) if how == "saturated" else wrap(x, bits)


def by_rule(rule: Any, bits: int, x: int, m: int, s: int, z: int, ends: tuple[int, int]) -> int:
    """The integer by a rule with an integer multiplier. bits: of the register."""
    left = s if rule.direction == "left" else -s
    outside = not rule.least_shift <= s <= rule.most_shift or (rule.negative == "undefined" and m < 0)
    if outside or (rule.range == "shift" and not -(2 ** (s - 1)) <= x < 2 ** (s - 1)):
        raise NoResult
    if rule.reduced:
        width = rule.multiplier_format.width - rule.reduced
        m = min(halves_up(Fraction(m, 1 << rule.reduced)), (1 << width - 1) - 1)
    if rule.left != "together":  # into the register, also without a shift
        x, left = fit(x << max(left, 0), bits, rule.left), min(left, 0)
    dropped, added = rule.fraction - left, z if rule.order == "inside" else 0
    product = Fraction(x * m)
    if rule.result == "wrapped-early":
        early = wrap(math.floor(2 * product / Fraction(2) ** dropped), bits)
        if early == (1 << bits - 1) - 1:
            raise NoResult
        return min(max(fit(halves_up(Fraction(early, 2)) + z, bits, rule.sum), ends[0]), ends[1])
    if rule.first_bits:
        first = min(dropped, rule.first_bits)
        product = Fraction(fit(ROUNDED[rule.first](product / Fraction(2) ** first), bits, rule.high))
        dropped -= first
    number = ROUNDED[rule.rounding](product / Fraction(2) ** dropped + added)
    number = fit(fit(number, bits, rule.result) + z - added, bits, rule.sum)
    return min(max(number, ends[0]), ends[1])


DRAWN = {
    "direction": ("left", "right"),
    "negative": ("allowed", "undefined"),
    "range": ("any", "any", "any", "shift"),
    "reduced": (0, 0, 3),
    "left": ("together", "wrapped", "saturated"),
    "fraction": (0, 4, 7, 8, 12),
    "first_bits": (0, 5, 7, 10),
    "first": tuple(ROUNDED),
    "high": ("saturated", "wrapped"),
    "rounding": tuple(ROUNDED),
    "result": ("exact", "wrapped", "saturated", "undefined", "wrapped-early"),
    "sum": ("exact", "wrapped", "undefined"),
    "order": ("outside", "inside"),
    "register_bits": (0, 6, 9),
    "multiplier": ("i8", "u8", "i5"),
    "shift": ("i4", "u4", "i5"),
}


def drawn_rules(seed: int, count: int) -> Iterator[RequantizeRule]:
    """Rules whose fields are drawn, of those that fit together."""
    draw = random.Random(seed)
    while count:
        try:
            fields = {k: draw.choice(choices) for k, choices in DRAWN.items()}
            yield RequantizeRule("drawn", least_shift=draw.randint(-9, 2), most_shift=draw.randint(2, 9), **fields)  # type: ignore[arg-type]
        except Error:
            continue
        count -= 1
