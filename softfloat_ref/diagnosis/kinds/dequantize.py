"""Block dequantizations: the result for values beyond FP32, and the defects of scale and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.kinds.base import SCALES, register
from softfloat_ref.diagnosis.kinds.block import RANDOM_BLOCKS, DiagnosedBlock
from softfloat_ref.diagnosis.profile_space import DequantizeSpace
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.golden.kinds import block_codes
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.units import DequantizeUnit


@register(DequantizeUnit)
class DiagnosedDequantize(DiagnosedBlock):
    """A block dequantizer."""

    choices: ClassVar[type[Space[Any]]] = DequantizeSpace
    unit: DequantizeUnit

    def questions(self, vectors: VectorSet) -> list[Question]:
        return [*block_codes.code_blocks(self.unit.block, 0, RANDOM_BLOCKS), *self._probes()]

    def _probes(self) -> Iterator[Question]:
        """Every scale with the largest elements."""
        block = self.unit.block
        tail = SCALES[:1] if self.unit.two_levels else ()
        last = (1 << block.element.width) - 1
        for scale in range(1 << block.scale.width):
            yield (scale, *((block.element.max_code - i) & last for i in range(block.size)), *tail)
