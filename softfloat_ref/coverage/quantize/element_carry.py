"""BX: stochastic rounding of block elements around its carry; and values that reach it with their random words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from softfloat_ref.base.search import find_first
from softfloat_ref.coverage.codes import TailPlace
from softfloat_ref.coverage.engine.framework import SIGNS, Bins, Cell, Line, cross
from softfloat_ref.coverage.quantize.setting import BlockEvents, BlockModel, BlockSetting
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.rounding import position

_CARRY_DISTANCES: Final = {-2: "-2", -1: "-1", 0: "+0", 1: "+1"}


class ElementCarry(BlockModel):
    """BX: the discarded bits and the random word of an element, around their carry."""

    id = "BX"
    title = "stochastic rounding of elements: discarded bits plus random word, against the carry; exact values"
    chooses_words = True

    def applies(self, where: BlockSetting) -> bool:
        return where.policy.random_count > 0

    def bins(self, where: BlockSetting) -> Bins:
        """How far the sum is from the carry, by sign; exact elements; others with a word of zeros."""
        sums = cross("{sign}.sum{distance}", sign=SIGNS, distance=_CARRY_DISTANCES)
        return sums | cross("{sign}.{kind}", sign=SIGNS, kind=("exact", "no-word"))

    def hits(self, e: BlockEvents) -> Iterable[Cell]:
        """By each element that is not one of the largest."""
        n = e.where.policy.random_count
        for x, place, word in zip(e.values, e.places, e.words, strict=False):
            if place is None or place.code >= e.where.target.max_code:
                continue
            if place.is_exact:
                yield x.sign, "exact"
                continue
            if word == 0:
                yield x.sign, "no-word"
            yield x.sign, _discarded(place, n) + word - (1 << n)

    def cases(self, where: BlockSetting, cell: Cell) -> Iterator[Line]:
        """Blocks with discarded bits, and random words that bring the sums to the carry."""
        step = 1 << (where.values.mantissa_bits - 5)
        sign = where.values.sign_bit if cell[0] else 0
        for k in range(4):
            smaller = (where.one - step * (i * 7 + k) for i in range(where.size))
            line = where.line(where.filled([where.one + 1, *(x | sign for x in smaller)]))
            yield (*line, *self._words(where, line, cell[1] if cell[1] in _CARRY_DISTANCES else None))

    def _words(self, where: BlockSetting, line: Line, distance: int | None) -> Iterator[int]:
        """The words whose sums with the discarded bits have that distance from the carry; zeros for the other bins."""
        n = where.policy.random_count
        for place in BlockEvents(where, line).places:
            word = 0 if place is None or distance is None else (1 << n) + distance - _discarded(place, n)
            yield word if 0 <= word < 1 << n else 0


def _discarded(place: TailPlace, n: int) -> int:
    """As many discarded bits as there are random ones."""
    return place.below >> place.n + 1 - n


def near_carry_case(where: BlockSetting, line: Line, words: Sequence[int], turn: int) -> Line:
    """The values changed, all but the largest, so that an element's discarded bits just reach the carry with its
    random word, just miss it, or are zero; of either sign. The scale does not change. Values that cannot do so stay."""
    size, n = where.size, where.policy.random_count
    e = BlockEvents(where, (*line, *words))
    if e.plain_amax is None:
        return line
    factor = where.factor(e.scale)
    if factor.kind != FINITE or not factor.significand:
        return line
    codes = list(line)
    largest = find_first(i for i, x in enumerate(e.values) if e.is_largest(x))
    for i, (place, word) in enumerate(zip(e.places, words, strict=True)):
        if place is None or i == largest or place.code >= where.target.max_code:
            continue
        fraction = (-word, -word - 1, 0, 1 - word, -word - 2)[(turn + i) % 5] % (1 << n)
        wanted = _between(where, place.code, fraction, factor)
        code = where.code(wanted)
        if code < e.amax_code and exact.compare(where.decode(code), wanted) == 0:
            codes[i] = code | (where.values.sign_bit if (turn + 3 * i) >> 1 & 1 else 0)
    return tuple(codes[:size]) + line[size:]


def _between(where: BlockSetting, code: int, fraction: int, factor: Value) -> Value:
    """The value, times the scale, that is a multiple of 2^-n of the way from an element's magnitude to the next."""
    t, n = where.target, where.policy.random_count
    significand, exponent = where.element.magnitude(code) if code else (0, t.emin - t.mantissa_bits)
    x = exact.finite(0, (significand << n) + fraction, exponent - n)
    shown = position(x.significand, x.exponent, x.significand.bit_length(), 0, n, t) if x.significand else (code,)
    return exact.multiply(x, factor) if shown[0] == code else exact.zero(0)
