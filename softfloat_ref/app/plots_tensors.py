"""Pictures of tensors in formats: SQNR by layer; scales, largest magnitudes and saturation over the blocks of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.app.plots import COLOURS, GREY, figure, legend
from softfloat_ref.arrays.error_blocks import BlockBins

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS: Final = "osD^vP*X"
_MAX_LABEL: Final = 44  # characters of a tensor's name
_MAX_LABELS: Final = 60  # tensors with a label each


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
