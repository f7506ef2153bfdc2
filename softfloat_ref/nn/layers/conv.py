"""Convolutions, of either direction, as matrix products of an image's patches; and pooling.

Images are (batch, height, width, channels). Windows of pooling lie side by side; what is left at the edge is dropped.
"""

from __future__ import annotations

import numpy as np

from softfloat_ref.nn.layers.base import Array, Layer, uniform
from softfloat_ref.nn.numerics import Held
from softfloat_ref.nn.operations import output_size


class _Convolution(Layer):
    """The three products between an image's patches, values at their places, and the weight (values, kernel, kernel,
    channels).

    A row of patches has the order (row, column, channel) of the weight, so that blocks along the product's reduced
    axis lie within the channels where those are a multiple of the block size. A product that gives patches reduces the
    values; the patches are added up in FP32.
    """

    kind = "conv"
    products = True

    def __init__(
        self, shape: tuple[int, ...], stride: int, padding: int, bound: float, biases: int, seed: int, name: str
    ) -> None:
        super().__init__()
        self.kernel, self.stride, self.padding = shape[1], stride, padding
        self.params = {"weight": uniform(shape, bound, seed, f"{name}.weight")}
        if biases:
            self.params["bias"] = uniform((biases,), bound, seed, f"{name}.bias")

    def _hold_weight(self) -> None:
        weight = self.params["weight"]
        self._w = self.numerics.hold(weight.reshape(len(weight), -1), "weight")

    def _hold_image(self, image: Array, role: str) -> None:
        self._image, self._shape = self.numerics.hold(image, role), image.shape
        self._columns: Held | None = None

    def _values(self) -> Array:
        """Patches times the weight, the patches reduced."""
        numerics, image = self.numerics, self._image
        size = numerics.block_size(image.role)
        if size and self._shape[-1] % size == 0 and numerics.takes_values:
            columns = Held(self._patches(image.along(3)), image.role, None)  # a kernel's area fewer values to quantize
        else:
            columns = self._all_patches()
        return numerics.product(columns, self._w, 1, 1)

    def _weight_gradient(self, values: Held) -> None:
        """Values times patches, the places of all images reduced; nothing if it is not needed."""
        numerics = self.numerics
        if self.needs_gradients:
            dw = numerics.result(numerics.weight_product(values, self._all_patches()), "weight_gradient")
            self.grads["weight"] = numerics.through(dw, self._w).reshape(self.params["weight"].shape)
        self._columns = None

    def _summed(self, values: Held) -> Array:
        """Values times the weight, the values reduced, as images."""
        patches = self.numerics.product(values, self._w, 1, 0)
        return self.numerics.patch_sum(patches, self._shape, self.kernel, self.stride, self.padding, "summed")

    def _all_patches(self) -> Held:
        if self._columns is None:
            self._columns = self._image.moved(self._patches(self._image.values))
        return self._columns

    def _patches(self, x: Array) -> Array:
        return self.numerics.patches(x, self.kernel, self.stride, self.padding)

    def _biased(self, y: Array) -> Array:
        return self.numerics.add(y, self.params["bias"], "biased", out=y) if "bias" in self.params else y

    def _bias_gradient(self, error: Held) -> None:
        if "bias" in self.params and self.needs_gradients:
            rows = error.values.reshape(-1, error.values.shape[-1])
            self.grads["bias"] = self.numerics.row_sum(rows, "bias_gradient")


class Conv2d(_Convolution):
    """A convolution of (batch, height, width, channels). weight: (outputs, kernel, kernel, channels)."""

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
        bound = (inputs * kernel * kernel) ** -0.5
        padding = kernel // 2 if padding is None else padding
        super().__init__((outputs, kernel, kernel, inputs), stride, padding, bound, outputs if bias else 0, seed, name)

    def forward(self, x: Array) -> Array:
        self._hold_image(x, "activation")
        self._hold_weight()
        y = self._biased(self._values())
        height, width = output_size(x.shape, self.kernel, self.stride, self.padding)
        return self.numerics.result(y, "activation").reshape(len(x), height, width, -1)

    def backward(self, dy: Array) -> Array:
        numerics = self.numerics
        error = numerics.hold(dy.reshape(-1, dy.shape[-1]), "error")
        self._weight_gradient(error)
        self._bias_gradient(error)
        if not self.needs_input_gradient:
            return np.zeros(self._shape, dy.dtype)
        return numerics.result(numerics.through(self._summed(error), self._image), "error")


class ConvTranspose2d(_Convolution):
    """A transposed convolution of (batch, height, width, channels): what a convolution with this kernel, stride and
    padding does to errors; backward is that one's forward. weight: (inputs, kernel, kernel, outputs).

    n rows become (n - 1) stride - 2 padding + kernel: stride times as many where kernel = stride + 2 padding.
    """

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
        bound = inputs**-0.5 * stride / kernel  # each output has inputs (kernel / stride)^2 addends
        super().__init__((inputs, kernel, kernel, outputs), stride, padding, bound, outputs if bias else 0, seed, name)

    def forward(self, x: Array) -> Array:
        numerics, wider = self.numerics, self.kernel - 2 * self.padding
        self._x = numerics.hold(x.reshape(-1, x.shape[-1]), "activation")
        self._hold_weight()
        height, width = ((n - 1) * self.stride + wider for n in x.shape[1:3])
        self._shape = (len(x), height, width, self.params["weight"].shape[-1])
        return numerics.result(self._biased(self._summed(self._x)), "activation")

    def backward(self, dy: Array) -> Array:
        numerics = self.numerics
        self._hold_image(dy, "error")
        dx = numerics.through(self._values(), self._x) if self.needs_input_gradient else None
        self._weight_gradient(self._x)
        self._bias_gradient(self._image)
        rows, columns = output_size(self._shape, self.kernel, self.stride, self.padding)
        shape = (len(dy), rows, columns, -1)
        if dx is None:
            return np.zeros((*shape[:3], len(self.params["weight"])), dy.dtype)
        return numerics.result(dx, "error").reshape(shape)


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
