"""The charts of a report's page: accuracy against size, the depth of each kind of layer, and tensors in rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, NamedTuple

from softfloat_ref.app.html_page import format_name
from softfloat_ref.app.report_rows import decibels
from softfloat_ref.app.report_tally import FormatSummary
from softfloat_ref.app.report_words import short
from softfloat_ref.app.svg import Frame, Scale, Series, rounded_out, spread, text, ticks

_ROW: Final = 24  # pixels of a row
_LETTER: Final = 7.6  # pixels of a name's letter
_MAX_LABEL: Final = 40  # characters of a row's name
_DENSE: Final = 14  # layers with marks of full size
_MAX_NAME: Final = 22  # characters of a format's name
_EXACT: Final = 14  # pixels above the axis, for what has no error

Depth = tuple[int, ...]


@dataclass(frozen=True)
class Level:
    """A vertical axis of numbers, the same in several charts: its ends, its name, and whether some are infinite."""

    low: float
    high: float
    name: str
    exact: bool = False

    @staticmethod
    def of(values: Iterable[float], name: str = "SQNR, dB") -> Level:
        """An axis for some values; NaN has no place."""
        listed = [x for x in values if not math.isnan(x)]
        finite = [x for x in listed if math.isfinite(x)]
        low, high = rounded_out(min(finite, default=0.0), max(finite, default=1.0), 4)
        return Level(low, high if high > low else low + 1, name, len(finite) < len(listed))

    def scale(self, frame: Frame) -> Scale:
        y = frame.y(self.low, self.high)
        return y._replace(end=y.end + _EXACT) if self.exact else y

    def place(self, y: Scale, value: float) -> float:
        """The pixel of a value; of an infinite one above the axis."""
        return y(value) if math.isfinite(value) else y.end - _EXACT

    def marks(self) -> list[tuple[float, str]]:
        return [(x, f"{x:g}") for x in ticks(self.low, self.high, 6)]

    def rows(self, frame: Frame, y: Scale) -> Iterator[str]:
        yield from frame.rows(y, self.marks())
        if self.exact:
            yield text(frame.left - 5, y.end - _EXACT + 3.5, "exact", "end")

    def attributes(self, frame: Frame, y: Scale) -> str:
        """Where a line for a value would be, for the page's script."""
        sides = f"{frame.left:g} {frame.width - frame.right:g}"
        return f' data-level="{self.low:g} {self.high:g} {y.begin:g} {y.end:g} {sides}"'


class Point(NamedTuple):
    """A value, with the ends of the values that it stands for."""

    value: float
    low: float
    high: float
    title: str


# -- what marks mean ---------------------------------------------------------------------------------------------------


def swatch(series: Series) -> str:
    """A format's name beside its mark."""
    return f'<span class="series">{series.swatch()}{format_name(series.name)}</span>'


def legend(series: Sequence[Series], switches: bool = True) -> str:
    """What the marks mean; it stays in sight. switches: a format can be left out of the charts."""
    labels = []
    for s in series:
        box = f'<input type="checkbox" class="show" data-series="s{s.number}" checked>' * switches
        tag = "label" if switches else "span"
        labels.append(f"<{tag}>{box}{swatch(s)}{'&nbsp;(no scale factors)' * s.hollow}</{tag}>")
    return f'<div class="legend" role="group" aria-label="Formats in the charts">{"".join(labels)}</div>\n'


# -- accuracy against size -------------------------------------------------------------------------------------------


def trade_off(formats: Sequence[FormatSummary], series: Sequence[Series]) -> str:
    """SQNR over bits per value: a mark for all matrices, and a bar down to the worst."""
    shown = [x for x in formats if not math.isnan(x.tally.errors.sqnr)]
    level = Level.of(y for x in shown for y in (x.tally.errors.sqnr, x.tally.low))
    names = _LETTER * max((len(x.name) for x in shown), default=0) + 34
    frame = Frame(390, 300, right=min(names, 190), bottom=36)
    low, high = rounded_out(*_ends(x.tally.bits_per_value for x in shown), 4)
    x, y = frame.x(low, high if high > low else low + 1), level.scale(frame)
    places = [(x(s.tally.bits_per_value), level.place(y, s.tally.errors.sqnr)) for s in shown]
    parts = [*level.rows(frame, y), *frame.columns(x, [(v, f"{v:g}") for v in ticks(x.low, x.high, 5)])]
    parts += frame.titles("bits per value, scales included", level.name)
    heights = spread([top for _, top in places], 15)
    begin = frame.width - frame.right + 24
    for s, (left, top), at in zip(shown, places, heights, strict=True):
        parts.append(f'<path class="leader" d="M{left:.1f},{top:.1f}L{begin - 4:.1f},{at:.1f}"/>')
        parts.append(text(begin, at + 4, short(s.name, _MAX_NAME), "start", "name"))
    for s, (left, top) in zip(shown, places, strict=True):
        row, worst = series[s.number], level.place(y, s.tally.low)
        title = f"{s.name}: {s.tally.bits_per_value:.4g} bits, {decibels(s.tally.errors.sqnr)} dB"
        if worst - top > 1:
            end = f'<path class="{row.classes} line thin" d="M{left - 4:.1f},{worst:.1f}h8"/>'
            parts += [row.bar(left, top, worst), end]
        parts.append(row.mark(left, top, f"{title}, worst {decibels(s.tally.low)} dB"))
    label = "SQNR over bits per value. " + "; ".join(
        f"{s.name}: {s.tally.bits_per_value:.4g} bits, {decibels(s.tally.errors.sqnr)} dB" for s in shown
    )
    return frame.svg(label, parts, level.attributes(frame, y))


def _ends(values: Iterable[float]) -> tuple[float, float]:
    listed = list(values)
    return min(listed, default=0.0), max(listed, default=1.0)


# -- depth -----------------------------------------------------------------------------------------------------------


class Panel(NamedTuple):
    """What a chart of a kind of layer shows: for each series by its name, points by the layer."""

    label: str
    points: Mapping[str, Mapping[Depth, Point]]


def depth_panel(panel: Panel, depths: Sequence[Depth], series: Sequence[Series], level: Level) -> str:
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
            low, high = _ends(p.value for _, p in places)
            summary.append(f"{row.name} {_shown(low)} to {_shown(high)}")
    label = f"{panel.label}, {level.name} by layer: {'; '.join(summary)}"
    svg = frame.svg(label, parts, level.attributes(frame, y))
    return f'<figure class="panel"><figcaption>{escape(panel.label)}</figcaption>{svg}</figure>'


def _shown(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "exact"


def layer_name(depth: Depth) -> str:
    """A layer by its numbers."""
    return ".".join(map(str, depth))


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
