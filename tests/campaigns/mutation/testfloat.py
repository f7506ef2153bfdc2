"""Operands by TestFloat's method, written from its description: special exponents crossed with significand patterns,
each such case among weighted random ones.

Berkeley TestFloat 3e itself is a C program, and its random numbers are the C library's: these are not its cases one
by one, but cases of the same kinds in the same proportions. A cycle of the directed operands is as long as its level
1: 88 of each operand, every one with every other, and about as many random cases in between as it has.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache

from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.sources import Philox

_STREAM = 3
_WORDS = 4  # a random operand takes
_CHUNK = 4096


@lru_cache
def exponents(fmt: Format) -> list[int]:
    """Special exponent fields: subnormal, smallest, around one, at one ulp of one and its inverse, largest, Inf."""
    m, bias, top = fmt.mantissa_bits, fmt.bias, (1 << fmt.exponent_bits) - 1
    fields = [0, 1, bias - m - 1, bias - 2, bias - 1, bias, bias + 1, bias + 2, bias + m + 1, top - 1, top]
    return [f for f in fields if 0 <= f <= top]


@lru_cache
def patterns(width: int) -> list[int]:
    """Significands: zeros, ones, one bit set or clear, runs of ones from either end."""
    mask = (1 << width) - 1
    runs = [(1 << i) - 1 for i in range(width + 1)]
    ones = [1 << i for i in range(width)]
    return list(dict.fromkeys([*runs, *(mask & ~r for r in runs), *ones, *(mask & ~b for b in ones)]))


def directed(fmt: Format) -> list[int]:
    """Every special exponent of either sign with the significands 0, 1, and the two largest."""
    mask = (1 << fmt.mantissa_bits) - 1
    codes = [f << fmt.mantissa_bits | s for f in exponents(fmt) for s in (0, 1, mask, mask - 1)]
    return [code | sign for sign in (0, fmt.sign_bit) for code in codes]


def weighted(fmt: Format, words: Sequence[int]) -> int:
    """A random code: its exponent special (one in two) or any, its significand a sum of patterns (three in four) or
    any."""
    kind, which, first, second = words
    mask, chosen = (1 << fmt.mantissa_bits) - 1, patterns(fmt.mantissa_bits)
    uniform = which & (1 << fmt.width) - 1
    if kind & 4:
        special = exponents(fmt)
        uniform = uniform & (fmt.sign_bit | mask) | special[first % len(special)] << fmt.mantissa_bits
    if kind & 3:
        significand = chosen[(first >> 16) % len(chosen)] + chosen[second % len(chosen)]
        uniform = uniform & ~mask | significand & mask
    return uniform


def groups(arity: int) -> list[int]:
    """Which operands are directed in each case of a group, as bits; 0: all are random. Six cases for two operands and
    nine for three, as TestFloat has them."""
    masks = list(range(1, 1 << arity))
    return [0, 0, *masks] if arity == 3 else [m for mask in masks for m in (0, mask)]


def cases(formats: Sequence[Format], seed: int) -> Iterator[tuple[int, ...]]:
    """Operands without end: for each tuple of directed operands a group of cases."""
    words, arity = _words(seed), len(formats)
    for case in itertools.cycle(itertools.product(*map(directed, formats))):
        for mask in groups(arity):
            drawn = [weighted(f, list(itertools.islice(words, _WORDS))) for f in formats]
            yield tuple(case[i] if mask >> i & 1 else drawn[i] for i in range(arity))


def _words(seed: int) -> Iterator[int]:
    """Random words without end."""
    source = Philox(seed, _STREAM)
    for start in itertools.count(0, _CHUNK):
        yield from source.words(start, _CHUNK)
