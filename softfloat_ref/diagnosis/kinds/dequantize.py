"""Block dequantizations: the result for values beyond FP32, and the defects of scale and values."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Final

from softfloat_ref.diagnosis.block_defects import value_defects, values_suggested_by
from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis
from softfloat_ref.diagnosis.kinds.base import SCALES, register
from softfloat_ref.diagnosis.kinds.block import RANDOM_BLOCKS, DiagnosedBlock
from softfloat_ref.diagnosis.ranking import spread_out
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.golden.kinds.dequantize import random_code_blocks
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.blocks.profile import CHOICES, Profile
from softfloat_ref.oracle.blocks.profiles import PROFILES
from softfloat_ref.units import DequantizeUnit

_TENSOR_SCALES: Final = (FP32.max_code, *SCALES)
_PROBED_SCALES: Final = 256  # with which values beyond FP32 are looked for


@dataclass(frozen=True)
class DequantizeSpace(Space[Profile]):
    """The profiles of a dequantization, which differ in one choice: the result for values beyond FP32."""

    kind: ClassVar[str] = "profile"

    def named(self) -> Iterator[Profile]:
        yield from self.changes(PROFILES["ocp"])
        yield PROFILES["ocp"]

    def changes(self, point: Profile) -> Iterator[Profile]:
        for choice in CHOICES["dequantize_overflow"]:
            if choice != point.dequantize_overflow:
                yield point.replace(dequantize_overflow=choice)

    def unit_of(self, point: Profile) -> DequantizeUnit:
        profile = self.base.replace(dequantize_overflow=point.dequantize_overflow)
        return dataclasses.replace(self.unit, profile=profile)  # type: ignore[no-any-return]

    def key(self, point: Profile) -> Hashable:
        return self._overflows and point.dequantize_overflow

    @cached_property
    def _overflows(self) -> bool:
        """Whether the largest scale gives a value beyond FP32 with some element; a tensor scale always may."""
        block: BlockFormat = self.unit.block
        codes = block.scale.max_code, range(1 << block.element.width)
        values = dequantize_to_fp32(*codes, block, self.base.replace(dequantize_overflow="inf"))
        return self.unit.two_levels or FP32.inf_code in values or FP32.inf_code | FP32.sign_bit in values

    def text(self, point: Profile) -> str:
        return f"dequantize_overflow = {point.dequantize_overflow}"

    def description(self, point: Profile) -> str:
        return {
            "inf": "gives infinity for values beyond FP32",
            "saturate": "gives the largest FP32 for values beyond it",
        }[point.dequantize_overflow]

    def size(self, point: Profile) -> int:
        return 2 if self.key(point) != self.key(self.base) else 0

    def defects_of(self, unit: DequantizeUnit) -> Iterator[Hypothesis]:
        return value_defects(unit)

    def suggested_of(self, unit: DequantizeUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        return values_suggested_by(unit, cases)


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
