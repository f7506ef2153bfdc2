"""Tracing a training step: the network trains as its recipe says up to there; that step is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softfloat_ref.errors import Error
from softfloat_ref.golden.trace.layers import LABELS, Watcher
from softfloat_ref.golden.trace.model import TraceSet
from softfloat_ref.golden.trace.numbers import FP32, Codes
from softfloat_ref.golden.trace.numerics import RecordingNumerics
from softfloat_ref.golden.trace.recorder import Array, Made, Recorder
from softfloat_ref.nn.data import Dataset
from softfloat_ref.nn.numerics import Numerics
from softfloat_ref.nn.optimizers import SGD
from softfloat_ref.nn.recipe import Recipe
from softfloat_ref.nn.train import Training, Watch, load_data
from softfloat_ref.nn.trainer import Trainer


class Traced(NamedTuple):
    """A trace, and the codes of its tensors."""

    trace: TraceSet
    codes: dict[str, Codes]


class _Done(Exception):
    def __init__(self, traced: Traced) -> None:
        super().__init__()
        self.traced = traced


def trace_step(recipe: Recipe, step: int, data: Dataset | None = None, watch: Watch | None = None) -> Traced:
    """Train a recipe to a step, counted from 1, and record that one.

    Products are added up by the recipe's accumulator; where that is BLAS, whose order nothing defines, those of the
    recorded step by mx-fp32 (blocks) or fp32-sequential. Raises Error for a step that the run does not have, and
    Diverged.
    """
    training = Training(recipe, load_data(recipe) if data is None else data, watch=watch)
    trainer = training.trainer
    plain = trainer.step

    def stepped(number: int, x: Array, y: Array, factor: float = 1.0) -> Any:
        if number < step:
            return plain(number, x, y, factor)
        recorder = Recorder()
        _instrument(trainer, recorder, x, y)
        plain(number, x, y, factor)
        raise _Done(Traced(recorder.trace(recipe.name, recipe.to_toml(), step), recorder.codes))

    trainer.step = stepped  # type: ignore[method-assign]
    if step < 1:
        raise Error(f"step {step}: steps are counted from 1")
    try:
        training.run()
    except _Done as done:
        return done.traced
    raise Error(f"step {step}: the run has {training.number} steps")


def write_step(recipe: Recipe, step: int, folder: Path, command: list[str], watch: Watch | None = None) -> TraceSet:
    """Trace a step into a folder. Raises Error and Diverged."""
    from softfloat_ref.golden.trace.files import refuse_other, write_trace

    refuse_other(folder)
    trace, codes = trace_step(recipe, step, watch=watch)
    write_trace(trace, codes, folder, command)
    return trace


def _instrument(trainer: Trainer, recorder: Recorder, x: Array, y: Array) -> None:
    recorder.given("input/x", x)
    recorder.given(LABELS, y)
    for name, weight in trainer.parameters().items():
        recorder.given(name.replace(".", "/"), weight)
    watcher = Watcher(recorder)
    for name, layer in trainer.layers.items():
        layer.numerics = RecordingNumerics(layer.numerics, watcher)
        watcher.watch(name.replace(".", "/"), layer)
    trainer.loss_numerics = RecordingNumerics(trainer.loss_numerics, watcher)
    trainer.optimizer = optimizer = RecordingSGD(trainer, watcher)
    setattr(trainer, "_clip", optimizer.clipping(trainer._clip, trainer.recipe.optimizer.clip_norm))  # noqa: B010


class RecordingSGD(SGD):
    """The optimizer's update, each product and sum a node; the bits are those of SGD."""

    def __init__(self, trainer: Trainer, watcher: Watcher) -> None:
        of = trainer.optimizer
        super().__init__(of.rate, of.momentum, of.weight_decay)
        self.velocity = of.velocity
        self._watcher, self._recorder = watcher, watcher.recorder
        self._scale = trainer.scaler.scale
        self._unclipped: dict[str, Array] = {}
        self._factor = np.float32(1)

    def clipping(
        self, clip: Callable[[Mapping[str, Array]], None], limit: float
    ) -> Callable[[Mapping[str, Array]], None]:
        """The trainer's clipping, with the factor and the gradients before it remembered."""

        def clipped(gradients: Mapping[str, Array]) -> None:
            if limit:
                self._unclipped = {name.replace(".", "/"): g.copy() for name, g in gradients.items()}
                length = sqrt(sum(float(np.vdot(g, g)) for g in gradients.values()))
                self._factor = np.float32(limit / length) if length > limit else np.float32(1)
            clip(gradients)

        return clipped

    def update(self, name: str, weight: Array, gradient: Array, factor: float, numerics: Numerics) -> None:
        """Change a weight in place."""
        with self._watcher.at(*name.replace(".", "/").rsplit("/", 1)):
            self._update(name, weight, gradient, factor, numerics)

    def _update(self, name: str, weight: Array, gradient: Array, factor: float, numerics: Numerics) -> None:
        place, shape = name.replace(".", "/"), weight.shape
        w, g = self._recorder.given(place, weight), self._used(place, gradient)
        if self.weight_decay:
            decay = self._recorder.constant("weight_decay", np.float32(self.weight_decay))
            g = self._do("add", g, self._do("mul", decay, w, f"{place}/decay", shape), f"{place}/decayed", shape)
        if self.momentum:
            velocity = self.velocity.setdefault(name, np.zeros_like(weight))
            v = self._recorder.given(f"{place}/velocity_before", velocity)
            momentum = self._recorder.constant("momentum", np.float32(self.momentum))
            v = self._do("mul", v, momentum, f"{place}/momentum", shape)
            g = self._held(self._do("add", v, g, f"{place}/velocity", shape), "optimizer", velocity, numerics)
        rate = self._recorder.constant("rate", np.float32(self.rate * factor))
        moved = self._do("mul", rate, g, f"{place}/change", shape)
        self._held(self._do("sub", w, moved, f"{place}/updated", shape), "master", weight, numerics)

    def _used(self, place: str, gradient: Array) -> str:
        """The gradient that is used, from the one of the scaled loss: over the scale, then clipped."""
        found, scaled = self._recorder.find(gradient), self._watcher.gradients.get(place)
        if found is not None or scaled is None:
            return self._watcher.know(gradient, "gradient")
        scale = self._recorder.constant("loss_scale", np.float32(self._scale))
        g = self._explained("div", scaled, scale, self._unclipped.get(place, gradient), f"{place}/gradient")
        if self._factor == 1:
            return g
        factor = self._recorder.constant("clip_factor", self._factor)
        return self._explained("mul", g, factor, gradient, f"{place}/clipped_gradient")

    def _explained(self, op: str, of: str, number: str, x: Array, name: str) -> str:
        """x as an operation of a tensor and a number; recorded, should it give other bits."""
        found = self._recorder.find(x)
        views = [self._recorder.view(of, x.shape), self._recorder.view(number)]
        found = found or self._recorder.explain(x, op, views, Made(name, FP32, x.shape))
        return found or self._recorder.record(x, name, op, views)

    def _do(self, op: str, a: str, b: str, name: str, shape: tuple[int, ...]) -> str:
        views = [self._recorder.view(x, () if x.startswith("constants/") else shape) for x in (a, b)]
        return self._recorder.make(op, views, [Made(name, FP32, shape)])[0]

    def _held(self, name: str, role: str, target: Array, numerics: Numerics) -> str:
        """Put a tensor into its place, in the format of its role."""
        target[...] = self._recorder.values(name).reshape(target.shape)
        held = numerics.hold(target, role).along(-1)
        if held is not target:
            target[...] = held
        return self._watcher.know(target, role)
