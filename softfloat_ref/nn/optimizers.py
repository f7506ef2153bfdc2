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
        number = weight.dtype.type
        if self.weight_decay:
            gradient += number(self.weight_decay) * weight
        if self.momentum:
            velocity = self.velocity.setdefault(name, np.zeros_like(weight))
            velocity *= number(self.momentum)
            velocity += gradient
            _hold(velocity, "optimizer", numerics)
            gradient = velocity
        weight -= number(self.rate * factor) * gradient
        _hold(weight, "master", numerics)

    def state(self) -> dict[str, Array]:
        """What a checkpoint stores."""
        return dict(self.velocity)

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a stored state."""
        self.velocity = {name: array.copy() for name, array in state.items()}


def _hold(x: Array, role: str, numerics: Numerics) -> None:
    held = numerics.hold(x, role).along(-1)
    if held is not x:
        x[...] = held
