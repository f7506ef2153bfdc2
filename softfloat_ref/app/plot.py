"""`plot`: pictures of formats, tensors and training runs, each with its numbers as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from softfloat_ref.app import plot_formats, plot_samples, plot_tensors
from softfloat_ref.app.options import ANY, Choices, Commands, policy_options
from softfloat_ref.app.plot_formats import OUTPUT, TITLE
from softfloat_ref.base.errors import Error, one_line, unknown
from softfloat_ref.base.patterns import matches
from softfloat_ref.oracle.literals import shortest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softfloat_ref.arrays.exponents import AnyFormat, Exponents, Shares

GRADIENTS: Final = "gradients.npz"
LOG: Final = "log.jsonl"
_MEASURES: Final = {"train_loss": "training loss", "test_loss": "test loss", "accuracy": "test accuracy",
                    "perplexity": "test perplexity", "distance": "test distance"}  # fmt: skip

_HEADS: Final = (("smallest", 10), ("largest", 10), ("to zero", 9), ("subnormal", 9), ("too large", 9))

Tensor = tuple[str, "NDArray[Any]"]


@click.group("plot", cls=Commands)
def command() -> None:
    """Plot formats, tensors and training runs with matplotlib, and print the numbers as a table."""


command.add_command(plot_formats.line)
command.add_command(plot_formats.error)
command.add_command(plot_tensors.sqnr)
command.add_command(plot_tensors.blocks)
command.add_command(plot_samples.samples)

# -- histogram -------------------------------------------------------------------------------------------------------


@command.command("histogram")
@click.argument("inputs", nargs=-1, required=True, metavar="RUN|FILE.npy|FILE.npz...")
@click.option("--fmt", "formats", multiple=True, type=ANY, metavar="FORMAT", help="A format to compare them with.")
@click.option("--tensor", "patterns", multiple=True, metavar="PATTERN", help="Only these tensors, such as conv*.error.")
@click.option("--scale", type=click.FLOAT, default=1.0, help="Factor on the values, such as a loss scale [1].")
@TITLE
@OUTPUT
@policy_options
def histogram(
    inputs: tuple[str, ...],
    formats: tuple[str, ...],
    patterns: tuple[str, ...],
    scale: float,
    title: str,
    output: str | None,
    choices: Choices,
) -> None:
    """Plot exponents of tensors over the ranges of formats, with the share that each format rounds to zero.

    An input is an array, an .npz of several arrays, counted together, or the folder of a run trained with --statistics:
    the gradients of its last step, loss scale included.
    """
    from softfloat_ref.app import plots
    from softfloat_ref.arrays.exponents import find_format

    choices.check_seed()
    picture = plots.picture(output)
    if not 0 < scale < float("inf"):
        raise Error(f"--scale {scale}: give a number above 0")
    found = [find_format(x) for x in formats]
    made = []
    for given in inputs:
        exponents, shares = _measured(list(_chosen(given, patterns)), found, scale, choices)
        made.append(plots.Tensors(_label(given), exponents, shares))
    if picture is not None:
        plots.histogram(picture, made, found, title)
    for x in made:
        print("\n".join(_lines(x.name, x.exponents, x.shares, found)))


def _label(given: str) -> str:
    path = Path(given)
    return path.resolve().name if path.is_dir() else path.name


def _chosen(given: str, patterns: tuple[str, ...]) -> Iterator[Tensor]:
    """The tensors of an input that match a pattern. Raises Error if none does."""
    tensors = list(_tensors(Path(given)))
    kept = [t for t in tensors if not patterns or any(matches(t[0], p) for p in patterns)]
    if not kept:
        raise unknown(f"tensor in {given}:", ", ".join(patterns), [name for name, _ in tensors])
    yield from kept


def _tensors(path: Path) -> Iterator[Tensor]:
    from softfloat_ref.app.quantize_input import read_npy

    if not path.exists():
        raise Error(f"{path}: no such file or folder")
    if path.is_dir():
        if not (path / GRADIENTS).is_file():
            raise Error(f"{path}: has no {GRADIENTS}; train with --statistics, or give .npy or .npz files")
        path = path / GRADIENTS
    if path.suffix == ".npz":
        yield from _npz(path)
    else:
        yield path.stem, read_npy(str(path))


def _npz(path: Path) -> Iterator[Tensor]:
    """The nonempty arrays of floats and integers. Raises Error if there are none."""
    from softfloat_ref.base import npz
    from softfloat_ref.nn.checkpoint import META

    arrays = npz.load(path, kinds=npz.PLAIN)
    found = [(name, x) for name, x in arrays.items() if name != META and x.dtype.kind in npz.NUMBERS and x.size]
    if not found:
        raise Error(f"{path}: has no array of numbers")
    yield from found


def _measured(
    tensors: Sequence[Tensor], formats: Sequence[AnyFormat], scale: float, choices: Choices
) -> tuple[Exponents, list[Shares]]:
    from softfloat_ref.arrays import convert
    from softfloat_ref.arrays.exponents import EMPTY, NOTHING, exponents, shares

    total, found = EMPTY, [NOTHING] * len(formats)
    for _, x in tensors:
        scaled = x if scale == 1 else convert.to_float64(x) * scale
        total += exponents(scaled)
        for i, fmt in enumerate(formats):
            chosen = choices.of(fmt)
            found[i] += shares(scaled, fmt, chosen.typed_policy, chosen.source)
    return total, found


def _lines(name: str, found: Exponents, shares: Sequence[Shares], formats: Sequence[AnyFormat]) -> Iterator[str]:
    zeros = f"{found.zeros} zero" + (f", {found.specials} Inf or NaN" if found.specials else "")
    span = f"; exponents {found.first} to {found.last}" if found.nonzero else ""
    yield f"{name}: {found.total} values, {zeros}{span}"
    if formats:
        width = max(len("format"), *(len(f.name) for f in formats))
        heads = "".join(f"  {text:>{size}}" for text, size in _HEADS)
        yield f"  {'format':{width}}{heads}"
        for fmt, x in zip(formats, shares, strict=True):
            ends = "  ".join(f"{end:>10}" for end in _ends(fmt))
            parts = "  ".join(f"{100 * x.part(n):7.3f} %" for n in (x.zero, x.subnormal, x.beyond))
            yield f"  {fmt.name:{width}}  {ends}  {parts}"


def _ends(fmt: AnyFormat) -> tuple[str, str]:
    from softfloat_ref.oracle.codec import decoder
    from softfloat_ref.oracle.formats import Format

    if not isinstance(fmt, Format):
        return "scaled", "scaled"
    smallest, largest = (decoder(fmt)(code) for code in (fmt.min_code, fmt.max_code))
    return _short(float(smallest), shortest(smallest)), _short(float(largest), shortest(largest))


def _short(x: float, text: str) -> str:
    return text if len(text) <= 8 else f"{x:.3g}"


# -- training --------------------------------------------------------------------------------------------------------


class Run(NamedTuple):
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

    picture = plots.picture(output)
    found = [_run(Path(x)) for x in runs]
    groups: dict[str, list[Run]] = {}
    for run in found:
        groups.setdefault(run.recipe, []).append(run)
    measures = [m for m in _MEASURES if all(m in run.epochs[-1] for run in found)]
    if not measures:
        raise Error("these runs have no measure in common: plot accuracies, perplexities and distances separately")
    panels = [(_MEASURES[m], [_curve(name, m, group) for name, group in groups.items()]) for m in measures]
    if picture is not None:
        plots.training(picture, panels, title)
    return list(_table(groups, measures))


def _run(path: Path) -> Run:
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
    return Run(one_line(head.get("recipe", path.resolve().name)), seed if isinstance(seed, int) else 0, epochs)


def _curve(name: str, measure: str, group: Sequence[Run]) -> Any:
    from softfloat_ref.app.plots import Curve

    values: dict[int, list[float]] = {}
    for run in group:
        for line in run.epochs:
            values.setdefault(line["epoch"], []).append(line[measure])
    whole = {epoch: x for epoch, x in sorted(values.items()) if len(x) == len(group)}
    label = name if len(group) == 1 else f"{name}, {len(group)} runs"
    means = [_mean(x) for x in whole.values()]
    return Curve(label, list(whole), means, [min(x) for x in whole.values()], [max(x) for x in whole.values()])


def _mean(x: Sequence[float]) -> float:
    return fsum(x) / len(x)


def _deviation(x: Sequence[float]) -> float:
    """The standard deviation of a sample."""
    mean = _mean(x)
    return sqrt(fsum((v - mean) * (v - mean) for v in x) / (len(x) - 1)) if len(x) > 1 else 0.0


def _table(groups: dict[str, list[Run]], measures: Sequence[str]) -> Iterator[str]:
    """For each training recipe, its runs, its epochs, and the numbers of the last epoch."""
    width = max(len("recipe"), *map(len, groups))
    heads = "".join(f"  {_MEASURES[m]:>19}" for m in measures)
    yield f"{'recipe':{width}}  runs  epochs{heads}"
    for name, group in groups.items():
        epochs = "/".join(sorted({str(run.epochs[-1]["epoch"]) for run in group}, key=int))
        cells = "".join(f"  {_cell([run.epochs[-1][m] for run in group]):>19}" for m in measures)
        yield f"{name:{width}}  {len(group):4}  {epochs:>6}{cells}"


def _cell(x: Sequence[float]) -> str:
    return f"{_mean(x):.4f}" + (f" +- {_deviation(x):.4f}" if len(x) > 1 else "")
