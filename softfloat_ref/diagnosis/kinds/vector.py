"""Functions of vectors: policies, the constants of their formulas, and exchanged lanes."""

from __future__ import annotations

from typing import Any, ClassVar

from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, register
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.diagnosis.vector_space import VectorSpace
from softfloat_ref.units import VectorUnit


@register(VectorUnit)
class DiagnosedVector(DiagnosedKind):
    """A function of vectors."""

    tried: ClassVar[str] = "policy or listed defect"
    choices: ClassVar[type[Space[Any]]] = VectorSpace
    unit: VectorUnit
