"""Causal self-attention of several heads."""

from __future__ import annotations

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.layers.base import Array, Layer
from softfloat_ref.nn.layers.linear import Linear

_PARTS = ("query", "key", "value")


class Attention(Layer):
    """Over (time, batch, width): softmax(Q K^T / sqrt(depth)) V for each head, of time steps up to the own one.

    Q, K and V are one linear layer of x, side by side; `output` is one of the heads' results. A head's matrices are
    (time, depth); the products are one for each example and head. Scores are scaled in FP32 before they go into the
    format of activations; the softmax is in FP32, and its result in the vector format.
    """

    kind = "attention"
    products = True

    def __init__(self, width: int, heads: int, *, seed: int = 0, name: str = "attention") -> None:
        super().__init__()
        if width % heads:
            raise Error(f"heads = {heads} must divide width = {width}")
        self.heads, self.depth = heads, width // heads
        self.inputs = Linear(width, 3 * width, seed=seed, name=f"{name}.input")
        self.output = Linear(width, width, seed=seed, name=f"{name}.output")

    def children(self) -> dict[str, Layer]:
        return {"input": self.inputs, "output": self.output}

    def forward(self, x: Array) -> Array:
        n = self.numerics
        time, batch, width = self._shape = x.shape
        joined = self.inputs.forward(x).reshape(time * batch, 3 * width)
        q, k, v = (self._split(part, name) for part, name in zip(n.parts(joined, _PARTS), _PARTS, strict=True))
        with n.phase("scores"):
            self._q, self._k = n.hold(q, "activation"), n.hold(k, "activation")
            scores = n.product(self._q, self._k, 1, 1)
            scores = n.result(n.mul(scores, self._scale(x), "scaled", out=scores), "activation")
            self._shares = n.vector(n.softmax(n.causal(scores)).shares)
        with n.phase("values"):
            self._p, self._v = n.hold(self._shares, "activation"), n.hold(v, "activation")
            values = n.result(n.product(self._p, self._v, 1, 0), "activation")
        return self.output.forward(self._joined(values, "joined").reshape(time, batch, width))

    def backward(self, dy: Array) -> Array:
        n = self.numerics
        time, batch, width = self._shape
        dy = self._split(self.output.backward(dy), "output_error")
        with n.phase("values"):
            error = n.hold(dy, "error")
            shares = n.result(n.through(n.product(error, self._v, 1, 1), self._p), "error")
            value = n.result(n.through(n.product(self._p, error, 0, 0), self._v), "error")
        with n.phase("scores"):
            inner = n.last_sum(n.mul(shares, self._shares, "weighted"), "along")
            scores = n.mul(n.sub(shares, inner, "across"), self._shares, "softmax_gradient")
            scores = n.vector(n.mul(scores, self._scale(dy), "scaled", out=scores))
            error = n.hold(scores, "error")
            query = n.result(n.through(n.product(error, self._k, 1, 0), self._q), "error")
            key = n.result(n.through(n.product(error, self._q, 0, 0), self._k), "error")
        parts = [
            self._joined(x, f"{name}_error").reshape(time * batch, width)
            for x, name in zip((query, key, value), _PARTS, strict=True)
        ]
        return self.inputs.backward(n.concatenate(parts, 1, "errors").reshape(time, batch, 3 * width))

    def _scale(self, like: Array) -> Array:
        scale: Array = self.numerics.number("score_scale", like.dtype.type(self.depth**-0.5))
        return scale

    def _split(self, x: Array, name: str) -> Array:
        """(time, batch, width) as (batch times heads, time, depth)."""
        time, batch, _ = self._shape
        parts = x.reshape(time, batch, self.heads, self.depth)
        heads = self.numerics.transpose(parts, (1, 2, 0, 3), f"{name}_heads")
        return heads.reshape(batch * self.heads, time, self.depth)

    def _joined(self, x: Array, name: str) -> Array:
        """What `_split` was given."""
        time, batch, _ = self._shape
        return self.numerics.transpose(x.reshape(batch, self.heads, time, self.depth), (2, 0, 1, 3), name)
