"""`report`: what formats do to the tensors of a whole model, as a table, CSV, JSON, and a page with pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from softfloat_ref.app.model_input import model_options
from softfloat_ref.app.options import ANY, SCHEDULERS, Choices, NameType, policy_options, profile_option
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.names import matches

if TYPE_CHECKING:
    from softfloat_ref.app.against_summary import Models
    from softfloat_ref.app.report_rows import ModelReport
    from softfloat_ref.app.report_summary import ReportSummary
    from softfloat_ref.arrays.errors import ErrorMeasure
    from softfloat_ref.nn.model_errors import ModelErrorRow
    from softfloat_ref.nn.model_files import ModelTensor

SORTS: Final = ("file", "name", "size", "sqnr", "error", "saturated", "flushed")
OUTPUTS: Final = (".html", ".csv", ".json")
_BINS: Final = 192  # of blocks in a picture


@click.command("report")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option(
    "--fmt",
    "formats",
    multiple=True,
    type=ANY,
    metavar="FORMAT",
    help="A format to measure; several times.",
)
@click.option("--against", metavar="MODEL", help="Compare with this model, in place of formats.")
@click.option("--include", multiple=True, metavar="PATTERN", help="Only these tensors, such as layers.0.*.weight.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Not these tensors.")
@click.option("--axis", type=click.INT, help="Axis of blocks [the last]; qint: of channels [one scale].")
@click.option(
    "--sort", type=NameType("KEY", SORTS), help=f"Print all rows in this order: {', '.join(SORTS)}; worst first [file]."
)
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Print only the first N rows; files have all.")
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE", help=f"{', '.join(OUTPUTS)}; several times.")
@model_options
@click.option("--jobs", type=click.IntRange(1, 1024), help="Number of local processes [1].")
@click.option("--scheduler", metavar=SCHEDULERS, help="A Dask cluster; its workers open the same files.")
@profile_option
@policy_options
def command(
    choices: Choices,
    models: tuple[str, ...],
    formats: tuple[str, ...],
    against: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    axis: int | None,
    sort: str | None,
    top: int | None,
    outputs: tuple[str, ...],
    jobs: int | None,
    scheduler: str | None,
    profile: str | None,
    layouts: tuple[str, ...],
    stored: tuple[str, ...],
) -> None:
    """Find which format a model needs: bits, signal to quantization noise and the worst matrices by format; then the
    errors of every tensor. Or, with --against, compare a model with its original, or with another producer's.

    A model is one or several files, a folder, or an index of shards: .safetensors, .gguf, .npz, .npy, .onnx, .msgpack
    (Flax), or PyTorch (.pt, .pth, .bin, .ckpt). Quantized weights are read with their scales. Nothing is unpickled.
    Tensors are read in slabs, so that they may be larger than memory.
    """
    from softfloat_ref.app import report_against, report_rows, report_summary, report_text
    from softfloat_ref.base.files import check_place

    for paths in (models, outputs):
        if twice := [x for i, x in enumerate(paths) if x in paths[:i]]:
            raise Error(f"{twice[0]} is given twice")
    if bool(formats) == (against is not None):
        raise Error("give --fmt FORMAT, several times, or --against MODEL" + "; not both" * bool(formats))
    if against is None:
        _check(sort or SORTS[0], outputs, choices)
    else:
        report_against.check(sort or SORTS[0], outputs)
        _refuse_options_of_formats(axis, profile, jobs, scheduler)
    for path in outputs:
        check_place(path)
    if against is not None:
        for line in report_against.compare(
            _models(models, against, include, exclude, layouts, stored), sort, top, outputs
        ):
            print(line)
        return
    measures = _measures(formats, choices, axis, profile)
    measured_tensors, skipped = _chosen(models, include, exclude, layouts, stored)
    rows = _rows(measured_tensors, measures, outputs, jobs, scheduler)
    names = [m.fmt.name for m in measures]
    report = report_rows.ModelReport([Path(x).name for x in models], names, rows, skipped)
    summary, ordered = report_summary.ReportSummary(report), report.ordered(sort or SORTS[0])
    _write(summary, ordered, outputs, sort is not None)
    for line in report_text.lines(summary, ordered, top, every_row=sort is not None):
        print(line)


def _models(
    models: Sequence[str],
    against: str,
    include: Sequence[str],
    exclude: Sequence[str],
    layouts: Sequence[str],
    stored: Sequence[str],
) -> Models:
    """The selected tensors of a model, all of another, and what both are called: the files' names, or their paths."""
    from softfloat_ref.app.against_summary import Models
    from softfloat_ref.nn.model_files import model_tensors

    names = [", ".join(Path(x).name for x in models), Path(against).name]
    if names[0] == names[1]:
        names = [", ".join(models), against]
    selected, others = _selected(models, include, exclude, layouts, stored), model_tensors([against], layouts)
    return Models(names[0], selected, names[1], _matching(others, include, exclude) or others)


def _refuse_options_of_formats(axis: int | None, profile: str | None, jobs: int | None, scheduler: str | None) -> None:
    """Raise Error for options that a comparison of two models does not have."""
    for option, value in (("--axis", axis), ("--profile", profile), ("--jobs", jobs), ("--scheduler", scheduler)):
        if value is not None:
            raise Error(f"{option} is for --fmt; --against has no such option")


def _check(sort: str, outputs: Sequence[str], choices: Choices) -> None:
    """Raise Error for options that cannot work, before anything is measured."""
    choices.check_seed()
    if sort not in SORTS:
        raise unknown("order", sort, SORTS)
    if choices.random_bits is not None:
        raise Error("--random-bits gives the bits of one array; use --seed or --random-source")
    for path in outputs:
        if Path(path).suffix not in OUTPUTS:
            raise unknown(f"kind of report {Path(path).name!r}:", Path(path).suffix, OUTPUTS)


def _measures(formats: Sequence[str], choices: Choices, axis: int | None, profile: str | None) -> list[ErrorMeasure]:
    """One quantization per format. Raises Error, also for an axis or a profile that no format has."""
    from softfloat_ref.arrays.errors import ErrorMeasure
    from softfloat_ref.arrays.exponents import find_format
    from softfloat_ref.oracle.formats import Format

    targets = list({x.name: x for x in map(find_format, formats)}.values())
    if all(isinstance(x, Format) for x in targets):
        for option, value in (("--axis", axis), ("--profile", profile)):
            if value is not None:
                names = ", ".join(x.name for x in targets)
                raise Error(f"{option} is for block formats; scalar: {names}")
    return [
        ErrorMeasure.make(x, chosen.typed_policy, chosen.source, *(() if isinstance(x, Format) else (axis, profile)))
        for x in targets
        if (chosen := choices.of(x, profile))
    ]


def _chosen(
    models: Sequence[str],
    include: Sequence[str],
    exclude: Sequence[str],
    layouts: Sequence[str],
    stored: Sequence[str],
) -> tuple[list[ModelTensor], list[tuple[str, str]]]:
    """The tensors to be measured, and the names of the others with the reason. Raises Error if there are none."""
    selected = _selected(models, include, exclude, layouts, stored)
    skipped = [(t.name, t.skipped) for t in selected if t.skipped]
    if len(skipped) == len(selected):
        name, why = skipped[0]
        raise Error(f"{', '.join(models)}: nothing to measure: {len(selected)} tensors, such as {name} ({why})")
    return [t for t in selected if not t.skipped], skipped


def _selected(
    models: Sequence[str],
    include: Sequence[str],
    exclude: Sequence[str],
    layouts: Sequence[str],
    stored: Sequence[str],
) -> list[ModelTensor]:
    """The tensors of the models that the patterns select. Raises Error if there are none."""
    from softfloat_ref.nn.model_files import model_tensors

    all_tensors = model_tensors(models, layouts, stored)
    for pattern in (*include, *exclude):
        if not any(matches(t.name, pattern) for t in all_tensors):
            raise unknown("tensor", pattern, [t.name for t in all_tensors])
    if not (selected := _matching(all_tensors, include, exclude)):
        raise Error(f"--exclude {' '.join(exclude)} leaves no tensor")
    return selected


def _matching(tensors: Sequence[ModelTensor], include: Sequence[str], exclude: Sequence[str]) -> list[ModelTensor]:
    """The tensors that the patterns select."""
    included = [t for t in tensors if not include or any(matches(t.name, p) for p in include)]
    return [t for t in included if not any(matches(t.name, p) for p in exclude)]


def _rows(
    tensors: Sequence[ModelTensor],
    measures: Sequence[ErrorMeasure],
    outputs: Sequence[str],
    jobs: int | None,
    scheduler: str | None,
) -> list[ModelErrorRow]:
    from softfloat_ref.app.output import progress
    from softfloat_ref.base.executors import workers
    from softfloat_ref.nn.model_errors import Work

    pictures = any(Path(x).suffix == ".html" for x in outputs)
    work = Work(tensors, measures, _BINS if pictures else 0)
    with workers(jobs if jobs or scheduler else 1, scheduler) as pool, progress(work.total) as bar:
        rows = list(work.rows(pool, bar.advance))
    if all(row.problem for row in rows):
        raise Error(f"{rows[0].tensor.name} in {rows[0].measure.fmt.name}: {rows[0].problem}")
    return rows


def _write(summary: ReportSummary, report: ModelReport, outputs: Sequence[str], ordered: bool) -> None:
    """The files, each written completely or not at all."""
    from softfloat_ref.app import report_page, report_rows
    from softfloat_ref.base.files import write_data

    order = list(dict.fromkeys(x.tensor.name for x in report.rows)) if ordered else None
    makers: dict[str, Callable[[], str]] = {
        ".csv": lambda: report_rows.csv_text(report),
        ".json": lambda: report_rows.json_text(report, summary.to_dict()),
        ".html": lambda: report_page.html(summary, order),
    }
    for path in outputs:
        write_data(path, makers[Path(path).suffix]())
