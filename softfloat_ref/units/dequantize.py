"""Units that make FP32 values of a block: of its scale and element codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.dequantize import dequantized
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.profiles import PROFILES
from softfloat_ref.oracle.blocks.quantize import lanes
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import POLICIES
from softfloat_ref.oracle.steps import Do
from softfloat_ref.units.operation import properties
from softfloat_ref.units.quantize import ONE, check_size, resolved
from softfloat_ref.units.unit import Field, SteppedUnit, file_name, operand, result

if TYPE_CHECKING:
    from softfloat_ref.units.unit import Rows


@dataclass(frozen=True)
class DequantizeUnit(SteppedUnit):
    """A block dequantizer: scale, elements, the second-level scale of profiles that have one in; FP32 values out."""

    kind: ClassVar[str] = "dequantize"
    op: ClassVar[str] = "dequantize"

    block: BlockFormat
    profile: Profile = PROFILES["ocp"]

    def __post_init__(self) -> None:
        check_size(self.block)

    @staticmethod
    def make(
        block: BlockFormat, out: str | Format | None = None, profile: str | Profile | None = None
    ) -> DequantizeUnit:
        """A dequantizer from names. Raises Error."""
        unit = DequantizeUnit(*resolved(block, profile))
        if get_format(out or FP32) != FP32:
            raise Error("dequantize gives fp32")
        return unit

    @property
    def two_levels(self) -> bool:
        """Whether each block has a tensor scale."""
        return self.profile.two_levels

    @cached_property
    def name(self) -> str:
        return file_name("dequantize", self.block.name, "to_fp32_rne")

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        block = self.block
        return (
            operand("scale", block.scale),
            operand("elements", block.element, block.size),
            *([operand("tensor_scale", FP32)] if self.two_levels else []),
            result("values", FP32, block.size),
        )

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        end = 1 + self.block.size
        factor = decoder(FP32)(inputs[end]) if self.two_levels else ONE
        codes = dequantized(do, inputs[0], inputs[1:end], self.block, self.profile, factor)
        return do(lanes, tuple(codes))

    def answers(self, inputs: Rows) -> Rows | None:
        """By arrays, where each block has one scale."""
        if self.two_levels:
            return None
        import numpy as np

        from softfloat_ref.arrays.blocks import BlockArray
        from softfloat_ref.arrays.convert import code_dtype

        scales = inputs[:, :1].astype(code_dtype(self.block.scale))
        codes = inputs[:, 1:].astype(code_dtype(self.block.element))
        try:
            values = BlockArray(codes, scales, self.block.in_one_row, 1, self.profile).decode()
        except Error:  # of one block; which, the oracle says
            return None
        return values.view(np.uint32).astype(np.uint64)

    def properties(self) -> dict[str, str]:
        return properties(self.op, self.block, FP32, POLICIES["ieee"], FP32.width)
