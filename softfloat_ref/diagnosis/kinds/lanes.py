"""Operations on blocks: policies, and the defects of their scales."""

from __future__ import annotations

from typing import Any, ClassVar

from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, register
from softfloat_ref.diagnosis.lanes_space import LanesSpace
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.units import LanesUnit


@register(LanesUnit)
class DiagnosedLanes(DiagnosedKind):
    """An operation on blocks."""

    tried: ClassVar[str] = "policy or listed defect"
    choices: ClassVar[type[Space[Any]]] = LanesSpace
    unit: LanesUnit
