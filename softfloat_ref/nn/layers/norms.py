"""Normalizations. Means and variances are summed in float32; what comes out is in the vector format."""

from __future__ import annotations

import numpy as np

from softfloat_ref.nn.layers.base import Array, Layer

EPSILON = 1e-5


class BatchNorm(Layer):
    """Over all axes but the last. In inference by running statistics (an exponential average, unbiased variance)."""

    kind = "norm"

    def __init__(self, channels: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.params = {"weight": np.ones(channels, np.float32), "bias": np.zeros(channels, np.float32)}
        self.buffers = {"mean": np.zeros(channels, np.float32), "variance": np.ones(channels, np.float32)}

    def forward(self, x: Array) -> Array:
        self._shape = x.shape
        rows = x.reshape(-1, x.shape[-1])
        if self.numerics.run.training:
            mean = rows.mean(axis=0)
            centred = rows - mean
            variance = np.einsum("ij,ij->j", centred, centred) / len(rows)
            self._remember(mean, variance, len(rows))
        else:
            centred, variance = rows - self.buffers["mean"], self.buffers["variance"]
        self._scale = 1 / np.sqrt(variance + x.dtype.type(EPSILON))
        centred *= self._scale
        self._normal = centred
        y = centred * self.params["weight"]
        y += self.params["bias"]
        return self.numerics.vector(y).reshape(x.shape)

    def _remember(self, mean: Array, variance: Array, count: int) -> None:
        part = self.momentum
        unbiased = variance * (count / max(count - 1, 1))
        for name, found in (("mean", mean), ("variance", unbiased)):
            self.buffers[name] = ((1 - part) * self.buffers[name] + part * found).astype(mean.dtype)

    def backward(self, dy: Array) -> Array:
        rows = dy.reshape(-1, dy.shape[-1])
        normal, weight = self._normal, self.params["weight"]
        bias, along = rows.sum(axis=0), np.einsum("ij,ij->j", rows, normal)
        self.grads = {"weight": along, "bias": bias}
        if not self.numerics.run.training:
            return self.numerics.vector(rows * (weight * self._scale)).reshape(self._shape)
        count = len(rows)
        dx = normal * (along / -count)
        dx += rows
        dx -= bias / count
        dx *= weight * self._scale
        return self.numerics.vector(dx).reshape(self._shape)


class LayerNorm(Layer):
    """Over the last axis."""

    kind = "norm"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.params = {"weight": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}

    def forward(self, x: Array) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        self._scale = 1 / np.sqrt(variance + x.dtype.type(EPSILON))
        self._normal = centred * self._scale
        return self.numerics.vector(self._normal * self.params["weight"] + self.params["bias"])

    def backward(self, dy: Array) -> Array:
        normal, others = self._normal, tuple(range(dy.ndim - 1))
        self.grads = {"weight": (dy * normal).sum(axis=others), "bias": dy.sum(axis=others)}
        inner = dy * self.params["weight"]
        mean = inner.mean(axis=-1, keepdims=True)
        along = (inner * normal).mean(axis=-1, keepdims=True)
        return self.numerics.vector((inner - mean - normal * along) * self._scale)
