"""Sets of several operations or roundings, interleaved."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import cached_property
from operator import methodcaller
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import Workers, in_order
from softfloat_ref.base.search import find_first
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE
from softfloat_ref.coverage.engine.framework import Coverage, PartsCoverage
from softfloat_ref.golden.kinds.base import INSTRUCTIONS, Cases, cases_class, register
from softfloat_ref.golden.tags import UNTAGGED, Run
from softfloat_ref.oracle.sources import Philox
from softfloat_ref.units import Line, MixedUnit, OperationUnit, SelectionUnit

_ORDER_STREAM: Final = 2
_UNBOXED_STREAM: Final = 3
_CHUNK: Final = 1024


@register(SelectionUnit)  # type: ignore[type-abstract]
class SelectionCases(Cases):
    """The cases of a unit whose parts control fields select: those of each part, the set's count shared out evenly."""

    streams: ClassVar[dict[str, int]] = {"operands, of part i with seed + i": 1, "order of the parts": _ORDER_STREAM}
    unit: SelectionUnit

    def check(self) -> None:
        super().check()
        self._check_count()
        _ = self._sets if self.within is not None else None  # refuses a range that no case of a part can have

    def _check_count(self) -> None:
        vectors, parts = self.vectors, self.unit.parts
        if vectors.count < len(parts):
            raise Error(f"{vectors.count} vectors for {len(parts)} parts: each part needs at least one")
        if len(vectors.sources) not in (0, len(parts)):
            raise Error(f"{len(vectors.sources)} random sources for {len(parts)} parts")

    @classmethod
    def space(cls, unit: Any) -> int:
        raise Error(f"{unit.name}: exhaustive applies only to sets of one scalar operation")

    @classmethod
    def level_count(cls, unit: Any, level: str, count: int | None) -> int:
        if level == EXHAUSTIVE:
            return cls.space(unit)
        first = unit.parts[0]
        return cases_class(first).level_count(first, level, count)

    @property
    def coverage(self) -> Coverage | None:
        return self._coverage

    @cached_property
    def _coverage(self) -> PartsCoverage:
        names = self.unit.part_names
        parts = {names[p.unit]: p.coverage for p in self._sets}

        def selected(case: Line) -> tuple[str, Line]:
            part, own = self.unit.selected(case)
            return names[part], own

        return PartsCoverage(parts, selected)

    def directed(self) -> tuple[tuple[str, Line], ...]:
        """None: those of the parts are among the cases, without tags."""
        return ()

    def tag_runs(self) -> Iterator[Run]:
        yield UNTAGGED, self.vectors.count

    def prepare(self, workers: Workers, advance: Callable[[str, int], None]) -> None:
        sets = self._sets
        for part, cases in zip(sets, in_order(workers, methodcaller("directed"), sets), strict=True):
            part.cases.directed_cases = cases
            advance(part.unit.label, part.count)

    def inputs(self) -> Iterator[Line]:
        """The inputs of each line, the parts interleaved.

        Raises Error if a part has no case with a defined result: its lines would all be left out.
        """
        self._refuse_empty_parts()
        return self._inputs()

    def _refuse_empty_parts(self) -> None:
        n = len(self.unit.controls)
        missing = dict(self.unit.by_codes)
        for inputs in self._inputs():
            if inputs[:n] in missing and self.unit.line(inputs) is not None:
                del missing[inputs[:n]]
                if not missing:
                    return
        part = find_first(missing.values()).properties()
        shown = " ".join(part[k] for k in self.unit.controls if k in part)
        raise Error(f"the part {shown} has no case with a defined result; give a larger count or another policy")

    def _inputs(self) -> Iterator[Line]:
        return (self.unit.assembled(part, inputs) for part, inputs in self._interleaved())

    def _interleaved(self) -> Iterator[tuple[Any, Line]]:
        """One case of each part in turn, in another order each time; the order depends on the seed and the turn."""
        streams = [(part.unit, part.inputs()) for part in self._sets]
        word_of = _words(Philox(self.vectors.seed, _ORDER_STREAM))
        for _ in range(max(part.count for part in self._sets)):
            for _, i in sorted((next(word_of), i) for i in range(len(streams))):
                part, stream = streams[i]
                inputs = next(stream, None)
                if inputs is not None:
                    yield part, inputs

    @cached_property
    def _sets(self) -> list[Any]:
        """The set of each part by itself."""
        whole: Any = self.vectors
        parts, seed = self.unit.parts, whole.seed
        size, extra = divmod(whole.count, len(parts))
        sources = [(x,) if x else () for x in whole.sources or ("",) * len(parts)]
        where = ["" if whole.within is None else whole.within.of_part(p) for p in parts]
        own = {"unboxed": 0}
        return [
            dataclasses.replace(
                whole, unit=p, count=size + (i < extra), seed=seed + i, sources=sources[i], where=where[i], **own
            )
            for i, p in enumerate(parts)
        ]

    def conventions(self) -> list[dict[str, Any]]:
        return [row for part in self._sets for row in part.cases.conventions()]


@register(MixedUnit)
class MixedCases(SelectionCases):
    """The cases of a mixed set: control fields, padded operands and random words.

    unboxed: one line in N has an operand that is not boxed (0: none).
    """

    streams: ClassVar[dict[str, int]] = {**SelectionCases.streams, "operands that are not boxed": _UNBOXED_STREAM}
    file_types: ClassVar[tuple[str, ...]] = INSTRUCTIONS
    unit: MixedUnit

    def check(self) -> None:
        vectors, unit = self.vectors, self.unit
        self._check_count()
        if vectors.unboxed < 0 or (vectors.unboxed and unit.padding != "box"):
            raise Error(f'unboxed = {vectors.unboxed}: it must be at least 0, and needs padding = "box"')
        _ = self._sets if self.within is not None else None

    def _inputs(self) -> Iterator[Line]:
        word_of, unboxed = _words(Philox(self.vectors.seed, _UNBOXED_STREAM)), self.vectors.unboxed
        unit = self.unit
        for part, inputs in self._interleaved():
            arity = len(part.formats)
            boxed = [unit.padded(x, f, unit.operand_bits) for x, f in zip(inputs, part.formats, strict=False)]
            padded = list(boxed)
            self._unbox_one(padded, part, next(word_of) if unboxed else 1)
            case = unit.assembled(part, (*padded, *inputs[arity:]))
            outside = self.within is not None and padded != boxed and not self.within.holds(case)
            yield unit.assembled(part, (*boxed, *inputs[arity:])) if outside else case

    def _unbox_one(self, operands: list[int], part: OperationUnit, word: int) -> None:
        """On one line in N, change the upper bits of one narrower float: all zeros, or one bit of them."""
        unboxed, width = self.vectors.unboxed, self.unit.operand_bits
        narrower = [i for i, f in enumerate(part.formats) if f.exponent_bits and f.has_nan and f.width < width]
        if not narrower or not unboxed or (word & 0xFFFF) % unboxed:
            return
        i = narrower[(word >> 16) % len(narrower)]
        low = part.formats[i].width
        spoiled = 1 << (low + (word >> 32) % (width - low)) if word >> 63 else (1 << width) - (1 << low)
        operands[i] &= ~spoiled


def _words(source: Philox) -> Iterator[int]:
    position = 0
    while True:
        yield from source.words(position, _CHUNK)
        position += _CHUNK
