"""`train`: trains the network of a training recipe, with every tensor in its format; compares several recipes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from softfloat_ref.app.options import Commands
from softfloat_ref.app.output import Progress, progress

if TYPE_CHECKING:
    from softfloat_ref.base.executors import Workers
    from softfloat_ref.nn.compare import RecipeSummary, RunOutcome, Spread
    from softfloat_ref.nn.objectives import ScoreMeasure
    from softfloat_ref.nn.train import Epoch, TrainingResult
    from softfloat_ref.nn.training_recipe import Recipe

CURVES: Final = "curves.png"
SET_HELP: Final = "Another value of the recipe, such as training.epochs=1 or formats.weight=mxfp6; repeatable."


class _Train(Commands):
    """`train compare ...`, or `train RECIPE ...`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Arguments that do not begin with a subcommand are those of `run`."""
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, `run` first."""
        return list(self.commands)


@click.group("train", cls=_Train, subcommand_metavar="RECIPE | compare RECIPE...")
def command() -> None:
    """Train small networks with every tensor in the format under study.

    `train RECIPE` trains one network; `train --list` lists the training recipes. `train run -h` lists the options:
    --show, --set, --epochs, --seed, --shards, --jobs, --scheduler, --out, --resume, --trace, --statistics.
    """


@command.command("run")
@click.argument("recipe", required=False)
@click.option("--list", "listed", is_flag=True, help="List the training recipes of the package.")
@click.option("--show", is_flag=True, help="Print the training recipe in full, and stop.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=SET_HELP)
@click.option("--epochs", type=click.IntRange(min=1), help="Number of epochs [the recipe's].")
@click.option("--seed", type=click.IntRange(min=0), help="Random seed [the recipe's].")
@click.option("--shards", type=click.IntRange(min=1), help="Parts of a minibatch, for several workers [the recipe's].")
@click.option("--jobs", type=click.IntRange(1, 1024), help="Number of processes for the shards of a step [1].")
@click.option("--scheduler", metavar="tcp://...|FILE.json", help="Compute the shards of a step on a Dask cluster.")
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder for log and checkpoints.")
@click.option("--resume", is_flag=True, help="Continue from the checkpoint in DIR.")
@click.option(
    "--trace",
    type=click.IntRange(min=1),
    metavar="STEP",
    help="Write the tensors of this step as golden vectors to DIR.",
)
@click.option("--statistics", is_flag=True, help="Log the effect of formats on gradients; keep the last ones in DIR.")
def run(
    recipe: str | None,
    listed: bool,
    show: bool,
    settings: tuple[str, ...],
    epochs: int | None,
    seed: int | None,
    shards: int | None,
    jobs: int | None,
    scheduler: str | None,
    out: Path | None,
    resume: bool,
    statistics: bool,
    trace: int | None,
) -> int:
    """Train the network of RECIPE: a name (see --list), or FILE.toml.

    Exit code 1: the training diverged; the report says in which tensor, and at which step.
    """
    if listed:
        return _list()
    if recipe is None:
        raise click.UsageError("give a training recipe: a name from --list, or FILE.toml")
    from softfloat_ref.base.executors import workers
    from softfloat_ref.nn.trainer import Diverged
    from softfloat_ref.nn.training_recipe import load_recipe

    training_recipe = load_recipe(recipe, settings).with_training(epochs=epochs, seed=seed, shards=shards)
    if (jobs or scheduler) and (training_recipe.training.shards == 1 or show or trace is not None):
        raise click.UsageError("--jobs and --scheduler are for the shards of a step; give --shards")
    if show:
        if out is not None or resume or statistics or trace is not None:
            raise click.UsageError("--show excludes --out, --resume, --statistics and --trace")
        click.echo(training_recipe.to_toml(), nl=False)
        return 0
    try:
        if trace is not None:
            return _trace(training_recipe, trace, out, resume or statistics)
        with workers(jobs if scheduler or jobs else 1, scheduler) as pool:
            result = _train(training_recipe, out, resume, statistics, pool)
    except Diverged as e:
        click.echo(f"{training_recipe.name}: {e}")
        return 1
    _summary(result)
    return 0


def _trace(recipe: Recipe, step: int, out: Path | None, other: bool) -> int:
    from softfloat_ref.app.vector_files import command_line
    from softfloat_ref.golden.trace.step import write_step
    from softfloat_ref.nn.train import Watch

    if out is None or other:
        raise click.UsageError("--trace needs --out DIR, and excludes --resume and --statistics")
    with progress(step) as bar:
        trace = write_step(recipe, step, out, command_line(), Watch(step=_advance(bar)))
    computed = len({name for node in trace.nodes for name in node.outputs})
    click.echo(f"{len(trace.tensors)} tensors of step {step} of {recipe.name} in {out}: {computed} made by "
               f"{len(trace.nodes)} operations, {len(trace.tensors) - computed} given")  # fmt: skip
    return 0


def _list() -> int:
    from softfloat_ref.nn.training_recipe import load_recipe, recipe_files

    recipes = [load_recipe(name) for name in recipe_files()]
    width = max(len(r.name) for r in recipes)
    for recipe in recipes:
        click.echo(f"{recipe.name:{width}}  {recipe.description}")
    return 0


def _train(recipe: Recipe, out: Path | None, resume: bool, statistics: bool, pool: Workers) -> TrainingResult:
    from softfloat_ref.nn.objectives import measure_of
    from softfloat_ref.nn.train import Watch, load_data, steps_of, train

    data = load_data(recipe)
    measure = measure_of(recipe.model, data)
    header = iter([f"epoch  train loss  test loss  {measure.name}"])  # printed with the first epoch
    with progress(recipe.training.epochs * steps_of(recipe, data)) as bar:

        def show(epoch: Epoch) -> None:
            bar.clear()
            for line in (*header, _line(epoch, measure)):
                click.echo(line)

        watch = Watch(step=_advance(bar), epoch=show)
        return train(recipe, out, resume=resume, watch=watch, statistics=statistics, data=data, pool=pool)


def _advance(bar: Progress) -> Callable[[int, float], None]:
    return lambda number, loss: bar.advance(f"step {number}, loss {loss:.3f}", 1)


def _line(epoch: Epoch, measure: ScoreMeasure) -> str:
    score = measure.text(epoch.test, len(measure.name))
    skipped = f"  {epoch.skipped} steps skipped" if epoch.skipped else ""
    return f"{epoch.number:5}  {epoch.loss:10.4f}  {epoch.test.loss:9.4f}  {score}{skipped}"


def _summary(result: TrainingResult) -> None:
    if result.averaged is not None:
        score, measure = result.averaged, result.measure
        click.echo(f"averaged weights: test loss {score.loss:.4f}, {measure.name} {measure.text(score)}")
    click.echo(f"products: {result.products}")


# -- several training recipes ------------------------------------------------------------------------------------------


@command.command("compare")
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
def compare_recipes(
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

    training_recipes = [load_recipe(name, settings).with_training(epochs=epochs) for name in recipes]
    total = seeds * len(training_recipes)
    with workers(jobs, scheduler) as pool, progress(total) as bar:

        def advance(outcome: RunOutcome) -> None:
            bar.advance(f"{outcome.recipe}, seed {outcome.seed}", 1)

        outcomes = compare.compare_recipes(training_recipes, range(1, seeds + 1), pool, out, advance)
    summaries = compare.summaries(outcomes)
    click.echo(json.dumps(compare.as_json(outcomes), indent=1) if as_json else "\n".join(_table(summaries)))
    if out is not None:
        _curves(outcomes, out)
    return 1 if any(len(s.diverged) == s.runs for s in summaries) else 0


def _table(summaries: Sequence[RecipeSummary]) -> list[str]:
    """The lines of the table, and what diverged."""
    width = max(len("recipe"), *(len(s.recipe) for s in summaries))
    averages = any(s.averaged.runs for s in summaries)
    heads = ["train loss", "test loss", summaries[0].measure, *(["averaged", "gain"] if averages else [])]
    lines = [f"{'recipe':{width}}  runs  " + "  ".join(f"{head:>15}" for head in heads) + "   time"]
    for s in summaries:
        cells = [_cell(s.train_loss, 4), _cell(s.test_loss, 4), _measure(s.measured, s.measure)]
        if averages:
            cells += [_measure(s.averaged, s.measure), _measure(s.gain, s.measure, sign=True)]
        time = f"{s.time:6.2f}" if s.time == s.time else "     -"
        lines.append(
            f"{s.recipe:{width}}  {s.runs - len(s.diverged):4}  " + "  ".join(f"{c:>15}" for c in cells) + f" {time}"
        )
    for s in summaries:
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
