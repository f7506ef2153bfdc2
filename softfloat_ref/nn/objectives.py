"""What a network is trained for: the passes of a step, by turns; and what it is measured by on test data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first
from softfloat_ref.nn.data import Dataset
from softfloat_ref.nn.features import Features, frechet
from softfloat_ref.nn.layers import Layer, binary_cross_entropy, softmax_cross_entropy
from softfloat_ref.nn.models import ADVERSARIES, DISCRIMINATOR, GENERATOR
from softfloat_ref.nn.numerics import Numerics

Array = NDArray[Any]
Pairs = Iterable[tuple[Array, Array]]


class Score(NamedTuple):
    """The mean loss over some data, and what was counted: the share of right predictions, or the distance between the
    features of data and of generated images."""

    loss: float
    counted: float

    @property
    def perplexity(self) -> float:
        """exp(loss)."""
        return math.exp(self.loss) if self.loss < 700 else math.inf


class ScoreMeasure(NamedTuple):
    """What a score is shown by. better: 1 where more is, else -1. shown: in a column of its own. factor: of means,
    as they are shown."""

    name: str
    better: int
    shown: str
    factor: int = 1

    def of(self, score: Score) -> float:
        """Its number."""
        return score.perplexity if self.name == "perplexity" else score.counted

    def text(self, score: Score, width: int | None = None) -> str:
        """Its number as text."""
        return f"{self.of(score):{'' if width is None else width}{self.shown}}"


MEASURES: Final = {
    m.name: m
    for m in (
        ScoreMeasure("accuracy", 1, ".2%", 100),
        ScoreMeasure("perplexity", -1, ".2f"),
        ScoreMeasure("distance", -1, ".2f"),
    )
}


class Passed(NamedTuple):
    """The result of a turn's passes: the mean loss, how many predictions were right, and the network's output. Where
    the loss is not finite, there are no gradients."""

    loss: float
    correct: int
    output: Array


class Objective:
    """turns: the parts of a step, each of which ends in an update of the layers whose names begin with its own."""

    turns: ClassVar[tuple[str, ...]] = ("",)

    def __init__(self, network: Layer, numerics: Numerics) -> None:
        self.network, self.numerics, self.run = network, numerics, numerics.run

    def forward_and_back(self, turn: str, x: Array, y: Array, scale: float) -> Passed:
        """The passes of a turn over a minibatch, which leave gradients of the loss times scale in the layers."""
        raise NotImplementedError

    def forward(self, x: Array) -> None:
        """Every layer's forward pass over a minibatch."""
        self.network.forward(x)

    def score(self, pairs: Pairs) -> Score:
        """Over data, without training. Raises Error where there is none."""
        raise NotImplementedError

    def generate(self, count: int) -> Array:
        """Images. Raises Error for a network that makes none."""
        raise Error("the run's model generates no images")


class Prediction(Objective):
    """Labels, or the next symbols of a text."""

    def forward_and_back(self, turn: str, x: Array, y: Array, scale: float) -> Passed:
        self.run.phase = "forward"
        logits = self.network.forward(x)
        self.run.phase = "softmax_cross_entropy"
        loss = softmax_cross_entropy(logits, y, self.numerics, scale)
        self.run.phase = "backward"
        if math.isfinite(loss.value):
            self.network.backward(loss.gradient)
        return Passed(loss.value, loss.correct, logits)

    def score(self, pairs: Pairs) -> Score:
        total, correct, count = 0.0, 0, 0
        for x, y in pairs:
            loss = softmax_cross_entropy(self.network.forward(x), y, self.numerics)
            total, correct, count = total + loss.value * y.size, correct + loss.correct, count + y.size
        return Score(_over(total, count), correct / count)


class Adversarial(Objective):
    """A generator of images against a discriminator (Goodfellow et al., 2014): one update of the discriminator, to tell
    a minibatch from as many generated images, then one of the generator, to have others taken for data.

    The loss is the discriminator's, over data and over generated images, one added to the other; so are its gradients.
    """

    turns: ClassVar[tuple[str, ...]] = (DISCRIMINATOR, GENERATOR)

    def __init__(self, network: Layer, numerics: Numerics) -> None:
        super().__init__(network, numerics)
        self._generator, self._discriminator = (network.children()[x] for x in (GENERATOR, DISCRIMINATOR))
        self._layers = dict(self._discriminator.walk())
        self._first = find_first(layer for layer in self._layers.values() if layer.products)
        self._features = Features(self._first.params["weight"].shape[-1])

    def forward_and_back(self, turn: str, x: Array, y: Array, scale: float) -> Passed:
        self._first.needs_input_gradient = turn == GENERATOR
        for layer in self._layers.values():  # an averaged range has to see every gradient
            layer.needs_gradients = turn == DISCRIMINATOR or layer.numerics.averages("weight_gradient")
        if turn == GENERATOR:
            passed, error = self._pass("as_data", self._generated("as_data", x), 1, scale)
            if error is not None:
                self._generator.backward(error)
            return passed
        data, error = self._pass("data", x, 1, scale)
        if error is None:
            return data
        gradients = {name: dict(layer.grads) for name, layer in self._layers.items()}
        generated, error = self._pass("generated", self._generated("generated", x), 0, scale)
        if error is not None:
            self._add(gradients)
        return Passed(data.loss + generated.loss, data.correct + generated.correct, generated.output)

    def _generated(self, what: str, x: Array) -> Array:
        self.run.phase = f"{what}/forward"
        return self._generator.forward(x)

    def _pass(self, what: str, images: Array, target: int, scale: float) -> tuple[Passed, Array | None]:
        """The discriminator's pass over images, and the images' gradient where the loss is finite."""
        self.run.phase = f"{what}/forward"
        logits = self._discriminator.forward(images)
        self.run.phase = f"{what}/binary_cross_entropy"
        loss = binary_cross_entropy(logits, target, self.numerics, scale)
        self.run.phase = f"{what}/backward"
        error = self._discriminator.backward(loss.gradient) if math.isfinite(loss.value) else None
        return Passed(loss.value, loss.correct, logits), error

    def _add(self, earlier: Mapping[str, Mapping[str, Array]]) -> None:
        """Add the gradients of an earlier pass to those of the last one."""
        for name, layer in self._layers.items():
            for key, gradient in layer.grads.items():
                self.run.phase = key
                layer.grads[key] = layer.numerics.add(earlier[name][key], gradient, "gradient_sum")

    def forward(self, x: Array) -> None:
        for images in (x, self._generator.forward(x)):
            self._discriminator.forward(images)

    def score(self, pairs: Pairs) -> Score:
        total, count = 0.0, 0
        features: tuple[list[Array], list[Array]] = ([], [])
        for x, _ in pairs:
            for target, images in ((1, x), (0, self._generator.forward(x))):
                logits = self._discriminator.forward(images)
                total += binary_cross_entropy(logits, target, self.numerics).value * len(x)
                features[target].append(self._features.of(images))
            count += len(x)
        mean = _over(total, count)
        return Score(mean, frechet(*(np.concatenate(x) for x in features)))

    def generate(self, count: int) -> Array:
        return self._generator.forward(np.empty((count, 0), np.float32))


def _over(total: float, count: int) -> float:
    if not count:
        raise Error("there is nothing to evaluate on")
    return total / count


OBJECTIVES: Final[dict[str, type[Objective]]] = {
    "accuracy": Prediction,
    "perplexity": Prediction,
    "distance": Adversarial,
}  # by measure


def measure_of(model: Mapping[str, Any], data: Dataset) -> ScoreMeasure:
    """What a model of data is measured by."""
    generated = model.get("kind") in ADVERSARIES
    return MEASURES["distance" if generated else "perplexity" if data.kind == "text" else "accuracy"]
