"""Charts as SVG, whose colours and fonts a page's style sheet decides: scales, axes, lines and marks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final, NamedTuple

COLOURS: Final = 8  # that the style sheet has, as classes f0, f1, ...
_SHAPES: Final = (  # of marks, around 0; one for each colour
    "M-3.6,0a3.6,3.6 0 1,0 7.2,0a3.6,3.6 0 1,0 -7.2,0z",
    "M-3.2,-3.2h6.4v6.4h-6.4z",
    "M0,-4.4l4.4,4.4l-4.4,4.4l-4.4,-4.4z",
    "M0,-4.2l4.2,7.2h-8.4z",
    "M0,4.2l4.2,-7.2h-8.4z",
    "M-1.3,-4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z",
    "M0,-4.3l4.1,3l-1.6,4.9h-5l-1.6,-4.9z",
    "M-4.2,-2.2h8.4v4.4h-8.4z",
)
_STEPS: Final = tuple(m * 10.0**e for e in range(-9, 10) for m in (1, 2, 5))


class Scale(NamedTuple):
    """Numbers from low to high, on pixels from begin to end; powers: their exponents of 2 are at equal distances."""

    low: float
    high: float
    begin: float
    end: float
    powers: bool = False

    def __call__(self, x: float) -> float:
        if self.powers:
            x = exponent_of(x)
        share = (x - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.begin + share * (self.end - self.begin)


def exponent_of(x: float) -> float:
    """The place of a positive number between exponents of 2, linear within a binade."""
    fraction, exponent = math.frexp(x)
    return exponent - 2 + 2 * fraction


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from low to high, at most that many and one more."""
    step = next((s for s in _STEPS if (high - low) / s <= most), high - low or 1.0)
    first = -int(-low // step)
    return [(first + i) * step for i in range(int((high - first * step) // step) + 1)]


def rounded_out(low: float, high: float, most: int) -> tuple[float, float]:
    """An interval that ends at round numbers, around another one."""
    step = next((s for s in _STEPS if (high - low) / s <= most), 1.0)
    return low // step * step, -(-high // step) * step


@dataclass(frozen=True)
class Series:
    """How the marks of a format look: the same in every chart. number: of its colour and shape; hollow: without a
    scale, with dashed lines."""

    name: str
    number: int
    hollow: bool

    @property
    def classes(self) -> str:
        return f"mark f{self.number % COLOURS}" + " hollow" * self.hollow + f" s{self.number}"

    def mark(self, x: float, y: float, title: str = "", size: float = 1.0) -> str:
        """A mark at a place. title: what a pointer over it shows."""
        shape = _SHAPES[(self.number + self.number // COLOURS) % len(_SHAPES)]
        inner = f"<title>{escape(title)}</title>" if title else ""
        place = f"translate({x:.1f},{y:.1f})" + (f" scale({size:g})" if size != 1 else "")
        return f'<path class="{self.classes}" transform="{place}" d="{shape}">{inner}</path>'

    def line(self, points: Iterable[tuple[float, float] | None]) -> Iterator[str]:
        """Lines through points; None interrupts."""
        run: list[str] = []
        for point in (*points, None):
            if point is not None:
                run.append(f"{point[0]:.1f},{point[1]:.1f}")
                continue
            if len(run) > 1:
                yield f'<polyline class="{self.classes} line" points="{" ".join(run)}"/>'
            run = []

    def bar(self, x: float, low: float, high: float) -> str:
        """A thin vertical bar."""
        return f'<path class="{self.classes} line thin" d="M{x:.1f},{low:.1f}V{high:.1f}"/>'

    def swatch(self) -> str:
        """The mark on a piece of its line, for a legend."""
        line = "".join(self.line([(1, 7), (27, 7)]))
        return f'<svg class="swatch" viewBox="0 0 28 14" aria-hidden="true">{line}{self.mark(14, 7)}</svg>'


@dataclass(frozen=True)
class Frame:
    """The place of a chart: its size, and the room of its axes."""

    width: float
    height: float
    left: float = 38
    right: float = 16
    top: float = 24
    bottom: float = 34

    def x(self, low: float, high: float, powers: bool = False) -> Scale:
        return Scale(low, high, self.left, self.width - self.right, powers)

    def y(self, low: float, high: float, powers: bool = False) -> Scale:
        return Scale(low, high, self.height - self.bottom, self.top, powers)

    def rows(self, y: Scale, marks: Iterable[tuple[float, str]]) -> Iterator[str]:
        """Lines of the grid at values of the vertical axis, with their texts."""
        for value, label in marks:
            at = y(value)
            yield f'<path class="grid" d="M{self.left},{at:.1f}H{self.width - self.right}"/>'
            yield text(self.left - 5, at + 3.5, label, "end")

    def columns(self, x: Scale, marks: Iterable[tuple[float, str]]) -> Iterator[str]:
        """Lines of the grid at values of the horizontal axis, with their texts."""
        for value, label in marks:
            at = x(value)
            yield f'<path class="grid" d="M{at:.1f},{self.top}V{self.height - self.bottom}"/>'
            yield text(at, self.height - self.bottom + 13, label, "middle")

    def titles(self, x: str, y: str) -> Iterator[str]:
        """What the axes are: y above the vertical one, x under the horizontal one."""
        yield text(2, 10, y, "start", "axis")
        yield text(self.width - self.right, self.height - 4, x, "end", "axis")

    def svg(self, label: str, parts: Iterable[str], attributes: str = "") -> str:
        """The chart. label: what it shows, for those who cannot see it."""
        size = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}"'
        return f'<svg {size} role="img" aria-label="{escape(label)}"{attributes}>{"".join(parts)}</svg>'


def text(x: float, y: float, content: str, anchor: str, classes: str = "") -> str:
    """A text at a place."""
    named = f' class="{classes}"' if classes else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(content)}</text>'


def spread(places: Sequence[float], distance: float) -> list[float]:
    """Places moved apart, so that neighbours are at least a distance from each other, in their order."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    for before, i in pairwise(order):
        moved[i] = max(moved[i], moved[before] + distance)
    return moved
