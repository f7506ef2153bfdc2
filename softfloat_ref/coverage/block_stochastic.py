"""BX: stochastic rounding of block elements around its carry; and values made to meet their random words there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from softfloat_ref import exact
from softfloat_ref.codec import decoder, target
from softfloat_ref.coverage.block_events import BlockEvents, BlockSetting, Line
from softfloat_ref.coverage.block_model import BlockModel, filled, with_tensor_scale
from softfloat_ref.coverage.events import Place
from softfloat_ref.coverage.model import SIGNS, Bin
from softfloat_ref.exact import FINITE, Value
from softfloat_ref.rounding import position

_SUMS: Final = ("-2", "-1", "+0", "+1")


class ElementCarry(BlockModel):
    """BX: the discarded bits and the random word of an element, around their carry."""

    id = "BX"
    title = "stochastic rounding of elements: discarded bits plus random word, against the carry; exact values"

    def applies(self, where: BlockSetting) -> bool:
        """Stochastic roundings."""
        return where.policy.random_count > 0

    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """How far the sum is from the carry, by sign; exact elements; others with a word of zeros."""
        names = [f"BX/{sign}.sum{d}" for sign in SIGNS for d in _SUMS]
        names += [f"BX/{sign}.{kind}" for sign in SIGNS for kind in ("exact", "no-word")]
        return tuple(Bin(name) for name in names)

    def hits(self, e: BlockEvents) -> Iterable[str]:
        """By each element that is none of the largest."""
        n = e.where.policy.random_count
        for x, place, word in zip(e.values, e.places, e.words, strict=False):
            if place is None or place.code >= target(e.where.fmt.element, e.where.policy).max_code:
                continue
            sign = SIGNS[x.sign]
            if not place.guard and not place.sticky:
                yield f"BX/{sign}.exact"
                continue
            if word == 0:
                yield f"BX/{sign}.no-word"
            distance = _discarded(place, n) + word - (1 << n)
            if -2 <= distance <= 1:
                yield f"BX/{sign}.sum{distance:+d}"

    def cases(self, where: BlockSetting, name: str) -> Iterator[Line]:
        """Blocks with something to discard, and the random words that bring the sums there."""
        one, step = where.code(exact.finite(0, 1, 0)), 1 << (where.values.mantissa_bits - 5)
        sign = where.values.sign_bit if "neg" in name else 0
        for k in range(4):
            smaller = (one - step * (i * 7 + k) for i in range(where.fmt.size))
            line = with_tensor_scale(where, filled(where, [one + 1, *(x | sign for x in smaller)]))
            yield (*line, *self._words(where, line, name.rpartition("sum")[2]))

    def _words(self, where: BlockSetting, line: Line, distance: str) -> Iterator[int]:
        """The words whose sums with the discarded bits are so far from the carry; zeros for the other bins."""
        n = where.policy.random_count
        for place in BlockEvents(where, line).places:
            word = 0 if place is None or "." in distance else (1 << n) + int(distance) - _discarded(place, n)
            yield word if 0 <= word < 1 << n else 0


def _discarded(place: Place, n: int) -> int:
    """As many discarded bits as there are random ones."""
    return (place.guard << place.width | place.tail) >> (place.width + 1 - n)


def sharpened(where: BlockSetting, line: Line, words: Sequence[int], turn: int) -> Line:
    """The values changed, all but the largest, so that an element's discarded bits just reach the carry with its
    random word, just miss it, or are none; of either sign; the scale stays as it is. Values that cannot stay."""
    size, n = where.fmt.size, where.policy.random_count
    e = BlockEvents(where, (*line, *words))
    if e.amax is None or not e.plain:
        return line
    factor = decoder(where.fmt.scale)(e.scale)
    if factor.kind != FINITE or not factor.significand:
        return line
    found = list(line)
    kept = next(i for i, x in enumerate(e.values) if exact.compare(exact.magnitude(x), e.amax) == 0)
    for i, (place, word) in enumerate(zip(e.places, words, strict=True)):
        if place is None or i == kept or place.code >= target(where.fmt.element, where.policy).max_code:
            continue
        fraction = (-word, -word - 1, 0, 1 - word, -word - 2)[(turn + i) % 5] % (1 << n)
        wanted = _between(where, place.code, fraction, factor)
        code = where.code(wanted)
        if code < e.amax_code and exact.compare(where.decode(code), wanted) == 0:
            found[i] = code | (where.values.sign_bit if (turn + 3 * i) >> 1 & 1 else 0)
    return tuple(found[:size]) + line[size:]


def _between(where: BlockSetting, code: int, fraction: int, factor: Value) -> Value:
    """The value, times the scale, that is so many 2^-n of the way from an element's magnitude to the next."""
    t, n = target(where.fmt.element, where.policy), where.policy.random_count
    significand, exponent = where.fmt.element.magnitude(code) if code else (0, t.emin - t.mantissa_bits)
    x = exact.finite(0, (significand << n) + fraction, exponent - n)
    shown = position(x.significand, x.exponent, x.significand.bit_length(), 0, n, t) if x.significand else (code,)
    return exact.multiply(x, factor) if shown[0] == code else exact.zero(0)
