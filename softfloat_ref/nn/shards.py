"""Data-parallel steps: a minibatch in shards of fixed sizes, each a task for a worker, whose gradients are added in the
order of the shards. So the number of workers changes no bit; the number of shards does.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import Workers, in_order
from softfloat_ref.nn.data import Dataset
from softfloat_ref.nn.layers import Layer
from softfloat_ref.nn.objectives import Passed
from softfloat_ref.nn.trainer import Trainer
from softfloat_ref.nn.training_recipe import Recipe

Array = NDArray[Any]


class ShardTask(NamedTuple):
    """A task. data: without examples; weights by layer and name, buffers by layer: before the step; scale: of the
    shard's mean loss."""

    recipe: Recipe
    data: Dataset
    weights: Mapping[str, Array]
    buffers: Mapping[str, Mapping[str, Array]]
    step: int
    number: int
    x: Array
    y: Array
    scale: float


class ShardResult(NamedTuple):
    """The result of a task. gradients: none if the loss is not finite."""

    passed: Passed
    size: int
    gradients: Mapping[str, Array]
    buffers: Mapping[str, Mapping[str, Array]]


class ShardedTrainer(Trainer):
    """A trainer whose steps are done in shards. pool: where; by default one after the other in this process.

    Each shard is a pass of its own: with its own statistics of batch norm, whose running statistics are the first
    shard's, and its own random words. Gradients are added in FP32. Raises Error for a network that cannot be trained in
    shards: one that carries states or ranges from batch to batch, or that is trained in turns.
    """

    def __init__(self, recipe: Recipe, data: Dataset, pool: Workers | None = None) -> None:
        super().__init__(recipe, data)
        self._pool = pool or Workers()
        parts = ("train_x", "train_y", "test_x", "test_y")
        self._data = dataclasses.replace(data, **{part: getattr(data, part)[:0] for part in parts})
        self._axis = 1 if data.kind == "text" else 0
        if len(self.objective.turns) > 1:
            raise Error(f"training.shards: model {recipe.model['kind']!r} is trained in turns; give shards = 1")
        for name, layer in self.layers.items():
            _check(name, layer)

    def part(self, shard: ShardTask) -> ShardResult:
        """One shard's passes, by the layers of this trainer."""
        self.place(shard.weights)
        for name, buffers in shard.buffers.items():
            self.layers[name].buffers = dict(buffers)
        self.run.begin(shard.step, turn=f"/shard {shard.number}")
        passed = super()._passes("", shard.x, shard.y, shard.scale)
        finite = math.isfinite(passed.loss)
        passed = passed._replace(output=passed.output[:0] if finite else passed.output)
        return ShardResult(passed, shard.y.size, self.gradients() if finite else {}, self._buffers())

    def _passes(self, turn: str, x: Array, y: Array, scale: float) -> Passed:
        step, shards = self.run.step, self._shards(x, y, scale)
        here = self._pool.executor is None
        parts = list(map(self.part, shards) if here else in_order(self._pool, _work, shards))
        self.run.begin(step, turn=turn)
        for name, buffers in parts[0].buffers.items():
            self.layers[name].buffers = dict(buffers)
        worst = next((part.passed for part in parts if not math.isfinite(part.passed.loss)), None)
        if worst is not None:
            return worst
        self._add(parts)
        loss = math.fsum(part.passed.loss * part.size for part in parts) / y.size
        return Passed(loss, sum(part.passed.correct for part in parts), parts[0].passed.output)

    def _again(self, turn: str, number: int, x: Array, y: Array, scale: float) -> None:
        self._pool = Workers()  # the layers that are watched are those of this process
        super()._again(turn, number, x, y, scale)

    def _shards(self, x: Array, y: Array, scale: float) -> list[ShardTask]:
        """Of equal sizes, but for a short minibatch, whose last shards are short or missing."""
        t, axis = self.recipe.training, self._axis
        size = t.batch // t.shards
        places = range(size, x.shape[axis], size)
        common = self.recipe, self._data, self.parameters(), self._buffers(), self.run.step
        pairs = zip(np.split(x, places, axis), np.split(y, places, axis), strict=True)
        return [ShardTask(*common, i, a, b, scale * b.size / y.size) for i, (a, b) in enumerate(pairs)]

    def _add(self, parts: Sequence[ShardResult]) -> None:
        """Leave the sum of the parts' gradients in the layers."""
        total = dict(parts[0].gradients)
        for part in parts[1:]:
            for name, gradient, layer in self._each(part.gradients):
                total[name] = layer.numerics.add(total[name], gradient, "gradient_sum")
        for name, gradient, layer in self._each(total):
            layer.grads[name.rpartition(".")[2]] = gradient

    def _buffers(self) -> dict[str, dict[str, Array]]:
        return {name: dict(layer.buffers) for name, layer in self.layers.items() if layer.buffers}


def _check(name: str, layer: Layer) -> None:
    moving = next(filter(layer.numerics.averages, layer.numerics.specs), None)
    if type(layer).reset is not Layer.reset:
        raise Error(f"training.shards: {name} ({layer.kind}) carries a state from step to step; give shards = 1")
    if moving is not None:
        raise Error(f"training.shards: {moving} of {name} has a moving average of ranges; give shards = 1")


_LAST_TASK: Final = threading.local()  # the trainer of the last task, by the thread of a worker


def _work(shard: ShardTask) -> ShardResult:
    """A task, in a worker."""
    key = shard.recipe.to_toml(), shard.data.train_x.shape, shard.data.classes
    if getattr(_LAST_TASK, "key", None) != key:
        _LAST_TASK.trainer, _LAST_TASK.key = ShardedTrainer(shard.recipe, shard.data), key
    trainer: ShardedTrainer = _LAST_TASK.trainer
    return trainer.part(shard)
