"""Cases: operand codes for tests, in an order that depends only on the request.

First the special values of each operand crossed with those of the others; for conversions every value and midpoint of
a small target (of a wider one, those at the ends of its ranges), with its neighbours; then random codes from the keyed
generator, weighted over exponents and significand patterns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from math import prod
from typing import Final, NamedTuple

from softfloat_ref.coverage.classes import few_specials as few_specials
from softfloat_ref.coverage.classes import specials as specials
from softfloat_ref.oracle import encodings, exact
from softfloat_ref.oracle.codec import encode, encoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import POLICIES
from softfloat_ref.oracle.sources import WORD_BITS, Philox

GENERATOR: Final = "directed-then-weighted-2"

# Above this many crossed special cases, random cases test more.
MAX_CROSSED: Final = 1 << 16
MAX_BOUNDARY_BITS: Final = 8
_CODES_AROUND: Final = 4  # codes on each side of a place worth testing in a wider format
_CHUNK: Final = 4096
_NONCANONICAL_EVERY: Final = 32  # one random code in N, of a format that stores its integer bit, has the other one


def crossed(formats: Sequence[Format], limit: int = MAX_CROSSED) -> Iterator[tuple[int, ...]]:
    """Every special code of each operand with every one of the others; fewer, or none, above the limit."""
    for choice in (specials, few_specials):
        sets = [choice(f) for f in formats]
        if prod(map(len, sets)) <= limit:
            return itertools.product(*sets)
    return iter(())


def words_per_code(fmt: Format) -> int:
    """The number of random words per code: one that chooses the kind of code, and the bits."""
    return 1 + -(-fmt.width // WORD_BITS)


class CodeKinds(NamedTuple):
    """What `random_code` draws for a format: for each of its eight kinds of code a row of five integers, and a table.

    A row is, in turn: the low bits of the choice that are kept, the number of places that its other bits choose among,
    the uniform bits that are kept, whether these are shifted by the place (all ones, or zero), and the first entry of
    the table, whose bits at the place are added.
    """

    rows: tuple[int, ...]
    table: tuple[int, ...]


@lru_cache(maxsize=64)
def code_kinds(fmt: Format) -> CodeKinds:
    """3 of 8 uniform; 2 of 8 with a patterned significand (a run of ones from either end, or one bit, or the
    complement); 2 of 8 near 1, so that sums overlap, or small integers; 1 of 8 special."""
    m, every = fmt.mantissa_bits, (1 << fmt.width) - 1
    mask = (1 << m) - 1
    patterns = [pattern(shape, m) for shape in range(8 * (m + 1))]
    if fmt.exponent_bits:
        near = [(fmt.bias + i - 4) % (1 << fmt.exponent_bits) << m for i in range(8)]
        second = (0, 8, fmt.sign_bit | mask, 0)
    else:
        near = [0] * fmt.width
        second = (0, fmt.width, every, -1)
    parts = [[0], patterns, near, specials(fmt)]
    first = list(itertools.accumulate(map(len, parts), initial=0))
    rows = [(0, 1, every, 0), (3, m + 1, every & ~mask, 0), second, (0, len(parts[3]), 0, 0)]
    chosen = (0, 0, 0, 1, 1, 2, 2, 3)
    return CodeKinds(
        tuple(x for kind in chosen for x in (*rows[kind], first[kind])),
        tuple(itertools.chain.from_iterable(parts)),
    )


def random_code(fmt: Format, control: int, bits: int) -> int:
    """A code from a control word, which chooses its kind, and enough random bits."""
    if fmt.explicit_bit:
        code = fmt.stored(random_code(fmt.hidden, control, bits))
        return encodings.flipped(fmt, code) if (control >> 32) % _NONCANONICAL_EVERY == 0 else code
    draws = code_kinds(fmt)
    return draw_code(control & 7, control >> 3, bits & ((1 << fmt.width) - 1), draws.rows, draws.table)


def draw_code(kind: int, choice: int, uniform: int, rows: Sequence[int], table: Sequence[int]) -> int:
    """A code of a kind, without branches: plain integers, since Numba compiles this function for arrays."""
    row = 5 * kind
    low = rows[row]
    place = (choice >> low) % rows[row + 1] << low | choice & (1 << low) - 1
    return uniform >> (place & rows[row + 3]) & rows[row + 2] | table[rows[row + 4] + place]


def pattern(control: int, width: int) -> int:
    """A significand with a run of ones from either end, or one bit, or the complement."""
    mask = (1 << width) - 1
    run = (1 << (control >> 3) % (width + 1)) - 1
    shape = control & 3
    pattern = (run, mask & ~run, (run + 1) & mask, mask ^ ((run + 1) & mask))[shape]
    return pattern ^ (mask if control & 4 else 0)


def random_cases(formats: Sequence[Format], seed: int, count: int, start: int = 0) -> Iterator[tuple[int, ...]]:
    """Random operands number start, start + 1, ...: each depends on the seed, its number and the formats only."""
    source = Philox(seed, stream=1)
    sizes = [words_per_code(f) for f in formats]
    stride = sum(sizes)
    for first in range(start, start + count, _CHUNK):
        n = min(_CHUNK, start + count - first)
        words = iter(source.words(first * stride, n * stride))
        for _ in range(n):
            yield tuple(next_code(f, words, size) for f, size in zip(formats, sizes, strict=True))


def words_of_cases(seed: int, size: int, count: int) -> Iterator[list[int]]:
    """The `size` random words of each of `count` cases, which depend on the seed and the case's number only."""
    source = Philox(seed, stream=1)
    return (source.words(i * size, size) for i in range(count))


def next_code(fmt: Format, words: Iterator[int], size: int) -> int:
    """A code from the next `size` words."""
    return random_code(fmt, next(words), join_words(itertools.islice(words, size - 1)))


def join_words(words: Iterable[int]) -> int:
    """Random words as one number, the first the most significant."""
    return reduce(lambda bits, word: bits << WORD_BITS | word, words, 0)


def values_and_midpoints(fmt: Format) -> list[tuple[int, int]]:
    """(significand, exponent) of positive values, and of the midpoint to the next one: of all values in a format of at
    most 8 bits, of those at zero, the smallest normal, one and the largest in wider ones."""
    codes: Iterable[int] = range(fmt.max_code)
    if fmt.width > MAX_BOUNDARY_BITS:
        places = (0, fmt.min_normal_code, encode(1, fmt).bits & fmt.magnitude_mask, fmt.max_code)
        codes = sorted(
            {c for p in places for c in range(p - _CODES_AROUND, p + _CODES_AROUND) if 0 <= c < fmt.max_code}
        )
    points = []
    for code in codes:
        a, b = fmt.magnitude(code), fmt.magnitude(code + 1)
        low = min(a[1], b[1]) - 1
        units = (a[0] << (a[1] - low), b[0] << (b[1] - low))
        points += [(units[0], low), (sum(units) // 2, low)]
    significand, exponent = fmt.magnitude(fmt.max_code)
    return [*points, (significand, exponent), (2 * significand + 1, exponent - 1)]


def boundaries(source: Format, target: Format) -> Iterator[tuple[int, ...]]:
    """Codes of the source at, just below and just above those values and midpoints of the target."""
    if source.explicit_bit:
        yield from ((source.stored(code),) for (code,) in boundaries(source.hidden, target))
        return
    encode_value = encoder(source, POLICIES["ieee"])
    for significand, exponent in values_and_midpoints(target.hidden):
        for sign in (0, 1) if source.signed else (0,):
            code = encode_value(exact.finite(sign, significand, exponent), 0)[0] if significand else source.sign_bit
            for near in (code - 1, code, code + 1):
                if 0 <= near < 1 << source.width:
                    yield (near,)


def cases(formats: Sequence[Format], seed: int, count: int, target: Format | None = None) -> Iterator[tuple[int, ...]]:
    """`count` cases: special ones crossed (at most half), the boundaries of a conversion's target, then random ones."""
    special, emitted = crossed(formats, max(count // 2, 1)), 0
    directed = itertools.chain(special, boundaries(formats[0], target) if target else ())
    for case in itertools.islice(directed, count):
        emitted += 1
        yield case
    yield from random_cases(formats, seed, count - emitted)
