"""The fully connected layer; embeddings, which are linear layers of one-hot rows; positions; an output layer that has
the embedding's table."""

from __future__ import annotations

import numpy as np

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.layers.base import Array, Layer, uniform
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


class Embedding(Layer):
    """Rows of a table by integers. weight: (symbols, width); initial values uniform within 0.1."""

    kind = "embedding"

    def __init__(self, symbols: int, width: int, *, seed: int = 0, name: str = "embedding") -> None:
        super().__init__()
        self.params = {"weight": uniform((symbols, width), 0.1, seed, f"{name}.weight")}
        self.shared: Array | None = None  # the gradient by another layer that has this table

    def forward(self, x: Array) -> Array:
        self._indices, self.shared = x, None
        self._w = self.numerics.hold(self.params["weight"], "weight")
        return self.numerics.vector(self.numerics.gather(self._w.along(1), x, "rows"))

    def backward(self, dy: Array) -> Array:
        """The gradient of the table; integers have none, so it is returned as zeros."""
        numerics, (count, width) = self.numerics, self.params["weight"].shape
        gradient = numerics.scatter_sum(dy.reshape(-1, width), self._indices.reshape(-1), count, "weight_sum")
        if self.shared is not None:
            gradient = numerics.add(gradient, self.shared, "shared_sum", out=gradient)
        self.grads["weight"] = numerics.through(numerics.result(gradient, "weight_gradient"), self._w)
        return np.zeros(self._indices.shape, dy.dtype)


class Positions(Layer):
    """Adds a row of a table to all symbols at a time. x: (time, batch, width); weight: (longest time, width); initial
    values uniform within 0.1."""

    kind = "embedding"

    def __init__(self, longest: int, width: int, *, seed: int = 0, name: str = "positions") -> None:
        super().__init__()
        self.params = {"weight": uniform((longest, width), 0.1, seed, f"{name}.weight")}

    def forward(self, x: Array) -> Array:
        n, (time, _, width) = self.numerics, x.shape
        longest = len(self.params["weight"])
        if time > longest:
            raise Error(f"sequences of {time} symbols, but the model's context is {longest}")
        self._w = n.hold(self.params["weight"], "weight")
        rows = n.slice(self._w.along(1), 0, 0, time, "rows")
        return n.vector(n.add(x, rows.reshape(time, 1, width), "placed"))

    def backward(self, dy: Array) -> Array:
        """The gradient of a row is the sequential sum over the batch; of rows that were not used, zero."""
        n, (time, batch, width) = self.numerics, dy.shape
        longest = len(self.params["weight"])
        gradient = n.row_sum(n.transpose(dy, (1, 0, 2), "by_example").reshape(batch, time * width), "row_sums")
        parts = [gradient.reshape(time, width)]
        if time < longest:
            parts.append(n.given("unused_rows", np.zeros((longest - time, width), dy.dtype)))
        gradient = n.concatenate(parts, 0, "weight_sum")
        self.grads["weight"] = n.through(n.result(gradient, "weight_gradient"), self._w)
        return dy


class TiedLinear(Linear):
    """A linear layer whose weight is an embedding's table. The embedding, whose backward comes later, adds this layer's
    product to its own gradient, in FP32, before that goes into its format."""

    def __init__(self, embedding: Embedding) -> None:
        Layer.__init__(self)
        self._embedding = embedding
        self.params = {"bias": np.zeros(len(embedding.params["weight"]), np.float32)}

    def weight(self) -> Array:
        return self._embedding.params["weight"]

    def _take(self, product: Array) -> None:
        self._embedding.shared = self.numerics.through(product, self._w)
