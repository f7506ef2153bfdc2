"""Defects of the lanes of a result: their order, lanes that are left out or always the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from softfloat_ref.diagnosis.conditions import FEWEST
from softfloat_ref.diagnosis.defects import defective, replaced, within
from softfloat_ref.diagnosis.hypotheses import SHARE, AnsweredCase, Hypothesis, Output
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.quantize import lanes
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.rounding_steps import answer, read
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import SteppedUnit
from softfloat_ref.units.unit import Unit

_SAME_SHARE: Final = 0.9  # of a lane's wrong codes that are the same one, or another lane's
_SIZE: Final = 3  # of a hypothesis that was fitted to the mismatches


def _lane_orders(size: int) -> Iterator[tuple[str, str, list[int]]]:
    """Wrong orders of a block's lanes, each with a name and in words: the numbers of the lanes, as they come out."""
    order, half = list(range(size)), size // 2
    yield "lanes reversed", "has its lanes in reverse order", order[::-1]
    yield "neighbours exchanged", "exchanges neighbouring lanes", [i ^ 1 if i ^ 1 < size else i for i in order]
    yield "lanes one up", "has each element one lane too far up", [*order[-1:], *order[:-1]]
    yield "lanes one down", "has each element one lane too far down", [*order[1:], *order[:1]]
    interleaved = [i // 2 + half * (i % 2) if i < 2 * half else i for i in order]
    yield "halves interleaved", "interleaves the two halves of the block", interleaved


def lane_defects(unit: SteppedUnit, size: int) -> Iterator[Hypothesis]:
    """Wrong orders of the lanes of a block."""
    for name, text, order in _lane_orders(size):
        reordered = replaced(lanes, lambda here, right, c, order=order: right(tuple(c[i] for i in order)))
        yield defective(unit, name, text, reordered)


# -- what the mismatches suggest ---------------------------------------------------------------------------------------


def lanes_suggested_by(unit: SteppedUnit, cases: Sequence[AnsweredCase], read_in: str = "") -> Iterator[Hypothesis]:
    """Lanes that always give the same code, and lanes that give what another one should.

    read_in: the part of the computation that reads an operand for each lane, which may be left out there.
    """
    first, count = lane_places(unit)
    wrong = _wrong_lanes(cases, first, count)
    if not wrong:
        return
    fmt = unit.result_formats[first]
    same = {k: code for k, pairs in wrong.items() if (code := _usual(x.got[first + k] for x in pairs)) is not None}
    for code in dict.fromkeys(same.values()):
        some = sorted(k for k in same if same[k] == code)
        if len(some) == count:
            continue
        shown = f"{code:x}" if fmt is None else fmt.hex(code)
        which = _lane_words(some, count)
        held = _held(first, some, code)
        yield defective(unit, f"{which} = {shown}", f"always gives {shown} in {which}", held, size=_SIZE, share=SHARE)
        if read_in and fmt is not None and not code & fmt.magnitude_mask:
            left_out = (c for k in some for c in within((read_in, k), [replaced(read, _zero)]))
            text = f"leaves out {which}: reads zero in place of its operand"
            yield defective(unit, f"{which} left out", text, *left_out, size=_SIZE, share=SHARE)
    moved = {k: j for k, pairs in wrong.items() if (j := _source(k, pairs, first, count)) is not None}
    if moved:
        shown = ", ".join(f"{j} for {k}" for k, j in moved.items())
        taken = _taken(first, moved)
        yield defective(unit, f"lane {shown}", f"gives lane {shown}", taken, size=_SIZE, share=SHARE)


def lane_places(unit: Unit) -> tuple[int, int]:
    """Where the codes of the result with the most lanes begin in an answer, and how many they are."""
    at, best = 0, (0, 0)
    for f in unit.results:
        best = max(best, (at, f.lanes), key=lambda x: x[1])
        at += f.lanes
    return best


def _wrong_lanes(cases: Sequence[AnsweredCase], first: int, count: int) -> dict[int, list[AnsweredCase]]:
    """The mismatches of each lane that is wrong in several, if other lanes are right."""
    wrong: dict[int, list[AnsweredCase]] = {}
    for c in cases:
        if c.agrees:
            continue
        for k in range(count):
            if c.got[first + k] != c.expected[first + k]:
                wrong.setdefault(k, []).append(c)
    return {k: pairs for k, pairs in wrong.items() if len(pairs) >= FEWEST} if count > 1 else {}


def _usual(codes: Iterator[int]) -> int | None:
    """The code that nearly all are; None if there is none."""
    counted = Counter(codes)
    ((code, n),) = counted.most_common(1)
    return code if n >= _SAME_SHARE * counted.total() else None


def _source(k: int, pairs: Sequence[AnsweredCase], first: int, count: int) -> int | None:
    """The lane whose expected code nearly all wrong answers of a lane are; None if there is none."""
    least = _SAME_SHARE * len(pairs)
    near = sorted((j for j in range(count) if j != k), key=lambda j: abs(j - k))
    return next((j for j in near if sum(c.got[first + k] == c.expected[first + j] for c in pairs) >= least), None)


def _lane_words(some: Sequence[int], count: int) -> str:
    if len(some) == 1:
        return {0: "the first lane", count - 1: "the last lane"}.get(some[0], f"lane {some[0]}")
    whole = list(some) == list(range(some[0], some[-1] + 1))
    return f"lanes {some[0]} to {some[-1]}" if whole else f"lanes {', '.join(map(str, some))}"


def _held(first: int, some: Sequence[int], code: int) -> Change:
    """The same code in some lanes."""
    places = {first + k for k in some}

    def wrong(here: Traced, right: Function, codes: Output) -> Any:
        return right(tuple(code if i in places else x for i, x in enumerate(codes)))

    return replaced(answer, wrong)


def _taken(first: int, moved: dict[int, int]) -> Change:
    """Lanes in place of others."""

    def wrong(here: Traced, right: Function, codes: Output) -> Any:
        return right(tuple(codes[first + moved[i - first]] if i - first in moved else x for i, x in enumerate(codes)))

    return replaced(answer, wrong)


def _zero(here: Traced, right: Function, *args: Any) -> Value:
    return exact.zero(0)
