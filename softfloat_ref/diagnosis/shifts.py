"""By how many lines answers come late or early, found although other faults remain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from softfloat_ref.diagnosis.hypotheses import Output
from softfloat_ref.rtl.bundle import ALL_FLAGS
from softfloat_ref.units import Unit

MOST_LATE: Final = 64  # lines
_SEEN: Final = 512  # lines by which a shift is found
_SCREENED: Final = 128  # lines by which nearly all devices are seen to have none
_FEWEST: Final = 24  # lines by which a shift is recognized though other faults remain
_WRONG_BITS: Final = 32  # that a shift must explain


def shifts(count: int, most: int = MOST_LATE) -> Iterable[int]:
    """By how many of these lines answers may be late (early: less than 0), the nearest first."""
    return [k for x in range(1, most + 1) if 4 * x <= count for k in (x, -x)]


def shifted_pairs(cycles: Sequence[int], late: int) -> list[tuple[int, int]]:
    """The indices of a question and of the answer that comes so many cycles later, in pairs. cycles: of the answers, if
    they came when they were due."""
    count = len(cycles)
    if count and cycles[-1] - cycles[0] == count - 1:  # one in each cycle
        return [(i - late, i) for i in range(max(late, 0), count + min(late, 0))]
    place = {cycle: i for i, cycle in enumerate(cycles)}
    return [(place[cycle - late], i) for i, cycle in enumerate(cycles) if cycle - late in place]


def shift_of(unit: Unit, cycles: Sequence[int], expected: Sequence[Output], got: Sequence[Output]) -> int:
    """By how many cycles answers are late (early: less than 0); 0 if most are right, or no shift explains much."""
    right = _right(shifted_pairs(cycles, 0), expected, got)
    if 10 * right >= 9 * len(got):
        return 0
    if len(cycles) > _SCREENED and not _may_be(unit, cycles[:_SCREENED], expected, got):
        return 0
    few = cycles[:_SEEN]
    tried = {k: shifted_pairs(few, k) for k in (0, *shifts(len(few)))}
    pairs = {k: own for k, own in tried.items() if 4 * len(own) >= len(few)}
    return _nearly_all(right, pairs, cycles, expected, got) or _most_bits(unit, pairs, expected, got)


Pairs = Sequence[tuple[int, int]]


def _may_be(unit: Unit, cycles: Sequence[int], expected: Sequence[Output], got: Sequence[Output]) -> bool:
    """Whether fewer bits of some answers are wrong after a shift than without one."""
    tried = {k: shifted_pairs(cycles, k) for k in (0, *shifts(4 * MOST_LATE))}
    rates = _rates(unit, {k: own for k, own in tried.items() if own}, expected, got, len(cycles))
    return any(rate < rates.get(0, 1) for k, rate in rates.items() if k)


def _rates(
    unit: Unit, pairs: Mapping[int, Pairs], expected: Sequence[Output], got: Sequence[Output], count: int
) -> dict[int, float]:
    """The number of wrong bits in an answer after each shift."""
    widths = [f.width for f in unit.results for _ in range(f.lanes)] + [ALL_FLAGS.bit_length()]
    right, came = ([_packed(x, widths) for x in some[:count]] for some in (expected, got))
    return {k: sum((right[j] ^ came[i]).bit_count() for j, i in own) / len(own) for k, own in pairs.items()}


def _right(pairs: Pairs, expected: Sequence[Output], got: Sequence[Output]) -> int:
    """The number of answers that are right."""
    return sum(expected[j] == got[i] for j, i in pairs)


def _nearly_all(
    right: int, pairs: Mapping[int, Pairs], cycles: Sequence[int], expected: Sequence[Output], got: Sequence[Output]
) -> int:
    """The shift after which nearly all answers are right, and more than the given number; 0 if there is none."""
    best = max((k for k in pairs if k), key=lambda k: _right(pairs[k], expected, got), default=0)
    every = shifted_pairs(cycles, best)
    after = _right(every, expected, got)
    return best if best and 20 * after >= 19 * len(every) and after > right + abs(best) else 0


def _most_bits(unit: Unit, pairs: Mapping[int, Pairs], expected: Sequence[Output], got: Sequence[Output]) -> int:
    """The shift after which less than half as many bits are wrong as after any other; 0 if there is none."""
    count = min(len(got), _SEEN)
    if count < _FEWEST or len(pairs) < 2:
        return 0
    rates = _rates(unit, pairs, expected, got, count)
    best = min(rates, key=lambda k: (rates[k], abs(k)))
    others = min(rate for k, rate in rates.items() if k != best)
    several = len(pairs[best]) * (others - rates[best]) >= _WRONG_BITS
    return best if several and 2 * rates[best] < others else 0


def _packed(output: Output, widths: Sequence[int]) -> int:
    """The codes of an answer side by side."""
    word = 0
    for code, width in zip(output, widths, strict=False):
        word = word << width | code & (1 << width) - 1
    return word
