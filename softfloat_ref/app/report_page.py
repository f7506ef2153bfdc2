"""The report as one self-contained HTML page: which format; accuracy by kind of layer and depth; every tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, Final

from softfloat_ref.app import report_charts as charts
from softfloat_ref.app import report_formats, report_tensors
from softfloat_ref.app.html_page import Html, breakable, cell, data, page, table
from softfloat_ref.app.report_charts import Depth, Level, Panel, Point
from softfloat_ref.app.report_rows import decibels, notes, percent
from softfloat_ref.app.report_summary import ReportSummary, named
from softfloat_ref.app.report_tally import FormatSummary, KindGroup, Tally
from softfloat_ref.app.report_words import counted_plural, megabytes, short
from softfloat_ref.app.svg import Series

_PANELS: Final = 24  # charts of kinds
_ROWS: Final = 24  # of a chart of what is outside the layers
_HEADS: Final = ("format", "bits per value", "MB", "SQNR, dB", "worst, dB", "worst matrix", "saturated", "to zero")
_WORST: Final = 5  # column of the name of the worst matrix


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
    groups = summary.groups()
    if len(summary.tensors) > 1 and groups:
        parts += _kinds(summary, groups, series)
        parts += _depth(groups, series)
    parts += report_tensors.sections(summary, series, order)
    parts += report_formats.sections(summary, series)
    if report.skipped:
        parts.append(f'<h2 id="skipped">Skipped</h2>\n{table(["tensor", "why"], report.skipped, 2)}')
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
    rows = [_format_row(x, s, lost) for x, s in zip(summary.formats, series, strict=True)]
    heads += ["lost"] * lost
    head = "".join(cell("th", x, "t" * (i in (0, _WORST)), ' scope="col"') for i, x in enumerate(heads))
    stored = [Html(f"as stored<small>{escape(names)}</small>"), f"{bits:.4g}", megabytes(size), *[""] * (5 + lost)]
    body = "".join(f"<tr>{_format_cells(cells)}</tr>\n" for cells in rows)
    body += f'<tr class="stored">{_format_cells(stored)}</tr>\n'
    values = sum(t.size for t in summary.tensors)
    counts = f"{counted_plural(len(summary.tensors), summary.subject, summary.plural)} of {values:,} values"
    others = len({id(x.tensor) for x in summary.vectors}) if summary.matrices else 0
    if others:
        counts += f"; {counted_plural(others, 'vector', 'vectors')} (biases, norms) not counted"
    return (
        f'<p class="facts" id="counted">{counts}</p>\n'
        '<div class="wide"><table class="formats" aria-describedby="counted">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )


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


def _format_cells(cells: Sequence[str]) -> str:
    first, *rest = cells
    head = cell("th", first, "t", ' scope="row"')
    return head + "".join(cell("td", x, "t name" * (i == _WORST)) for i, x in enumerate(rest, 1))


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


def _kinds(summary: ReportSummary, groups: Sequence[KindGroup], series: Sequence[Series]) -> Iterator[str]:
    yield '<h2 id="kinds">By kind of layer</h2>\n'
    yield '<p class="hint">SQNR in dB of all matrices of a kind together, and of the worst one. '
    yield "The lowest of a format is bold.</p>\n"
    totals = [group.total for group in groups]
    ratios = {s.name: [t[s.name].errors.sqnr for t in totals] for s in series}
    lows = {name: min((x for x in of if not math.isnan(x)), default=math.nan) for name, of in ratios.items()}
    heads = ["kind", "matrices", "values", *(s.name for s in series)]
    marked = [Html(charts.swatch(s)) for s in series]
    head = "".join(
        cell("th", x, "t" * (i == 0), ' scope="col"') for i, x in enumerate([*heads[: -len(series)], *marked])
    )
    body = []
    for group, total in zip(groups, totals, strict=True):
        first = total[series[0].name]
        cells = cell("th", breakable(group.label), "t name", ' scope="row"') + cell("td", str(len(first.rows)))
        cells += cell("td", f"{sum(x.tensor.size for x in first.rows):,}")
        for s in series:
            tally = total[s.name]
            low = len(groups) > 1 and tally.errors.sqnr == lows[s.name]
            worst = f"<small>worst {decibels(tally.low)}</small>" if len(tally.rows) > 1 else ""
            cells += cell("td", Html(f"{_level(tally)}{worst}"), "low" * low)
        body.append(f"<tr>{cells}</tr>\n")
    yield f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{"".join(body)}</tbody></table></div>\n'


def _level(tally: Tally) -> str:
    return "refused" if tally.refused and not tally.errors.values else decibels(tally.errors.sqnr)


def _depth(groups: Sequence[KindGroup], series: Sequence[Series]) -> Iterator[str]:
    """A chart for each kind that several layers have, and one for all others."""
    level = Level.of(
        value for g in groups for c in g.cells for t in c.tallies.values() for value in (t.errors.sqnr, t.low, t.high)
    )
    deep = [g for g in groups if len(g.cells) > 1]
    largest = sorted(deep, key=lambda g: -sum(x.tensor.size for c in g.cells for x in c.tallies[series[0].name].rows))
    shown = [g for g in deep if g in largest[:_PANELS]]
    yield '<h2 id="depth">By depth</h2>\n'
    yield '<p class="hint">One chart for each kind of layer, all on the same axes. A thin bar spans the matrices '
    yield "of a layer where it has several of a kind.</p>\n"
    yield charts.legend(series)
    if shown:
        figures = (charts.depth_panel(panel_of(g), depths_of(deep, g.stack), series, level) for g in shown)
        yield f'<div class="panels">\n{"".join(figures)}</div>\n'
    if len(deep) > len(shown):
        yield f'<p class="hint">{len(deep) - len(shown)} kinds with fewer values are in the tables only.</p>\n'
    rows = [(_row_name(g), _row_points(g)) for g in groups if len(g.cells) == 1]
    if rows:
        if shown:
            yield "<h3>Outside the layers, or in only one</h3>\n"
        rest = f'<p class="hint">{len(rows) - _ROWS} more are in the tables.</p>\n' if len(rows) > _ROWS else ""
        yield f'<figure class="rows">{charts.row_chart(rows[:_ROWS], series, level)}</figure>\n{rest}'


def depths_of(groups: Sequence[KindGroup], stack: str) -> list[Depth]:
    """All layers of a part of the model."""
    return sorted({c.depth for g in groups if g.stack == stack for c in g.cells})


def panel_of(group: KindGroup) -> Panel:
    """What the chart of a kind shows."""
    points: dict[str, dict[Depth, Point]] = {}
    for c in group.cells:
        for name, tally in c.tallies.items():
            if not math.isnan(tally.errors.sqnr):
                points.setdefault(name, {})[c.depth] = _point(tally, f"layer {charts.layer_name(c.depth)}")
    return Panel(group.label, points)


def _row_name(group: KindGroup) -> str:
    depth = group.cells[0].depth
    return f"{group.label}, layer {charts.layer_name(depth)}" if depth else group.label


def _row_points(group: KindGroup) -> dict[str, Point]:
    tallies = group.cells[0].tallies.items()
    return {name: _point(t, group.label) for name, t in tallies if not math.isnan(t.errors.sqnr)}


def _point(tally: Tally, where: str) -> Point:
    title = f"{where}: {decibels(tally.errors.sqnr)} dB"
    if len(tally.rows) > 1:
        title += f" over {len(tally.rows)} matrices, {decibels(tally.low)} to {decibels(tally.high)} dB"
    return Point(tally.errors.sqnr, tally.low, tally.high, title)
