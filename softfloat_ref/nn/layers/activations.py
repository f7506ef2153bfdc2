"""Activation functions, dropout and reshaping."""

from __future__ import annotations

import numpy as np

from softfloat_ref.errors import Error
from softfloat_ref.nn.layers.base import Array, Layer

_WORD_BITS = 32


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) in x's type."""
    with np.errstate(over="ignore"):  # exp(88.8) is Inf in float32, and 1 / Inf the right 0
        y = np.exp(-x)
    y += 1
    return np.divide(1, y, out=y)


class ReLU(Layer):
    """max(x, 0); NaN stays NaN."""

    kind = "relu"

    def forward(self, x: Array) -> Array:
        x = self.numerics.function(x)
        self._y = np.maximum(x, 0)  # of numbers of a format: one of them
        return self._y

    def backward(self, dy: Array) -> Array:
        return self.numerics.function_error(dy * (self._y > 0))


class Tanh(Layer):
    """Hyperbolic tangent."""

    kind = "tanh"

    def forward(self, x: Array) -> Array:
        self._y = self.numerics.function(np.tanh(self.numerics.function(x)))
        return self._y

    def backward(self, dy: Array) -> Array:
        return self.numerics.function_error(dy * (1 - self._y * self._y))


class Sigmoid(Layer):
    """1 / (1 + exp(-x))."""

    kind = "sigmoid"

    def forward(self, x: Array) -> Array:
        self._y = self.numerics.function(sigmoid(self.numerics.function(x)))
        return self._y

    def backward(self, dy: Array) -> Array:
        return self.numerics.function_error(dy * (self._y * (1 - self._y)))


class Dropout(Layer):
    """In training, zero with a probability, else scaled by 1/(1 - p); the mask depends on seed, step and position."""

    kind = "dropout"

    def __init__(self, probability: float) -> None:
        super().__init__()
        if not 0 <= probability < 1:
            raise Error(f"dropout = {probability!r}: a probability from 0 to below 1")
        self.probability = probability

    def forward(self, x: Array) -> Array:
        self._mask: Array | None = None
        if not self.numerics.run.training or self.probability == 0:
            return x
        words = self.numerics.run.source(f"{self.numerics.name}/dropout").array(_WORD_BITS, 0, x.size)
        keep = words >= np.uint64(int(self.probability * (1 << _WORD_BITS)))
        self._mask = keep.reshape(x.shape) * x.dtype.type(1 / (1 - self.probability))
        return self.numerics.vector(x * self._mask)

    def backward(self, dy: Array) -> Array:
        return dy if self._mask is None else self.numerics.vector(dy * self._mask)


class Flatten(Layer):
    """(batch, ...) to (batch, everything)."""

    kind = "flatten"

    def forward(self, x: Array) -> Array:
        self._shape = x.shape
        return x.reshape(x.shape[0], -1)

    def backward(self, dy: Array) -> Array:
        return dy.reshape(self._shape)
