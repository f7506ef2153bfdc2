"""Pooling over (batch, height, width, channels): windows side by side, what is left at the edge is dropped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softfloat_ref.errors import Error
from softfloat_ref.nn.layers.base import Array, Layer


class _Pool(Layer):
    kind = "pool"

    def __init__(self, size: int = 2) -> None:
        super().__init__()
        self.size = size

    def _corners(self, x: Array) -> Iterator[Array]:
        """The values at each place of the windows, as (batch, windows, windows, channels) views of x."""
        size = self.size
        height, width = (n // size * size for n in x.shape[1:3])
        if not height or not width:
            raise Error(f"pooling by {size}: the image is {x.shape[1]} x {x.shape[2]}")
        for i in range(size):
            for j in range(size):
                yield x[:, i:height:size, j:width:size]


class MaxPool(_Pool):
    """The largest of each window; its gradient goes to the first of equals."""

    def forward(self, x: Array) -> Array:
        self._x = x
        first, *rest = self._corners(x)
        y = first.copy()
        for corner in rest:
            np.maximum(y, corner, out=y)
        self._y = y
        return y

    def backward(self, dy: Array) -> Array:
        dx = np.zeros_like(self._x)
        left = np.ones(dy.shape, bool)
        for corner, target in zip(self._corners(self._x), self._corners(dx), strict=True):
            chosen = left & (corner == self._y)
            np.multiply(dy, chosen, out=target)
            left &= ~chosen
        return dx


class AvgPool(_Pool):
    """The mean of each window."""

    def forward(self, x: Array) -> Array:
        self._shape = x.shape
        first, *rest = self._corners(x)
        y = first.copy()
        for corner in rest:
            y += corner
        y *= x.dtype.type(1 / self.size**2)
        return self.numerics.vector(y)

    def backward(self, dy: Array) -> Array:
        dx = np.zeros(self._shape, dy.dtype)
        part = dy * dy.dtype.type(1 / self.size**2)
        for target in self._corners(dx):
            target[...] = part
        return self.numerics.vector(dx)


class GlobalAvgPool(Layer):
    """The mean over height and width: (batch, channels)."""

    kind = "pool"

    def forward(self, x: Array) -> Array:
        self._shape = x.shape
        return self.numerics.vector(x.mean(axis=(1, 2)))

    def backward(self, dy: Array) -> Array:
        part = dy * dy.dtype.type(1 / (self._shape[1] * self._shape[2]))
        return self.numerics.vector(np.broadcast_to(part[:, np.newaxis, np.newaxis], self._shape).copy())
