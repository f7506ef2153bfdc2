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
from softfloat_ref.oracle.blocks.profiles import Profile


def check_axis(values: NDArray[Any], axis: int) -> int:
    """The axis as a nonnegative number. Raises Error if it is out of range, and for other objects."""
    if values.ndim == 0:
        raise Error("a 0-dimensional array has no axis for blocks; reshape it to (1,)")
    axis = integer(axis, "axis")
    if not -values.ndim <= axis < values.ndim:
        raise Error(f"axis {axis} is out of range for an array of {values.ndim} dimensions")
    return axis % values.ndim


class BlockLayout:
    """How an array is divided into blocks and put back together."""

    def __init__(self, shape: tuple[int, ...], axis: int, fmt: BlockFormat, profile: Profile) -> None:
        self.shape, self.axis = shape, axis
        self.moved = (*shape[:axis], *shape[axis + 1 :], shape[axis])
        self.whole = fmt.size == TENSOR
        self.flat = self.whole or (profile.tail == "flatten" and fmt.size != AXIS)
        length = math.prod(shape) if self.flat else shape[axis]
        self.size = fmt.size if fmt.size > 0 else max(length, 1)
        if profile.tail == "refuse" and length % self.size:
            raise Error(
                f"axis {axis} has {length} values, not a multiple of {self.size}: profile {profile.name} refuses it"
            )
        self.length, self.count = length, -(-length // self.size)
        self.tail = length - (self.count - 1) * self.size  # values in the last block

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
