"""A part of `bench train`: the time of a step of every shipped training recipe, relative to the same step in FP32.

The recipes of one network, data and minibatch take turns, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Final

import click

from softfloat_ref.base.search import find_first

from . import networks

if TYPE_CHECKING:
    from softfloat_ref.nn.training_recipe import Recipe

ROUNDS: Final = 9
_BATCHES: Final = 4
_FP32: Final = "fp32"
_WIDTH: Final = 30
_TURN_S: Final = 0.005  # processor time of a turn of short steps
_MOST: Final = 16

Step = Callable[[], object]


def show(recipes: Mapping[str, Recipe], torch: Any = None, rounds: int = ROUNDS) -> None:
    """Measure and print: one line per recipe. torch: the package, if FP32 networks are to be compared with it."""
    for group in groups(recipes):
        plain = fp32(find_first(group.values()))
        steps = {_FP32: step_of(plain), **{name: step_of(x) for name, x in group.items() if formatted(x)}}
        if torch is not None and (other := _torch_step(plain, torch)) is not None:
            steps["PyTorch"] = other
        times = medians(steps, rounds)
        own = [name for name, recipe in group.items() if not formatted(recipe)]
        head = f"{plain.model['kind']}, {', '.join(own) or _FP32}"
        click.echo(f"{head:{_WIDTH}}{times[_FP32] * 1e3:9.2f} ms per step")
        for name in (x for x in steps if x != _FP32):
            limit = f" (at most {most})" if name in group and (most := limit_of(group[name])) else ""
            ratio = times[name] / times[_FP32]
            click.echo(f"  {name:{_WIDTH - 2}}{times[name] * 1e3:9.2f} ms per step, ratio {ratio:.2f}{limit}")


def groups(recipes: Mapping[str, Recipe]) -> Iterator[dict[str, Recipe]]:
    """Recipes of one network, data and minibatch, by name."""
    by_settings: dict[str, dict[str, Recipe]] = {}
    for name, recipe in recipes.items():
        same = (dict(recipe.model), dict(recipe.data), recipe.training.batch, recipe.training.length)
        by_settings.setdefault(repr(same), {})[name] = recipe
    yield from by_settings.values()


def fp32(recipe: Recipe) -> Recipe:
    """The same step in FP32 throughout."""
    from softfloat_ref.nn.numerics import BLAS

    return dataclasses.replace(recipe, formats={}, overrides=(), accumulator=BLAS, hadamard=0, loss_scaling={})


def formatted(recipe: Recipe) -> bool:
    """Whether any tensor has a format, or products an accumulator."""
    return bool(recipe.formats or recipe.overrides) or recipe.accumulator != fp32(recipe).accumulator


def limit_of(recipe: Recipe) -> float | None:
    """The largest ratio allowed: 1.5 for scalar formats without random bits, 2.0 for others; none for bit-exact
    accumulators."""
    from softfloat_ref.oracle.formats import Format

    specs = [*recipe.formats.values(), *(x for o in recipe.overrides for x in o.formats.values())]
    if recipe.accumulator != fp32(recipe).accumulator:
        return None
    plain = all(isinstance(x.resolved(), Format) and not x.resolved_policy().random_count for x in specs)
    return 1.5 if plain else 2.0


def step_of(recipe: Recipe) -> Step:
    """A step of the recipe's training, on the next minibatch of a few."""
    from softfloat_ref.nn.train import TrainingRun, load_data

    training = TrainingRun(recipe, load_data(recipe))
    pairs, trainer = cycle([*islice(training._batches(0), _BATCHES)]), training.trainer

    def step() -> None:
        trainer.step(trainer.run.step + 1, *next(pairs))

    return step


def medians(steps: Mapping[str, Step], rounds: int) -> dict[str, float]:
    """The median processor time of each step, in seconds. A turn has several short steps: after the turn of a long one,
    the first finds nothing in the caches."""
    counts = {name: _count(step) for name, step in steps.items()}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            times[name].append(_seconds(step, counts[name]))
    return {name: statistics.median(durations) for name, durations in times.items()}


def _count(step: Step) -> int:
    """How many make a turn."""
    step()  # to warm up
    return min(max(int(_TURN_S / max(_seconds(step, 1), _TURN_S / _MOST)), 1), _MOST)


def _seconds(step: Step, count: int) -> float:
    begin = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - begin) / count


def _torch_step(recipe: Recipe, torch: Any) -> Step | None:
    """The same step in PyTorch; None for networks that are not compared."""
    from softfloat_ref.nn.train import TrainingRun, load_data

    data, model = load_data(recipe), recipe.model
    x, y = find_first(TrainingRun(recipe, data)._batches(0))
    match model["kind"]:
        case "cnn":
            network = networks.cnn(torch, x.shape[3], model["channels"], data.classes)
        case "lstm":
            network = networks.lstm(torch, data.classes, model["width"], model["layers"])
        case "transformer":
            network = networks.transformer(torch, data.classes, model)
        case _:
            return None
    return networks.step(torch, network, x, y, recipe.optimizer.clip_norm, recipe.optimizer.kind)
