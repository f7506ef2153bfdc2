"""Stochastic gradient descent: the update is computed in FP32, its state and the master weights are held in formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.nn.numerics import Numerics

Array = NDArray[Any]


class SGD:
    """v <- momentum v + (g + weight_decay w), w <- w - rate v; each product and sum in FP32.

    v is held in the format of the role optimizer, w in that of the role master.
    """

    def __init__(self, rate: float, momentum: float = 0.0, weight_decay: float = 0.0) -> None:
        self.rate, self.momentum, self.weight_decay = rate, momentum, weight_decay
        self.velocity: dict[str, Array] = {}

    def update(self, name: str, weight: Array, gradient: Array, factor: float, numerics: Numerics) -> None:
        """Change a weight in place. factor: of the rate, from the schedule; gradient: unscaled, and may be changed."""
        n, number = numerics, weight.dtype.type
        if self.weight_decay:
            decay = n.mul(n.number("weight_decay", number(self.weight_decay)), weight, "decay")
            gradient = n.add(gradient, decay, "decayed", out=gradient)
        if self.momentum:
            velocity = self.velocity.setdefault(name, np.zeros(weight.shape, weight.dtype))
            velocity = n.given("velocity_before", velocity)
            velocity = n.mul(velocity, n.number("momentum", number(self.momentum)), "momentum", out=velocity)
            gradient = _stored(n.add(velocity, gradient, "velocity", out=velocity), "optimizer", n)
        change = n.mul(n.number("rate", number(self.rate * factor)), gradient, "change")
        _stored(n.sub(weight, change, "updated", out=weight), "master", n)

    def state(self) -> dict[str, Array]:
        """What a checkpoint stores."""
        return dict(self.velocity)

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a stored state."""
        self.velocity = {name: array.copy() for name, array in state.items()}


def _stored(x: Array, role: str, numerics: Numerics) -> Array:
    """x in the format of its role, in place."""
    return numerics.assign(x, numerics.hold(x, role).along(-1))
