"""Layers made of layers."""

from __future__ import annotations

from collections.abc import Mapping

from softfloat_ref.nn.layers.base import Array, Layer


class Sequential(Layer):
    """Layers applied one after the other, by name."""

    kind = "sequential"

    def __init__(self, layers: Mapping[str, Layer]) -> None:
        super().__init__()
        self.layers = dict(layers)

    def children(self) -> dict[str, Layer]:
        """The layers, in order."""
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
        """Body and shortcut."""
        return {"body": self.body} | ({"shortcut": self.shortcut} if self.shortcut else {})

    def forward(self, x: Array) -> Array:
        beside = x if self.shortcut is None else self.shortcut.forward(x)
        return self.numerics.vector(self.numerics.add(self.body.forward(x), beside, "sum"))

    def backward(self, dy: Array) -> Array:
        beside = dy if self.shortcut is None else self.shortcut.backward(dy)
        return self.numerics.vector(self.numerics.add(self.body.backward(dy), beside, "sum"))
