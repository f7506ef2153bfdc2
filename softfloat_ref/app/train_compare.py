"""`train compare`: several training recipes with several seeds, as a table and as curves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from softfloat_ref.app.progress import progress

if TYPE_CHECKING:
    from softfloat_ref.nn.compare import RecipeSummary, RunOutcome, Spread

CURVES = "curves.png"
SET_HELP = "Another value of the recipe, such as training.epochs=1 or formats.weight=mxfp6; repeatable."


@click.command("compare")
@click.argument("recipes", nargs=-1, required=True)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Number of runs of each recipe."
)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=SET_HELP)
@click.option("--epochs", type=click.IntRange(min=1), help="Number of epochs [the recipes'].")
@click.option("--jobs", type=click.IntRange(1, 1024), help="Number of processes [one per processor].")
@click.option("--scheduler", metavar="tcp://...|FILE.json", help="Train on a Dask cluster.")
@click.option("--json", "as_json", is_flag=True, help="Print summaries and runs as JSON.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for logs, outcomes and curves; runs already there are not repeated.",
)
def command(
    recipes: tuple[str, ...],
    seeds: int,
    settings: tuple[str, ...],
    epochs: int | None,
    jobs: int | None,
    scheduler: str | None,
    as_json: bool,
    out: Path | None,
) -> int:
    """Train the networks of RECIPES, each with the seeds 1 to N, and compare their losses.

    The first recipe is the baseline for the others. Times are processor times; use one thread per process
    (OMP_NUM_THREADS=1) to compare them. Exit code 1: every run of a recipe diverged.
    """
    from softfloat_ref.base.executors import workers
    from softfloat_ref.nn import compare
    from softfloat_ref.nn.training_recipe import load_recipe

    chosen = [load_recipe(name, settings).with_training(epochs=epochs) for name in recipes]
    total = seeds * len(chosen)
    with workers(jobs if scheduler or jobs else None, scheduler) as pool, progress(total) as bar:

        def done(outcome: RunOutcome) -> None:
            bar.advance(f"{outcome.recipe}, seed {outcome.seed}", 1)

        outcomes = compare.compare_recipes(chosen, range(1, seeds + 1), pool, out, done)
    found = compare.summaries(outcomes)
    click.echo(json.dumps(compare.as_json(outcomes), indent=1) if as_json else "\n".join(table(found)))
    if out is not None:
        _curves(outcomes, out)
    return 1 if any(len(s.diverged) == s.runs for s in found) else 0


def table(found: Sequence[RecipeSummary]) -> list[str]:
    """The lines of the table, and what diverged."""
    width = max(len("recipe"), *(len(s.recipe) for s in found))
    averages = any(s.averaged.runs for s in found)
    heads = ["train loss", "test loss", found[0].measure, *(["averaged", "gain"] if averages else [])]
    lines = [f"{'recipe':{width}}  runs  " + "  ".join(f"{head:>15}" for head in heads) + "   time"]
    for s in found:
        cells = [_cell(s.train_loss, 4), _cell(s.test_loss, 4), _measure(s.measured, s.measure)]
        if averages:
            cells += [_measure(s.averaged, s.measure), _measure(s.gain, s.measure, sign=True)]
        time = f"{s.time:6.2f}" if s.time == s.time else "     -"
        lines.append(
            f"{s.recipe:{width}}  {s.runs - len(s.diverged):4}  " + "  ".join(f"{c:>15}" for c in cells) + f" {time}"
        )
    for s in found:
        lines += [f"{s.recipe}: diverged: {report}" for report in s.diverged]
    return lines


def _measure(value: Spread, name: str, sign: bool = False) -> str:
    """The numbers of a measure, accuracies in percent."""
    from softfloat_ref.nn.objectives import MEASURES

    factor = MEASURES[name].factor
    return _cell(value._replace(mean=factor * value.mean, deviation=factor * value.deviation), 2, sign)


def _cell(value: Spread, digits: int, sign: bool = False) -> str:
    if not value.runs:
        return "-"
    mean = f"{value.mean:{'+' if sign else ''}.{digits}f}"
    return f"{mean} ({value.deviation:.{digits}f})" if value.runs > 1 else mean


def _curves(outcomes: Sequence[RunOutcome], out: Path) -> None:
    """Draw the picture, if matplotlib is installed."""
    import importlib.util

    from softfloat_ref.app import plot
    from softfloat_ref.nn.compare import folder_of

    runs = [str(folder_of(o, out)) for o in outcomes if o.epochs]
    kinds = {o.measure for o in outcomes}
    if importlib.util.find_spec("matplotlib") is None or not runs or len(kinds) > 1:
        return
    plot.draw_training(runs, str(out / CURVES))
    click.echo(f"curves: {out / CURVES}", err=True)
