"""`plot`: pictures of formats, tensors and training runs, each with its numbers as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from softfloat_ref.app import plot_tensors
from softfloat_ref.app.options import ANY, Commands
from softfloat_ref.app.plot_tensors import OUTPUT, TITLE
from softfloat_ref.base.errors import Error, one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from softfloat_ref.nn.samples import Samples

LOG: Final = "log.jsonl"
_MEASURES: Final = {"train_loss": "training loss", "test_loss": "test loss", "accuracy": "test accuracy",
                    "perplexity": "test perplexity", "distance": "test distance"}  # fmt: skip
_MAX_EXPONENT: Final = 100  # binades away from 1
_INCHES_PER_PIXEL: Final = 0.055  # of a sample


@click.group("plot", cls=Commands)
def command() -> None:
    """Plot formats, tensors and training runs with matplotlib, and print the numbers as a table."""


for subcommand in (plot_tensors.histogram, plot_tensors.sqnr, plot_tensors.blocks):
    command.add_command(subcommand)


# -- formats -----------------------------------------------------------------------------------------------------------


@command.command("line")
@click.argument("formats", nargs=-1, required=True, type=ANY, metavar="FORMAT...")
@TITLE
@OUTPUT
def line(formats: tuple[str, ...], title: str, output: str | None) -> None:
    """Plot every value of formats on number lines; of block formats, the values of their elements."""
    from softfloat_ref.app import plots, plots_formats
    from softfloat_ref.arrays.exponents import find_format

    picture = plots.picture_path(output)
    rows = [plots_formats.values_of(find_format(x)) for x in formats]
    plots.draw(picture, plots_formats.number_lines, rows, title)
    width = max(len("format"), *(len(row.name) for row in rows))
    print(f"{'format':{width}}  {'values':>6}  {'smallest':>12}  {'normal from':>12}  {'largest':>12}")
    for row in rows:
        ends = (_text(x) for x in (row.positive.min(), row.normal, row.values.max()))
        print(f"{row.name:{width}}  {row.values.size:6}  {'  '.join(f'{x:>12}' for x in ends)}")


def _text(x: float) -> str:
    return "none" if x == float("inf") else f"{x:.6g}"


@command.command("error")
@click.argument("formats", nargs=-1, required=True, type=ANY, metavar="FORMAT...")
@click.option(
    "--from", "low", type=click.INT, default=-16, show_default=True, help="Exponent of the smallest magnitude."
)
@click.option("--to", "high", type=click.INT, default=0, show_default=True, help="Exponent of the end.")
@TITLE
@OUTPUT
def error(formats: tuple[str, ...], low: int, high: int, title: str, output: str | None) -> None:
    """Plot the largest relative error of formats in each binade, with values rounded to nearest.

    Blocks and affine integers are scaled for a largest magnitude of 2^TO.
    """
    from softfloat_ref.app import plots, plots_formats
    from softfloat_ref.arrays.exponents import find_format

    picture = plots.picture_path(output)
    if not -_MAX_EXPONENT <= low < high <= _MAX_EXPONENT:
        raise Error(
            f"--from {low} --to {high}: give exponents from {-_MAX_EXPONENT} to {_MAX_EXPONENT}, the first one smaller"
        )
    curves = [plots_formats.curve(find_format(x), low, high) for x in formats]
    plots.draw(picture, plots_formats.errors, curves, high, title)
    widths = [max(12, len(c.name)) for c in curves]
    print(f"{'binade':>10}  {'  '.join(f'{c.name:>{w}}' for c, w in zip(curves, widths, strict=True))}")
    for i, exponent in enumerate(range(low, high)):
        cells = (f"{_percent(c.errors[i]):>{w}}" for c, w in zip(curves, widths, strict=True))
        print(f"{f'2^{exponent}':>10}  {'  '.join(cells)}")


def _percent(x: float) -> str:
    return "too large" if x == float("inf") else f"{100 * x:.4g} %"


# -- training ----------------------------------------------------------------------------------------------------------


class TrainingLog(NamedTuple):
    """A run: the name of its training recipe, its seed, and its log lines at epoch ends."""

    recipe: str
    seed: int
    epochs: list[dict[str, Any]]


@command.command("training")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@TITLE
@OUTPUT
def training(runs: tuple[str, ...], title: str, output: str | None) -> None:
    """Plot loss, and accuracy, perplexity or distance, over epochs: one curve per training recipe.

    Runs of one training recipe with several seeds are drawn as their mean, in a band from the lowest to the highest.
    """
    print("\n".join(draw_training(runs, output, title)))


def draw_training(runs: Sequence[str], output: str | None, title: str = "") -> list[str]:
    """Write the picture of the runs, if an output is given; returns the lines of the table. Raises Error."""
    from softfloat_ref.app import plots

    picture = plots.picture_path(output)
    logs = [_run(Path(x)) for x in runs]
    groups: dict[str, list[TrainingLog]] = {}
    for run in logs:
        groups.setdefault(run.recipe, []).append(run)
    measures = [m for m in _MEASURES if all(m in run.epochs[-1] for run in logs)]
    if not measures:
        raise Error("these runs have no measure in common: plot accuracies, perplexities and distances separately")
    panels = [(_MEASURES[m], [_curve(name, m, group) for name, group in groups.items()]) for m in measures]
    plots.draw(picture, plots.training, panels, title)
    return list(_table(groups, measures))


def _run(path: Path) -> TrainingLog:
    from softfloat_ref.nn.runlog import is_number, read_log

    log = path / LOG if path.is_dir() else path
    if not log.is_file():
        raise Error(f"{path}: not a training run: it has no {LOG}")
    lines = read_log(log)
    epochs = [x for x in lines if type(x.get("epoch")) is int and any(m in x for m in _MEASURES)]
    if not epochs:
        raise Error(f"{log}: has no line of a complete epoch yet")
    for x in epochs:
        for measure in _MEASURES:
            if measure in x and not is_number(x[measure]):
                wrong = "beyond a double" if type(x[measure]) is int else "not a number"
                raise Error(f"{log}: {measure} of epoch {x['epoch']} is {repr(x[measure])[:40]}, {wrong}")
            if (measure in x) != (measure in epochs[-1]):
                raise Error(f"{log}: {measure} is missing from some lines of epochs")
    head = lines[0] if "recipe" in lines[0] else {}
    seed = head.get("seed", 0)
    return TrainingLog(one_line(head.get("recipe", path.resolve().name)), seed if isinstance(seed, int) else 0, epochs)


def _curve(name: str, measure: str, group: Sequence[TrainingLog]) -> Any:
    from softfloat_ref.app.plots import TrainingCurve
    from softfloat_ref.nn.compare import spread

    values: dict[int, list[float]] = {}
    for run in group:
        for line in run.epochs:
            values.setdefault(line["epoch"], []).append(line[measure])
    whole = {epoch: x for epoch, x in sorted(values.items()) if len(x) == len(group)}
    label = name if len(group) == 1 else f"{name}, {len(group)} runs"
    means = [spread(x).mean for x in whole.values()]
    return TrainingCurve(label, list(whole), means, [min(x) for x in whole.values()], [max(x) for x in whole.values()])


def _table(groups: dict[str, list[TrainingLog]], measures: Sequence[str]) -> Iterator[str]:
    """For each training recipe, its runs, its epochs, and the numbers of the last epoch."""
    width = max(len("recipe"), *map(len, groups))
    heads = "".join(f"  {_MEASURES[m]:>19}" for m in measures)
    yield f"{'recipe':{width}}  runs  epochs{heads}"
    for name, group in groups.items():
        epochs = "/".join(sorted({str(run.epochs[-1]["epoch"]) for run in group}, key=int))
        cells = "".join(f"  {_cell([run.epochs[-1][m] for run in group]):>19}" for m in measures)
        yield f"{name:{width}}  {len(group):4}  {epochs:>6}{cells}"


def _cell(x: Sequence[float]) -> str:
    from softfloat_ref.nn.compare import spread

    mean, deviation, runs = spread(x)
    return f"{mean:.4f}" + (f" +- {deviation:.4f}" if runs > 1 else "")


# -- samples of a generator --------------------------------------------------------------------------------------------


@command.command("samples")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--count", type=click.IntRange(min=1), default=64, show_default=True, help="Number of images.")
@click.option("--averaged", is_flag=True, help="Of the averaged weights.")
@TITLE
@click.option("-o", "--output", metavar="FILE.png|.svg|.pdf", help="The picture [only the distance].")
def samples(run: Path, count: int, averaged: bool, title: str, output: str | None) -> None:
    """Draw images generated by a run of a dcgan, beside as many of its test data."""
    from softfloat_ref.app import plots
    from softfloat_ref.nn.samples import sample_images

    picture = plots.picture_path(output)
    images = sample_images(run, count, averaged)
    plots.draw(picture, _samples, images, title)
    print(f"{run.name}: {count} images of {'averaged weights' if averaged else f'step {images.step}'}, distance of "
          f"{images.distance:.2f}")  # fmt: skip


def _samples(images: Samples, title: str) -> Figure:
    """The test data and the generated images, side by side."""
    from softfloat_ref.app import plots

    panels = [(name, _tiled(x)) for name, x in (("test data", images.data), ("generated", images.generated))]
    height, width = panels[0][1].shape[:2]
    fig = plots.figure(2 * _INCHES_PER_PIXEL * width + 0.4, _INCHES_PER_PIXEL * height + 0.6)
    for axes, (name, image) in zip(fig.subplots(1, 2), panels, strict=True):
        axes.imshow(image, interpolation="nearest", cmap="gray", vmin=0, vmax=1)
        axes.set_title(name)
        axes.set_axis_off()
    return plots.with_title(fig, title)


def _tiled(images: NDArray[Any]) -> NDArray[Any]:
    """Images side by side, in a square or nearly, a white pixel apart."""
    import numpy as np

    count, height, width, channels = images.shape
    across = isqrt(count - 1) + 1
    down = -(-count // across)
    whole = np.ones((down * across, height + 1, width + 1, channels), images.dtype)
    whole[:count, 1:, 1:] = images
    return whole.reshape(down, across, height + 1, width + 1, channels).swapaxes(1, 2).reshape(
        down * (height + 1), across * (width + 1), channels
    )  # fmt: skip
