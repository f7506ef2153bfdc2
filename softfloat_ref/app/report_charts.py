"""The charts of a report's page: what its marks mean, axes, and accuracy against size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from softfloat_ref.app.html_page import format_name
from softfloat_ref.app.report_rows import in_decibels
from softfloat_ref.app.report_tally import FormatSummary
from softfloat_ref.app.report_words import short
from softfloat_ref.app.svg import Frame, Scale, Series, rounded_out, spread, text, ticks

_LETTER: Final = 7.6  # pixels of a name's letter
_LABEL: Final = 15  # pixels between names
_MAX_NAME: Final = 22  # characters of a format's name
_EXACT: Final = 14  # pixels above the axis, for what has no error


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
    frame = Frame(390, max(300, 70 + _LABEL * len(shown)), right=min(names, 190), bottom=36)
    low, high = rounded_out(*ends(x.tally.bits_per_value for x in shown), 4)
    x, y = frame.x(low, high if high > low else low + 1), level.scale(frame)
    places = [(x(s.tally.bits_per_value), level.place(y, s.tally.errors.sqnr)) for s in shown]
    parts = [*level.rows(frame, y), *frame.columns(x, [(v, f"{v:g}") for v in ticks(x.low, x.high, 5)])]
    parts += frame.titles("bits per value, scales included", level.name)
    heights = spread([top for _, top in places], _LABEL)
    heights = [x - max(0, max(heights) - (frame.height - frame.bottom)) for x in heights] if heights else []
    begin = frame.width - frame.right + 24
    for s, (left, top), at in zip(shown, places, heights, strict=True):
        parts.append(f'<path class="leader" d="M{left:.1f},{top:.1f}L{begin - 4:.1f},{at:.1f}"/>')
        parts.append(text(begin, at + 4, short(s.name, _MAX_NAME), "start", "name"))
    for s, (left, top) in zip(shown, places, strict=True):
        row, worst = series[s.number], level.place(y, s.tally.low)
        title = f"{s.name}: {s.tally.bits_per_value:.4g} bits, {in_decibels(s.tally.errors.sqnr)}"
        if worst - top > 1:
            end = f'<path class="{row.classes} line thin" d="M{left - 4:.1f},{worst:.1f}h8"/>'
            parts += [row.bar(left, top, worst), end]
        parts.append(row.mark(left, top, f"{title}, worst {in_decibels(s.tally.low)}"))
    label = "SQNR over bits per value. " + "; ".join(
        f"{s.name}: {s.tally.bits_per_value:.4g} bits, {in_decibels(s.tally.errors.sqnr)}" for s in shown
    )
    return frame.svg(label, parts, level.attributes(frame, y))


def ends(values: Iterable[float]) -> tuple[float, float]:
    """The lowest and the highest; of none, 0 and 1."""
    listed = list(values)
    return min(listed, default=0.0), max(listed, default=1.0)
