"""The blocks of an array whose errors are measured: scales, and a bounded summary of all blocks for pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.block_array import BlockArray
from softfloat_ref.arrays.block_layout import BlockLayout, block_layout
from softfloat_ref.arrays.boxes import Box, BoxPlan
from softfloat_ref.arrays.error_counts import Errors

Doubles = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class BlockBins:
    """Blocks in bins of neighbours, in the C order of the array of scales. Two parts are added with +.

    blocks: of the array. values, saturated: number of values per bin, and of those beyond the largest of their block.
    low_amax, high_amax, low_scale, high_scale: ends per bin over the blocks that are not all zero; inf and -inf
    without such a block.
    """

    blocks: int
    values: Counts
    saturated: Counts
    low_amax: Doubles
    high_amax: Doubles
    low_scale: Doubles
    high_scale: Doubles

    @staticmethod
    def empty(bins: int, blocks: int) -> BlockBins:
        """Of no values; as many bins as blocks, or fewer."""
        n = max(1, min(bins, blocks))
        low, high = np.full(n, np.inf), np.full(n, -np.inf)
        return BlockBins(blocks, np.zeros(n, np.int64), np.zeros(n, np.int64), low, high, low.copy(), high.copy())

    def __add__(self, other: BlockBins) -> BlockBins:
        return BlockBins(
            self.blocks,
            self.values + other.values,
            self.saturated + other.saturated,
            np.minimum(self.low_amax, other.low_amax),
            np.maximum(self.high_amax, other.high_amax),
            np.minimum(self.low_scale, other.low_scale),
            np.maximum(self.high_scale, other.high_scale),
        )


class PlacedBox(NamedTuple):
    """A box of an array, its plan, and the largest magnitude of the array if all of it is one block."""

    plan: BoxPlan
    box: Box
    amax: float | None


def measure_blocks(
    errors: Errors, values: Doubles, over: NDArray[np.bool_], q: BlockArray, part: PlacedBox, bins: int
) -> tuple[Errors, BlockBins | None]:
    """The errors of a box with its blocks counted; its blocks in bins, if any are wanted.

    values: of the box, in its shape; over: which of them are beyond the largest of their block.
    """
    layout, plan = block_layout(q.shape, q.axis, q.fmt, q.profile), part.plan
    magnitude = np.where(np.isfinite(values), np.abs(values), 0.0)
    amax = layout.split(magnitude).max(axis=-1, initial=0.0)
    if part.amax is not None:
        amax = np.full_like(amax, part.amax)
    codes = layout.scales_to_rows(q.scales).reshape(amax.shape)
    scales = q.with_tensor_scale(convert.decode_float64(codes, q.fmt.scale))
    live = (amax > 0) & ~np.isnan(scales)
    first = plan.blocks > 1 or part.box.along[0] == 0  # a block of several boxes is counted once
    errors = replace(
        errors,
        blocks=scales.size if first else 0,
        nan_blocks=int(np.isnan(scales).sum()) if first else 0,
        low_scale=float(scales[live].min()) if live.any() else np.nan,
        high_scale=float(scales[live].max()) if live.any() else np.nan,
    )
    if not bins:
        return errors, None
    where = _numbers(amax.shape, layout, plan, part.box) * min(bins, plan.blocks) // plan.blocks
    block_bins = BlockBins.empty(bins, plan.blocks)
    saturated, ones = (layout.split(x).sum(axis=-1) for x in (over, np.ones_like(over)))
    np.add.at(block_bins.values, where, ones)
    np.add.at(block_bins.saturated, where, saturated)
    at = where[live]
    np.minimum.at(block_bins.low_amax, at, amax[live])
    np.maximum.at(block_bins.high_amax, at, amax[live])
    np.minimum.at(block_bins.low_scale, at, scales[live])
    np.maximum.at(block_bins.high_scale, at, scales[live])
    return errors, block_bins


def _numbers(shape: tuple[int, ...], layout: BlockLayout, plan: BoxPlan, box: Box) -> Counts:
    """The number in the array of each block of a box. shape: (outer, inner, blocks) without axes that are not there."""
    if plan.blocks == 1 or plan.shape is not None:
        return np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
    begin = box.along[0] // layout.size
    number = np.arange(begin, begin + shape[-1])
    if layout.flat:
        return number.reshape(shape)
    in_row = -(-plan.view.length // layout.size)
    outer, inner = (np.arange(*ends) for ends in (box.outer, box.inner))
    numbers = (outer[:, None, None] * in_row + number) * plan.view.inner + inner[:, None]
    return numbers.reshape(shape)
