"""Activation functions, dropout, noise, scaling and reshaping."""

from __future__ import annotations

import numpy as np

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.layers.base import NOISE, UNIFORM_BITS, Array, Layer, uniform_words
from softfloat_ref.nn.operations import from_words

_WORD_BITS = 32


class ReLU(Layer):
    """max(x, 0); NaN stays NaN."""

    kind = "relu"

    def forward(self, x: Array) -> Array:
        self._y = self.numerics.relu(self.numerics.function(x))
        return self._y

    def backward(self, dy: Array) -> Array:
        return self.numerics.function_error(self.numerics.relu_gradient(dy, self._y))


class _Function(Layer):
    """kind: the name of the operation, too. The slope is computed from the function's value, or from its operand."""

    slope_of_value = False

    def forward(self, x: Array) -> Array:
        n = self.numerics
        operand = n.function(x)
        y = n.function(getattr(n, self.kind)(operand))
        self._known = y if self.slope_of_value else operand
        return y

    def backward(self, dy: Array) -> Array:
        n = self.numerics
        slope = getattr(n, f"{self.kind}_slope")(self._known)
        return n.function_error(n.mul(dy, slope, f"{self.kind}_gradient"))


class Tanh(_Function):
    """Hyperbolic tangent."""

    kind = "tanh"
    slope_of_value = True


class Sigmoid(_Function):
    """1 / (1 + exp(-x))."""

    kind = "sigmoid"
    slope_of_value = True


class SiLU(_Function):
    """x / (1 + exp(-x))."""

    kind = "silu"


class GELU(_Function):
    """x/2 (1 + erf(x / sqrt 2))."""

    kind = "gelu"


class GELUTanh(_Function):
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""

    kind = "gelu_tanh"


class Dropout(Layer):
    """In training, zero with a probability, else scaled by 1/(1 - p); the mask depends on seed, step and position."""

    kind = "dropout"

    def __init__(self, probability: float) -> None:
        super().__init__()
        if not 0 <= probability < 1:
            raise Error(f"dropout = {probability!r}: a probability is at least 0 and below 1")
        self.probability = probability

    def forward(self, x: Array) -> Array:
        numerics = self.numerics
        self._mask: Array | None = None
        if not numerics.run.training or self.probability == 0:
            return x
        words = numerics.random(_WORD_BITS, x.shape, "dropout")
        scale = numerics.number("dropout_scale", x.dtype.type(1 / (1 - self.probability)))
        self._mask = numerics.keep(words, scale, int(self.probability * (1 << _WORD_BITS)), "dropout_mask")
        return numerics.vector(numerics.mul(x, self._mask, "dropout"))

    def backward(self, dy: Array) -> Array:
        if self._mask is None:
            return dy
        return self.numerics.vector(self.numerics.mul(dy, self._mask, "dropout_gradient"))


class Flatten(Layer):
    """(batch, ...) to (batch, everything)."""

    kind = "flatten"

    def forward(self, x: Array) -> Array:
        self._shape = x.shape
        return x.reshape(x.shape[0], -1)

    def backward(self, dy: Array) -> Array:
        return dy.reshape(self._shape)


class LeakyReLU(Layer):
    """x above zero, else slope times x."""

    kind = "relu"

    def __init__(self, slope: float = 0.2) -> None:
        super().__init__()
        self.slope = slope

    def forward(self, x: Array) -> Array:
        n = self.numerics
        x = n.function(x)
        self._slopes = n.leak(x, n.number("slope", x.dtype.type(self.slope)), "slopes")
        return n.function(n.mul(x, self._slopes, "leaky_relu"))

    def backward(self, dy: Array) -> Array:
        return self.numerics.function_error(self.numerics.mul(dy, self._slopes, "leaky_relu_gradient"))


class Noise(Layer):
    """As many images of one pixel as x has examples, with `width` channels of numbers evenly from -1 to 1.

    They depend on the seed and, in training, on the step; in inference, on the position since the last reset, so that
    every evaluation has the same. It has no gradient.
    """

    kind = "noise"

    def __init__(self, width: int, *, seed: int = 0, name: str = "noise") -> None:
        super().__init__()
        self.width, self._key = width, f"{seed}/{name}"
        self.reset()

    def reset(self) -> None:
        self._drawn = 0

    def forward(self, x: Array) -> Array:
        n, shape = self.numerics, (len(x), 1, 1, self.width)
        self._shape = x.shape
        if n.run.training:
            return n.vector(n.uniform(n.random(UNIFORM_BITS, shape, "noise"), UNIFORM_BITS, "noise"))
        count = len(x) * self.width
        words = uniform_words(self._key, NOISE, self._drawn, count)
        self._drawn += count
        return n.vector(from_words(words, UNIFORM_BITS).reshape(shape))

    def backward(self, dy: Array) -> Array:
        return np.zeros(self._shape, dy.dtype)


class Scale(Layer):
    """x times a constant."""

    kind = "scale"

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Array) -> Array:
        return self._scaled(x, "scaled")

    def backward(self, dy: Array) -> Array:
        return self._scaled(dy, "scale_gradient")

    def _scaled(self, x: Array, name: str) -> Array:
        n = self.numerics
        return n.vector(n.mul(x, n.number("scale", x.dtype.type(self.factor)), name))
