"""Normalizations. Means and variances are summed in float32; what comes out is in the vector format."""

from __future__ import annotations

import numpy as np

from softfloat_ref.nn.layers.base import Array, Layer
from softfloat_ref.nn.numerics import Numerics

EPSILON = 1e-5


class BatchNorm(Layer):
    """Over all axes but the last. In inference by running statistics (an exponential average, unbiased variance).

    averaged: the number of batches whose mean they are instead, or none.
    """

    kind = "norm"

    def __init__(self, channels: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.averaged: int | None = None
        self.params = {"weight": np.ones(channels, np.float32), "bias": np.zeros(channels, np.float32)}
        self.buffers = {"mean": np.zeros(channels, np.float32), "variance": np.ones(channels, np.float32)}

    def forward(self, x: Array) -> Array:
        n, buffers = self.numerics, self.buffers
        self._shape = x.shape
        rows = x.reshape(-1, x.shape[-1])
        if n.run.training:
            count = n.number(f"rows_{len(rows)}", len(rows))
            mean = n.div(n.row_sum(rows, "sum"), count, "mean")
            centred = n.sub(rows, mean, "centred")
            variance = n.div(n.row_dot(centred, centred, "sum_of_squares"), count, "variance")
            self._remember(mean, variance, len(rows))
        else:
            centred, variance = n.sub(rows, buffers["mean"], "centred"), buffers["variance"]
        self._scale = _scale(n, variance)
        self._normal = n.mul(centred, self._scale, "normal", out=centred)
        y = n.mul(self._normal, self.params["weight"], "weighted")
        return n.vector(n.add(y, self.params["bias"], "norm", out=y)).reshape(x.shape)

    def _remember(self, mean: Array, variance: Array, count: int) -> None:
        n, part = self.numerics, self.momentum
        if self.averaged is not None:
            self.averaged += 1
            part = 1 / self.averaged
        keep, take = n.number("running_keep", 1 - part), n.number("running_take", part)
        bessel = n.number(f"unbiased_{count}", count / max(count - 1, 1))
        for name, statistic in (("mean", mean), ("variance", n.mul(variance, bessel, "unbiased"))):
            old, new = n.mul(self.buffers[name], keep, f"{name}_kept"), n.mul(statistic, take, f"{name}_taken")
            self.buffers[name] = n.add(old, new, f"running_{name}")

    def backward(self, dy: Array) -> Array:
        n, rows = self.numerics, dy.reshape(-1, dy.shape[-1])
        normal, weight, count = self._normal, self.params["weight"], len(rows)
        bias, along = n.row_sum(rows, "bias_gradient"), n.row_dot(rows, normal, "weight_gradient")
        self.grads = {"weight": along, "bias": bias}
        factor = n.mul(weight, self._scale, "weight_scale")
        if not n.run.training:
            return n.vector(n.mul(rows, factor, "norm_gradient")).reshape(self._shape)
        share = n.div(along, n.number(f"minus_rows_{count}", -count), "weight_share")
        dx = n.mul(normal, share, "along")
        dx = n.add(dx, rows, "moved", out=dx)
        dx = n.sub(dx, n.div(bias, n.number(f"rows_{count}", count), "bias_share"), "centred_error", out=dx)
        return n.vector(n.mul(dx, factor, "norm_gradient", out=dx)).reshape(self._shape)


class LayerNorm(Layer):
    """Over the last axis."""

    kind = "norm"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.params = {"weight": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}

    def forward(self, x: Array) -> Array:
        n = self.numerics
        centred = n.sub(x, _last_mean(n, x, "mean"), "centred")
        self._scale = _scale(n, _last_mean(n, n.mul(centred, centred, "squares"), "variance"))
        self._normal = n.mul(centred, self._scale, "normal")
        return n.vector(n.add(n.mul(self._normal, self.params["weight"], "weighted"), self.params["bias"], "norm"))

    def backward(self, dy: Array) -> Array:
        n, normal, width = self.numerics, self._normal, dy.shape[-1]
        rows = dy.reshape(-1, width)
        self.grads = {"weight": _weight_gradient(n, dy, normal), "bias": n.row_sum(rows, "bias_gradient")}
        inner = n.mul(dy, self.params["weight"], "inner")
        along = _along(n, inner, normal)
        centred = n.sub(n.sub(inner, _last_mean(n, inner, "inner_mean"), "centred_inner"), along, "centred_error")
        return n.vector(n.mul(centred, self._scale, "norm_gradient"))


class RMSNorm(Layer):
    """Over the last axis: x over the root of its mean square, times the weight."""

    kind = "norm"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.params = {"weight": np.ones(width, np.float32)}

    def forward(self, x: Array) -> Array:
        n = self.numerics
        self._scale = _scale(n, _last_mean(n, n.mul(x, x, "squares"), "mean_square"))
        self._normal = n.mul(x, self._scale, "normal")
        return n.vector(n.mul(self._normal, self.params["weight"], "norm"))

    def backward(self, dy: Array) -> Array:
        n, normal = self.numerics, self._normal
        self.grads = {"weight": _weight_gradient(n, dy, normal)}
        inner = n.mul(dy, self.params["weight"], "inner")
        return n.vector(n.mul(n.sub(inner, _along(n, inner, normal), "across"), self._scale, "norm_gradient"))


def _weight_gradient(n: Numerics, dy: Array, normal: Array) -> Array:
    """The sum of the errors times the normalized values."""
    return n.row_sum(n.mul(dy, normal, "error_normal").reshape(-1, dy.shape[-1]), "weight_gradient")


def _along(n: Numerics, inner: Array, normal: Array) -> Array:
    """The part of the errors along the normalized values, which the normalization takes out."""
    return n.mul(normal, _last_mean(n, n.mul(inner, normal, "inner_normal"), "along_mean"), "along")


def _last_mean(n: Numerics, x: Array, name: str) -> Array:
    """The mean over the last axis, which stays with a size of 1."""
    width = x.shape[-1]
    return n.div(n.last_sum(x, f"{name}_sum"), n.number(f"width_{width}", width), name)


def _scale(n: Numerics, variance: Array) -> Array:
    """One over the deviation."""
    epsilon = n.number("epsilon", variance.dtype.type(EPSILON))
    deviation = n.sqrt(n.add(variance, epsilon, "variance_and_epsilon"), "deviation")
    return n.div(n.number("one", 1), deviation, "scale")
