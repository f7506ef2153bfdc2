"""The report as one self-contained HTML page: which format; accuracy by kind of layer and depth; every tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, Final

from softfloat_ref.app import report_charts as charts
from softfloat_ref.app import report_depth, report_formats
from softfloat_ref.app.html_page import Html, breakable, cell, data, format_name, page, table
from softfloat_ref.app.report_charts import Level, Point
from softfloat_ref.app.report_depth import Panel
from softfloat_ref.app.report_rows import cells, decibels, in_decibels, notes, percent, shape
from softfloat_ref.app.report_summary import ReportSummary, named
from softfloat_ref.app.report_tally import Depth, FormatSummary, KindGroup, Tally
from softfloat_ref.app.report_tensors import TensorLine, TensorTables
from softfloat_ref.app.report_words import counted_plural, megabytes, short
from softfloat_ref.app.svg import Series
from softfloat_ref.nn.model_errors import ModelErrorRow
from softfloat_ref.nn.tensor_kinds import layer_name

_HEADS: Final = ("format", "bits per value", "MB", "SQNR, dB", "worst, dB", "worst matrix", "saturated", "to zero")
_WORST: Final = 5  # column of the name of the worst matrix

MEASURES: Final = (  # as report_rows.cells has them
    "SQNR, dB",
    "largest error",
    "largest relative error",
    "saturated",
    "to zero",
    "lost (NaN or Inf)",
    "scales",
)
Groups = Sequence[KindGroup[ModelErrorRow]]


def html(summary: ReportSummary, order: Sequence[str] | None = None) -> str:
    """The page. order: the names of the tensors, if not the worst first."""
    report = summary.report
    series = [Series(x.name, x.number, not x.scaled) for x in summary.formats]
    title = f"Formats for {', '.join(report.models)}"
    parts = [
        f"<h1>{escape(title)}</h1>\n",
        f'<p class="answer" id="answer">{_emphasized(summary)}</p>\n',
        f'<div class="first">\n<div>{_formats(summary, series)}{_notes(summary)}</div>\n',
        f"<figure>{charts.trade_off(summary.formats, series)}{_caption(summary)}</figure>\n</div>\n",
        _contents(summary),
    ]
    if len(summary.tensors) > 1 and summary.matrices:
        parts += _kinds(summary, summary.largest_groups, series)
        parts += _depth(summary, summary.groups, series)
    parts += _tensors(summary, series, order)
    parts += report_formats.sections(summary, series)
    if report.skipped:
        parts.append(
            f'<h2 id="skipped">Skipped</h2>\n{table("Skipped tensors", ["tensor", "why"], report.skipped, (0, 1))}'
        )
    return page(title, parts)


def _caption(summary: ReportSummary) -> str:
    if len(summary.tensors) < 2:
        return ""
    words = f"All {summary.plural} together; the bar ends at the worst one."
    return f'<figcaption class="hint">{words}</figcaption>'


def _emphasized(summary: ReportSummary) -> str:
    """The sentence, with the formats that it names in bold."""
    parts = summary.sentence_parts()
    return "".join(escape(x) if isinstance(x, str) else f"<strong>{escape(named(x))}</strong>" for x in parts)


def _contents(summary: ReportSummary) -> str:
    places = [("kinds", "By kind of layer"), ("depth", "By depth")] * (
        len(summary.tensors) > 1 and bool(summary.matrices)
    )
    places += [("matrices", "Matrices")] * bool(summary.matrices) + [("vectors", "Vectors")] * bool(summary.vectors)
    places += [("rounding", "The formats")]
    places += [("skipped", "Skipped")] * bool(summary.report.skipped)
    links = "".join(f'<a href="#{name}">{words}</a>' for name, words in places)
    return f'<nav aria-label="On this page">{links}</nav>\n'


# -- which format ----------------------------------------------------------------------------------------------------


def _formats(summary: ReportSummary, series: Sequence[Series]) -> str:
    """The table of the formats, and what it counts."""
    bits, size, names = summary.stored
    heads = [*_HEADS]
    if not summary.matrices:
        heads[_WORST] = "worst vector"
    lost = any(x.tally.errors.lost for x in summary.formats)
    heads += ["lost"] * lost
    rows: list[str | list[str]] = [_format_row(x, s, lost) for x, s in zip(summary.formats, series, strict=True)]
    first = cell("th", Html(f"as stored<small>{escape(names)}</small>"), "t", ' scope="row"')
    rest = (cell("td", x) for x in (f"{bits:.4g}", megabytes(size), *[""] * (len(heads) - 3)))
    rows.append(Html(f'<tr class="stored">{first}{"".join(rest)}</tr>\n'))
    values = sum(t.size for t in summary.tensors)
    counts = f"{counted_plural(len(summary.tensors), summary.subject, summary.plural)} of {values:,} values"
    others = len({id(x.tensor) for x in summary.vectors}) if summary.matrices else 0
    if others:
        counts += f"; {counted_plural(others, 'vector', 'vectors')} (biases, norms) not counted"
    return f'<p class="facts">{counts}</p>\n{table("Formats", heads, rows, (0, _WORST), "formats")}'


def _format_row(x: FormatSummary, series: Series, lost: bool) -> list[str]:
    e, t = x.tally.errors, x.tally
    scale = "no scale factors" if not x.scaled else f"scale {x.scale}"
    cells = [
        Html(f"{charts.swatch(series)}<small>{escape(scale)}</small>"),
        f"{t.bits_per_value:.4g}" if e.values else "-",
        megabytes(t.megabytes) if e.values else "-",
        decibels(e.sqnr),
        decibels(t.low),
        breakable(short(t.worst.tensor.name)) if t.worst else "",
        percent(e.saturated, e.values),
        percent(e.flushed, e.values),
    ]
    return cells + [str(e.lost)] * lost


def _notes(summary: ReportSummary) -> str:
    """What has to be known of the numbers; and a field that asks for a format."""
    texts = [*summary.remarks(), *(x.removeprefix("note: ") for x in notes(summary.report))]
    listed = "".join(f"<li>{escape(x)}</li>" for x in texts)
    need = (
        '<p class="tools script need"><label>Every '
        f'{summary.subject} must keep <input type="number" id="need" min="0" max="200" step="1"> dB</label>'
        '<output id="needed" for="need"></output></p>\n'
    )
    return (f'<ul class="notes">{listed}</ul>\n' if listed else "") + need + data("sizes", _sizes(summary))


def _sizes(summary: ReportSummary) -> list[dict[str, Any]]:
    """What the page's script needs to choose a format: infinite levels are none."""
    return [
        {
            "name": x.name,
            "bits": float(f"{x.tally.bits_per_value:.4g}"),
            "low": _finite(x.tally.low),
            "levels": [_finite(r.measured.errors.sqnr) for r in x.tally.rows],
        }
        for x in summary.complete
    ]


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


# -- by kind and depth -----------------------------------------------------------------------------------------------


def _kinds(summary: ReportSummary, groups: Groups, series: Sequence[Series]) -> Iterator[str]:
    yield '<h2 id="kinds">By kind of layer</h2>\n'
    yield '<p class="hint">SQNR in dB of all matrices of a kind together, and of the worst one. '
    yield "The lowest of a format is bold.</p>\n"
    totals = [summary.tallies(group.items) for group in groups]
    ratios = {s.name: [t[s.name].errors.sqnr for t in totals] for s in series}
    lows = {name: min((x for x in of if not math.isnan(x)), default=math.nan) for name, of in ratios.items()}
    heads = ["kind", "matrices", "values", *(Html(charts.swatch(s)) for s in series)]
    rows = []
    for group, total in zip(groups, totals, strict=True):
        first = total[series[0].name]
        cells = [breakable(group.label), str(len(first.rows)), f"{sum(x.tensor.size for x in first.rows):,}"]
        for s in series:
            tally = total[s.name]
            low = len(groups) > 1 and tally.errors.sqnr == lows[s.name]
            text = f"<b>{_level(tally)}</b>" if low else _level(tally)
            cells.append(Html(text + f"<small>worst {decibels(tally.low)}</small>" * (len(tally.rows) > 1)))
        rows.append(cells)
    yield table("Kinds of layers", heads, rows, classes="kinds")
    if left := len(summary.groups) - len(groups):
        yield f'<p class="hint">{left} more kinds have fewer values; their tensors are in the tables below.</p>\n'


def _level(tally: Tally) -> str:
    return "refused" if tally.refused and not tally.errors.values else decibels(tally.errors.sqnr)


def _depth(summary: ReportSummary, groups: Groups, series: Sequence[Series]) -> Iterator[str]:
    panels, values = [], []
    for group in groups:
        layers = {depth: summary.tallies(rows) for depth, rows in group.layers.items()}
        points: dict[str, dict[Depth, Point]] = {}
        for depth, by_format in layers.items():
            for name, tally in by_format.items():
                if not math.isnan(tally.errors.sqnr):
                    points.setdefault(name, {})[depth] = _point(tally, layer_name(depth))
        size = sum(t.errors.values for by_format in layers.values() for t in by_format.values())
        panels.append(Panel(group.stack, group.label, size, list(layers), points))
        values += [v for of in points.values() for p in of.values() for v in (p.value, p.low, p.high)]
    hint = (
        "One chart for each kind of layer, all on the same axes. A thin bar spans the matrices of a layer where it has "
        "several of a kind."
    )
    yield from report_depth.sections(panels, series, Level.of(values), hint)


def _point(tally: Tally, layer: str) -> Point:
    title = f"layer {layer}: " * bool(layer) + in_decibels(tally.errors.sqnr)
    if len(tally.rows) > 1:
        title += f" over {len(tally.rows)} matrices, {decibels(tally.low)} to {in_decibels(tally.high)}"
    return Point(tally.errors.sqnr, tally.low, tally.high, title)


# -- every tensor ----------------------------------------------------------------------------------------------------


def _tensors(summary: ReportSummary, series: Sequence[Series], order: Sequence[str] | None) -> Iterator[str]:
    """The tables, the worst weights first. order: names of tensors, if in another order."""
    first = summary.smallest or summary.formats[0]
    columns = [format_name(s.name) for s in series]
    sorted_by = None if order is not None else first.number
    tables = TensorTables(["shape"], columns, MEASURES, [s.name for s in series], sorted_by, switch=True)
    sorting = (
        "" if order is not None else f" The lowest SQNR in {escape(first.name)} is first; a click on a column sorts."
    )
    hint = f"SQNR in dB by format.{sorting} A click on a tensor shows all its numbers."
    listed = []
    for name, heading, rows in (("matrices", "Matrices", summary.matrices), ("vectors", "Vectors", summary.vectors)):
        tensors = list(summary.by_tensor(rows).values())
        places = {x: i for i, x in enumerate(order or ())}
        if order is None:
            tensors.sort(key=lambda x: summary.sort_key(x[first.number]))
        else:
            tensors.sort(key=lambda x: places[x[0].tensor.name])
        listed.append((name, heading, [_line(summary, x) for x in tensors]))
    yield from tables.sections(hint, listed)


def _line(summary: ReportSummary, rows: Sequence[ModelErrorRow]) -> TensorLine:
    numbers = [["refused", x.problem] if x.problem else list(cells(x.measured.errors)) for x in rows]
    first = rows[0]
    return TensorLine(first.tensor.name, summary.kind(first), [shape(first)], [x[0] for x in numbers], numbers)
