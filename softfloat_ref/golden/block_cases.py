"""Cases for blocks: directed ones, then random ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from softfloat_ref import exact
from softfloat_ref.block_formats import BlockFormat
from softfloat_ref.codec import encoder
from softfloat_ref.formats import Format
from softfloat_ref.golden.cases import few_specials, specials, values_and_midpoints, words_per_code
from softfloat_ref.policies import Policy
from softfloat_ref.sources import WORD_BITS, Philox

_SPREAD: Final = 24  # binades below a block's largest that random values reach


def value_blocks(fmt: BlockFormat, values: Format, seed: int, count: int) -> Iterator[tuple[int, ...]]:
    """`count` blocks of codes of a value format: directed ones first."""
    directed = list(itertools.islice(_directed(fmt, values), count))
    yield from directed
    yield from _random_values(fmt, values, seed, count - len(directed))


def _directed(fmt: BlockFormat, values: Format) -> Iterator[tuple[int, ...]]:
    """One block for each special value among ones, alone, and everywhere; amax around every power of two; the
    element's codes and midpoints under a scale of one."""
    one = encoder(values, Policy())(exact.finite(0, 1, 0), 0)[0]
    for code in specials(values):
        yield (code,) * fmt.size
        yield (code, *[one] * (fmt.size - 1))
        yield (*[0] * (fmt.size - 1), code)
    for exponent in range(values.emin, values.emax + 1):
        power = encoder(values, Policy())(exact.finite(0, 1, exponent), 0)[0]
        for amax in (power - 1, power, power + 1):
            yield (amax, *(max(amax - (i << values.mantissa_bits >> 1), 0) for i in range(1, fmt.size)))
    yield from _boundaries(fmt, values)


def _boundaries(fmt: BlockFormat, values: Format) -> Iterator[tuple[int, ...]]:
    """Every element magnitude and midpoint, as exact as the value format has them, beside the largest element."""
    element = fmt.element
    encode = encoder(values, Policy())
    points = values_and_midpoints(element)[:-1]
    largest = encode(exact.finite(0, *element.magnitude(element.max_code)), 0)[0]
    room = max(fmt.size - 1, 1)
    for start in range(0, len(points), room):
        chosen = points[start : start + room]
        part = [encode(exact.finite(i & 1, s, e), 0)[0] for i, (s, e) in enumerate(chosen)]
        yield (largest, *part, *[0] * (fmt.size - 1 - len(part)))[: fmt.size]


def _random_values(fmt: BlockFormat, values: Format, seed: int, count: int) -> Iterator[tuple[int, ...]]:
    """Blocks with a random largest exponent; the values lie up to 24 binades below it, some specials among them."""
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
    control, *rest = words
    bits = 0
    for word in rest:
        bits = bits << WORD_BITS | word
    if known and control & 15 == 0:
        return known[(control >> 4) % len(known)]
    field = max(top - (control >> 4) % _SPREAD, 0)
    return bits & (values.sign_bit | (1 << values.mantissa_bits) - 1) | field << values.mantissa_bits


def code_blocks(fmt: BlockFormat, seed: int, count: int) -> Iterator[tuple[int, ...]]:
    """`count` blocks of a scale and codes: every scale with every code while they last, then random ones."""
    codes = 1 << fmt.element.width
    directed = (
        (scale, *((start + i) % codes for i in range(fmt.size)))
        for start in range(0, codes, fmt.size)
        for scale in range(1 << fmt.scale.width)
    )
    emitted = 0
    for block in itertools.islice(directed, count):
        emitted += 1
        yield block
    source = Philox(seed, stream=1)
    stride = 1 + fmt.size
    for i in range(count - emitted):
        words = source.words(i * stride, stride)
        yield (words[0] % (1 << fmt.scale.width), *(w % codes for w in words[1:]))
