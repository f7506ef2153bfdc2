"""Coverage of the cases within an operand range: bins that only cases outside of it hit need not be hit."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Final

from softfloat_ref.coverage.classes import codes_among
from softfloat_ref.coverage.engine.framework import Bin, Coverage, Line
from softfloat_ref.oracle.code_sets import common
from softfloat_ref.units.ranges.operand_range import OperandRange

_TRIED: Final = 64  # cases of a bin that are tried, where all cases are too many


class CoverageWithin(Coverage):
    """The models of a setting, for the cases within a range."""

    def __init__(self, whole: Coverage, within: OperandRange) -> None:
        super().__init__(whole.where, whole.models)
        self.whole, self.text, self._holds, self._lanes = whole, within.text, within.holds, within.lanes
        self._formats = within.unit.input_formats
        self._fields = [f.name for f in within.unit.inputs for _ in range(f.lanes)]

    def bins(self) -> Mapping[str, tuple[Bin, ...]]:
        return self._bins

    @cached_property
    def _bins(self) -> Mapping[str, tuple[Bin, ...]]:
        return {model: tuple(map(self._judged_within, listed)) for model, listed in self.whole.bins().items()}

    def _judged_within(self, b: Bin) -> Bin:
        if b.unreachable or next(self.cases(b.id), None) is not None:
            return b
        if excluded := self._excluded(b.id):
            return Bin(b.id, f"{excluded}: {self.text}")
        if self.whole.small:
            why = f"none of the {1 << self.where.space} possible cases hits it and is within {self.text}"
            return b if b.id in self._hit_within else Bin(b.id, why)
        tried = sum(1 for _ in itertools.islice(self.whole.cases(b.id), _TRIED))
        return Bin(b.id, outside=f"none of the {tried} cases tried is within {self.text}") if tried else b

    def _excluded(self, name: str) -> str:
        """Why operands of the classes of a bin are outside, each by itself; '' if none of them must be."""
        for place, kind in self.operand_classes(name).items():
            fmt, allowed = self._formats[place], self._lanes.get(place)
            if fmt is not None and allowed is not None and not common(allowed, codes_among(fmt, kind)):
                return f"no {self._fields[place]} within the range is {kind}"
        return ""

    @cached_property
    def _hit_within(self) -> set[str]:
        """The bins that any case within hits, where all cases are few."""
        return set().union(*(self.whole.hits(case) for case in self.where.every() if self._holds(case)))

    def hits(self, case: Line) -> set[str]:
        return self.whole.hits(case) if self._holds(case) else set()

    def hits_of(self, models: Collection[str], case: Line) -> set[str]:
        return self.whole.hits_of(models, case) if self._holds(case) else set()

    def cases(self, name: str) -> Iterator[Line]:
        return filter(self._holds, itertools.islice(self.whole.cases(name), _TRIED))
