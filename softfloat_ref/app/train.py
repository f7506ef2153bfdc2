"""`train`: trains the network of a training recipe, with every tensor in its format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from softfloat_ref.app import train_compare
from softfloat_ref.app.options import Commands
from softfloat_ref.app.progress import Progress, progress
from softfloat_ref.app.train_compare import SET_HELP

if TYPE_CHECKING:
    from softfloat_ref.base.executors import Workers
    from softfloat_ref.nn.objectives import ScoreMeasure
    from softfloat_ref.nn.train import Epoch, TrainingResult
    from softfloat_ref.nn.training_recipe import Recipe


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

    chosen = load_recipe(recipe, settings).with_training(epochs=epochs, seed=seed, shards=shards)
    if (jobs or scheduler) and (chosen.training.shards == 1 or show or trace is not None):
        raise click.UsageError("--jobs and --scheduler are for the shards of a step; give --shards")
    if show:
        if out is not None or resume or statistics or trace is not None:
            raise click.UsageError("--show excludes --out, --resume, --statistics and --trace")
        click.echo(chosen.to_toml(), nl=False)
        return 0
    try:
        if trace is not None:
            return _trace(chosen, trace, out, resume or statistics)
        with workers(jobs if scheduler or jobs else 1, scheduler) as pool:
            result = _train(chosen, out, resume, statistics, pool)
    except Diverged as e:
        click.echo(f"{chosen.name}: {e}")
        return 1
    _summary(result)
    return 0


command.add_command(train_compare.command)


def _trace(recipe: Recipe, step: int, out: Path | None, other: bool) -> int:
    from softfloat_ref.app.vector_files import command_line
    from softfloat_ref.golden.trace.step import write_step
    from softfloat_ref.nn.train import Watch

    if out is None or other:
        raise click.UsageError("--trace needs --out DIR, and excludes --resume and --statistics")
    with progress(step) as bar:
        trace = write_step(recipe, step, out, command_line(), Watch(step=_advance(bar)))
    made = len({name for node in trace.nodes for name in node.outputs})
    click.echo(f"{len(trace.tensors)} tensors of step {step} of {recipe.name} in {out}: {made} made by "
               f"{len(trace.nodes)} operations, {len(trace.tensors) - made} given")  # fmt: skip
    return 0


def _list() -> int:
    from softfloat_ref.nn.training_recipe import load_recipe, recipe_files

    found = [load_recipe(name) for name in recipe_files()]
    width = max(len(r.name) for r in found)
    for recipe in found:
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
    found = measure.text(epoch.test, len(measure.name))
    skipped = f"  {epoch.skipped} steps skipped" if epoch.skipped else ""
    return f"{epoch.number:5}  {epoch.loss:10.4f}  {epoch.test.loss:9.4f}  {found}{skipped}"


def _summary(result: TrainingResult) -> None:
    if result.averaged is not None:
        score, measure = result.averaged, result.measure
        click.echo(f"averaged weights: test loss {score.loss:.4f}, {measure.name} {measure.text(score)}")
    click.echo(f"products: {result.products}")
