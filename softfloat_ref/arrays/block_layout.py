"""How an array is divided into blocks along an axis, and put back together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.convert import Codes
from softfloat_ref.arrays.kernels.dispatch import in_three
from softfloat_ref.base.errors import Error
from softfloat_ref.base.numbers import integer
from softfloat_ref.oracle.blocks.formats import AXIS, TENSOR, BlockFormat
from softfloat_ref.oracle.blocks.profile import Profile


def check_axis(values: NDArray[Any], axis: int) -> int:
    """The axis as a nonnegative number. Raises Error if it is out of range, and for other objects."""
    if values.ndim == 0:
        raise Error("a 0-dimensional array has no axis for blocks; reshape it to (1,)")
    axis = integer(axis, "axis")
    if not -values.ndim <= axis < values.ndim:
        raise Error(f"axis {axis} is out of range for an array of {values.ndim} dimensions")
    return axis % values.ndim


def block_layout(shape: tuple[int, ...], axis: int, fmt: BlockFormat, profile: Profile) -> BlockLayout:
    """The layout of blocks of one or of several rows. Raises Error for an axis that the profile refuses."""
    return (TileLayout if fmt.rows > 1 else BlockLayout)(shape, axis, fmt, profile)


class BlockLayout:
    """How an array is divided into blocks and put back together."""

    def __init__(self, shape: tuple[int, ...], axis: int, fmt: BlockFormat, profile: Profile) -> None:
        self.shape, self.axis = shape, axis
        self.moved = (*shape[:axis], *shape[axis + 1 :], shape[axis])
        self.lead = self.moved[:-1]
        self.whole = fmt.size == TENSOR
        self.flat = self.whole or (profile.tail == "flatten" and fmt.size != AXIS)
        length = math.prod(shape) if self.flat else shape[axis]
        self.size = fmt.size if fmt.size > 0 else max(length, 1)
        if profile.tail == "refuse" and length % self.size:
            raise Error(
                f"axis {axis} has {length} values, not a multiple of {self.size}: profile {profile.name} refuses it"
            )
        self.length, self.count = length, -(-length // self.size)
        self.lead = () if self.flat else self.lead
        self.tail = length - (self.count - 1) * self.size  # values in the last block

    def lanes(self, at: tuple[int, ...]) -> Any:
        """An index of the lanes of a block that hold values. at: its place among the rows of `split`."""
        return slice(self.tail if at[-1] == self.count - 1 else None)

    def split(self, values: NDArray[Any]) -> NDArray[Any]:
        """(..., axis, ...) to (..., blocks, size), padded with zeros."""
        rows = np.moveaxis(values, self.axis, -1)
        rows = rows.reshape(-1) if self.flat else rows
        if self.length != self.count * self.size:
            padded = np.zeros((*rows.shape[:-1], self.count * self.size), values.dtype)
            padded[..., : self.length] = rows
            rows = padded
        return np.ascontiguousarray(rows).reshape(*rows.shape[:-1], self.count, self.size)

    def join(self, codes: Codes) -> Codes:
        """The inverse of split."""
        rows = codes.reshape(*codes.shape[:-2], self.count * self.size)[..., : self.length]
        return np.ascontiguousarray(np.moveaxis(rows.reshape(self.moved), -1, self.axis))

    def rows_to_scales(self, scales: Codes) -> Codes:
        """Scales of shape (..., blocks) with the array's order of axes."""
        if self.whole:
            return scales[:1].reshape((1,) * len(self.shape)) if self.length else scales.reshape((0,) * len(self.shape))
        return scales if self.flat else np.moveaxis(scales, -1, self.axis)

    def scales_to_rows(self, scales: Codes) -> Codes:
        """The inverse of `rows_to_scales`."""
        return scales.reshape(-1) if self.flat else np.moveaxis(scales, self.axis, -1)

    @property
    def in_order(self) -> bool:
        """Whether the values of a block are a fixed distance apart: `in_three` applies."""
        return not self.flat or self.whole or self.axis == len(self.shape) - 1

    def in_three(self, array: NDArray[Any]) -> NDArray[Any]:
        """Contiguous values or scales in shape (outer, axis, inner); blocks run along the middle."""
        return array.reshape(1, -1, 1) if self.flat else in_three(array, self.axis)

    @property
    def scales_shape(self) -> tuple[int, ...]:
        """The shape of the result of `rows_to_scales`."""
        if self.whole:
            return (1 if self.length else 0,) * len(self.shape)
        return (self.count,) if self.flat else (*self.shape[: self.axis], self.count, *self.shape[self.axis + 1 :])


class TileLayout(BlockLayout):
    """The same for blocks of several rows: rows along one axis, their elements along the other."""

    def __init__(self, shape: tuple[int, ...], axis: int, fmt: BlockFormat, profile: Profile) -> None:
        if len(shape) < 2:
            raise Error(f"{fmt.name} has blocks of {fmt.size_name}: they need an array of two axes or more")
        if profile.tail == "flatten":
            raise Error(f"{fmt.name}: blocks of {fmt.size_name} do not continue across rows (tail=flatten)")
        self.shape, self.axis, self.across = shape, axis, axis - 1 if axis else 1
        self.whole, self.flat, self.size = False, False, fmt.size
        self.tile = fmt.rows, fmt.columns
        self.lengths = shape[self.across], shape[axis]
        self.counts = tuple(-(-n // size) for n, size in zip(self.lengths, self.tile, strict=True))
        others = [n for i, n in enumerate(shape) if i not in (axis, self.across)]
        self.moved, self.lead, self.count = (*others, *self.lengths), (*others, self.counts[0]), self.counts[1]
        self.length = self.lengths[1]
        for where, n, size in zip((self.across, axis), self.lengths, self.tile, strict=True):
            if profile.tail == "refuse" and n % size:
                raise Error(f"axis {where} has {n} values, not a multiple of {size}: profile {profile.name} refuses it")

    def lanes(self, at: tuple[int, ...]) -> Any:
        inside = [np.arange(size) < n - i * size for i, n, size in zip(at[-2:], self.lengths, self.tile, strict=True)]
        return (inside[0][:, None] & inside[1]).reshape(-1)

    def split(self, values: NDArray[Any]) -> NDArray[Any]:
        rows = np.moveaxis(values, (self.across, self.axis), (-2, -1))
        lead = rows.shape[:-2]
        (r, c), (height, width) = self.counts, self.tile
        if rows.shape[-2:] != (r * height, c * width):
            padded = np.zeros((*lead, r * height, c * width), values.dtype)
            padded[..., : self.lengths[0], : self.lengths[1]] = rows
            rows = padded
        tiles = np.ascontiguousarray(rows).reshape(*lead, r, height, c, width).swapaxes(-3, -2)
        return np.ascontiguousarray(tiles).reshape(*lead, r, c, self.size)

    def join(self, codes: Codes) -> Codes:
        (r, c), (height, width) = self.counts, self.tile
        tiles = codes.reshape(*codes.shape[:-3], r, c, height, width).swapaxes(-3, -2)
        rows = tiles.reshape(*codes.shape[:-3], r * height, c * width)[..., : self.lengths[0], : self.lengths[1]]
        return np.ascontiguousarray(np.moveaxis(rows, (-2, -1), (self.across, self.axis)))

    def rows_to_scales(self, scales: Codes) -> Codes:
        return np.moveaxis(scales, (-2, -1), (self.across, self.axis))

    def scales_to_rows(self, scales: Codes) -> Codes:
        return np.moveaxis(scales, (self.across, self.axis), (-2, -1))

    @property
    def in_order(self) -> bool:
        return False

    @property
    def scales_shape(self) -> tuple[int, ...]:
        shape = list(self.shape)
        shape[self.across], shape[self.axis] = self.counts
        return tuple(shape)
