"""Cases within an operand range: those that a set has anyway, and others moved into it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.coverage.engine.framework import Coverage, bits
from softfloat_ref.oracle.code_sets import CodeRange, CodeSet
from softfloat_ref.units import Line, Unit
from softfloat_ref.units.ranges.operand_range import OperandRange

MAX_FILTERED: Final = 1 << 20  # cases of an exhaustive set that are tried one by one
_TRIES_A_CASE: Final = 64  # cases that are tried for each one of a set,
_TRIES: Final = 1 << 14  # and at least
_MOVED: Final = 1 << 10  # directed cases that are moved into a range, at most
_ENDS_EVERY: Final = 8  # one case in N is at the ends of its operands' ranges


class CasesWithin:
    """The cases of a unit that are within a range."""

    def __init__(self, unit: Unit, within: OperandRange) -> None:
        self.unit, self.within = unit, within
        self.formats = unit.input_formats
        check_runs(unit)
        for subject in within.names:
            if any(f.name == subject and f.role == "random" for part in unit.parts for f in part.inputs):
                raise Error(f"where: {subject} comes from the source of random words; a set has any of them")
        self.ways = within.alternatives
        if not self.ways:
            raise Error(f"where: no case is such that {within.text}")

    def holds(self, case: Sequence[int]) -> bool:
        """Whether a case is within."""
        return self.within.holds(case)

    def directed(self, coverage: Coverage, cases: Iterable[tuple[str, Line]]) -> Iterator[tuple[str, Line]]:
        """The directed cases that are within; then others that are moved there, and still hit their bin."""
        seen: set[Line] = set()
        outside = []
        for name, case in cases:
            if self.holds(case):
                seen.add(case)
                yield name, case
            else:
                outside.append((name, case))
        for turn, (name, case) in enumerate(outside[:_MOVED]):
            moved = self.moved(case, 2 * turn + 1)  # not to the ends
            if moved is not None and moved not in seen and name in coverage.hits(moved):
                seen.add(moved)
                yield name, moved

    def candidates(self, count: int) -> int:
        """How many cases to try for that many."""
        return max(_TRIES, _TRIES_A_CASE * count)

    def chosen(self, candidates: Iterable[Line], count: int) -> Iterator[Line]:
        """That many cases, of candidates that are moved into the range where they are outside. Raises Error if too few
        are met."""
        met = tried = 0
        for turn, candidate in enumerate(candidates):
            if met == count:
                return
            tried += 1
            case = self.moved(candidate, turn)
            if case is not None:
                met += 1
                yield case
        if met < count:
            few = f"{met} of the {count} cases" if met else "no case"
            raise Error(
                f"where: {few} found, of {tried} that were tried, with {self.within.text}; "
                "ask for fewer, or give a range of each operand by itself"
            )

    def moved(self, case: Line, turn: int) -> Line | None:
        """The case, with operands that are outside moved into the range; None if it is still outside. Of some turns,
        all operands that have a range are at its ends."""
        at_ends = turn % _ENDS_EVERY == 0
        if not at_ends and self.within.holds(case):
            return case
        codes, way = list(case), self.ways[turn // _ENDS_EVERY % len(self.ways)]
        for place, allowed in way.codes.items():
            steps = way.stepped.get(place, ())
            if at_ends or steps or not _among(codes[place], allowed):
                codes[place] = self._code(place, allowed, steps, codes[place], turn)
        moved = tuple(codes)
        return moved if self.within.holds(moved) else case if at_ends and self.within.holds(case) else None

    def _code(self, place: int, allowed: CodeSet, steps: CodeSet, code: int, turn: int) -> int:
        """A code of a range, by turns at its ends, with the significand of another code, and any."""
        fmt = self.formats[place]
        width = 2 * allowed[-1].high.bit_length() + 8
        drawn = bits(code & (1 << 64) - 1, turn * len(self.formats) + place, width)
        if steps and turn % 2:
            r = steps[drawn % len(steps)]
            return (r.low + (drawn >> 8) % (r.high - r.low + 1)) & ~r.mask | r.bits
        if turn % _ENDS_EVERY == 0:
            ends = [end for r in allowed for end in (r.low, r.high)]
            return ends[drawn % len(ends)]
        other = _member(allowed, drawn)
        low = (1 << fmt.mantissa_bits) - 1 if fmt is not None and fmt.exponent_bits else 0
        mixed = other & ~low | code & low
        return mixed if turn % 2 and _among(mixed, allowed) else other

    # -- every case ------------------------------------------------------------------------------------------------

    def space(self, widths: Sequence[int]) -> int:
        """The number of all cases within. Raises Error if they are too many to be tried."""
        if self.within.by_lanes:
            return prod(_size(codes) for codes in self._sets(widths))
        if sum(widths) > MAX_FILTERED.bit_length() - 1:
            raise Error(
                f"where: exhaustive tries each of 2^{sum(widths)} cases, at most {MAX_FILTERED}, "
                f"unless a range is a list of operands' ranges, joined by 'and': {self.within.text}"
            )
        return sum(1 for _ in self.every(widths))

    def every(self, widths: Sequence[int]) -> Iterator[Line]:
        """All cases within."""
        if self.within.by_lanes:
            return itertools.product(*(_members(codes) for codes in self._sets(widths)))
        return filter(self.within.holds, itertools.product(*(range(1 << width) for width in widths)))

    def _sets(self, widths: Sequence[int]) -> list[CodeSet]:
        return [self.within.lanes.get(i, (CodeRange(0, (1 << width) - 1),)) for i, width in enumerate(widths)]


def check_runs(unit: Unit) -> None:
    """Raise Error for a unit of which no line can be left out."""
    if unit.held:
        raise Error(f"where: each line of {unit.name} goes on from the one before; none can be left out")


def _among(code: int, codes: CodeSet) -> bool:
    return any(low <= code <= high for low, high, _, _ in codes)


def _size(codes: CodeSet) -> int:
    return sum(r.high - r.low + 1 for r in codes)


def _member(codes: CodeSet, number: int) -> int:
    """One of the codes."""
    rest = number % _size(codes)
    for r in codes:
        if rest <= r.high - r.low:
            return r.low + rest
        rest -= r.high - r.low + 1
    raise IndexError(number)


def _members(codes: CodeSet) -> Iterator[int]:
    """The codes, in order."""
    return itertools.chain.from_iterable(range(r.low, r.high + 1) for r in codes)
