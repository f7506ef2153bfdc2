"""Sets of approximations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from softfloat_ref.coverage.approximation import approximation
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.golden.cases import random_cases
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.golden.kinds.operation import convention
from softfloat_ref.oracle.sources import Philox
from softfloat_ref.units import ApproximationUnit, Line

_ANY_EVERY: Final = 4  # one random case in N; the others lie within the tables


@register(ApproximationUnit)
class ApproximationCases(Cases):
    """The cases of an approximation: ends of segments and tables, then operands of which most are in the tables."""

    streams: ClassVar[dict[str, int]] = {"operands": 1, "within tables": 2}
    unit: ApproximationUnit

    @property
    def coverage(self) -> Coverage | None:
        return approximation(self.unit)

    def operands(self, count: int) -> Iterator[Line]:
        a = self.unit.approximation
        source = Philox(self.vectors.seed, stream=2)
        for i, case in enumerate(random_cases([a.fmt], self.vectors.seed, count)):
            word, part = source.words(i, 1)[0], a.parts[i // _ANY_EVERY % len(a.parts)]
            negative = i // _ANY_EVERY % 2 if a.fmt.signed else 0
            span = part.after - part.first
            inside = part.first + word % span | a.fmt.sign_bit * negative if span else case[0]
            yield case if i % _ANY_EVERY == 0 else (inside,)

    def conventions(self) -> list[dict[str, Any]]:
        a = self.unit.approximation
        return [convention(a.name, (a.fmt.name,), a.out, a.policy)]
