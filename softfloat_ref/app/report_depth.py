"""Charts by depth, of reports and comparisons: one for each kind of layer, and rows for what is outside the layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from softfloat_ref.app.report_charts import Level, Point, ends, legend
from softfloat_ref.app.report_tally import Depth
from softfloat_ref.app.report_words import short
from softfloat_ref.app.svg import Frame, Series, text
from softfloat_ref.nn.tensor_kinds import layer_name

_PANELS: Final = 24  # charts of kinds
_ROWS: Final = 24  # of a chart of what is outside the layers
_ROW: Final = 24  # pixels of a row
_LETTER: Final = 7.6  # pixels of a letter
_MAX_LABEL: Final = 40  # characters of a row's name
_DENSE: Final = 14  # layers with marks of full size


def sections(panels: Sequence[Panel], series: Sequence[Series], level: Level, hint: str) -> Iterator[str]:
    """A chart for each kind that several layers have, and one for all others."""
    deep = [p for p in panels if len(p.depths) > 1]
    largest = sorted(deep, key=lambda p: -p.size)[:_PANELS]
    shown = [p for p in deep if p in largest]
    yield f'<h2 id="depth">By depth</h2>\n<p class="hint">{hint}</p>\n'
    yield legend(series) if len(series) > 1 else ""
    if shown:
        depths = {p.stack: sorted({d for q in deep if q.stack == p.stack for d in q.depths}) for p in shown}
        figures = (_panel(p, depths[p.stack], series, level) for p in shown)
        yield f'<div class="panels">\n{"".join(figures)}</div>\n'
    if len(deep) > len(shown):
        yield f'<p class="hint">{len(deep) - len(shown)} kinds with fewer values are in the tables only.</p>\n'
    rows = [_row(p) for p in panels if len(p.depths) == 1]
    if rows:
        yield "<h3>Outside the layers, or in only one</h3>\n" if shown else ""
        yield f'<figure class="rows">{row_chart(rows[:_ROWS], series, level)}</figure>\n'
        if len(rows) > _ROWS:
            yield f'<p class="hint">{len(rows) - _ROWS} more are in the tables.</p>\n'


def _row(panel: Panel) -> tuple[str, dict[str, Point]]:
    (depth,) = panel.depths
    name = f"{panel.label}, layer {layer_name(depth)}" if depth else panel.label
    return name, {series: points[depth] for series, points in panel.points.items() if depth in points}


class Panel(NamedTuple):
    """What a chart of a kind of layer shows: its layers, and for each series by its name, points by the layer. stack:
    the part of the model; size: its number of values."""

    stack: str
    label: str
    size: int
    depths: Sequence[Depth]
    points: Mapping[str, Mapping[Depth, Point]]


def _panel(panel: Panel, depths: Sequence[Depth], series: Sequence[Series], level: Level) -> str:
    """A figure: the kind's values over the layers, a line for each series. depths: of all layers."""
    frame = Frame(300, 182)
    x, y = frame.x(-0.4, max(len(depths) - 0.6, 0.4)), level.scale(frame)
    parts = [*level.rows(frame, y), *frame.columns(x, _layer_ticks(depths)), *frame.titles("layer", level.name)]
    summary, size = [], 1.0 if len(depths) <= _DENSE else 0.6
    for row in series:
        points = panel.points.get(row.name, {})
        places = [(i, points[depth]) for i, depth in enumerate(depths) if depth in points]
        finite = {i: (x(i), y(p.value)) for i, p in places if math.isfinite(p.value)}
        parts += row.line(finite.get(i) for i in range(len(depths)))
        for i, p in places:
            top, bottom = level.place(y, p.high), level.place(y, p.low)
            parts += [row.bar(x(i), top, bottom)] * (bottom - top > 1)
            parts.append(row.mark(x(i), level.place(y, p.value), f"{row.name}, {p.title}", size))
        if places:
            low, high = ends(p.value for _, p in places)
            summary.append(f"{row.name} {_shown(low)} to {_shown(high)}")
    label = f"{panel.label}, {level.name} by layer: {'; '.join(summary)}"
    svg = frame.svg(label, parts, level.attributes(frame, y))
    return f'<figure class="panel"><figcaption>{escape(panel.label)}</figcaption>{svg}</figure>'


def _shown(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "exact"


def _layer_ticks(depths: Sequence[Depth]) -> list[tuple[float, str]]:
    """The first layer, and others at equal distances."""
    last = len(depths) - 1
    step = next((s for s in (1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 40, 50, 100) if last / s <= 6), max(last, 1))
    return [(i, layer_name(depths[i])) for i in range(0, last + 1, step)]


# -- rows ------------------------------------------------------------------------------------------------------------


def row_chart(rows: Sequence[tuple[str, Mapping[str, Point]]], series: Sequence[Series], level: Level) -> str:
    """A row for each name, a mark for each series, over a horizontal axis."""
    left = 20 + _LETTER * max(len(short(name, _MAX_LABEL)) for name, _ in rows)
    frame = Frame(370 + left, 44 + _ROW * len(rows), left=left, top=8)
    x = frame.x(level.low, level.high)
    x = x._replace(end=x.end - 2 * _ROW) if level.exact else x
    exact = x.end + 1.5 * _ROW
    parts = list(frame.columns(x, level.marks()))
    if level.exact:
        parts.append(text(exact, frame.height - frame.bottom + 13, "exact", "middle"))
    parts.append(text(frame.width - frame.right, frame.height - 4, level.name, "end", "axis"))
    for i, (name, points) in enumerate(rows):
        at = frame.top + _ROW * (i + 0.5)
        parts.append(f'<path class="grid" d="M{frame.left},{at:.1f}H{frame.width - frame.right}"/>')
        parts.append(
            f"<g><title>{escape(name)}</title>{text(frame.left - 8, at + 3.5, short(name, _MAX_LABEL), 'end')}</g>"
        )
        for row in series:
            if p := points.get(row.name):
                place = x(p.value) if math.isfinite(p.value) else exact
                parts.append(row.mark(place, at, f"{row.name}, {p.title}"))
    return frame.svg(f"{level.name} of {len(rows)} kinds and tensors outside the layers", parts)
