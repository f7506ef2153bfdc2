"""Several training recipes with several seeds: the runs, and their results as means with a spread."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from softfloat_ref import __version__
from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import Workers, in_order
from softfloat_ref.base.files import make_folder, write_file
from softfloat_ref.base.trees import read_json
from softfloat_ref.nn.data import Dataset
from softfloat_ref.nn.objectives import MEASURES, measure_of
from softfloat_ref.nn.runlog import RunLog, from_json, is_number, to_json
from softfloat_ref.nn.train import LOG, TrainingResult, load_data, train
from softfloat_ref.nn.trainer import Diverged
from softfloat_ref.nn.training_recipe import Recipe

OUTCOME: Final = "outcome.json"


@dataclass(frozen=True)
class RunOutcome:
    """One run. epochs: (training loss, test loss, measure) of each; averaged: (test loss, measure) of the averaged
    weights, or none; measure: the name of one in MEASURES; seconds: of the processor; diverged: the report."""

    recipe: str
    seed: int
    measure: str
    products: str
    epochs: tuple[tuple[float, float, float], ...] = ()
    averaged: tuple[float, float] | None = None
    seconds: float = 0.0
    diverged: str | None = None


class Spread(NamedTuple):
    """Mean and standard deviation (of a sample: n - 1) of the runs."""

    mean: float
    deviation: float
    runs: int


class RecipeSummary(NamedTuple):
    """The results of the runs of a training recipe. gain: what averaging the weights gains in the measure, run by run
    (positive: better); time: the median over that of the first recipe's runs."""

    recipe: str
    measure: str
    runs: int
    diverged: tuple[str, ...]
    train_loss: Spread
    test_loss: Spread
    measured: Spread
    averaged: Spread
    gain: Spread
    time: float


def compare_recipes(
    recipes: Sequence[Recipe],
    seeds: Iterable[int],
    pool: Workers,
    out: Path | None = None,
    done: Callable[[RunOutcome], None] = lambda outcome: None,
) -> list[RunOutcome]:
    """Train each recipe with each seed; the outcomes by recipe and seed, whichever worker ran them.

    out: a folder for a log and the outcome of each run; runs whose outcome it holds already, of the same recipe and
    version, are not done again. Raises Error for recipes of one name, or of data that have no measure in common.
    """
    names = [r.name for r in recipes]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise Error(f"{', '.join(sorted(twice))}: given twice")
    jobs = [recipe.with_training(seed=seed) for seed in seeds for recipe in recipes]
    stored = {i: earlier for i, job in enumerate(jobs) if (earlier := _stored(job, out)) is not None}
    results = in_order(pool, run_recipe, [job for i, job in enumerate(jobs) if i not in stored])
    outcomes = []
    for i, job in enumerate(jobs):
        outcome = stored.get(i) or _saved(next(results), job, out)
        done(outcome)
        outcomes.append(outcome)
    return sorted(outcomes, key=lambda o: (names.index(o.recipe), o.seed))


def run_recipe(recipe: Recipe) -> RunOutcome:
    """Train one recipe, without files. Raises Error."""
    data, begin = _data(json.dumps(dict(recipe.data), sort_keys=True), recipe), time.process_time()
    measure = measure_of(recipe.model, data)
    try:
        result = train(recipe, data=data)
    except Diverged as e:
        products = TrainingResult(recipe, measure).products
        return RunOutcome(recipe.name, recipe.training.seed, measure.name, products, diverged=str(e))
    seconds = time.process_time() - begin
    averaged = result.averaged and (result.averaged.loss, measure.of(result.averaged))
    epochs = tuple((epoch.loss, epoch.test.loss, measure.of(epoch.test)) for epoch in result.epochs)
    return RunOutcome(recipe.name, recipe.training.seed, measure.name, result.products, epochs, averaged, seconds)


_LOADED: dict[str, Dataset] = {}


def _data(key: str, recipe: Recipe) -> Dataset:
    """The recipe's data, read once per process."""
    if key not in _LOADED:
        _LOADED.clear()
        _LOADED[key] = load_data(recipe)
    return _LOADED[key]


# -- files -----------------------------------------------------------------------------------------------------------


def folder_of(outcome_or_recipe: RunOutcome | Recipe, out: Path) -> Path:
    """Where a run's files are."""
    x = outcome_or_recipe
    name, seed = (x.recipe, x.seed) if isinstance(x, RunOutcome) else (x.name, x.training.seed)
    return out / f"{name}-seed{seed}"


def _identity(recipe: Recipe) -> str:
    return f"{__version__}\n{recipe.to_toml()}"


def _stored(recipe: Recipe, out: Path | None) -> RunOutcome | None:
    """The outcome of an earlier run; None if there is none, or if it belongs to another recipe or version."""
    if out is None or not (path := folder_of(recipe, out) / OUTCOME).exists():
        return None
    try:
        table = from_json(read_json(path))
        if table.pop("identity") != _identity(recipe):
            return None
        epochs = tuple((float(a), float(b), float(c)) for a, b, c in table.pop("epochs"))
        averaged = table.pop("averaged")
        outcome = RunOutcome(**table, epochs=epochs, averaged=None if averaged is None else (averaged[0], averaged[1]))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
        return None
    return outcome if _is_outcome(outcome, recipe) else None


def _is_outcome(outcome: RunOutcome, recipe: Recipe) -> bool:
    """Whether its parts are what a run of the recipe leaves."""
    whole = outcome.diverged is None and len(outcome.epochs) == recipe.training.epochs
    return (
        (outcome.recipe, outcome.seed) == (recipe.name, recipe.training.seed)
        and all(isinstance(x, str) for x in (outcome.measure, outcome.products))
        and outcome.measure in MEASURES
        and all(is_number(x) for x in (outcome.seconds, *(outcome.averaged or ())))
        and (whole or isinstance(outcome.diverged, str))
    )


def _saved(outcome: RunOutcome, recipe: Recipe, out: Path | None) -> RunOutcome:
    """The outcome, written into its folder where there is one: the log last but one, the outcome last."""
    if out is None:
        return outcome
    folder = folder_of(outcome, out)
    make_folder(folder)
    log = RunLog(folder / LOG)
    log.truncate_after(-1)
    with log:
        log.write(recipe=outcome.recipe, seed=outcome.seed, version=__version__, products=outcome.products)
        for number, (train_loss, test_loss, value) in enumerate(outcome.epochs, 1):
            log.write(epoch=number, train_loss=train_loss, test_loss=test_loss, **{outcome.measure: value})
    table = {**vars(outcome), "identity": _identity(recipe)}
    text = json.dumps(to_json(table), indent=1, allow_nan=False) + "\n"
    write_file(folder / OUTCOME, lambda stream: stream.write(text.encode()))
    return outcome


# -- summaries -------------------------------------------------------------------------------------------------------


def spread(values: Sequence[float]) -> Spread:
    """Mean and deviation; NaN of no values; of one value the deviation is 0."""
    n = len(values)
    if not n:
        return Spread(float("nan"), 0.0, 0)
    mean = fsum(values) / n
    return Spread(mean, sqrt(fsum((x - mean) ** 2 for x in values) / (n - 1)) if n > 1 else 0.0, n)


def summaries(outcomes: Sequence[RunOutcome]) -> list[RecipeSummary]:
    """One summary per recipe, in the order of the outcomes; diverged runs are only counted as such."""
    groups: dict[str, list[RunOutcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.recipe, []).append(outcome)
    base = _seconds(next(iter(groups.values()), []))
    return [_summary(name, group, base) for name, group in groups.items()]


def _seconds(group: Sequence[RunOutcome]) -> float:
    seconds = [o.seconds for o in group if o.diverged is None]
    return median(seconds) if seconds else float("nan")


def _summary(name: str, group: Sequence[RunOutcome], base: float) -> RecipeSummary:
    whole = [o for o in group if o.diverged is None]
    averaged = [(o, o.averaged) for o in whole if o.averaged is not None]
    better = MEASURES[group[0].measure].better
    return RecipeSummary(
        name,
        group[0].measure,
        len(group),
        tuple(f"seed {o.seed}: {o.diverged}" for o in group if o.diverged is not None),
        spread([o.epochs[-1][0] for o in whole]),
        spread([o.epochs[-1][1] for o in whole]),
        spread([o.epochs[-1][2] for o in whole]),
        spread([a[1] for _, a in averaged]),
        spread([better * (a[1] - o.epochs[-1][2]) for o, a in averaged]),
        _seconds(group) / base if base else float("nan"),
    )


def as_json(outcomes: Sequence[RunOutcome]) -> dict[str, Any]:
    """Summaries and runs as plain tables; missing numbers are null."""
    tables = [
        {k: v._asdict() if isinstance(v, Spread) else v for k, v in s._asdict().items()} for s in summaries(outcomes)
    ]
    return _or_null(to_json({"summaries": tables, "runs": [vars(o) for o in outcomes]}))  # type: ignore[no-any-return]


def _or_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _or_null(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_or_null(v) for v in value]
    return None if value == "nan" else value
