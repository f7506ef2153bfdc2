"""What generative adversarial networks need besides other layers: noise, leaky ReLU, a scale, and their loss."""

from __future__ import annotations

import math

import numpy as np

from softfloat_ref.nn import functions
from softfloat_ref.nn.initial import NOISE, UNIFORM_BITS, from_words, uniform_words
from softfloat_ref.nn.layers.base import Array, Layer
from softfloat_ref.nn.layers.loss import Loss
from softfloat_ref.nn.numerics import Numerics


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


def binary_cross_entropy(logits: Array, target: int, numerics: Numerics, scale: float = 1.0) -> Loss:
    """Mean of -log(sigmoid(logit)) for target 1, of -log(1 - sigmoid(logit)) for target 0.

    The loss is max(z, 0) - z target + log1p(e^-|z|), which does not overflow; its gradient (sigmoid(z) - target) times
    scale / count, in the logits' type, is in the vector format.
    """
    n, number = numerics, logits.dtype.type
    shares = n.sigmoid(logits, "probabilities")
    differences = n.sub(shares, n.number(f"target_{target}", number(target)), "differences", out=shares)
    share = n.number(f"scale_over_{logits.size}", number(scale / logits.size))
    gradient = n.mul(differences, share, "gradient", out=differences)
    z = np.asarray(logits)
    losses = np.maximum(z, 0) - z * number(target) + functions.log1p(functions.exp(-np.abs(z)))
    value = math.fsum(losses.reshape(-1).tolist()) / losses.size
    return Loss(value, int(((z > 0) == target).sum()), n.vector(gradient))
