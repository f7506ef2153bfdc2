"""One network in training: a step, an evaluation, what a checkpoint holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.nn import divergence
from softfloat_ref.nn.checkpoint import OTHER, like, under
from softfloat_ref.nn.data import Dataset
from softfloat_ref.nn.layers import BatchNorm, Flatten, Layer, Sequential, softmax_cross_entropy
from softfloat_ref.nn.loss_scaling import loss_scaler
from softfloat_ref.nn.models import Input, build
from softfloat_ref.nn.numerics import Numerics, Run
from softfloat_ref.nn.optimizers import Updates
from softfloat_ref.nn.training_recipe import Recipe

Array = NDArray[Any]
Pairs = Iterable[tuple[Array, Array]]
MAX_SKIPPED: Final = 200  # steps in a row without a finite gradient


class Step(NamedTuple):
    """The result of a step: the mean loss and how many predictions were right before it; whether its update was
    taken."""

    loss: float
    correct: int
    taken: bool


class Score(NamedTuple):
    """The mean loss and the share of right predictions over some data."""

    loss: float
    accuracy: float

    @property
    def perplexity(self) -> float:
        """exp(loss)."""
        return math.exp(self.loss) if self.loss < 700 else math.inf


class Trainer:
    """A network, its optimizer and its loss scale, for one recipe and data set."""

    def __init__(self, recipe: Recipe, data: Dataset) -> None:
        self.recipe = recipe
        self.run = Run(recipe.training.seed)
        shape = () if data.kind == "text" else data.train_x.shape[1:]
        self.network = build(recipe.model, Input(shape, data.classes, recipe.training.seed))
        recipe.assign(self.network, self.run)
        self.layers = dict(self.network.walk())
        vector = {k: v for k, v in recipe.formats.items() if k == "vector"}
        self.loss_numerics = Numerics("loss", vector, run=self.run)
        self.optimizer = Updates(recipe.optimizer)
        self.scaler = loss_scaler(recipe.loss_scaling or None)
        self._skipped = 0
        _stop_at_input(self.network)

    # -- a step --------------------------------------------------------------------------------------------------------

    def step(self, number: int, x: Array, y: Array, factor: float = 1.0) -> Step:
        """Train on a minibatch; factor: of the learning rate. Raises Diverged."""
        self.run.begin(number)
        scale = self.scaler.scale
        loss, logits = self._forward_and_back(x, y, scale)
        if not math.isfinite(loss.value):
            raise self._diverged(number, x, y, scale, logits, "the network's output")
        gradients = self.gradients()
        wrong = next((name for name, g in gradients.items() if not np.isfinite(np.asarray(g)).all()), None)
        taken = self.scaler.update(wrong is None)
        self._skipped = 0 if taken else self._skipped + 1
        if wrong is not None and (taken or self._skipped > MAX_SKIPPED):
            raise self._diverged(number, x, y, scale, gradients[wrong], f"{wrong} gradient")
        if taken:
            self._update(gradients, scale, factor)
        return Step(loss.value, loss.correct, taken)

    def _forward_and_back(self, x: Array, y: Array, scale: float) -> tuple[Any, Array]:
        with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges is reported as such
            self.run.phase = "forward"
            logits = self.network.forward(x)
            self.run.phase = "softmax_cross_entropy"
            loss = softmax_cross_entropy(logits, y, self.loss_numerics, scale)
            self.run.phase = "backward"
            if math.isfinite(loss.value):
                self.network.backward(loss.gradient)
        return loss, logits

    def _diverged(
        self, number: int, x: Array, y: Array, scale: float, wrong: Array, tensor: str
    ) -> divergence.Diverged:
        def again() -> None:
            for layer in self.layers.values():
                layer.reset()
            self.run.begin(number)
            self._forward_and_back(x, y, scale)

        return divergence.find(self.network, number, again, wrong, tensor)

    def _update(self, gradients: dict[str, Array], scale: float, factor: float) -> None:
        """Unscale, in FP32, then clip, then change the weights."""
        if scale != 1:
            for name, g, numerics in self._each(gradients):
                number = numerics.number("loss_scale", g.dtype.type(scale))
                gradients[name] = numerics.div(g, number, "gradient", out=g)
        self._clip(gradients)
        weights = self.parameters()
        self.optimizer.begin()
        for name, g, numerics in self._each(gradients):
            self.optimizer.update(name, weights[name], g, factor, numerics)

    def _clip(self, gradients: dict[str, Array]) -> None:
        limit = self.recipe.optimizer.clip_norm
        if not limit:
            return
        length = math.sqrt(sum(float(np.vdot(g, g)) for g in map(np.asarray, gradients.values())))
        if length > limit:
            for name, g, numerics in self._each(gradients):
                number = numerics.number("clip_factor", g.dtype.type(limit / length))
                gradients[name] = numerics.mul(g, number, "clipped_gradient", out=g)

    def _each(self, gradients: Mapping[str, Array]) -> Iterator[tuple[str, Array, Numerics]]:
        """Gradients one after the other, by name, with the numerics of their layers."""
        for name, gradient in gradients.items():
            layer, _, self.run.phase = name.rpartition(".")
            yield name, gradient, self.layers[layer].numerics

    def parameters(self) -> dict[str, Array]:
        """The master weights by layer and name."""
        return {f"{n}.{k}": v for n, layer in self.layers.items() for k, v in layer.params.items()}

    def gradients(self) -> dict[str, Array]:
        """The gradients of the last step, of the scaled loss until they are used."""
        return {f"{n}.{k}": layer.grads[k] for n, layer in self.layers.items() for k in layer.params}

    # -- evaluation ----------------------------------------------------------------------------------------------------

    def evaluate(self, pairs: Pairs) -> Score:
        """Loss and accuracy without training: roundings to nearest even in place of stochastic ones."""
        self.reset()
        total, correct, count = 0.0, 0, 0
        self.run.training = False
        try:
            for x, y in pairs:
                with np.errstate(over="ignore", invalid="ignore"):
                    found = softmax_cross_entropy(self.network.forward(x), y, self.loss_numerics)
                total, correct, count = total + found.value * y.size, correct + found.correct, count + y.size
        finally:
            self.run.training = True
            self.reset()
        if not count:
            raise Error("there is nothing to evaluate on")
        return Score(total / count, correct / count)

    def reset(self) -> None:
        """Forget the states that are carried from batch to batch."""
        self.network.reset()

    def renew_statistics(self, number: int, pairs: Pairs) -> None:
        """Compute the running statistics of batch normalization again, as means over these minibatches: they belong to
        the weights in place."""
        norms = [layer for layer in self.layers.values() if isinstance(layer, BatchNorm)]
        if not norms:
            return
        kept = [norm.momentum for norm in norms]
        for count, (x, _) in enumerate(pairs, 1):
            for norm in norms:
                norm.momentum = 1 / count
            self.run.begin(number + count)
            self.network.forward(x)
        for norm, momentum in zip(norms, kept, strict=True):
            norm.momentum = momentum

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """Everything that a step changes, by name."""
        found = {f"param/{k}": v for k, v in self.parameters().items()}
        found |= self.optimizer.state()
        for name, layer in self.layers.items():
            found |= {f"buffer/{name}.{k}": v for k, v in layer.buffers.items()}
            found |= {f"range/{name}.{k}": v for k, v in layer.numerics.state().items()}
        return found

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what `arrays` gave. Raises Error for the arrays of another network."""
        self.place(under("param/", arrays))
        self.optimizer.restore(arrays, self.parameters())
        for name, layer in self.layers.items():
            found = under(f"buffer/{name}.", arrays)
            if found.keys() != layer.buffers.keys():
                raise Error(OTHER)
            layer.buffers |= {key: array.copy() for key, array in like(found, layer.buffers).items()}
            layer.numerics.restore(under(f"range/{name}.", arrays))

    def place(self, weights: Mapping[str, Array]) -> None:
        """Put weights in place. Raises Error where names, shapes or types differ."""
        mine = self.parameters()
        if mine.keys() != weights.keys():
            raise Error(OTHER)
        for name, array in like(weights, mine).items():
            mine[name][...] = array


def _stop_at_input(network: Layer) -> None:
    """The gradient of the data is not needed."""
    for layer in network.children().values() if isinstance(network, Sequential) else ():
        layer.needs_input_gradient = False
        if not isinstance(layer, Flatten):
            break
