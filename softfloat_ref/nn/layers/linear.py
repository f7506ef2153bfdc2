"""The fully connected layer."""

from __future__ import annotations

import numpy as np

from softfloat_ref.nn.initial import uniform
from softfloat_ref.nn.layers.base import Array, Layer
from softfloat_ref.nn.numerics import Held


class Linear(Layer):
    """y = x W^T + b over the last axis. weight: (outputs, inputs); initial values uniform within 1/sqrt(inputs).

    The bias is added to the product's FP32 result.
    """

    kind = "linear"
    products = True

    def __init__(self, inputs: int, outputs: int, *, seed: int = 0, name: str = "linear") -> None:
        super().__init__()
        bound = inputs**-0.5
        self.params = {
            "weight": uniform((outputs, inputs), bound, seed, f"{name}.weight"),
            "bias": uniform((outputs,), bound, seed, f"{name}.bias"),
        }

    def weight(self) -> Array:
        """The master weight."""
        return self.params["weight"]

    def _take(self, product: Array) -> None:
        """The weight's gradient."""
        numerics = self.numerics
        self.grads["weight"] = numerics.through(numerics.result(product, "weight_gradient"), self._w)

    def forward(self, x: Array) -> Array:
        self._shape = x.shape
        numerics = self.numerics
        self._x: Held = numerics.hold(x.reshape(-1, x.shape[-1]), "activation")
        self._w: Held = numerics.hold(self.weight(), "weight")
        y = numerics.product(self._x, self._w, 1, 1)
        y = numerics.add(y, self.params["bias"], "biased", out=y)
        return numerics.result(y, "activation").reshape(*x.shape[:-1], -1)

    def backward(self, dy: Array) -> Array:
        numerics = self.numerics
        error = numerics.hold(dy.reshape(-1, dy.shape[-1]), "error")
        self._take(numerics.weight_product(error, self._x))
        self.grads["bias"] = numerics.row_sum(error.values, "bias_gradient")
        if not self.needs_input_gradient:
            return np.zeros(self._shape, dy.dtype)
        dx = numerics.through(numerics.product(error, self._w, 1, 0), self._x)
        return numerics.result(dx, "error").reshape(self._shape)
