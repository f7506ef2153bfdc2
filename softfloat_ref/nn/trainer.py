"""One network in training: a step, an evaluation, what a checkpoint holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.checkpoint import OTHER_NETWORK, check_like, under
from softfloat_ref.nn.data import Dataset
from softfloat_ref.nn.layers import BatchNorm, Flatten, Layer, Sequential
from softfloat_ref.nn.loss_scaling import loss_scaler
from softfloat_ref.nn.models import Input, build
from softfloat_ref.nn.numerics import Numerics, RunState
from softfloat_ref.nn.objectives import OBJECTIVES, Pairs, Passed, Score, measure_of
from softfloat_ref.nn.optimizers import Updates
from softfloat_ref.nn.training_recipe import Recipe

Array = NDArray[Any]
MAX_SKIPPED: Final = 200  # steps in a row without a finite gradient


class StepResult(NamedTuple):
    """The result of a step: the mean loss and how many predictions were right before it; whether its updates were
    taken."""

    loss: float
    correct: int
    taken: bool


class Trainer:
    """A network, its optimizer and its loss scale, for one recipe and data set."""

    def __init__(self, recipe: Recipe, data: Dataset) -> None:
        self.recipe = recipe
        self.run = RunState(recipe.training.seed)
        shape = () if data.kind == "text" else data.train_x.shape[1:]
        self.network = build(recipe.model, Input(shape, data.classes, recipe.training.seed))
        recipe.assign(self.network, self.run)
        self.layers = dict(self.network.walk())
        vector = {k: v for k, v in recipe.formats.items() if k == "vector"}
        self.measure = measure_of(recipe.model, data)
        self.objective = OBJECTIVES[self.measure.name](self.network, Numerics("loss", vector, run=self.run))
        self.optimizers = {turn: Updates(recipe.optimizer, turn) for turn in self.objective.turns}
        self.scaler = loss_scaler(recipe.loss_scaling or None)
        self._skipped = 0
        _stop_at_input(self.network)

    # -- a step --------------------------------------------------------------------------------------------------------

    def step(self, number: int, x: Array, y: Array, factor: float = 1.0) -> StepResult:
        """Train on a minibatch; factor: of the learning rate. The loss is that of the first turn. Raises Diverged."""
        first, *others = [self._turn(turn, number, x, y, factor) for turn in self.objective.turns]
        return first._replace(taken=all(step.taken for step in (first, *others)))

    def _turn(self, turn: str, number: int, x: Array, y: Array, factor: float) -> StepResult:
        self.run.begin(number, turn=turn)
        scale = self.scaler.scale
        others = {name: layer.grads for name, layer in self.layers.items() if not name.startswith(turn)}
        passed = self._passes(turn, x, y, scale)
        for name, grads in others.items():  # which errors of another turn went through
            self.layers[name].grads = grads
        again = partial(self._again, turn, number, x, y, scale)
        if not math.isfinite(passed.loss):
            raise find_divergence(self.network, number, again, passed.output, "the network's output")
        gradients = self.gradients(turn)
        wrong = next((name for name, g in gradients.items() if not np.isfinite(np.asarray(g)).all()), None)
        taken = self.scaler.update(wrong is None)
        self._skipped = 0 if taken else self._skipped + 1
        if wrong is not None and (taken or self._skipped > MAX_SKIPPED):
            raise find_divergence(self.network, number, again, gradients[wrong], f"{wrong} gradient")
        if taken:
            with np.errstate(over="ignore", invalid="ignore"):  # the square of a gradient, in Adam
                self._update(gradients, scale, factor, self.optimizers[turn])
        return StepResult(passed.loss, passed.correct, taken)

    def _passes(self, turn: str, x: Array, y: Array, scale: float) -> Passed:
        with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges is reported as such
            return self.objective.forward_and_back(turn, x, y, scale)

    def _again(self, turn: str, number: int, x: Array, y: Array, scale: float) -> None:
        self.reset()
        self.run.begin(number, turn=turn)
        self._passes(turn, x, y, scale)

    def _update(self, gradients: dict[str, Array], scale: float, factor: float, optimizer: Updates) -> None:
        """Unscale, in FP32, then clip, then change the weights."""
        if scale != 1:
            for name, g, layer in self._each(gradients):
                number = layer.numerics.number("loss_scale", g.dtype.type(scale))
                gradients[name] = layer.numerics.div(g, number, "gradient", out=g)
        self._clip(gradients)
        optimizer.begin()
        for name, g, layer in self._each(gradients):
            key = name.rpartition(".")[2]
            layer.params[key] = optimizer.update(name, layer.params[key], g, factor, layer.numerics)

    def _clip(self, gradients: dict[str, Array]) -> None:
        limit = self.recipe.optimizer.clip_norm
        if not limit:
            return
        length = math.sqrt(sum(float(np.vdot(g, g)) for g in map(np.asarray, gradients.values())))
        if length > limit:
            for name, g, layer in self._each(gradients):
                number = layer.numerics.number("clip_factor", g.dtype.type(limit / length))
                gradients[name] = layer.numerics.mul(g, number, "clipped_gradient", out=g)

    def _each(self, gradients: Mapping[str, Array]) -> Iterator[tuple[str, Array, Layer]]:
        """Gradients one after the other, by name, with their layers."""
        for name, gradient in gradients.items():
            layer, _, self.run.phase = name.rpartition(".")
            yield name, gradient, self.layers[layer]

    def parameters(self) -> dict[str, Array]:
        """The master weights by layer and name."""
        return {f"{n}.{k}": v for n, layer in self.layers.items() for k, v in layer.params.items()}

    def gradients(self, turn: str = "") -> dict[str, Array]:
        """The gradients of the last turn of that name, or of all, of the scaled loss until they are used."""
        layers = ((n, layer) for n, layer in self.layers.items() if n.startswith(turn))
        return {f"{n}.{k}": layer.grads[k] for n, layer in layers for k in layer.params}

    # -- evaluation ----------------------------------------------------------------------------------------------------

    def evaluate(self, pairs: Pairs) -> Score:
        """The score without training: roundings to nearest even in place of stochastic ones."""
        with self.inference(), np.errstate(over="ignore", invalid="ignore"):
            return self.objective.score(pairs)

    @contextmanager
    def inference(self) -> Iterator[None]:
        """Work without training, from forgotten states."""
        self.reset()
        self.run.training = False
        try:
            yield
        finally:
            self.run.training = True
            self.reset()

    def reset(self) -> None:
        """Forget the states that are carried from batch to batch."""
        self.network.reset()

    def renew_statistics(self, number: int, pairs: Pairs) -> None:
        """Compute the running statistics of batch normalization again, as means over these minibatches: they belong to
        the weights in place."""
        norms = [layer for layer in self.layers.values() if isinstance(layer, BatchNorm)]
        if not norms:
            return
        for norm in norms:
            norm.averaged = 0
        for count, (x, _) in enumerate(pairs, 1):
            self.run.begin(number + count)
            self.objective.forward(x)
        for norm in norms:
            norm.averaged = None

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """Everything that a step changes, by name."""
        arrays = {f"param/{k}": v for k, v in self.parameters().items()}
        for optimizer in self.optimizers.values():
            arrays |= optimizer.state()
        for name, layer in self.layers.items():
            arrays |= {f"buffer/{name}.{k}": v for k, v in layer.buffers.items()}
            arrays |= {f"range/{name}.{k}": v for k, v in layer.numerics.state().items()}
        return arrays

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what `arrays` gave. Raises Error for the arrays of another network."""
        self.place(under("param/", arrays))
        for turn, optimizer in self.optimizers.items():
            optimizer.restore(arrays, {k: v for k, v in self.parameters().items() if k.startswith(turn)})
        buffers = under("buffer/", arrays)
        mine = {f"{name}.{key}": x for name, layer in self.layers.items() for key, x in layer.buffers.items()}
        if buffers.keys() != mine.keys():
            raise Error(OTHER_NETWORK)
        check_like(buffers, mine)
        for name, layer in self.layers.items():  # names of layers within a layer begin as its own
            layer.buffers = {key: buffers[f"{name}.{key}"].copy() for key in layer.buffers}
            layer.numerics.restore(under(f"range/{name}.", arrays))

    def place(self, weights: Mapping[str, Array]) -> None:
        """Put weights in place. Raises Error where names, shapes or types differ."""
        mine = self.parameters()
        if mine.keys() != weights.keys():
            raise Error(OTHER_NETWORK)
        for name, array in check_like(weights, mine).items():
            mine[name][...] = array


def _stop_at_input(network: Layer) -> None:
    """The gradient of the data is not needed."""
    for layer in network.children().values() if isinstance(network, Sequential) else ():
        layer.needs_input_gradient = False
        if not isinstance(layer, Flatten):
            break


# -- divergence --------------------------------------------------------------------------------------------------------


class Diverged(Exception):
    """The training cannot go on. tensor: the first that is not finite; what: overflow or NaN, and how many values."""

    def __init__(self, tensor: str, step: int, what: str) -> None:
        super().__init__(f"diverged at step {step}: {tensor}: {what}")
        self.tensor, self.step, self.what = tensor, step, what


def describe_values(x: Array) -> str:
    """A description of the values of a tensor that are not finite."""
    nans, infinite = int(np.isnan(x).sum()), int(np.isinf(x).sum())
    parts = [f"overflow, {infinite} Inf"] * (infinite > 0) + [f"{nans} NaN"] * (nans > 0)
    return f"{' and '.join(parts)} among {x.size} values"


def find_divergence(network: Layer, step: int, work: Callable[[], object], wrong: Array, tensor: str) -> Diverged:
    """Do a step again, watching every layer; the report names the first output that is not finite.

    Random bits depend on the step, so that it goes the same way. wrong, tensor: what was noticed, reported where no
    layer's output is to blame.
    """
    reports: list[Diverged] = []
    for name, layer in network.walk():
        for method, what in (("forward", "output"), ("backward", "error")):
            setattr(layer, method, _watched(getattr(layer, method), f"{name} {what}", step, reports))
    try:
        work()
    except FloatingPointError:
        pass
    finally:
        for _, layer in network.walk():
            del layer.forward, layer.backward  # the wrappers, which hid the methods
    return reports[0] if reports else Diverged(tensor, step, describe_values(np.asarray(wrong)))


def _watched(method: Any, tensor: str, step: int, reports: list[Diverged]) -> Any:
    def watch(x: Array) -> Array:
        y: Array = method(x)
        if not reports and y.dtype.kind == "f" and not np.isfinite(np.asarray(y)).all():
            reports.append(Diverged(tensor, step, describe_values(np.asarray(y))))
        return y

    return watch
