"""`plot histogram`, `plot sqnr` and `plot blocks`: pictures of tensors in formats, with the numbers as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from softfloat_ref.app.model_input import one_tensor
from softfloat_ref.app.options import ANY, Choices, policy_options, profile_option
from softfloat_ref.base.errors import Error, one_line, unknown
from softfloat_ref.base.names import matches
from softfloat_ref.oracle.literals import shortest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softfloat_ref.arrays.exponents import AnyFormat, ExponentCounts, Shares

TITLE: Final = click.option("--title", default="", help="Title of the picture.")
OUTPUT: Final = click.option("-o", "--output", metavar="FILE.png|.svg|.pdf", help="The picture [only the table].")
GRADIENTS: Final = "gradients.npz"
_BINS: Final = 192  # of blocks
_HEADS: Final = (("smallest", 10), ("largest", 10), ("to zero", 9), ("subnormal", 9), ("too large", 9))

NamedArray = tuple[str, "NDArray[Any]"]


# -- histogram ---------------------------------------------------------------------------------------------------------


@click.command("histogram")
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
    picture = plots.picture_path(output)
    if not 0 < scale < float("inf"):
        raise Error(f"--scale {scale}: give a number above 0")
    targets = [find_format(x) for x in formats]
    tensors = []
    for source in inputs:
        exponents, shares = _measured(list(_chosen(source, patterns)), targets, scale, choices)
        tensors.append(plots.TensorHistogram(_label(source), exponents, shares))
    plots.draw(picture, plots.histogram, tensors, targets, title)
    for x in tensors:
        print("\n".join(_lines(x.name, x.exponents, x.shares, targets)))


def _label(source: str) -> str:
    path = Path(source)
    return path.resolve().name if path.is_dir() else path.name


def _chosen(source: str, patterns: tuple[str, ...]) -> Iterator[NamedArray]:
    """The tensors of an input that match a pattern. Raises Error if none does."""
    tensors = list(_tensors(Path(source)))
    matching = [t for t in tensors if not patterns or any(matches(t[0], p) for p in patterns)]
    if not matching:
        raise unknown(f"tensor in {source}:", ", ".join(patterns), [name for name, _ in tensors])
    yield from matching


def _tensors(path: Path) -> Iterator[NamedArray]:
    from softfloat_ref.app.quantize import read_npy

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


def _npz(path: Path) -> Iterator[NamedArray]:
    """The nonempty arrays of floats and integers. Raises Error if there are none."""
    from softfloat_ref.base import npz
    from softfloat_ref.nn.checkpoint import META

    arrays = npz.load(path, kinds=npz.PLAIN)
    numeric = [(name, x) for name, x in arrays.items() if name != META and x.dtype.kind in npz.NUMBERS and x.size]
    if not numeric:
        raise Error(f"{path}: has no array of numbers")
    yield from numeric


def _measured(
    tensors: Sequence[NamedArray], formats: Sequence[AnyFormat], scale: float, choices: Choices
) -> tuple[ExponentCounts, list[Shares]]:
    from softfloat_ref.arrays import convert
    from softfloat_ref.arrays.exponents import EMPTY, NOTHING, exponents, shares

    total, sums = EMPTY, [NOTHING] * len(formats)
    for _, x in tensors:
        scaled = x if scale == 1 else convert.to_float64(x) * scale
        total += exponents(scaled)
        for i, fmt in enumerate(formats):
            own_choices = choices.of(fmt)
            sums[i] += shares(scaled, fmt, own_choices.typed_policy, own_choices.source)
    return total, sums


def _lines(
    name: str, exponents: ExponentCounts, shares: Sequence[Shares], formats: Sequence[AnyFormat]
) -> Iterator[str]:
    zeros = f"{exponents.zeros} zero" + (f", {exponents.specials} Inf or NaN" if exponents.specials else "")
    span = f"; exponents {exponents.first} to {exponents.last}" if exponents.nonzero else ""
    yield f"{name}: {exponents.total} values, {zeros}{span}"
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


# -- a model's tensors -------------------------------------------------------------------------------------------------


@click.command("sqnr")
@click.argument("report", metavar="REPORT.json")
@TITLE
@OUTPUT
def sqnr(report: str, title: str, output: str | None) -> None:
    """Plot the signal to quantization noise ratio by tensor and format, from a report that `report -o` wrote."""
    from softfloat_ref.app import plots, plots_formats
    from softfloat_ref.app.report_rows import decibels

    picture = plots.picture_path(output)
    formats, ratios = _ratios(report)
    names = list(ratios)
    by_format = [(f, [ratios[name].get(f, float("nan")) for name in names]) for f in formats]
    plots.draw(picture, plots_formats.sqnr, names, by_format, title)
    width, sizes = max(len("SQNR in dB"), *map(len, names)), [max(8, len(f)) for f in formats]
    print(f"{'SQNR in dB':{width}}  {'  '.join(f'{f:>{size}}' for f, size in zip(formats, sizes, strict=True))}")
    for name in names:
        texts = (decibels(ratios[name].get(f, float("nan"))) for f in formats)
        print(f"{name:{width}}  {'  '.join(f'{x:>{size}}' for x, size in zip(texts, sizes, strict=True))}")


def _ratios(path: str) -> tuple[list[str], dict[str, dict[str, float]]]:
    """The formats of a report, and each tensor's ratios by format. Raises Error."""
    from softfloat_ref.base.trees import read_json

    try:
        whole: Any = read_json(path)
        by_tensor: dict[str, dict[str, float]] = {}
        for row in whole["rows"]:
            ratios = by_tensor.setdefault(one_line(row["tensor"]), {})
            if "sqnr_db" in row:
                ratios[one_line(row["format"])] = float(row["sqnr_db"])
        formats = [one_line(x) for x in whole["formats"]]
    except (ValueError, TypeError, KeyError) as e:
        if isinstance(e, Error):
            raise
        raise Error(f"{path}: not a report; softfloat-ref report MODEL --fmt FORMAT -o FILE.json writes one") from None
    if not by_tensor or not formats:
        raise Error(f"{path}: a report without rows")
    return formats, by_tensor


@click.command("blocks")
@click.argument("model")
@click.option("--fmt", required=True, type=ANY, metavar="FORMAT", help="A block format.")
@click.option("--tensor", metavar="NAME", help="The tensor [the only one that can be measured].")
@click.option("--axis", type=click.INT, help="Axis of blocks [the last].")
@TITLE
@OUTPUT
@profile_option
@policy_options
def blocks(
    choices: Choices,
    model: str,
    fmt: str,
    tensor: str | None,
    axis: int | None,
    title: str,
    output: str | None,
    profile: str | None,
) -> None:
    """Plot the scales and the largest magnitudes of a tensor's blocks, and the share of values that saturate.

    MODEL is a file as for `report`, also a .npy array.
    """
    from softfloat_ref.app import plots, plots_formats
    from softfloat_ref.app.report_rows import ModelReport, table
    from softfloat_ref.arrays.errors import ErrorMeasure
    from softfloat_ref.base.executors import Workers
    from softfloat_ref.nn.model_errors import Work
    from softfloat_ref.oracle.blocks.formats import get_block_format
    from softfloat_ref.oracle.blocks.scale_rules import largest

    picture = plots.picture_path(output)
    block_format = get_block_format(fmt)
    choices = choices.of(block_format, profile)
    choices.check_seed()
    measure = ErrorMeasure.make(block_format, choices.typed_policy, choices.source, axis, profile)
    model_tensor = one_tensor(model, tensor, "plot")
    (row,) = Work([model_tensor], [measure], _BINS).rows(Workers())
    if row.problem:
        raise Error(f"{model_tensor.name}: {row.problem}")
    limit = float(largest(block_format.element))
    plots.draw(picture, plots_formats.blocks, row.measured.bins, limit, model_tensor.name, title)
    for text in table(ModelReport([], [block_format.name], [row], [])):
        print(text)
