"""Cases for dot products: operands on which accumulators differ, crossed with special values; then random ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from softfloat_ref.golden.cases import few_specials, join_words, next_code, random_code, specials, words_per_code
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.oracle.sources import Philox

SATURATE: Final = Policy(overflow=Overflow.SAT_FINITE)
_DISTANCES: Final = (0, 1, 2, 3, 5, 8, 11, 13, 14, 20, 22, 23, 24, 25, 26, 30, 40, 60)  # binades between terms
_SPREAD_BINADES: Final = 16  # binades below a line's largest that most random values reach


@dataclass(frozen=True)
class DotCodes:
    """Codes of one dot product: elements, one scale per block (none for scalar formats), and the addend."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int
    a_scales: tuple[int, ...] = ()
    b_scales: tuple[int, ...] = ()


@dataclass(frozen=True)
class DotFormats:
    """The formats of a case: elements a and b, c, and the scales' (with the number of each)."""

    a: Format
    b: Format
    c: Format
    k: int
    a_scale: Format | None = None
    b_scale: Format | None = None
    a_blocks: int = 0
    b_blocks: int = 0

    def case(self, a: dict[int, int], b: dict[int, int], c: int = 0, *, rest: tuple[int, int] = (0, 0)) -> DotCodes:
        """A case with those elements by position, `rest` everywhere else, and scales of one."""
        return DotCodes(
            tuple(a.get(i, rest[0]) for i in range(self.k)),
            tuple(b.get(i, rest[1]) for i in range(self.k)),
            c,
            self.ones(self.a_scale, self.a_blocks),
            self.ones(self.b_scale, self.b_blocks),
        )

    @staticmethod
    def ones(scale: Format | None, blocks: int) -> tuple[int, ...]:
        return () if scale is None else (power_code(scale, 0),) * blocks

    @cached_property
    def one(self) -> tuple[int, int]:
        """1.0, or the nearest to it, in both element formats."""
        return power_code(self.a, 0), power_code(self.b, 0)

    def split(self, exponent: int, sign: int = 0) -> tuple[int, int]:
        """Elements whose product is (-1)^sign * 2^exponent, as near as the formats go."""
        half = min(max(exponent // 2, self.a.emin - self.a.mantissa_bits), self.a.emax)
        return power_code(self.a, half, sign), power_code(self.b, exponent - half)


def power_code(fmt: Format, exponent: int, sign: int = 0) -> int:
    """The code of (-1)^sign * 2^exponent, clamped to the format."""
    return encoder(fmt, SATURATE)(exact.finite(sign, 1, exponent), 0)[0]


def crossed_dots(f: DotFormats) -> Iterator[DotCodes]:
    """Each kind in turn, so that a short set has some of each."""
    specials = (_every_place, _special_elements, _special_c, _special_scales)
    kinds = [make(f) for make in (*specials, _distances, _orders, _ties, _thresholds, _signs)]
    for turn in itertools.zip_longest(*kinds):
        yield from (case for case in turn if case is not None)


def _special_elements(f: DotFormats) -> Iterator[DotCodes]:
    """A special value in the first and in the last place, times one, zero, and special ones; among ones and zeros."""
    ends = sorted({0, f.k - 1})
    for x, y in itertools.product(specials(f.a), (*few_specials(f.b), f.one[1])):
        for i in ends:
            yield f.case({i: x}, {i: y})
            yield f.case({i: x}, {i: y}, rest=f.one)
    infinite = [x for x in few_specials(f.a) if decoder(f.a)(x).is_inf]
    for x, y in itertools.product(infinite, repeat=2):  # Infs of both signs
        yield f.case({0: x, f.k - 1: y}, {0: f.one[1], f.k - 1: f.one[1]})


def _every_place(f: DotFormats) -> Iterator[DotCodes]:
    """One NaN (or Inf, or the largest value) in each place of a and of b, among ones, to test every lane."""
    for i in range(f.k):
        yield f.case({i: _extreme(f.a)}, {}, rest=f.one)
        yield f.case({}, {i: _extreme(f.b)}, rest=f.one)


def _extreme(fmt: Format) -> int:
    return fmt.canonical_nan if fmt.has_nan else fmt.inf_code if fmt.infinity else fmt.max_code


def _special_c(f: DotFormats) -> Iterator[DotCodes]:
    for c in specials(f.c):
        yield f.case({}, {}, c)
        yield f.case({}, {}, c, rest=f.one)
        yield f.case({0: f.one[0]}, {0: f.one[1]}, c)


def _special_scales(f: DotFormats) -> Iterator[DotCodes]:
    """Every pair of the scales' special codes."""
    if f.a_scale is None and f.b_scale is None:
        return
    left = [0] if f.a_scale is None else specials(f.a_scale)
    right = [0] if f.b_scale is None else specials(f.b_scale)
    largest = f.a.max_code, f.b.max_code
    for x, y in itertools.product(left, right):
        for rest in (f.one, largest, (0, 0)):
            case = f.case({}, {}, power_code(f.c, 0), rest=rest)
            yield DotCodes(case.a, case.b, case.c, (x,) * f.a_blocks, (y,) * f.b_blocks)


def _distances(f: DotFormats) -> Iterator[DotCodes]:
    """A small term beside large ones that cancel: the last bits that an alignment keeps."""
    top = min(f.a.emax, f.b.emax) * 2
    places = sorted({1, f.k // 2, f.k - 2} & set(range(1, f.k - 1)))
    for step, sign in itertools.product(_DISTANCES, (0, 1)):
        large, minus, small = f.split(top), f.split(top, 1), f.split(top - step, sign)
        for i in places:
            yield f.case({0: large[0], i: small[0], f.k - 1: minus[0]}, {0: large[1], i: small[1], f.k - 1: minus[1]})
        for i in (0, f.k - 1):
            yield f.case({i: small[0]}, {i: small[1]}, power_code(f.c, top, 1))
            yield f.case({i: small[0]}, {i: small[1]}, power_code(f.c, top - 2 * step))


def _orders(f: DotFormats) -> Iterator[DotCodes]:
    """c and one product cancel; small terms everywhere else say where in the order it stands."""
    top = min(f.a.emax, f.b.emax) * 2
    for step, i in itertools.product(_DISTANCES, sorted({0, 1, 2, 3, f.k // 2, f.k - 1} & set(range(f.k)))):
        small, minus = f.split(top - step), f.split(top, 1)
        yield f.case({i: minus[0]}, {i: minus[1]}, power_code(f.c, top), rest=small)


def _ties(f: DotFormats) -> Iterator[DotCodes]:
    """c with products at and about half of its last place, above an even and an odd one."""
    for half, sign, odd in itertools.product((-1, 0, 1, 2), (0, 1), (0, 1)):
        c = power_code(f.c, 0) | odd
        tie = f.split(-f.c.mantissa_bits - half, sign)
        least = f.split(2 * min(f.a.emin, f.b.emin))
        yield f.case({0: tie[0]}, {0: tie[1]}, c)
        yield f.case({0: tie[0], f.k - 1: least[0]}, {0: tie[1], f.k - 1: least[1]}, c)
        yield f.case({0: tie[0]}, {0: tie[1]}, c | f.c.sign_bit)


def _thresholds(f: DotFormats) -> Iterator[DotCodes]:
    """Sums at, and a little off, the ends of the result's range, where scales can bring them there."""
    if f.a_scale is None or f.b_scale is None:
        return
    top, least = f.split(f.a.emax + f.b.emax), f.a.emin + f.b.emin - f.a.mantissa_bits - f.b.mantissa_bits
    reach = f.a.emax + f.b.emax
    ends = (f.c.emax + 1, f.c.emin, f.c.emin - 1, f.c.emin - f.c.mantissa_bits, f.c.emin - f.c.mantissa_bits - 1)
    for end, below, sign in itertools.product(ends, (least, reach - 23, reach - 24, reach - 25, reach - 26), (0, 1)):
        left = min(max((end - reach) // 2, f.a_scale.emin), f.a_scale.emax)
        scales = (power_code(f.a_scale, left),) * f.a_blocks, (power_code(f.b_scale, end - reach - left),) * f.b_blocks
        other = f.split(below, sign)
        for swap, c in itertools.product((0, 1), (0, 1, f.c.sign_bit | 1)):
            case = f.case({0: power_code(f.a, f.a.emax, swap), 1: other[0]}, {0: top[1], 1: other[1]}, c)
            yield DotCodes(case.a, case.b, c, *scales)


def _signs(f: DotFormats) -> Iterator[DotCodes]:
    """Zeros of every sign, and sums that cancel to zero."""
    a, b = f.one
    for negative in (0, 1):
        c = f.c.sign_bit * negative
        for sign in (0, f.a.sign_bit if f.a.negative_zero else 0):
            yield f.case({}, {}, c, rest=(sign, b))
            yield f.case({0: sign}, {0: b}, c)
        yield f.case({0: a, f.k - 1: power_code(f.a, 0, 1)}, {0: b, f.k - 1: b}, c)
        yield f.case({0: a}, {0: b}, power_code(f.c, 0, 1) if negative else power_code(f.c, 0))


def random_case(f: DotFormats, source: Philox, number: int, wild: bool | None = None) -> DotCodes:
    """Random case number 0, 1, ...: it depends on the seed, the number and the formats only. c is any code;
    the caller, who has an accumulator, chooses one that cancels the products. wild: whether elements are any codes; by
    default in one case of sixteen."""
    sizes = [words_per_code(x) for x in (f.a, f.b, f.c)]
    stride = 1 + f.k * (sizes[0] + sizes[1]) + sizes[2] + f.a_blocks + f.b_blocks
    words = iter(source.words(number * stride, stride))
    control = next(words)
    wild = control % 16 == 0 if wild is None else wild
    a = tuple(_element(f.a, words, sizes[0], control >> 8, wild) for _ in range(f.k))
    b = tuple(_element(f.b, words, sizes[1], control >> 20, wild) for _ in range(f.k))
    c = next_code(f.c, words, sizes[2])
    place = control >> 32 & 7
    formats = (f.a_scale, f.a_blocks), (f.b_scale, f.b_blocks)
    return DotCodes(a, b, c, *(tuple(_scale(s, next(words), wild, place) for _ in range(n)) for s, n in formats))


def random_addends(f: DotFormats, source: Philox, start: int, count: int) -> list[int]:
    """Random values of c, number start, start + 1, ...: any codes, from a source of their own."""
    size = words_per_code(f.c)
    words = iter(source.words(start * size, count * size))
    return [next_code(f.c, words, size) for _ in range(count)]


def _element(fmt: Format, words: Iterator[int], size: int, top: int, wild: bool) -> int:
    """A code; unless wild, a finite one of an exponent near the line's largest, or a zero now and then."""
    control, bits = next(words), join_words(itertools.islice(words, size - 1))
    if wild:
        return random_code(fmt, control, bits)
    if control % 13 == 0:
        return 0
    if fmt.twos_complement or fmt.exponent_bits < 2:
        return bits % (1 << fmt.width)
    largest = fmt.max_code >> fmt.mantissa_bits
    field = max(largest - top % max(largest, 1) - (control >> 4) % _SPREAD_BINADES, 0)
    code = bits & ((1 << fmt.mantissa_bits) - 1) | field << fmt.mantissa_bits
    return min(code, fmt.max_code) | (fmt.sign_bit if control & 8 else 0)


def _scale(fmt: Format | None, word: int, wild: bool, place: int) -> int:
    """A scale's code; unless wild, one of a window about one, or (place 0, 1) about half way to the format's ends."""
    assert fmt is not None
    if wild:
        return word % (1 << fmt.width)
    centre, reach = power_code(fmt, 0), 8 << fmt.mantissa_bits
    if place < 2:
        centre = (centre + (fmt.max_code if place else fmt.min_code)) // 2
    return min(max(centre + (word >> 8) % (2 * reach) - reach, fmt.min_code), fmt.max_code)
