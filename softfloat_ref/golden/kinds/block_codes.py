"""Cases for blocks besides those of coverage models: every pair of a scale and an element, and random ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from softfloat_ref.golden.cases import few_specials, join_words, words_per_code
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.sources import Philox

_SPREAD_BINADES: Final = 24  # binades below a block's largest that random values reach


def value_blocks(fmt: BlockFormat, values: Format, seed: int, count: int) -> Iterator[tuple[int, ...]]:
    """`count` random blocks of codes of a value format.

    Each has a random largest exponent; the values lie up to 24 binades below it. Some blocks have special values.
    """
    stride = 1 + fmt.size * words_per_code(values)
    source = Philox(seed, stream=1)
    known = few_specials(values)
    fields = max((1 << values.exponent_bits) - 2, 1)
    for i in range(count):
        head, *words = source.words(i * stride, stride)
        top = 1 + head % fields
        with_specials = head >> 60 == 0  # one block in sixteen
        yield tuple(
            _random_value(values, words[j :: fmt.size], top, known if with_specials else ()) for j in range(fmt.size)
        )


def _random_value(values: Format, words: list[int], top: int, known: tuple[int, ...]) -> int:
    control, bits = words[0], join_words(words[1:])
    if known and control & 15 == 0:
        return known[(control >> 4) % len(known)]
    field = max(top - (control >> 4) % _SPREAD_BINADES, 0)
    return bits & (values.sign_bit | (1 << values.mantissa_bits) - 1) | field << values.mantissa_bits


def pairs(fmt: BlockFormat) -> int:
    """The number of blocks for every scale with every element."""
    return -(-(1 << fmt.element.width) // fmt.size) << fmt.scale.width


def code_blocks(fmt: BlockFormat, seed: int, count: int) -> Iterator[tuple[int, ...]]:
    """`count` blocks of a scale and codes: every scale with every code as long as there are any, then random ones."""
    codes = 1 << fmt.element.width
    every = (
        (scale, *((start + i) % codes for i in range(fmt.size)))
        for start in range(0, codes, fmt.size)
        for scale in range(1 << fmt.scale.width)
    )
    yield from itertools.islice(every, count)
    yield from random_code_blocks(fmt, seed, count - min(pairs(fmt), count))


def random_code_blocks(fmt: BlockFormat, seed: int, count: int) -> Iterator[tuple[int, ...]]:
    """`count` blocks of a random scale and random codes."""
    source = Philox(seed, stream=1)
    stride = 1 + fmt.size
    for i in range(count):
        words = source.words(i * stride, stride)
        yield (words[0] % (1 << fmt.scale.width), *(w % (1 << fmt.element.width) for w in words[1:]))
