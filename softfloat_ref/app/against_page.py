"""A comparison of two models as one self-contained HTML page: what differs, where, and every tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from softfloat_ref.app import report_depth
from softfloat_ref.app.against_summary import AgainstSummary, DifferenceTally, Share
from softfloat_ref.app.html_page import Html, breakable, page, table
from softfloat_ref.app.report_charts import Level, Point
from softfloat_ref.app.report_depth import Panel
from softfloat_ref.app.report_rows import decibels, in_decibels
from softfloat_ref.app.report_tally import Depth
from softfloat_ref.app.report_tensors import TensorLine, TensorTables
from softfloat_ref.app.report_words import megabytes, short
from softfloat_ref.app.svg import Series
from softfloat_ref.nn.model_files.comparison import Difference, bits
from softfloat_ref.nn.tensor_kinds import layer_name

VALUES, CODES, SCALES, SQNR = (Series(x, i, False) for i, x in enumerate(("values", "codes", "scales", "SQNR")))
_DIFFERENT: Final = ("different values", "different codes", "different scales")
_MEASURES: Final = (
    "SQNR, dB",
    "largest error",
    "largest relative error",
    *_DIFFERENT,
    "other parts that differ",
    "bits",
    "bits of the other",
)
_HEADS: Final = ("tensors", "compared", "different", *_DIFFERENT, "SQNR, dB", "worst, dB", "worst tensor")


def html(summary: AgainstSummary, rows: Sequence[Difference] | None = None) -> str:
    """The page. rows: the tensors in an order, if not the worst first."""
    models = summary.models
    title = f"{models.name} against {models.other_name}"
    notes = "".join(f"<li>{escape(x)}</li>" for x in summary.remarks())
    parts = [
        f'<h1>{escape(title)}</h1>\n<p class="answer">{escape(summary.sentence())}</p>\n',
        _totals(summary),
        _sizes(summary),
        f'<ul class="notes">{notes}</ul>\n' * bool(notes),
    ]
    if len(summary.matrices.compared) > 1:
        parts += [_kinds(summary), *_depth(summary)]
    parts += _tensors(summary, rows)
    return page(title, parts)


def _totals(summary: AgainstSummary) -> str:
    listed = (("matrices", summary.matrices), ("vectors", summary.vectors))
    return table(
        "Differences", _HEADS, [_total(name, x) for name, x in listed if x.rows], (0, len(_HEADS) - 1), "formats"
    )


def _total(name: str, x: DifferenceTally) -> list[str]:
    counts = str(len(x.compared)), str(len(x.differing))
    shares = [Html(_with_count(y, "<small>", "</small>")) for y in (x.values, x.codes, x.scales)]
    worst = breakable(short(x.worst.tensor.name)) if x.worst and math.isfinite(x.low) else ""
    return [name, *counts, *shares, decibels(x.errors.sqnr), decibels(x.low), worst]


def _with_count(x: Share, before: str = ", ", behind: str = "") -> str:
    return f"{x}{before}{x.number:,} of {x.total:,}{behind}" if x.number else str(x)


def _sizes(summary: AgainstSummary) -> str:
    heads = ("model", "tensors", "values", "bits per value", "MB", "stored as")
    rows = []
    for (name, values, each, size), tensors in zip(
        summary.models.sizes(), (summary.models.tensors, summary.models.others), strict=True
    ):
        stored = ", ".join(dict.fromkeys(t.fmt or t.type for t in tensors))
        rows.append([breakable(name), str(len(tensors)), f"{values:,}", f"{each:.4g}", megabytes(size), stored])
    return f"<h2>Sizes</h2>\n{table('Sizes', heads, rows, (0, len(heads) - 1))}"


# -- by kind and depth -----------------------------------------------------------------------------------------------


def _kinds(summary: AgainstSummary) -> str:
    heads = ("kind", "matrices", "different", "SQNR, dB", "worst, dB", *_DIFFERENT)
    rows = []
    for group in summary.largest_groups:
        x = DifferenceTally(group.items)
        counts = str(len(group.items)), str(len(x.differing))
        shares = (str(y) for y in (x.values, x.codes, x.scales))
        rows.append([breakable(group.label), *counts, decibels(x.errors.sqnr), decibels(x.low), *shares])
    left = len(summary.groups) - len(rows)
    more = f'<p class="hint">{left} more kinds have fewer values; their tensors are in the tables below.</p>\n' * bool(
        left
    )
    return f'<h2 id="kinds">By kind of layer</h2>\n{table("Kinds of layers", heads, rows)}{more}'


def _depth(summary: AgainstSummary) -> Iterator[str]:
    """Shares that differ, where codes or scales can be compared; else the SQNR."""
    shares = bool(summary.matrices.differing) and summary.matrices.by_codes
    if not shares and not any(math.isfinite(x.errors.sqnr) for x in summary.matrices.compared):
        return
    series = [VALUES, CODES, SCALES] if shares else [SQNR]
    panels = []
    for group in summary.groups:
        points: dict[str, dict[Depth, Point]] = {}
        for depth, rows in group.layers.items():
            tally = DifferenceTally([x for x in rows if not x.problem])
            for s in series:
                if p := _point(s, tally, depth):
                    points.setdefault(s.name, {})[depth] = p
        size = sum(x.tensor.size for x in group.items)
        panels.append(Panel(group.stack, group.label, size, list(group.layers), points))
    placed = [p for panel in panels for of in panel.points.values() for p in of.values()]
    values = [v for p in placed for v in (p.value, p.low, p.high)]
    level = Level.of([0.0, *values] if shares else values, "different, %" if shares else "SQNR, dB")
    what = "The share of values, codes and scales that differ" if shares else "The SQNR against the other model"
    yield from report_depth.sections(panels, series, level, f"{what}, by layer, for each kind on the same axes.")


def _point(series: Series, tally: DifferenceTally, depth: Depth) -> Point | None:
    """The share that differs, or the SQNR, of the matrices of a layer."""
    of: Mapping[str, list[float]] = {
        "values": [_percent(x.values, x.tensor.size) for x in tally.rows],
        "codes": [_percent(x.codes, x.tensor.size) for x in tally.rows if x.codes is not None],
        "scales": [_percent(x.scales, x.blocks) for x in tally.rows if x.blocks],
        "SQNR": [x.errors.sqnr for x in tally.rows],
    }
    all_of = {
        "values": tally.values.percent,
        "codes": tally.codes.percent,
        "scales": tally.scales.percent,
        "SQNR": tally.errors.sqnr,
    }
    value, ends = all_of[series.name], [x for x in of[series.name] if not math.isnan(x)]
    if math.isnan(value) or not ends:
        return None
    shown = in_decibels(value) if series is SQNR else f"{value:.3g} %"
    return Point(value, min(ends), max(ends), f"layer {layer_name(depth)}: {shown}" if depth else shown)


def _percent(count: int | None, total: int) -> float:
    return Share(count or 0, total).percent


# -- every tensor ----------------------------------------------------------------------------------------------------


def _tensors(summary: AgainstSummary, rows: Sequence[Difference] | None) -> Iterator[str]:
    tables = TensorTables(
        ["shape", "stored", "against"],
        ("SQNR, dB", "largest error", *_DIFFERENT),
        _MEASURES,
        [f"against {summary.models.other_name}"],
        0 if rows is None else None,
        switch=False,
    )
    order = summary.worst_first(summary.rows) if rows is None else rows
    listed = [
        (name, name.capitalize(), [_line(summary, x) for x in order if summary.kind(x).matrix is matrix])
        for name, matrix in (("matrices", True), ("vectors", False))
    ]
    first = "" if rows is not None else "The lowest SQNR is first; a click on a column sorts. "
    yield from tables.sections(f"{first}A click on a tensor shows all its numbers.", listed)


def _line(summary: AgainstSummary, x: Difference) -> TensorLine:
    shape = "x".join(map(str, x.tensor.shape)) or "()"
    facts = [shape, x.tensor.fmt or x.tensor.type, x.other.fmt or x.other.type]
    if x.problem:
        return TensorLine(x.tensor.name, summary.kind(x), facts, ["not compared"] * 5, [["refused", x.problem]])
    e, tally = x.errors, DifferenceTally([x])
    counts = [_with_count(y) for y in (tally.values, tally.codes, tally.scales)]
    sizes = f"{bits(x.tensor):.4g}", f"{bits(x.other):.4g}"
    parts = ", ".join(y.replace("_", " ") for y in x.parts)
    numbers = [decibels(e.sqnr), f"{e.largest_error:.4g}", f"{e.largest_relative:.4g}", *counts, parts, *sizes]
    shown = [*numbers[:2], *(str(y) for y in (tally.values, tally.codes, tally.scales))]
    return TensorLine(x.tensor.name, summary.kind(x), facts, shown, [numbers])
