"""The base class of layers, layers made of layers, and initial values and noise: the same on every platform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.nn.numerics import Numerics
from softfloat_ref.nn.operations import from_words
from softfloat_ref.oracle.sources import Philox, key

Array = NDArray[Any]  # float32; float64 where gradients are checked numerically
_PARAMETERS: Final = 4  # a stream of Philox's keys: 0 rounds, others serve vectors
NOISE: Final = 5
UNIFORM_BITS: Final = 24  # of a uniform number: what float32 holds


class Layer:
    """A step of a network: `forward`, then `backward` with the gradient of its output, which returns that of its input.

    params, grads: named arrays; grads are set by backward. buffers: arrays that are not parameters (running
    statistics). kind: what recipes select layers by. products: whether it multiplies matrices (the first and last that
    do are the recipe's first and last layer).
    """

    kind = "layer"
    products = False

    def __init__(self) -> None:
        self.name = ""
        self.numerics = Numerics()
        self.params: dict[str, Array] = {}
        self.grads: dict[str, Array] = {}
        self.buffers: dict[str, Array] = {}
        self.needs_input_gradient = True  # else backward may return zeros
        self.needs_gradients = True  # else backward may leave grads as they are

    def forward(self, x: Array) -> Array:
        """The layer's output."""
        raise NotImplementedError

    def backward(self, dy: Array) -> Array:
        """The gradient of the input of the last forward, given that of its output."""
        raise NotImplementedError

    def children(self) -> dict[str, Layer]:
        """The layers inside, by name."""
        return {}

    def reset(self) -> None:
        """Forget what is carried from one batch to the next."""
        for child in self.children().values():
            child.reset()

    def walk(self, prefix: str = "") -> Iterator[tuple[str, Layer]]:
        """Every layer that has none inside, or works on its own, with its dotted name, in the order of work."""
        for name, child in self.children().items():
            yield from child.walk(f"{prefix}.{name}" if prefix else name)
        if self.kind != "sequential":
            yield prefix or self.kind, self


class Sequential(Layer):
    """Layers applied one after the other, by name."""

    kind = "sequential"

    def __init__(self, layers: Mapping[str, Layer]) -> None:
        super().__init__()
        self.layers = dict(layers)

    def children(self) -> dict[str, Layer]:
        return self.layers

    def forward(self, x: Array) -> Array:
        for layer in self.layers.values():
            x = layer.forward(x)
        return x

    def backward(self, dy: Array) -> Array:
        for layer in reversed(self.layers.values()):
            dy = layer.backward(dy)
        return dy


class Residual(Layer):
    """body(x) + shortcut(x), the addition in the vector format; without a shortcut, body(x) + x."""

    kind = "residual"

    def __init__(self, body: Layer, shortcut: Layer | None = None) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def children(self) -> dict[str, Layer]:
        return {"body": self.body} | ({"shortcut": self.shortcut} if self.shortcut else {})

    def forward(self, x: Array) -> Array:
        beside = x if self.shortcut is None else self.shortcut.forward(x)
        return self.numerics.vector(self.numerics.add(self.body.forward(x), beside, "sum"))

    def backward(self, dy: Array) -> Array:
        beside = dy if self.shortcut is None else self.shortcut.backward(dy)
        return self.numerics.vector(self.numerics.add(self.body.backward(dy), beside, "sum"))


def uniform(shape: tuple[int, ...], bound: float, seed: int, name: str) -> NDArray[Any]:
    """Float32 numbers evenly from -bound to bound, each from its own position of Philox, keyed by seed and name."""
    words = uniform_words(f"{seed}/{name}", _PARAMETERS, 0, prod(shape))
    return (from_words(words, UNIFORM_BITS) * np.float32(bound)).reshape(shape)


def uniform_words(name: str, stream: int, start: int, count: int) -> NDArray[Any]:
    """Words of UNIFORM_BITS bits from a position on, keyed by a name."""
    return Philox(key(name), stream).array(UNIFORM_BITS, start, count)
