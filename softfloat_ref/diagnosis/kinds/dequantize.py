"""Block dequantizations: the result for values beyond FP32, and the defects of scale and values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar, Final

from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.kinds.base import SCALES, register
from softfloat_ref.diagnosis.kinds.block import RANDOM_BLOCKS, DiagnosedBlock
from softfloat_ref.diagnosis.profile_space import DequantizeSpace
from softfloat_ref.diagnosis.ranking import spread_out
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.golden.kinds.dequantize import random_code_blocks
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.blocks.formats import FP32
from softfloat_ref.units import DequantizeUnit

_TENSOR_SCALES: Final = (FP32.max_code, *SCALES)
_PROBED_SCALES: Final = 256  # with which values beyond FP32 are looked for


@register(DequantizeUnit)
class DiagnosedDequantize(DiagnosedBlock):
    """A block dequantizer."""

    choices: ClassVar[type[Space[Any]]] = DequantizeSpace
    unit: DequantizeUnit

    def questions(self, vectors: VectorSet) -> list[Question]:
        return [*self._random(0, RANDOM_BLOCKS), *self._probes(_PROBED_SCALES)]

    def confirming(self, vectors: VectorSet, count: int, seed: int) -> list[Question]:
        """Half of them with random codes, half with scales over the whole range, the ends and NaN first."""
        probes = list(self._probes(count - count // 2))
        return [*probes, *self._random(seed, count - len(probes))]

    def _random(self, seed: int, count: int) -> Iterator[Question]:
        """Random blocks."""
        return map(self._whole, range(count), random_code_blocks(self.unit.block, seed, count))

    def _probes(self, count: int) -> Iterator[Question]:
        """At most `count` scales, the ends and NaN first, each with consecutive elements, often the largest."""
        block = self.unit.block
        scale, last = block.scale, (1 << block.element.width) - 1
        ends = 0, 1, scale.max_code, (1 << scale.width) - 1, *((scale.canonical_nan,) if scale.has_nan else ())
        scales = islice(dict.fromkeys((*ends, *spread_out(range(1 << scale.width), count))), count)
        for turn, code in enumerate(scales):
            first = block.element.max_code + block.element.twos_complement - turn * block.size * (turn % 2)
            yield self._whole(turn, (code, *((first - i) & last for i in range(block.size))))

    def _whole(self, turn: int, block: Question) -> Question:
        """A block with the tensor scale of its turn, if there is one."""
        return (*block, _TENSOR_SCALES[turn % len(_TENSOR_SCALES)]) if self.unit.two_levels else block
