"""Operations on blocks: policies, and the defects of their scales."""

from __future__ import annotations

from typing import Any, ClassVar

from softfloat_ref.diagnosis.block_operation_space import BlockOperationSpace
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, register
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.units import BlockOperationUnit


@register(BlockOperationUnit)
class DiagnosedBlockOperation(DiagnosedKind):
    """An operation on blocks."""

    tried: ClassVar[str] = "policy or listed defect"
    choices: ClassVar[type[Space[Any]]] = BlockOperationSpace
    unit: BlockOperationUnit
