"""The model of stochastic rounding: discarded bits and random bits around the carry of their sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from softfloat_ref.coverage.events import Events, Setting, limit
from softfloat_ref.coverage.model import Bin, Model
from softfloat_ref.coverage.shapes import Shape, never, solved
from softfloat_ref.coverage.solve import Codes
from softfloat_ref.exact import FINITE, Value
from softfloat_ref.rounding import position

_ALL: Final = 4  # random bits up to which every discarded fraction is a candidate
_DISTANCES: Final = (-2, -1, 0, 1)
EXACT: Final = "SR/exact.random-ones"
ZEROS: Final = "SR/inexact.random-zeros"


class StochasticCarry(Model):
    """SR: the discarded bits and the random bits around their carry."""

    id = "SR"
    title = "stochastic rounding: discarded bits and random bits that just reach the carry, or just miss it"

    def applies(self, where: Setting) -> bool:
        """Stochastic roundings."""
        return where.rounded and where.policy.random_count > 0

    def _wanted(self, where: Setting) -> dict[str, tuple[int, int, int] | None]:
        """Distance from the carry, the bit below the random ones, sticky; None for the two others."""
        listed = product(_DISTANCES, (0, 1), (0, 1))
        return {**{_name(*key): key for key in listed}, EXACT: None, ZEROS: None}

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """How far the sum is from the carry, with the bit below the random ones and a sticky; and exact values."""
        return tuple(Bin(name, never(where, self._shapes(where, name))) for name in self._wanted(where))

    def _shapes(self, where: Setting, name: str) -> list[Shape]:
        n, signs = where.policy.random_count, (0, 1)
        key = self._wanted(where)[name]
        if name == EXACT:
            return [Shape(s, 0, n + 1, n + 1, 0) for s in signs]
        fractions = list(range(1 << n)) if n <= _ALL else [1 << (n - 1), 5 << (n - 3), 1, (1 << n) - 1, 3]
        if key is None:
            return [Shape(s, d << 1 | 1, n + 1, n + 1, t) for d in fractions for t in (0, 1) for s in signs]
        distance, below, sticky = key
        return [
            Shape(s, d << 1 | below, n + 1, n + 1, sticky)
            for d in fractions
            if 0 <= (1 << n) + distance - d < 1 << n and (d or below or sticky)
            for s in signs
        ]

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Operands that discard such a fraction, and the random bits that bring the sum there."""
        n, key = where.policy.random_count, self._wanted(where)[name]
        for codes in solved(where, self._shapes(where, name)):
            x = where.exactly(codes)
            if x.kind != FINITE or x.significand == 0:
                continue
            r = (1 << n) - 1 if name == EXACT else 0
            if key is not None:
                r = (1 << n) + key[0] - (_discarded(x, where)[0] >> 1)
            if 0 <= r < 1 << n:
                yield (*codes, r)

    def hits(self, e: Events) -> Iterable[str]:
        """By the discarded bits as the rounding sees them, and the random bits."""
        n = e.where.policy.random_count
        if e.place is None or not 0 <= e.place.code <= limit(e.where, e.exact.sign):
            return
        discarded, rest = _discarded(e.exact, e.where)
        if discarded == 0 and rest == 0:
            if e.random_bits == (1 << n) - 1:
                yield EXACT
            return
        if e.random_bits == 0:
            yield ZEROS
        distance = (discarded >> 1) + e.random_bits - (1 << n)
        if distance in _DISTANCES:
            yield _name(distance, discarded & 1, int(rest != 0))


def _name(distance: int, below: int, sticky: int) -> str:
    sign = "+" if distance > 0 else ""
    return f"SR/sum{sign}{distance}.below{below}.sticky{sticky}"


def _discarded(x: Value, where: Setting) -> tuple[int, int]:
    """As many discarded bits as random ones, and the one below; and whether anything follows."""
    n = where.policy.random_count
    _, _, discarded, rest = position(x.significand, x.exponent, x.significand.bit_length(), x.sticky, n, where.target)
    return discarded, rest
