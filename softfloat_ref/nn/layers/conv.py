"""Convolution as a matrix product of the image's patches, and its transpose."""

from __future__ import annotations

import numpy as np

from softfloat_ref.nn.images import places
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
        numerics, weight = self.numerics, self.params["weight"]
        self._shape = x.shape
        self._x = numerics.hold(x, "activation")
        self._w = numerics.hold(weight.reshape(len(weight), -1), "weight")
        self._columns: Held | None = None
        y = numerics.product(self._forward_columns(), self._w, 1, 1)
        if "bias" in self.params:
            y = numerics.add(y, self.params["bias"], "biased", out=y)
        height, width = places(x.shape, self.kernel, self.stride, self.padding)
        return numerics.result(y, "activation").reshape(len(x), height, width, len(weight))

    def _forward_columns(self) -> Held:
        """The patches as the forward product takes them."""
        size = self.numerics.block_size("activation")
        if size and self._shape[-1] % size == 0 and self.numerics.takes_values:
            return Held(self._patches(self._x.along(3)), "activation", None)  # a kernel's area fewer values to quantize
        self._columns = self._x.moved(self._patches(self._x.values))
        return self._columns

    def _patches(self, x: Array) -> Array:
        return self.numerics.patches(x, self.kernel, self.stride, self.padding)

    def backward(self, dy: Array) -> Array:
        numerics, weight = self.numerics, self.params["weight"]
        error = numerics.hold(dy.reshape(-1, dy.shape[-1]), "error")
        columns = self._columns or self._x.moved(self._patches(self._x.values))
        dw = numerics.result(numerics.product(error, columns, 0, 0), "weight_gradient")
        self.grads["weight"] = numerics.through(dw, self._w).reshape(weight.shape)
        if "bias" in self.params:
            self.grads["bias"] = numerics.row_sum(error.values, "bias_gradient")
        self._columns = None
        if not self.needs_input_gradient:
            return np.zeros(self._shape, dy.dtype)
        made = numerics.product(error, self._w, 1, 0)
        dx = numerics.patch_sum(made, self._shape, self.kernel, self.stride, self.padding, "summed")
        return numerics.result(numerics.through(dx, self._x), "error")


class ConvTranspose2d(Layer):
    """A transposed convolution of (batch, height, width, channels): what a convolution with this kernel, stride and
    padding does to errors. weight: (inputs, kernel, kernel, outputs). The output is stride times as high and wide where
    kernel = stride + 2 padding.

    The product reduces the input channels; overlapping patches are added up in FP32, in the order of the kernel's
    places. Backward, the errors' patches are reduced along (row, column, channel), and along batch and image.
    """

    kind = "conv"
    products = True

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int = 4,
        stride: int = 2,
        padding: int = 1,
        *,
        bias: bool = True,
        seed: int = 0,
        name: str = "conv",
    ) -> None:
        super().__init__()
        self.kernel, self.stride, self.padding = kernel, stride, padding
        bound = inputs**-0.5 * stride / kernel  # each output has inputs (kernel / stride)^2 addends
        self.params = {"weight": uniform((inputs, kernel, kernel, outputs), bound, seed, f"{name}.weight")}
        if bias:
            self.params["bias"] = uniform((outputs,), bound, seed, f"{name}.bias")

    def forward(self, x: Array) -> Array:
        numerics, weight = self.numerics, self.params["weight"]
        count, *sides, inputs = self._shape = x.shape
        self._x = numerics.hold(x.reshape(-1, inputs), "activation")
        self._w = numerics.hold(weight.reshape(inputs, -1), "weight")
        height, width = ((n - 1) * self.stride + self.kernel - 2 * self.padding for n in sides)
        image = (count, height, width, weight.shape[-1])
        y = numerics.product(self._x, self._w, 1, 0)
        y = numerics.patch_sum(y, image, self.kernel, self.stride, self.padding, "summed")
        if "bias" in self.params:
            y = numerics.add(y, self.params["bias"], "biased", out=y)
        return numerics.result(y, "activation")

    def backward(self, dy: Array) -> Array:
        numerics, weight = self.numerics, self.params["weight"]
        error = numerics.hold(dy, "error")
        if "bias" in self.params:
            self.grads["bias"] = numerics.row_sum(error.values.reshape(-1, dy.shape[-1]), "bias_gradient")
        patches = error.moved(numerics.patches(error.values, self.kernel, self.stride, self.padding))
        dw = numerics.result(numerics.product(self._x, patches, 0, 0), "weight_gradient")
        self.grads["weight"] = numerics.through(dw, self._w).reshape(weight.shape)
        if not self.needs_input_gradient:
            return np.zeros(self._shape, dy.dtype)
        dx = numerics.through(numerics.product(patches, self._w, 1, 1), self._x)
        return numerics.result(dx, "error").reshape(self._shape)
