"""Sets of block quantizations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.quantize.element_carry import near_carry_case
from softfloat_ref.coverage.quantize.models import quantization
from softfloat_ref.golden.kinds import block_codes
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.golden.kinds.operation import convention
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.profiles import Profile
from softfloat_ref.oracle.blocks.quantize import largest_magnitude, tensor_scale_of
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.units import Line, QuantizeUnit


@register(QuantizeUnit)
class QuantizeCases(Cases):
    """The cases of a block quantizer."""

    wide: ClassVar[bool] = True
    near_carry: ClassVar[bool] = True
    unit: QuantizeUnit

    @property
    def coverage(self) -> Coverage | None:
        return quantization(self.unit)

    def operands(self, count: int) -> Iterator[Line]:
        unit = self.unit
        cases = block_codes.value_blocks(unit.block, unit.values, self.vectors.seed, count)
        return map(self._with_tensor_scale, cases, itertools.count()) if unit.two_levels else cases

    def _with_tensor_scale(self, inputs: Line, turn: int) -> Line:
        values = [decoder(self.unit.values)(x) for x in inputs]
        amax = largest_magnitude([x for x in values if x.is_finite and not x.is_zero])
        return (*inputs, tensor_scale(amax, self.unit.block, self.unit.profile, turn))

    def near_carry_case(self, inputs: Line, words: Sequence[int], turn: int) -> Line:
        return near_carry_case(quantization(self.unit).where, inputs, words, turn)

    @property
    def answers_in_arrays(self) -> bool:
        return self.unit.in_arrays

    def conventions(self) -> list[dict[str, Any]]:
        unit = self.unit
        row = convention(unit.op, [unit.values.name], unit.block.element, unit.policy)
        return [{**row, "block": block_convention(unit.block, unit.profile)}]


def tensor_scale(amax: Value | None, block: BlockFormat, profile: Profile, turn: int) -> int:
    """The tensor scale of a tensor whose largest magnitude is up to seven binades above this block's; or 1."""
    amax = None if amax is None or turn % 8 == 7 else amax._replace(exponent=amax.exponent + turn % 8)
    return tensor_scale_of(amax, block, profile)


def block_convention(block: BlockFormat, profile: Profile) -> dict[str, Any]:
    """What a reader must know of a block."""
    return {
        "format": block.name,
        "size": block.size,
        "scale_rule": profile.to_dict()["scale_rule"],
        "element_order": "lane i is element i of the block",
    }
