"""Pictures drawn with matplotlib (the extra `plots`): exponents of tensors over ranges of formats; training curves.

The colours are Okabe and Ito's, which colour-blind readers can tell apart.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from softfloat_ref.arrays.exponents import AnyFormat, ExponentCounts, Shares
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.files import write_data
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.formats import Format

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS: Final = (".png", ".svg", ".pdf")
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#000000")
_DPI: Final = 150
_VALUES_PER_OUTLIER: Final = 5000  # one value in this many may lie left of the picture
_CHARACTERS_PER_INCH: Final = 12  # of text per inch
_HANDLE_CHARACTERS: Final = 7  # characters that a legend's line takes
GREY: Final = "#555555"
_STYLE: Final = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "svg.hashsalt": "softfloat_ref",  # the same picture gives the same bytes
    "svg.fonttype": "none",
}


def picture_path(path: str | None) -> Path | None:
    """The path of a picture, if there is one. Raises Error for a suffix that is not a supported kind of picture."""
    if path is not None and Path(path).suffix not in KINDS:
        raise unknown(f"kind of picture {Path(path).name!r}:", Path(path).suffix, KINDS)
    return None if path is None else Path(path)


def figure(width: float, height: float) -> Figure:
    """An empty figure that needs no screen. Raises Error without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise Error("pictures need matplotlib: pip install 'softfloat-ref[plots]'") from None
    fig = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(fig)
    return fig


@contextmanager
def style() -> Iterator[None]:
    """The look of all pictures, while they are drawn and saved. Raises Error without matplotlib."""
    figure(1, 1)
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


def with_title(fig: Figure, title: str) -> Figure:
    """The figure with a title, if there is one."""
    if title:
        fig.suptitle(title, x=0.01, ha="left", fontsize=11)
    return fig


def legend(fig: Figure, title: str, *entries: Any) -> Figure:
    """The figure with one legend above all panels, in as many columns as fit, under the title. named: handles and
    labels, if not those of the panels."""
    labels = entries[1] if entries else [x for a in fig.axes for x in a.get_legend_handles_labels()[1]]
    columns = max(1, int(fig.get_figwidth() * _CHARACTERS_PER_INCH) // (max(map(len, labels)) + _HANDLE_CHARACTERS))
    heading = {"title": title, "title_fontsize": 11, "alignment": "left"} if title else {}
    fig.legend(*entries, loc="outside upper left", ncols=columns, frameon=False, borderaxespad=0.3, **heading)
    return fig


def draw(path: Path | None, make: Callable[..., Figure], *args: Any) -> None:
    """Write the picture that a function makes, if there is a path, as the kind that the suffix says; the same figure
    gives the same bytes. Raises Error."""
    if path is not None:
        with style():
            write_data(path, _bytes(make(*args), path.suffix))


def _bytes(fig: Figure, suffix: str) -> bytes:
    data = io.BytesIO()
    metadata = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    fig.savefig(data, format=suffix[1:], dpi=_DPI, metadata=metadata)
    return data.getvalue()


# -- exponents ---------------------------------------------------------------------------------------------------------


class TensorHistogram(NamedTuple):
    """A histogram's input: its name, its exponents, and its shares in each format."""

    name: str
    exponents: ExponentCounts
    shares: Sequence[Shares]


def histogram(inputs: Sequence[TensorHistogram], formats: Sequence[AnyFormat], title: str = "") -> Figure:
    """Shares of values by exponent, and below them the range of each format.

    A format's bar is solid over its normal numbers and pale over its subnormals. Beside it is the share of the nonzero
    values that it rounds to zero. Raises Error, also if no input has a value to show.
    """
    if not any(x.exponents.nonzero for x in inputs):
        raise Error(f"nothing to show: {', '.join(x.name for x in inputs)} have no finite nonzero value")
    from matplotlib.ticker import MaxNLocator

    fig = figure(9, 3.6 + 0.32 * len(formats))
    heights = [3.2, 0.32 * len(formats) + 0.1] if formats else [1.0]
    axes = fig.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    _draw_exponents(axes[0], inputs)
    axes[0].set_xlim(*_view(inputs))
    if formats:
        _draw_ranges(axes[1], axes[0], inputs, formats)
    axes[-1].set_xlabel("exponent: floor of log2 of the magnitude")
    axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    return with_title(fig, title)


def _draw_exponents(axes: Axes, inputs: Sequence[TensorHistogram]) -> None:
    for i, x in enumerate(inputs):
        exponents = x.exponents
        if not exponents.nonzero:
            continue
        edges = [exponents.first + k for k in range(len(exponents.counts) + 1)]
        part = 100 * exponents.counts / exponents.nonzero
        colour = GREY if len(inputs) == 1 else COLOURS[-1 - i % len(COLOURS)]
        axes.stairs(part, edges, fill=True, color=colour, alpha=0.35 if len(inputs) == 1 else 0.15)
        axes.stairs(part, edges, color=colour, linewidth=1.3, label=f"{x.name}, {exponents.nonzero:,} values")
    axes.set_ylabel("% of nonzero values")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, borderaxespad=0)


def _view(inputs: Sequence[TensorHistogram]) -> tuple[float, float]:
    """The ends of the axis: all values except the smallest, whose long thin tail would crowd the rest."""
    lows, highs = [], []
    for x in (x.exponents for x in inputs if x.exponents.nonzero):
        below = x.counts.cumsum()
        lows.append(x.first + int((below * _VALUES_PER_OUTLIER < x.nonzero).sum()))
        highs.append(x.last + 1)
    room = 0.04 * (max(highs) - min(lows)) + 1
    return min(lows) - room, max(highs) + room


def _draw_ranges(axes: Axes, above: Axes, inputs: Sequence[TensorHistogram], formats: Sequence[AnyFormat]) -> None:
    """One row per format."""
    view = axes.get_xlim()
    for row, fmt in enumerate(formats):
        colour = COLOURS[row % len(COLOURS)]
        if isinstance(fmt, Format):
            _draw_range(axes, above, fmt, row, colour, view)
        else:
            middle = "scaled block by block" if isinstance(fmt, BlockFormat) else "scaled by the tensor's range"
            axes.text(0.5, row, middle, ha="center", va="center", color=GREY, transform=axes.get_yaxis_transform())
        text = " / ".join(_percent(x.shares[row], x.shares[row].zero) for x in inputs) + " % to zero"
        if any(x.shares[row].beyond for x in inputs):
            text += ",\n" + " / ".join(_percent(x.shares[row], x.shares[row].beyond) for x in inputs) + " % too large"
        axes.text(1.01, row, text, va="center", fontsize=9, transform=axes.get_yaxis_transform())
    axes.set_yticks(range(len(formats)), [x.name for x in formats])
    axes.set_ylim(len(formats) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _percent(shares: Shares, count: int) -> str:
    part = 100 * shares.part(count)
    return "0" if not count else f"{part:.1f}" if part >= 0.05 else "< 0.1"


def _draw_range(axes: Axes, above: Axes, fmt: Format, row: int, colour: str, view: tuple[float, float]) -> None:
    smallest, largest = _place(fmt, fmt.min_code), _place(fmt, fmt.max_code)
    normal = _place(fmt, fmt.min_normal_code) if fmt.has_normals else largest
    bars = ((smallest, normal, 0.35), (normal, largest, 1.0)) if fmt.has_normals else ((smallest, largest, 0.7),)
    for begin, end, alpha in bars:
        axes.barh(row, end - begin, left=begin, height=0.55, color=colour, alpha=alpha, linewidth=0)
    for x in (smallest, largest):
        if view[0] < x < view[1]:
            above.axvline(x, color=colour, linewidth=1, linestyle=(0, (4, 3)), alpha=0.8)


def _place(fmt: Format, code: int) -> float:
    """The position of a magnitude on the axis of exponents; within a binade, by its fraction."""
    significand, exponent = fmt.magnitude(code)
    bits = significand.bit_length() - 1
    return bits + exponent + (significand - (1 << bits)) / (1 << bits)


# -- trainings ---------------------------------------------------------------------------------------------------------


class TrainingCurve(NamedTuple):
    """A quantity over epochs: for each epoch, the mean over runs, the smallest and the largest."""

    name: str
    epochs: Sequence[int]
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def training(panels: Sequence[tuple[str, Sequence[TrainingCurve]]], title: str = "") -> Figure:
    """A panel per quantity, a curve per training recipe, a band from its worst to its best run."""
    fig = figure(4.6 * len(panels) + 0.6, 3.8)
    axes = fig.subplots(1, len(panels), squeeze=False)[0]
    for place, (quantity, curves) in zip(axes, panels, strict=True):
        _draw_curves(place, quantity, curves)
    axes[0].legend(frameon=False)
    return with_title(fig, title)


def _draw_curves(axes: Axes, quantity: str, curves: Sequence[TrainingCurve]) -> None:
    from matplotlib.ticker import MaxNLocator

    styles: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))
    for i, curve in enumerate(curves):
        colour, style = COLOURS[i % len(COLOURS)], styles[i // len(COLOURS) % len(styles)]
        axes.plot(curve.epochs, curve.mean, color=colour, linestyle=style, linewidth=1.6, label=curve.name)
        if list(curve.low) != list(curve.high):
            axes.fill_between(curve.epochs, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
        if len(curve.epochs) == 1:
            axes.plot(curve.epochs, curve.mean, "o", color=colour)
    axes.set_xlabel("epoch")
    axes.set_ylabel(quantity)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(color="#dddddd", linewidth=0.6)
