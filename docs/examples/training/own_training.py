# SPDX-License-Identifier: 0BSD
"""A data set, a layer, a model and an optimizer for training recipes."""

from dataclasses import dataclass

import numpy as np

from softfloat_ref.nn.extending import Array, Dataset, Input, Layer, Numerics, Optimizer, State, stored
from softfloat_ref.nn.layers import Linear, RMSNorm, Sequential


def waves(*, seed: int, train: int = 512, test: int = 256, samples: int = 32) -> Dataset:
    """Triangular waves of three periods, with noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, train + test)
    places = (np.arange(samples) + rng.integers(0, samples, (train + test, 1))) % (4 << y)[:, None]
    x = (places / (4 << y)[:, None] + rng.uniform(-1, 1, places.shape) / 2).astype(np.float32)
    return Dataset(x[:train], y[:train], x[train:], y[train:], "classes", 3)


class SquaredReLU(Layer):
    """max(x, 0) squared."""

    kind = "squared_relu"

    def forward(self, x: Array) -> Array:
        n = self.numerics
        self._y = n.relu(n.function(x))
        return n.function(n.mul(self._y, self._y, "squared"))

    def backward(self, dy: Array) -> Array:
        n = self.numerics
        slope = n.mul(n.number("two", 2), self._y, "slope")
        return n.function_error(n.mul(dy, slope, "squared_gradient"))


def normed(of: Input, *, width: int = 32) -> Sequential:
    """Two linear layers with a norm and squared ReLUs between them."""
    inputs = Linear(*of.shape, width, seed=of.seed, name="linear1")
    output = Linear(width, of.classes, seed=of.seed, name="output")
    return Sequential({"linear1": inputs, "norm1": RMSNorm(width), "relu1": SquaredReLU(), "output": output})


@dataclass(frozen=True)
class RMSProp(Optimizer):
    """v <- decay v + (1 - decay) g g, w <- w - rate g / (sqrt(v) + 1e-8)."""

    decay: float = 0.9
    states = ("square",)

    def update(self, weight: Array, gradient: Array, state: State, rate: float, step: int, n: Numerics) -> Array:
        kept = n.mul(state["square"], n.number("keep", self.decay), out=state["square"])
        taken = n.mul(n.mul(gradient, gradient, "squares"), n.number("take", 1 - self.decay), "taken")
        square = stored(n.add(kept, taken, "square", out=kept), "optimizer", n)
        below = n.add(n.sqrt(square, "root"), n.number("epsilon", 1e-8), "below")
        change = n.mul(n.div(gradient, below, "quotient"), n.number("rate", rate), "change")
        return stored(n.sub(weight, change, "updated", out=weight), "master", n)
