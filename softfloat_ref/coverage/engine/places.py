"""The position of a magnitude among those of a target: kept bits, guard, following bits."""

from __future__ import annotations

from typing import NamedTuple

from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.rounding import Target, position


class Place(NamedTuple):
    """The position of a magnitude among those of the target.

    code: the magnitude code at or below it (above max_code: beyond the largest one). kept: the significand's kept
    bits. guard: the first bit below them. tail: the `width` bits that follow. rest: whether any further bit is set.
    """

    code: int
    kept: int
    guard: int
    tail: int
    width: int
    rest: int

    @property
    def sticky(self) -> int:
        """Whether any bit below the guard bit is set."""
        return int(self.tail != 0 or self.rest != 0)

    @property
    def zeros(self) -> int:
        """The number of zero bits after the guard bit, at most `width`."""
        return self.width - self.tail.bit_length()

    @property
    def ones(self) -> int:
        """The number of one bits after the guard bit, at most `width`."""
        return self.width - (self.tail ^ ((1 << self.width) - 1)).bit_length()

    @property
    def is_exact(self) -> bool:
        """Whether nothing is discarded."""
        return not self.guard and not self.sticky

    @property
    def is_tie(self) -> bool:
        """Whether it lies halfway between two magnitudes, the lower one even."""
        return bool(self.guard and not self.sticky and not self.kept & 1)


def place_of(x: Value, t: Target, n: int) -> Place:
    """The position of a finite nonzero number; n: number of bits below the guard bit that are kept separately."""
    code, bits, discarded, rest = position(x.significand, x.exponent, x.significand.bit_length(), x.sticky, n, t)
    return Place(code, bits, discarded >> n, discarded & ((1 << n) - 1), n, rest)
