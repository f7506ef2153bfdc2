"""Convolution as a matrix product of the image's patches."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from softfloat_ref.nn.initial import uniform
from softfloat_ref.nn.layers.base import Array, Layer
from softfloat_ref.nn.numerics import Held


class Conv2d(Layer):
    """A convolution of (batch, height, width, channels). weight: (outputs, kernel, kernel, channels).

    A row of patches has the order (row, column, channel) of the weight, so that blocks along the product's reduced
    axis lie within the channels where those are a multiple of the block size. The error's product reduces the output
    channels; the patches' gradients are added up in FP32.
    """

    kind = "conv"
    products = True

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int = 3,
        stride: int = 1,
        padding: int | None = None,
        *,
        bias: bool = True,
        seed: int = 0,
        name: str = "conv",
    ) -> None:
        super().__init__()
        self.kernel, self.stride = kernel, stride
        self.padding = kernel // 2 if padding is None else padding
        bound = (inputs * kernel * kernel) ** -0.5
        self.params = {"weight": uniform((outputs, kernel, kernel, inputs), bound, seed, f"{name}.weight")}
        if bias:
            self.params["bias"] = uniform((outputs,), bound, seed, f"{name}.bias")

    def forward(self, x: Array) -> Array:
        numerics = self.numerics
        weight = self.params["weight"]
        self._shape = x.shape
        self._x = numerics.hold(x, "activation")
        self._w = numerics.hold(weight.reshape(len(weight), -1), "weight")
        self._columns: Held | None = None
        y = numerics.product(self._forward_columns(), self._w, 1, 1)
        if "bias" in self.params:
            y += self.params["bias"]
        height, width = self._places()
        return numerics.result(y, "activation").reshape(len(x), height, width, len(weight))

    def _forward_columns(self) -> Held:
        """The patches as the forward product takes them."""
        channels = self._shape[-1]
        size = self.numerics.block_size("activation")
        if size and channels % size == 0 and self.numerics.accumulator == "blas":
            return Held(self._patches(self._x.along(3)), None)  # a kernel's area fewer values to quantize
        self._columns = self._x.moved(self._patches(self._x.values))
        return self._columns

    def _places(self) -> tuple[int, int]:
        height, width = ((n + 2 * self.padding - self.kernel) // self.stride + 1 for n in self._shape[1:3])
        return height, width

    def _patches(self, x: Array) -> Array:
        """(batch x places, kernel x kernel x channels)."""
        k, s, p = self.kernel, self.stride, self.padding
        if k == 1 and p == 0:
            return np.ascontiguousarray(x[:, ::s, ::s]).reshape(-1, x.shape[-1])
        n, h, w, c = x.shape
        padded = x
        if p:
            padded = np.zeros((n, h + 2 * p, w + 2 * p, c), x.dtype)
            padded[:, p:-p, p:-p] = x
        rows, columns = self._places()
        made = np.empty((n, rows, columns, k, k * c), x.dtype)
        # a patch's row is contiguous in the image: kernel x channels values at once
        lines = padded.reshape(n, h + 2 * p, (w + 2 * p) * c)
        windows = sliding_window_view(lines, k * c, axis=2)[:, :, :: s * c]
        for i in range(k):
            made[:, :, :, i] = windows[:, i : i + s * (rows - 1) + 1 : s, :columns]
        return made.reshape(n * rows * columns, k * k * c)

    def backward(self, dy: Array) -> Array:
        numerics, weight = self.numerics, self.params["weight"]
        error = numerics.hold(dy.reshape(-1, dy.shape[-1]), "error")
        columns = self._columns or self._x.moved(self._patches(self._x.values))
        dw = numerics.result(numerics.product(error, columns, 0, 0), "weight_gradient")
        self.grads["weight"] = numerics.through(dw, self._w).reshape(weight.shape)
        if "bias" in self.params:
            self.grads["bias"] = error.values.sum(axis=0)
        self._columns = None
        if not self.needs_input_gradient:
            return np.zeros(self._shape, dy.dtype)
        dx = self._sum_patches(numerics.product(error, self._w, 1, 0))
        return numerics.result(numerics.through(dx, self._x), "error")

    def _sum_patches(self, patches: Array) -> Array:
        """The inverse of `_patches`: what overlaps is added."""
        k, s, p = self.kernel, self.stride, self.padding
        n, h, w, c = self._shape
        rows, columns = self._places()
        parts = patches.reshape(n, rows, columns, k, k, c)
        made = np.zeros((n, h + 2 * p, w + 2 * p, c), patches.dtype)
        for i in range(k):
            for j in range(k):
                made[:, i : i + s * (rows - 1) + 1 : s, j : j + s * (columns - 1) + 1 : s] += parts[:, :, :, i, j]
        return made[:, p : p + h, p : p + w] if p else made
