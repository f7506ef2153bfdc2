"""Dot and matrix products: accumulators, and the defects of lanes and sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from softfloat_ref.diagnosis.accumulator_space import AccumulatorSpace, MatmulSpace
from softfloat_ref.diagnosis.conditions import Feature, of_code
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, register
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.units import DotUnit, MatmulUnit


@register(DotUnit)
class DiagnosedDot(DiagnosedKind):
    """A dot product."""

    tried: ClassVar[str] = "policy, profile, accumulator or listed defect"
    choices: ClassVar[type[Space[Any]]] = AccumulatorSpace
    unit: DotUnit

    def features(self) -> Iterator[Feature]:
        yield from of_code(self.unit.out, "the result", lambda i, e: e[0])
        yield from of_code(self.unit.c, "c", lambda i, e: i[-1])

    @property
    def title(self) -> str:
        unit = self.unit
        return f"dot of {unit.k} {'_'.join(dict.fromkeys((unit.a.name, unit.b.name)))} to {unit.out.name}"


@register(MatmulUnit)
class DiagnosedMatmul(DiagnosedKind):
    """A matrix product."""

    tried: ClassVar[str] = "accumulator or listed defect"
    choices: ClassVar[type[Space[Any]]] = MatmulSpace
    unit: MatmulUnit
