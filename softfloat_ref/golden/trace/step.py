"""Tracing a training step: the network trains by its training recipe up to this step, which is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.case import Codes
from softfloat_ref.golden.trace.model import TraceSet
from softfloat_ref.golden.trace.numerics import RecordingNumerics
from softfloat_ref.golden.trace.recorder import Array, Recorder
from softfloat_ref.nn.data import Dataset
from softfloat_ref.nn.train import TrainingRun, Watch, load_data
from softfloat_ref.nn.trainer import Trainer
from softfloat_ref.nn.training_recipe import Recipe


class TracedStep(NamedTuple):
    """A trace, and the codes of its tensors."""

    trace: TraceSet
    codes: dict[str, Codes]


class _Done(Exception):
    def __init__(self, traced: TracedStep) -> None:
        super().__init__()
        self.traced = traced


def trace_step(recipe: Recipe, step: int, data: Dataset | None = None, watch: Watch | None = None) -> TracedStep:
    """Train by a training recipe up to a step, counted from 1, and record this step.

    Products are summed by the recipe's accumulator. If that is BLAS, whose order is undefined, the products of the
    recorded step are summed by mx-fp32 (blocks) or fp32-sequential. Raises Error for a step that the run does not
    have, and Diverged.
    """
    if recipe.training.shards > 1:
        raise Error("training.shards: a step in shards is not traced; give shards = 1")
    training = TrainingRun(recipe, load_data(recipe) if data is None else data, watch=watch)
    trainer = training.trainer
    plain = trainer.step

    def stepped(number: int, x: Array, y: Array, factor: float = 1.0) -> Any:
        if number < step:
            return plain(number, x, y, factor)
        recorder = _recording(trainer)
        plain(number, recorder.input("input/x", x), recorder.input("input/labels", y), factor)
        raise _Done(TracedStep(recorder.trace(recipe.name, recipe.to_toml(), step), recorder.codes))

    trainer.step = stepped  # type: ignore[method-assign]
    if step < 1:
        raise Error(f"step {step}: steps are numbered from 1")
    try:
        training.run()
    except _Done as done:
        return done.traced
    raise Error(f"step {step}: the run has {training.number} steps")


def write_step(
    recipe: Recipe, step: int, folder: Path, command: Sequence[str] = (), watch: Watch | None = None
) -> TraceSet:
    """Trace a training step into a folder: every tensor, with its operation. command: for the manifest, what made it.

    Raises Error and Diverged."""
    from softfloat_ref.golden.trace.files import refuse_other, write_trace

    refuse_other(folder)
    trace, codes = trace_step(recipe, step, watch=watch)
    write_trace(trace, codes, folder, command)
    return trace


def _recording(trainer: Trainer) -> Recorder:
    """The recorder of the trainer from this step on."""
    recorder = Recorder()
    for name, layer in trainer.layers.items():
        layer.numerics = RecordingNumerics(layer.numerics, recorder)
        for tensors in (layer.params, layer.buffers):
            tensors.update({key: recorder.input(f"{name.replace('.', '/')}/{key}", x) for key, x in tensors.items()})
    trainer.objective.numerics = RecordingNumerics(trainer.objective.numerics, recorder)
    return recorder
