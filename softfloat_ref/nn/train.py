"""The training loop: epochs, log, checkpoints, averages. The same recipe and seed give the same bits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from softfloat_ref import __version__
from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.base.executors import Workers
from softfloat_ref.base.files import make_folder, write_file
from softfloat_ref.nn import checkpoint
from softfloat_ref.nn.data import Dataset, batches, load, text_batches
from softfloat_ref.nn.models import ADVERSARIES
from softfloat_ref.nn.numerics import BLAS
from softfloat_ref.nn.objectives import Score, ScoreMeasure
from softfloat_ref.nn.runlog import RunLog, is_number
from softfloat_ref.nn.schedules import schedule
from softfloat_ref.nn.shards import ShardedTrainer
from softfloat_ref.nn.statistics import Statistics
from softfloat_ref.nn.swa import Averager
from softfloat_ref.nn.trainer import Diverged, Trainer
from softfloat_ref.nn.training_recipe import Recipe

Array = NDArray[Any]
RECIPE: Final = "recipe.toml"
LOG: Final = "log.jsonl"
CHECKPOINT: Final = "checkpoint.npz"
AVERAGED: Final = "averaged.npz"
GRADIENTS: Final = "gradients.npz"
_TEST_BATCH: Final = 256


@dataclass
class Epoch:
    """One epoch's figures: mean training loss, score on the test data, skipped steps, seconds."""

    number: int
    step: int
    loss: float
    test: Score
    skipped: int
    scale: float
    seconds: float


@dataclass
class TrainingResult:
    """The result of a run. averaged: the score of the averaged weights, if the recipe averages after training."""

    recipe: Recipe
    measure: ScoreMeasure
    epochs: list[Epoch] = field(default_factory=list)
    averaged: Score | None = None

    @property
    def final(self) -> Score:
        """The score after the last epoch."""
        return self.epochs[-1].test

    @property
    def products(self) -> str:
        """How products were added up."""
        names = {self.recipe.accumulator, *(o.accumulator for o in self.recipe.overrides if o.accumulator)}
        exact = sorted(names - {BLAS})
        blas = "BLAS in FP32 on decoded values"
        if not exact:
            return blas
        named = f"bit-exact {', '.join(exact)}"
        exempt = BLAS in names or any(o.exempt for o in self.recipe.overrides)
        return f"{named}; {blas} in exempt layers" if exempt else named


@dataclass
class Watch:
    """Callbacks: for each step (its number, its loss), and for each epoch."""

    step: Callable[[int, float], None] = lambda number, loss: None
    epoch: Callable[[Epoch], None] = lambda epoch: None


def load_data(recipe: Recipe) -> Dataset:
    """The recipe's data. Raises Error."""
    table = dict(recipe.data)
    name, root = table.pop("name", None), table.pop("root", None)
    if not isinstance(name, str):
        raise Error('[data] name = "..." is missing')
    seed = table.pop("seed", 0)  # the same data whatever the training's seed
    return load(name, seed=seed, root=None if root is None else Path(root), **table)


def steps_of(recipe: Recipe, data: Dataset) -> int:
    """Steps of one epoch."""
    t = recipe.training
    if data.kind == "text":
        return ((len(data.train_x) - 1) // t.batch) // t.length
    return -(-len(data.train_x) // t.batch)


class TrainingRun:
    """A run of a recipe over data. out: the folder of its files, or none; pool: where the shards of its steps are
    done."""

    def __init__(
        self,
        recipe: Recipe,
        data: Dataset,
        out: Path | None = None,
        watch: Watch | None = None,
        count: bool = False,
        pool: Workers | None = None,
    ) -> None:
        sharded = recipe.training.shards > 1
        refuse("training.shards", ("statistics need steps in one shard; give shards = 1", sharded and count))
        self.recipe, self.data, self.out, self.watch = recipe, data, out, watch or Watch()
        _check_sizes(recipe, data)
        self.trainer = ShardedTrainer(recipe, data, pool) if sharded else Trainer(recipe, data)
        self.statistics = Statistics(self.trainer) if count else None
        self.averager = Averager(recipe.swa or None, recipe.training.epochs)
        self.factor = schedule(recipe.schedule or None)
        self.result = TrainingResult(recipe, self.trainer.measure)
        self.number, self.start = 0, 0  # steps and epochs done
        self._log: RunLog | None = None

    def run(self, resume: bool = False) -> TrainingResult:
        """Train to the last epoch. resume: go on from the folder's checkpoint. Raises Diverged and Error."""
        with ExitStack() as stack:
            if self.out is not None:
                self._open(self.out, resume)
                assert self._log is not None
                stack.enter_context(self._log)
            for epoch in range(self.start, self.recipe.training.epochs):
                self._epoch(epoch)
            self._finish()
        return self.result

    def _open(self, out: Path, resume: bool) -> None:
        make_folder(out)
        if resume:
            self._restore(out)
        elif (out / CHECKPOINT).exists() or (out / LOG).exists():
            raise Error(f"{out}: already holds a run; give --resume to continue it, or another folder")
        text = self.recipe.to_toml()
        write_file(out / RECIPE, lambda stream: stream.write(text.encode()))
        self._log = RunLog(out / LOG)
        self._log.truncate_after(self.number)
        if not self.number:
            recipe, products = self.recipe, self.result.products
            self._write(recipe=recipe.name, version=__version__, products=products, seed=recipe.training.seed)

    def _write(self, **fields: Any) -> None:
        if self._log is not None:
            self._log.write(**fields)

    def _batches(self, epoch: int) -> Iterator[tuple[Array, Array]]:
        t, data = self.recipe.training, self.data
        if data.kind == "text":
            return text_batches(data.train_x, t.batch, t.length)
        return batches(data.train_x, data.train_y, t.batch, seed=t.seed, epoch=epoch)

    def _test(self) -> Iterator[tuple[Array, Array]]:
        t, data = self.recipe.training, self.data
        if data.kind == "text":
            yield from text_batches(data.test_x, t.batch, t.length)
        else:
            for i in range(0, len(data.test_x), _TEST_BATCH):
                yield data.test_x[i : i + _TEST_BATCH], data.test_y[i : i + _TEST_BATCH]

    def _epoch(self, epoch: int) -> None:
        begin, trainer = time.perf_counter(), self.trainer
        total, count, before = 0.0, 0, trainer.scaler.skipped
        trainer.reset()
        for x, y in self._batches(epoch):
            self.number += 1
            try:
                step = trainer.step(self.number, x, y, self.factor(epoch))
            except Diverged as e:
                self._write(step=self.number, epoch=epoch + 1, diverged=str(e), tensor=e.tensor)
                raise
            total, count = total + step.loss * y.size, count + y.size
            self._after_step(epoch, step.loss)
        placed = self.averager.epoch_end(epoch, trainer.parameters())
        if placed is not None:
            self._place(placed, epoch)
        skipped = trainer.scaler.skipped - before
        score = self.evaluate()
        seconds = time.perf_counter() - begin
        self._end(Epoch(epoch + 1, self.number, total / count, score, skipped, trainer.scaler.scale, seconds))

    def evaluate(self) -> Score:
        """The weights' score on the test data."""
        return self.trainer.evaluate(self._test())

    def _after_step(self, epoch: int, loss: float) -> None:
        if self.number % self.recipe.training.log_every == 0:
            figures = {} if self.statistics is None else {"tensors": self.statistics.take()}
            self._write(step=self.number, epoch=epoch + 1, loss=loss, scale=self.trainer.scaler.scale, **figures)
        self.watch.step(self.number, loss)

    def _end(self, epoch: Epoch) -> None:
        self.result.epochs.append(epoch)
        fields = {"train_loss": epoch.loss, "test_loss": epoch.test.loss, **self._measure(epoch.test)}
        seconds = int(epoch.seconds * 1000) / 1000
        self._write(step=epoch.step, epoch=epoch.number, **fields, skipped=epoch.skipped, seconds=seconds)
        if self.out is not None:
            if self.statistics is not None:
                checkpoint.save(self.out / GRADIENTS, self.statistics.gradients(), {"step": epoch.step})
            self._save(self.out / CHECKPOINT)
        self.watch.epoch(epoch)

    def _measure(self, score: Score) -> dict[str, float]:
        return {self.result.measure.name: self.result.measure.of(score)}

    def _place(self, weights: dict[str, Array], epoch: int) -> None:
        """Put averaged weights in place, with statistics of their own."""
        self.trainer.place(weights)
        self.trainer.reset()
        self.trainer.renew_statistics(self.number, self._batches(epoch))

    def _finish(self) -> None:
        averaged = self.averager.average()
        if averaged is None:
            return
        arrays = {k: v.copy() for k, v in self.trainer.arrays().items()}
        self._place(averaged, 0)
        self.result.averaged = score = self.evaluate()
        self._write(averaged=True, test_loss=score.loss, **self._measure(score))
        if self.out is not None:
            checkpoint.save(self.out / AVERAGED, self.trainer.arrays(), {"step": self.number})
        self.trainer.restore(arrays)

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def _save(self, path: Path) -> None:
        arrays = self.trainer.arrays() | {f"swa/{k}": v for k, v in self.averager.state().items()}
        meta = {
            "step": self.number,
            "epoch": len(self.result.epochs),
            "scaler": self.trainer.scaler.state(),
            "recipe": self._identity(),
            "epochs": [_plain(e) for e in self.result.epochs],
        }
        checkpoint.save(path, arrays, meta)

    def _identity(self) -> str:
        """The recipe except for its length, which may change on resuming."""
        return self.recipe.with_training(epochs=1).to_toml()

    def _restore(self, out: Path) -> None:
        if not (out / CHECKPOINT).exists():
            return  # killed before the first epoch's end: from the beginning
        arrays, meta = checkpoint.load(out / CHECKPOINT)
        if meta.get("recipe") != self._identity():
            raise Error(
                f"{out / CHECKPOINT}: made by another training recipe or seed; resume with that one, or start a new run"
            )
        try:
            self.trainer.restore(arrays)
            self.averager.restore(checkpoint.under("swa/", arrays))
            self.trainer.scaler.restore(meta["scaler"])
            self.number, self.start = int(meta["step"]), int(meta["epoch"])
            self.result.epochs = [Epoch(**{**e, "test": Score(*e["test"])}) for e in meta["epochs"]]
            _check_epochs(self.result.epochs, self.number, self.start)
        except (KeyError, TypeError, ValueError, OverflowError) as e:
            raise Error(f"{out / CHECKPOINT}: incomplete or damaged checkpoint: {e}") from None


def _check_sizes(recipe: Recipe, data: Dataset) -> None:
    """Raise Error before any work if training or evaluation would find too little data."""
    for part, x in (("train", data.train_x), ("test", data.test_x)):
        try:
            if data.kind == "text":
                text_batches(x, recipe.training.batch, recipe.training.length)
            elif recipe.model.get("kind") in ADVERSARIES and len(x) < 2:
                raise Error("a distance between features needs at least two images")
        except Error as e:
            raise Error(f"[data] {part} = {len(x)}: {e}") from None


def _plain(epoch: Epoch) -> dict[str, Any]:
    return {**vars(epoch), "test": list(epoch.test), "seconds": 0.0}  # the same bytes whenever it was made


def _check_epochs(epochs: list[Epoch], step: int, count: int) -> None:
    """Raise ValueError if figures are not numbers, or do not match the number of epochs and steps."""
    for epoch in epochs:
        whole = (epoch.number, epoch.step, epoch.skipped)
        if not all(is_number(x) for x in (*whole, epoch.loss, *epoch.test, epoch.scale, epoch.seconds)):
            raise ValueError("the figures of an epoch are not numbers")
    if [e.number for e in epochs] != list(range(1, count + 1)) or step < count:
        raise ValueError(f"{len(epochs)} epochs, where {count} were trained in {step} steps")


def train(
    recipe: Recipe,
    out: Path | None = None,
    *,
    resume: bool = False,
    watch: Watch | None = None,
    statistics: bool = False,
    data: Dataset | None = None,
    pool: Workers | None = None,
) -> TrainingResult:
    """Train a recipe. out: folder for recipe.toml, log.jsonl, checkpoint.npz (and gradients.npz with statistics). pool:
    workers for the shards of a step.

    Raises Diverged if the training diverges, and Error for an invalid recipe or folder.
    """
    if resume and out is None:
        raise Error("to resume, give the run's folder with --out")
    dataset = load_data(recipe) if data is None else data
    return TrainingRun(recipe, dataset, out, watch, statistics, pool).run(resume)
