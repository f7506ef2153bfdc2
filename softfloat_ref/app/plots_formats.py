"""Pictures of formats (values on a line, errors) and of tensors in formats (SQNR by tensor, the blocks of one)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.app.plots import COLOURS, GREY, figure, legend
from softfloat_ref.arrays import convert, kinds
from softfloat_ref.arrays.error_blocks import BlockBins
from softfloat_ref.arrays.exponents import AnyFormat
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.affine import AffineFormat
from softfloat_ref.oracle.approximation import Approximation
from softfloat_ref.oracle.formats import Format

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_BITS: Final = 10  # of a format on a line
_SAMPLES_PER_BINADE: Final = 4096  # per binade

Doubles = NDArray[np.float64]
_MARKERS: Final = "osD^vP*X"
_MAX_LABEL: Final = 44  # characters of a tensor's name
_MAX_LABELS: Final = 60  # tensors with a label each


# -- number lines ------------------------------------------------------------------------------------------------------


class FormatValues(NamedTuple):
    """A format's finite values in order, and the smallest normal one; inf without one."""

    name: str
    values: Doubles
    normal: float

    @property
    def positive(self) -> Doubles:
        return self.values[self.values > 0]


def values_of(fmt: AnyFormat) -> FormatValues:
    """The values of a scalar format, or of a block format's elements. Raises Error for more than MAX_BITS bits."""
    if isinstance(fmt, AffineFormat):
        raise Error(f"{fmt.name}: affine integers lie at equal distances; give scalar or block formats")
    name, scalar = (fmt.name, fmt) if isinstance(fmt, Format) else (f"elements of {fmt.name}", fmt.element)
    if scalar.width > MAX_BITS:
        raise Error(f"{scalar.name} has {scalar.width} bits; a number line shows formats of up to {MAX_BITS}")
    values = convert.decode_float64(np.arange(1 << scalar.width), scalar)
    normal = convert.decode_float64(np.array([scalar.min_normal_code]), scalar)[0] if scalar.has_normals else np.inf
    return FormatValues(name, np.unique(values[np.isfinite(values)]), float(normal))


def number_lines(rows: Sequence[FormatValues], title: str = "") -> Figure:
    """Number lines: the values on a linear scale, and the positive ones on a logarithmic one."""
    from matplotlib.lines import Line2D

    fig = figure(10, 1.6 + 0.55 * len(rows))
    linear, magnitude = fig.subplots(1, 2, sharey=True)
    for i, row in enumerate(rows):
        colour, values = COLOURS[i % len(COLOURS)], row.values
        linear.vlines(values / (values[-1] if len(rows) > 1 else 1), i - 0.3, i + 0.3, color=colour, linewidth=0.7)
        for part, alpha in (
            (row.positive[row.positive >= row.normal], 1.0),
            (row.positive[row.positive < row.normal], 0.4),
        ):
            magnitude.vlines(part, i - 0.3, i + 0.3, color=colour, linewidth=0.9, alpha=alpha)
    magnitude.set_xscale("log", base=2)
    linear.set_yticks(range(len(rows)), [f"{row.name}\nup to {row.values[-1]:.6g}" for row in rows])
    linear.set_ylim(len(rows) - 0.5, -0.5)
    if len(rows) > 1:
        linear.set_xticks([-1, -0.5, 0, 0.5, 1])
    linear.set_xlabel("value" if len(rows) == 1 else "value, in units of the format's largest")
    magnitude.set_xlabel("positive values, logarithmic scale")
    for axes in (linear, magnitude):
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    lines = [Line2D([], [], color=GREY, linewidth=2, alpha=a) for a in (1.0, 0.4)]
    return legend(fig, title, lines, ["normal", "subnormal (pale, on the right)"])


# -- errors ------------------------------------------------------------------------------------------------------------


class ErrorCurve(NamedTuple):
    """A format, whether it is scaled, and its largest relative error in each binade: x in their middle."""

    name: str
    scaled: bool
    x: Doubles
    errors: Doubles


def curve(fmt: AnyFormat, low: int, high: int) -> ErrorCurve:
    """The errors from 2^low to 2^high, rounded to nearest; inf for overflow. Values at equal ratios find the values of
    the format, and the largest errors are midway between those."""
    x = np.exp2(low + np.arange((high - low) * _SAMPLES_PER_BINADE) / _SAMPLES_PER_BINADE).astype(np.float32)
    values = np.unique(_quantized(x, fmt, 2.0**high).astype(np.float64))
    values = values[np.isfinite(values)]
    middle = ((values[:-1] + values[1:]) / 2).astype(np.float32)
    x = np.concatenate([x, middle[(middle >= 2.0**low) & (middle < 2.0**high)]])
    error = np.abs(_quantized(x, fmt, 2.0**high).astype(np.float64) - x) / x
    y = np.zeros(high - low)
    np.maximum.at(y, np.frexp(x)[1] - 1 - low, np.where(np.isfinite(error), error, np.inf))
    return ErrorCurve(fmt.name, not isinstance(fmt, Format), np.exp2(low + np.arange(y.size) + 0.5), y)


def _quantized(x: NDArray[np.float32], fmt: AnyFormat, top: float) -> NDArray[Any]:
    """The values after quantization; of scaled formats, in blocks or in a tensor with that largest magnitude."""
    if isinstance(fmt, Format):
        return convert.quantize(x, fmt)
    if isinstance(fmt, AffineFormat):
        return kinds.quantize(np.concatenate([x, [-top, top]]).astype(np.float32), fmt)[: x.size]
    if fmt.size == 1:
        raise Error(f"{fmt.name}: each value has a scale of its own")
    values_per_block = fmt.size - 1 if fmt.size > 0 else x.size
    blocks = np.zeros((-(-x.size // values_per_block), values_per_block + 1), np.float32)
    blocks[:, 0] = top
    padded = np.zeros(blocks.shape[0] * values_per_block, np.float32)
    padded[: x.size] = x
    blocks[:, 1:] = padded.reshape(-1, values_per_block)
    return kinds.quantize(blocks, fmt)[:, 1:].reshape(-1)[: x.size]


def errors(curves: Sequence[ErrorCurve], high: int, title: str = "") -> Figure:
    """The curves; blocks and affine integers are scaled for a largest magnitude of 2^high."""
    fig = figure(9, 4.4)
    axes: Any = fig.subplots()
    styles: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
    for i, curve in enumerate(curves):
        scaled = f" (scaled for $2^{{{high}}}$)" if curve.scaled else ""
        percent = np.where((curve.errors > 0) & np.isfinite(curve.errors), 100 * curve.errors, np.nan)
        axes.plot(
            curve.x, percent, color=COLOURS[i % len(COLOURS)], linestyle=styles[i % len(styles)], linewidth=1.5,
            marker="o", markersize=2.5, label=f"{curve.name}{scaled}",
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("magnitude of the value")
    axes.set_ylabel("largest relative error in a binade, %")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.axhline(100, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)), label="100 %: rounded to zero")
    return legend(fig, title)


# -- approximations ----------------------------------------------------------------------------------------------------


def ulp_errors(a: Approximation, finite: NDArray[np.bool_], errors: Doubles) -> Figure:
    """The error of every operand with a finite result, in ulp; below the axis, where tables begin and end."""
    x = convert.decode_float64(np.arange(1 << a.fmt.width), a.fmt)
    plotted = finite & np.isfinite(x)
    fig = figure(9, 4.4)
    axes: Any = fig.subplots()
    axes.plot(x[plotted], errors[plotted], linestyle="", marker=".", markersize=2, color=COLOURS[0], label=a.name)
    ends = [part.first for part in a.parts] + [part.after for part in a.parts]
    borders = [x[code | sign] for code in ends for sign in (0, a.fmt.sign_bit) if np.isfinite(x[code | sign])]
    axes.plot(borders, np.zeros(len(borders)), linestyle="", marker="^", color=COLOURS[1], label="ends of tables")
    axes.set_xscale("symlog", base=2, linthresh=float(max(x[max(a.positive.first, 1)], 2.0**-20)) / 2)
    far = 2 * max((float(abs(b)) for b in borders), default=1.0)
    axes.set_xlim(-far, far)
    axes.set_xlabel("operand")
    axes.set_ylabel("error, ulp")
    axes.grid(color="#dddddd", linewidth=0.6)
    return legend(fig, f"{a.name}: error of {a.function}")


# -- tensors in formats ------------------------------------------------------------------------------------------------


def sqnr(tensors: Sequence[str], ratios: Sequence[tuple[str, Sequence[float]]], title: str = "") -> Figure:
    """The ratio of signal to quantization noise, one row per tensor and one mark per format.

    ratios: each format's name, with a ratio in dB for each tensor; NaN and inf have no mark.
    """
    fig = figure(9, 1.4 + 0.22 * min(len(tensors), 2 * _MAX_LABELS))
    axes: Any = fig.subplots()
    for i, (name, values) in enumerate(ratios):
        x = [v if math.isfinite(v) else math.nan for v in values]
        marker, colour = _MARKERS[i % len(_MARKERS)], COLOURS[i % len(COLOURS)]
        axes.plot(x, range(len(x)), marker, color=colour, markersize=5, linestyle="none", label=name)
    axes.set_xlabel("signal to quantization noise ratio (SQNR), dB")
    if len(tensors) <= 2 * _MAX_LABELS:
        axes.set_yticks(range(len(tensors)), [short(t) for t in tensors], fontsize=8)
    else:
        axes.set_ylabel("number of the tensor, in the order of the table")
    axes.set_ylim(len(tensors) - 0.4, -0.6)
    axes.grid(color="#dddddd", linewidth=0.6)
    return legend(fig, title)


def short(name: str) -> str:
    """A name of bounded length: its beginning and its end."""
    half = (_MAX_LABEL - 3) // 2
    return name if len(name) <= _MAX_LABEL else f"{name[:half]}...{name[-half:]}"


def blocks(bins: BlockBins, limit: float, name: str, title: str = "") -> Figure:
    """Two panels over the blocks of a tensor: the largest magnitude of each block under what its scale can represent,
    and the share of values beyond that.

    limit: the largest element. Where a point stands for several blocks, a band shows their range.
    """
    fig = figure(9, 4.6)
    above, below = fig.subplots(2, 1, sharex=True, height_ratios=(2.4, 1))
    count = len(bins.values)
    edges = np.arange(count + 1) * bins.blocks / count
    live = np.isfinite(bins.high_amax) & (bins.high_amax > 0)
    tops = (np.where(live, x * limit, np.nan) for x in (bins.low_scale, bins.high_scale))
    amax = (np.where(live, x, np.nan) for x in (bins.low_amax, bins.high_amax))
    several = bins.blocks > count
    for (low, high), colour, label in (
        (tops, COLOURS[0], "scale x largest element"),
        (amax, COLOURS[1], "largest magnitude (amax)"),
    ):
        if several:
            above.stairs(high, edges, baseline=low, fill=True, color=colour, alpha=0.25, linewidth=0)
        above.stairs(high, edges, baseline=None, color=colour, linewidth=1.2, label=label)
    if several:
        above.fill_between([], [], [], color=GREY, alpha=0.25, label=f"range over {-(-bins.blocks // count)} blocks")
    above.set_yscale("log", base=2)
    if live.any():
        above.set_ylim(*_powers(bins.low_amax[live], bins.high_amax[live], *(x[live] * limit for x in
                       (bins.low_scale, bins.high_scale))))  # fmt: skip
    above.set_ylabel("magnitude")
    share = 100 * bins.saturated / np.maximum(bins.values, 1)
    below.stairs(share, edges, fill=True, color=COLOURS[1], alpha=0.6)
    below.set_ylabel("saturated, %")
    below.set_ylim(0, max(1.0, 1.1 * float(share.max())))
    below.set_xlabel(f"block of {name}")
    below.set_xlim(0, bins.blocks)
    below.xaxis.get_major_locator().set_params(integer=True)
    for axes in (above, below):
        axes.grid(color="#dddddd", linewidth=0.6)
    return legend(fig, title)


def _powers(*values: NDArray[np.float64]) -> tuple[float, float]:
    """The powers of two around positive numbers."""
    whole = np.concatenate(values)
    whole = whole[(whole > 0) & np.isfinite(whole)]
    return math.ldexp(1.0, math.frexp(whole.min())[1] - 2), math.ldexp(1.0, math.frexp(whole.max())[1] + 1)
