"""`plot sqnr` and `plot blocks`: pictures of a model's tensors in formats, with the numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from softfloat_ref.app.options import ANY, Choices, policy_options, profile_option
from softfloat_ref.app.plot_formats import OUTPUT, TITLE
from softfloat_ref.base.errors import Error, one_line, unknown

if TYPE_CHECKING:
    from softfloat_ref.nn.model_files import ModelTensor

_BINS: Final = 192  # of blocks


@click.command("sqnr")
@click.argument("report", metavar="REPORT.json")
@TITLE
@OUTPUT
def sqnr(report: str, title: str, output: str | None) -> None:
    """Plot the signal to quantization noise ratio by tensor and format, from a report that `report -o` wrote."""
    from softfloat_ref.app import plots

    picture = plots.picture(output)
    formats, ratios = _ratios(report)
    names = list(ratios)
    if picture is not None:
        from softfloat_ref.app import plots_tensors

        found = [(f, [ratios[name].get(f, float("nan")) for name in names]) for f in formats]
        with plots.style():
            plots.save(plots_tensors.sqnr(names, found, title), picture)
    from softfloat_ref.app.report_rows import decibels

    width, sizes = max(len("SQNR in dB"), *map(len, names)), [max(8, len(f)) for f in formats]
    print(f"{'SQNR in dB':{width}}  {'  '.join(f'{f:>{size}}' for f, size in zip(formats, sizes, strict=True))}")
    for name in names:
        texts = (decibels(ratios[name].get(f, float("nan")), 2) for f in formats)
        print(f"{name:{width}}  {'  '.join(f'{x:>{size}}' for x, size in zip(texts, sizes, strict=True))}")


def _ratios(path: str) -> tuple[list[str], dict[str, dict[str, float]]]:
    """The formats of a report, and each tensor's ratios by format. Raises Error."""
    from softfloat_ref.base.trees import read_json

    try:
        whole: Any = read_json(path)
        found: dict[str, dict[str, float]] = {}
        for row in whole["rows"]:
            ratios = found.setdefault(one_line(row["tensor"]), {})
            if "sqnr_db" in row:
                ratios[one_line(row["format"])] = float(row["sqnr_db"])
        formats = [one_line(x) for x in whole["formats"]]
    except (ValueError, TypeError, KeyError) as e:
        if isinstance(e, Error):
            raise
        raise Error(f"{path}: not a report; softfloat-ref report MODEL --fmt FORMAT -o FILE.json writes one") from None
    if not found or not formats:
        raise Error(f"{path}: a report without rows")
    return formats, found


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
    from softfloat_ref.app import plots
    from softfloat_ref.app.report_rows import Report, table
    from softfloat_ref.arrays.errors import Measure
    from softfloat_ref.base.executors import Workers
    from softfloat_ref.nn.model_errors import Work
    from softfloat_ref.oracle.blocks.formats import get_block_format

    picture = plots.picture(output)
    found = get_block_format(fmt)
    choices = choices.of(found, profile)
    choices.check_seed()
    measure = Measure.make(found, choices.typed_policy, choices.source, axis, profile)
    chosen = _one(model, tensor)
    (row,) = Work([chosen], [measure], _BINS).rows(Workers())
    if row.problem:
        raise Error(f"{chosen.name}: {row.problem}")
    if picture is not None:
        from softfloat_ref.app import plots_tensors
        from softfloat_ref.oracle.blocks.scale_rules import largest

        assert row.measured.bins is not None
        limit = float(largest(found.element))
        with plots.style():
            plots.save(plots_tensors.blocks(row.measured.bins, limit, chosen.name, title), picture)
    for text in table(Report([], [found.name], [row], [])):
        print(text)


def _one(model: str, name: str | None) -> ModelTensor:
    """The tensor of that name. Raises Error if it is not there, not one of floats, or not the only one."""
    from softfloat_ref.nn.model_files import tensors

    found = tensors(model)
    named = [t for t in found if t.name == name] if name else [t for t in found if not t.skipped]
    if name and not named:
        raise unknown(f"tensor in {model}:", name, [t.name for t in found])
    if named and named[0].skipped:
        raise Error(f"{model}: {name}: {named[0].skipped}")
    if len(named) != 1:
        raise Error(f"{model}: has {_listed([t.name for t in named])} to plot; choose one with --tensor")
    return named[0]


def _listed(names: Sequence[str]) -> str:
    return f"{len(names)} tensors" + (f", such as {names[0]}," if names else "")
