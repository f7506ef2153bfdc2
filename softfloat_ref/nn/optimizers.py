"""Optimizers by name: each product, sum, quotient and root of an update in FP32, in the order written here.

The state of a weight and the master weight are held in the formats of the roles optimizer and master. Numbers that all
weights share (rates, powers of the decays) are computed in float64, the same on every machine, and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.base.names import entry
from softfloat_ref.base.tables import Range, from_table
from softfloat_ref.nn.checkpoint import OTHER_NETWORK, check_like, under
from softfloat_ref.nn.numerics import Numerics
from softfloat_ref.nn.schedules import power

Array = NDArray[Any]
State = Mapping[str, Array]
STEPS: Final = "optimizer/steps"  # in a checkpoint: the number of updates, by turn


@dataclass(frozen=True)
class Optimizer:
    """The settings of an optimizer, and its update. kind: its name in a recipe. clip_norm: gradients are scaled down to
    this length of all of them together (0: never).

    counts: whether it uses the number of updates.
    """

    kind: str = ""
    rate: Annotated[float, Range(0)] = 0.1
    weight_decay: Annotated[float, Range(0)] = 0.0
    clip_norm: Annotated[float, Range(0)] = 0.0

    counts: ClassVar[bool] = False

    @property
    def states(self) -> tuple[str, ...]:
        """The arrays that it keeps of each weight, zero at first, by their names in a checkpoint."""
        return ()

    def update(self, weight: Array, gradient: Array, state: State, rate: float, step: int, n: Numerics) -> Array:
        """Change a weight and its state in place; returns the weight. gradient: unscaled, and may be changed. rate: by
        the schedule. step: the number of this update, from 1."""
        raise NotImplementedError

    def decayed(self, weight: Array, gradient: Array, n: Numerics) -> Array:
        """g + weight_decay w."""
        if not self.weight_decay:
            return gradient
        decay = n.mul(n.number("weight_decay", self.weight_decay), weight, "decay")
        return n.add(gradient, decay, "decayed", out=gradient)


@dataclass(frozen=True)
class SGD(Optimizer):
    """v <- momentum v + (g + weight_decay w), w <- w - rate v; nesterov: w <- w - rate (g + weight_decay w +
    momentum v), of the new v."""

    kind: str = "sgd"
    momentum: Annotated[float, Range(0)] = 0.0
    nesterov: bool = False

    @property
    def states(self) -> tuple[str, ...]:
        return ("velocity",) if self.momentum else ()

    def __post_init__(self) -> None:
        refuse("optimizer 'sgd'", ("nesterov needs a momentum above 0", self.nesterov and not self.momentum))

    def update(self, weight: Array, gradient: Array, state: State, rate: float, step: int, n: Numerics) -> Array:
        gradient = self.decayed(weight, gradient, n)
        if self.momentum:
            momentum = n.number("momentum", self.momentum)
            velocity = n.mul(state["velocity"], momentum, "momentum", out=state["velocity"])
            velocity = stored(n.add(velocity, gradient, "velocity", out=velocity), "optimizer", n)
            if self.nesterov:
                gradient = n.add(gradient, n.mul(velocity, momentum, "ahead"), "nesterov", out=gradient)
            else:
                gradient = velocity
        change = n.mul(n.number("rate", rate), gradient, "change")
        return stored(n.sub(weight, change, "updated", out=weight), "master", n)


@dataclass(frozen=True)
class Adam(Optimizer):
    """m <- beta1 m + (1 - beta1) g, v <- beta2 v + (1 - beta2) g g, with g + weight_decay w as g;
    w <- w - rate / (1 - beta1^t) (m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)) in the t-th update."""

    kind: str = "adam"
    rate: Annotated[float, Range(0)] = 0.001
    beta1: Annotated[float, Range(0, 1)] = 0.9
    beta2: Annotated[float, Range(0, 1)] = 0.999
    epsilon: Annotated[float, Range(0)] = 1e-8

    counts = True

    @property
    def states(self) -> tuple[str, ...]:
        return "first_moment", "second_moment"

    def __post_init__(self) -> None:
        refuse(
            f"optimizer {self.kind!r}",
            ("beta1 and beta2 must be below 1", max(self.beta1, self.beta2) == 1),
            ("epsilon must be above 0 in FP32", not np.float32(self.epsilon)),
        )

    def update(self, weight: Array, gradient: Array, state: State, rate: float, step: int, n: Numerics) -> Array:
        gradient = self.decayed(weight, gradient, n)
        first = self._moment("first_moment", gradient, self.beta1, state, n)
        second = self._moment("second_moment", n.mul(gradient, gradient, "square"), self.beta2, state, n)
        unbiased = n.number(f"second_correction_{step}", math.sqrt(1 - power(self.beta2, step)))
        deviation = n.div(n.sqrt(second, "root"), unbiased, "deviation")
        deviation = n.add(deviation, n.number("epsilon", self.epsilon), "denominator", out=deviation)
        change = n.div(first, deviation, "quotient", out=deviation)
        size = n.number("step_size", rate / (1 - power(self.beta1, step)))
        change = n.mul(change, size, "change", out=change)
        return stored(n.sub(weight, change, "updated", out=weight), "master", n)

    @staticmethod
    def _moment(name: str, x: Array, beta: float, state: State, n: Numerics) -> Array:
        """beta m + (1 - beta) x, which is kept."""
        old = n.mul(state[name], n.number(f"{name}_keep", beta), f"{name}_kept",
                     out=state[name])  # fmt: skip
        new = n.mul(x, n.number(f"{name}_take", 1 - beta), f"{name}_taken")
        return stored(n.add(old, new, name, out=old), "optimizer", n)


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam whose decay does not pass through the moments: w <- (1 - rate weight_decay) w first."""

    kind: str = "adamw"
    weight_decay: Annotated[float, Range(0)] = 0.01

    def update(self, weight: Array, gradient: Array, state: State, rate: float, step: int, n: Numerics) -> Array:
        if self.weight_decay:
            keep = n.number("weight_keep", 1 - rate * self.weight_decay)
            weight = n.mul(weight, keep, "weight_decayed", out=weight)
        return super().update(weight, gradient, state, rate, step, n)

    def decayed(self, weight: Array, gradient: Array, n: Numerics) -> Array:
        return gradient


OPTIMIZERS: Final[dict[str, type[Optimizer]]] = {"sgd": SGD, "adam": Adam, "adamw": AdamW}


def read_optimizer(table: Mapping[str, Any]) -> Optimizer:
    """The optimizer of an [optimizer] table. Raises Error."""
    kind = table.get("kind", "sgd")
    chosen = entry("optimizer", kind, OPTIMIZERS, Optimizer)
    if chosen.update is Optimizer.update:
        raise Error(f"optimizer {kind!r} has no update")
    return from_table(chosen, {**table, "kind": kind}, "[optimizer]")


class Updates:
    """The updates by one optimizer of a network's weights, or of those of one turn of a step, whose names begin with
    it. steps: how many there were."""

    def __init__(self, optimizer: Optimizer, turn: str = "") -> None:
        self.optimizer, self.steps, self._turn = optimizer, 0, turn
        self._counted = f"{STEPS}/{turn}" if turn else STEPS
        self._states: dict[str, dict[str, Array]] = {}

    def begin(self) -> None:
        """Start the next update, of every weight once."""
        self.steps += 1

    def update(self, name: str, weight: Array, gradient: Array, factor: float, numerics: Numerics) -> Array:
        """Change a weight in place; returns it. factor: of the rate, from the schedule; gradient: unscaled, and may be
        changed. Raises Error if the optimizer does not return the weight."""
        by = self.optimizer
        if name not in self._states:
            self._states[name] = {key: np.zeros(weight.shape, weight.dtype) for key in by.states}
        state = {key: numerics.given(f"{key}_before", array) for key, array in self._states[name].items()}
        updated = by.update(weight, gradient, state, by.rate * factor, self.steps, numerics)
        if not isinstance(updated, np.ndarray) or (updated.shape, updated.dtype) != (weight.shape, weight.dtype):
            raise Error(f"optimizer {by.kind!r}: update must return the weight")
        return updated

    def state(self) -> dict[str, Array]:
        """What a checkpoint stores: `KEY/WEIGHT` for each array, and the number of updates where it counts."""
        arrays = {f"{key}/{name}": array for name, state in self._states.items() for key, array in state.items()}
        return arrays | ({self._counted: np.array(self.steps, np.int64)} if self.optimizer.counts else {})

    def restore(self, state: Mapping[str, Array], weights: Mapping[str, Array]) -> None:
        """Go on from what `state` gave, among other arrays. Raises Error for that of other weights or another
        optimizer."""
        states = {key: check_like(self._own(state, key), weights) for key in self.optimizer.states}
        names = {frozenset(arrays) for arrays in states.values()}
        steps = state.get(self._counted, np.array(0 if not self.optimizer.counts else -1))
        if len(names) > 1 or steps.shape or steps.dtype.kind not in "iu" or steps < 0:
            raise Error(OTHER_NETWORK)
        self.steps = int(steps)
        self._states = {
            name: {key: arrays[name].copy() for key, arrays in states.items()}
            for name in next(iter(states.values()), {})  # in the order that they had, so that files are the same
        }

    def _own(self, state: Mapping[str, Array], key: str) -> dict[str, Array]:
        return {name: array for name, array in under(f"{key}/", state).items() if name.startswith(self._turn)}


def stored(x: Array, role: str, numerics: Numerics) -> Array:
    """x in the format of its role, in place."""
    return numerics.assign(x, numerics.hold(x, role).along(-1))
