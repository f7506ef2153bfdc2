"""Pooling over (batch, height, width, channels): windows side by side, what is left at the edge is dropped."""

from __future__ import annotations

import numpy as np

from softfloat_ref.nn.layers.base import Array, Layer


class _Pool(Layer):
    kind = "pool"

    def __init__(self, size: int = 2) -> None:
        super().__init__()
        self.size = size


class MaxPool(_Pool):
    """The largest of each window; its gradient goes to the first of equals."""

    def forward(self, x: Array) -> Array:
        self._x, self._y = x, self.numerics.max_pool(x, self.size, "largest")
        return self._y

    def backward(self, dy: Array) -> Array:
        return self.numerics.max_pool_gradient(dy, self._x, self.size, self._y, "largest_gradient")


class AvgPool(_Pool):
    """The mean of each window."""

    def forward(self, x: Array) -> Array:
        n, self._shape = self.numerics, x.shape
        y = n.window_sum(x, self.size)
        return n.vector(n.mul(y, n.number("window_share", y.dtype.type(1 / self.size**2)), "mean", out=y))

    def backward(self, dy: Array) -> Array:
        n = self.numerics
        part = n.mul(dy, n.number("window_share", dy.dtype.type(1 / self.size**2)), "share")
        return n.vector(n.window_fill(part, self._shape, self.size, "mean_gradient"))


class GlobalAvgPool(Layer):
    """The mean over height and width: (batch, channels)."""

    kind = "pool"

    def forward(self, x: Array) -> Array:
        n, self._shape = self.numerics, x.shape
        return n.vector(n.div(n.pixel_sum(x), n.number("pixels", x.shape[1] * x.shape[2]), "mean"))

    def backward(self, dy: Array) -> Array:
        n, (batch, height, width, channels) = self.numerics, self._shape
        share = n.number("pixel_share", dy.dtype.type(1 / (height * width)))
        errors = np.empty(self._shape, dy.dtype)  # which the errors are spread over
        return n.vector(n.mul(dy.reshape(batch, 1, 1, channels), share, "mean_gradient", out=errors))
