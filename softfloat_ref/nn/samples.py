"""Images that a trained generator makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.base.tables import read_file
from softfloat_ref.nn import checkpoint
from softfloat_ref.nn.train import AVERAGED, CHECKPOINT, RECIPE, TrainingRun, load_data
from softfloat_ref.nn.training_recipe import read_recipe

Array = NDArray[Any]


class Samples(NamedTuple):
    """Images of the test data and as many generated ones, from 0 to 1; the step they are of, and the distance between
    all test data and as many generated images."""

    data: Array
    generated: Array
    step: int
    distance: float


def sample_images(folder: Path, count: int, averaged: bool = False) -> Samples:
    """Of a run in a folder; averaged: of its averaged weights. Raises Error."""
    path = folder / (AVERAGED if averaged else CHECKPOINT)
    if not path.is_file():
        raise Error(
            f"{folder}: not a training run{' with averaged weights' if averaged else ''}: it has no {path.name}"
        )
    recipe = read_file(folder / RECIPE, lambda table: read_recipe(table, folder.name))
    training = TrainingRun(recipe, load_data(recipe))
    trainer, test = training.trainer, training.data.test_x
    if not 1 <= count <= len(test):
        raise Error(f"{count} samples: the run has test data for 1 to {len(test)}")
    arrays, meta = checkpoint.load(path)
    trainer.restore(arrays)
    with trainer.inference():
        generated = trainer.objective.generate(count)
    largest = float(recipe.model.get("largest", 1))
    data, images = ((x / largest + 1).clip(0, 2) / 2 for x in (test[:count], generated))
    return Samples(data, images, int(meta["step"]), training.evaluate().counted)
