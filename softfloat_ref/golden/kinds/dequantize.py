"""Sets of block dequantizations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from softfloat_ref.coverage.dequantize import dequantization
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.golden.kinds import block_codes
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.golden.kinds.operation import convention
from softfloat_ref.golden.kinds.quantize import block_convention, tensor_scale
from softfloat_ref.golden.tags import Run
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32
from softfloat_ref.oracle.policies import POLICIES
from softfloat_ref.units import DequantizeUnit, Line

PAIRS: Final = "pairs"  # the tag of blocks that show every pair of a scale and an element


@register(DequantizeUnit)
class DequantizeCases(Cases):
    """The cases of a block dequantizer: between directed and random ones, every scale with every element."""

    wide: ClassVar[bool] = True
    unit: DequantizeUnit

    @property
    def coverage(self) -> Coverage | None:
        return dequantization(self.unit)

    def first(self, count: int) -> Run:
        return PAIRS, block_codes.pairs(self.unit.block)

    def operands(self, count: int) -> Iterator[Line]:
        cases = block_codes.code_blocks(self.unit.block, self.vectors.seed, count)
        return map(self._with_tensor_scale, cases, itertools.count()) if self.unit.two_levels else cases

    def _with_tensor_scale(self, inputs: Line, turn: int) -> Line:
        amax = exact.finite(0, 1 + turn % 1000, turn % 40 - 20)
        return (*inputs, tensor_scale(amax, self.unit.block, self.unit.profile, turn))

    @property
    def answers_in_arrays(self) -> bool:
        return not self.unit.two_levels

    def conventions(self) -> list[dict[str, Any]]:
        unit = self.unit
        row = convention(unit.op, (), FP32, POLICIES["ieee"])
        return [{**row, "block": block_convention(unit.block, unit.profile)}]
