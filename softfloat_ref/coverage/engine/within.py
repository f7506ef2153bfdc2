"""Coverage of the cases within an operand range: bins that only cases outside of it hit need not be hit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import Final

from softfloat_ref.coverage.engine.framework import Bin, Coverage, Line

_TRIED: Final = 64  # cases of a bin that are tried, where all cases are too many


class CoverageWithin(Coverage):
    """The models of a setting, for the cases within a range. text: the range."""

    def __init__(self, whole: Coverage, text: str, holds: Callable[[Line], bool]) -> None:
        super().__init__(whole.where, whole.models)
        self.whole, self.text, self._holds = whole, text, holds

    def bins(self) -> Mapping[str, tuple[Bin, ...]]:
        return {model: tuple(map(self._judged_within, listed)) for model, listed in self.whole.bins().items()}

    def _judged_within(self, b: Bin) -> Bin:
        if b.unreachable or next(self.cases(b.id), None) is not None:
            return b
        if self.whole.small:
            why = f"none of the {1 << self.where.space} possible cases hits it and is within {self.text}"
            return b if b.id in self._hit_within else Bin(b.id, why)
        tried = sum(1 for _ in itertools.islice(self.whole.cases(b.id), _TRIED))
        return Bin(b.id, outside=f"none of the {tried} cases tried is within {self.text}") if tried else b

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
