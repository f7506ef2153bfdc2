"""The base class of layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from softfloat_ref.nn.numerics import Numerics

Array = NDArray[Any]  # float32; float64 where gradients are checked numerically


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
