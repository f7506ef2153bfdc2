"""Sets of block dequantizations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from softfloat_ref.coverage.dequantize import dequantization
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.golden.cases import words_of_cases
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.golden.kinds.operation import convention
from softfloat_ref.golden.kinds.quantize import block_convention, tensor_scale
from softfloat_ref.golden.tags import Run
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
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
        return PAIRS, pair_count(self.unit.block)

    def operands(self, count: int) -> Iterator[Line]:
        cases = code_blocks(self.unit.block, self.vectors.seed, count)
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


def pair_count(fmt: BlockFormat) -> int:
    """The number of blocks for every scale with every element."""
    return -(-(1 << fmt.element.width) // fmt.size) << fmt.scale.width


def code_blocks(fmt: BlockFormat, seed: int, count: int) -> Iterator[tuple[int, ...]]:
    """`count` blocks of a scale and codes: every scale with every code as long as there are any, then random ones."""
    codes = 1 << fmt.element.width
    every = (
        (scale, *((start + i) % codes for i in range(fmt.size)))
        for start in range(0, codes, fmt.size)
        for scale in range(1 << fmt.scale.width)
    )
    yield from itertools.islice(every, count)
    yield from random_code_blocks(fmt, seed, max(count - pair_count(fmt), 0))


def random_code_blocks(fmt: BlockFormat, seed: int, count: int) -> Iterator[tuple[int, ...]]:
    """`count` blocks of a random scale and random codes."""
    for scale, *words in words_of_cases(seed, 1 + fmt.size, count):
        yield (scale % (1 << fmt.scale.width), *(word % (1 << fmt.element.width) for word in words))
