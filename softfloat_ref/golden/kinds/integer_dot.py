"""Sets of dot products of integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.integer_dot import integer_dots
from softfloat_ref.golden.cases import join_words, words_of_cases
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.integer_dots import ends
from softfloat_ref.oracle.sources import WORD_BITS
from softfloat_ref.units import IntegerDotUnit, Line

_LONGEST_RUN: Final = 64  # lines from one clearing of the accumulator to the next
_CLEARED_EVERY: Final = 3  # of directed lines
_KINDS: Final = 8


@register(IntegerDotUnit)
class IntegerDotCases(Cases):
    """The cases of a dot product of integers: any elements, small ones, and ends of the range; c anywhere, small, or
    about an end. Of a unit with its own accumulator, c is the result of the line before: lines are in runs, which begin
    with a cleared accumulator, and of which some add products of one sign."""

    generator: ClassVar[str] = "integer-dot-1"
    wide: ClassVar[bool] = True
    rule: ClassVar[str] = "exact products; the sum of a step is fitted to the accumulator"
    unit: IntegerDotUnit

    @property
    def coverage(self) -> Coverage | None:
        return integer_dots(self.unit)

    def _directed(self) -> tuple[tuple[str, Line], ...]:
        cases = super()._directed()
        return tuple(self._as_run(cases)) if self.unit.clear else cases

    def _as_run(self, cases: Sequence[tuple[str, Line]]) -> Iterator[tuple[str, Line]]:
        """Those that also hit their bins with the accumulator that the lines before leave, or when it is cleared."""
        coverage, c = integer_dots(self.unit), 0
        for i, (tag, case) in enumerate(cases):
            vectors = case[: 2 * self.unit.k]
            for clear in (1, 0) if i % _CLEARED_EVERY == 0 else (0, 1):
                line = (*vectors, clear, c)
                if (clear or c) and tag in coverage.hits(line):
                    yield tag, line
                    c = self.unit.answer(line)[-2]
                    break

    def operands(self, count: int) -> Iterator[Line]:
        return (self._chained if self.unit.clear else self._separate)(count)

    def _drawn(self, count: int) -> Iterator[tuple[int, int, list[int]]]:
        """Two words, and one number of as many bits as the widest field for each code."""
        unit = self.unit
        size = -(-max(unit.a.width, unit.b.width, unit.c.width) // WORD_BITS)
        for control, run, *words in words_of_cases(self.vectors.seed, 2 + size * unit.operand_width, count):
            yield control, run, [join_words(words[i : i + size]) for i in range(0, len(words), size)]

    def _separate(self, count: int) -> Iterator[Line]:
        for control, _, words in self._drawn(count):
            a, b, _, _ = self.unit.sides(words)
            yield (*self._elements(control, a, b), self._addend(control, words[-1]))

    def _chained(self, count: int) -> Iterator[Line]:
        """Runs of lines. The first line clears; a run has elements of one kind."""
        before = self.directed()
        left, kind, c = 0, 0, self.unit.answer(before[-1][1])[-2] if before else 0
        for control, run, words in self._drawn(count):
            clear = int(left == 0)
            if clear:
                left, kind = 1 + run % _LONGEST_RUN, control
            left -= 1
            a, b, _, _ = self.unit.sides(words)
            line = (*self._elements(kind, a, b), clear, c)
            c = self.unit.answer(line)[-2]
            yield line

    def _elements(self, control: int, *sides: Any) -> Iterator[int]:
        """control: which kind of elements: any; small; ends; ends whose products have one sign."""
        for side, (fmt, words) in enumerate(zip((self.unit.a, self.unit.b), sides, strict=True)):
            mask, (low, high) = (1 << fmt.width) - 1, ends(fmt)
            for x in words:
                match control % _KINDS:
                    case 0:
                        yield (x >> 8) % 5 - 2 * (fmt.signed) & mask
                    case 1:
                        yield (low, high, 0, 1, -1 & mask)[(x >> 8) % 5] & mask
                    case 2 | 3:
                        positive = control % _KINDS == 2 or side == 0
                        yield (high if positive else low) & mask
                    case _:
                        yield x & mask

    def _addend(self, control: int, x: int) -> int:
        fmt: Format = self.unit.c
        mask, (low, high) = (1 << fmt.width) - 1, ends(fmt)
        match (control >> 8) % 4:
            case 0:
                return 0
            case 1:
                return high - (x >> 2) % (1 << min(fmt.width, self.unit.a.width + self.unit.b.width)) & mask
            case 2:
                return low + (x >> 2) % (1 << min(fmt.width, self.unit.a.width + self.unit.b.width)) & mask
        return x & mask

    def conventions(self) -> list[dict[str, Any]]:
        own = {"accumulator": self.unit.accumulator, "flags": "overflow where the sum of a step does not fit"}
        more = {"c": "the accumulator before the line: the result of the line before"} if self.unit.clear else {}
        return [{**row, **own, **more} for row in super().conventions()]
