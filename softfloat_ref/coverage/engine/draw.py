"""Deterministic choices for searches: words by position (SplitMix64, Steele et al., OOPSLA 2014)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_MASK: Final = (1 << 64) - 1


def word(seed: int, i: int) -> int:
    """A word of 64 bits that depends only on the two numbers."""
    z = (seed * 0xD1342543DE82EF95 + (i + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & _MASK
    return z ^ z >> 31


def bits(seed: int, i: int, width: int) -> int:
    """A number of random bits."""
    number = 0
    for j in range(-(-width // 64)):
        number = number << 64 | word(seed + j, i)
    return number & ((1 << width) - 1) if width > 0 else 0


def significands(seed: int, width: int) -> Iterator[int]:
    """Endless significands of exactly `width` bits: the ends, short ones, then mixed ones."""
    if width <= 0:
        return
    low, high = 1 << (width - 1), (1 << width) - 1
    yield from dict.fromkeys((low, high, low | 1, low | low >> 1, high - 1, max(low | low >> 1 | 1, low)))
    i = 0
    while True:
        yield low | bits(seed, i, width - 1)
        i += 1
