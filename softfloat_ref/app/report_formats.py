"""The formats themselves on a report's page: their errors by magnitude, their values, and the blocks of the tensors
with the lowest SQNR."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

import numpy as np

from softfloat_ref.app import plots_formats
from softfloat_ref.app.plots_formats import ErrorCurve, FormatValues
from softfloat_ref.app.report_charts import legend
from softfloat_ref.app.report_summary import ReportSummary
from softfloat_ref.app.report_words import short
from softfloat_ref.app.svg import Frame, Series, text
from softfloat_ref.arrays.error_blocks import BlockBins
from softfloat_ref.arrays.exponents import AnyFormat
from softfloat_ref.base.search import find_first
from softfloat_ref.nn.model_errors import ModelErrorRow
from softfloat_ref.oracle.affine import AffineFormat
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.formats import Format

_BINADES: Final = 24  # of magnitudes below the largest one
_LOWEST: Final = 2.0**-24  # relative error, that a chart shows
_ROW: Final = 46  # pixels of a number line


def sections(summary: ReportSummary, series: Sequence[Series]) -> Iterator[str]:
    """The charts with their headings."""
    formats = [x.measure.fmt for x in summary.formats]
    amax = max((x.measured.errors.amax for x in summary.report.rows), default=1.0) or 1.0
    high = math.frexp(amax)[1]
    yield '<h2 id="rounding">The formats</h2>\n'
    curves = [
        (s, plots_formats.curve(f, high - _BINADES, high))
        for f, s in zip(formats, series, strict=True)
        if not (isinstance(f, BlockFormat) and f.size == 1)
    ]
    if curves:
        yield "<h3>Errors by magnitude</h3>\n"
        yield '<p class="hint">Largest relative error in each binade, rounded to nearest; formats with scales are '
        yield f"scaled for 2^{high}, above the model's largest magnitude, {amax:.4g}. At 100 % values become zero.</p>"
        yield legend([s for s, _ in curves], switches=False)
        yield f'<figure class="rows">{_errors(curves, high)}</figure>\n'
    small = [(s, plots_formats.values_of(f)) for f, s in zip(formats, series, strict=True) if _fits_a_line(f)]
    if small:
        yield "<h3>Values</h3>\n"
        yield '<p class="hint">Every positive value, on a logarithmic axis; of formats with scales, the elements. '
        yield "Subnormal ones are pale.</p>\n"
        yield f'<figure class="rows">{_number_lines(small)}</figure>\n'
    worst = _worst(summary)
    if worst:
        yield '<h3>Blocks of the worst tensors</h3>\n<p class="hint">Values above scale × largest element saturate. '
        yield "Areas span neighbouring blocks.</p>\n"
        figures = (_blocks(x, series) for x in worst)
        yield f'<div class="panels large">{"".join(figures)}</div>\n'


def _fits_a_line(fmt: AnyFormat) -> bool:
    if isinstance(fmt, AffineFormat):
        return False
    return (fmt if isinstance(fmt, Format) else fmt.element).width <= plots_formats.MAX_BITS


# -- errors ----------------------------------------------------------------------------------------------------------


def _errors(curves: Sequence[tuple[Series, ErrorCurve]], high: int) -> str:
    shown = [e for _, c in curves for e in c.errors if math.isfinite(e) and e > _LOWEST]
    frame = Frame(720, 300, left=62)
    x = frame.x(high - _BINADES, high)
    y = frame.y(math.frexp(min(shown, default=0.5))[1] - 1, 1, powers=True)
    marks = [2.0**e for e in range(int(y.low), 1, max(1, -int(y.low) // 6))]
    parts = [*frame.rows(y, [(v, f"{100 * v:.3g} %") for v in marks])]
    parts += frame.columns(x, [(e, f"2^{e}") for e in range(high - _BINADES, high + 1, 4)])
    parts += frame.titles("magnitude of the value", "largest relative error")
    summary = []
    for s, curve in curves:
        exponents = range(high - _BINADES, high)
        places = [
            (x(e + 0.5), y(error)) if math.isfinite(error) and error > _LOWEST else None
            for e, error in zip(exponents, curve.errors.tolist(), strict=True)
        ]
        parts += s.line(places)
        parts += [s.mark(*p, f"{s.name}, 2^{e}: {100 * v:.3g} %") for e, v, p in
                  zip(exponents, curve.errors.tolist(), places, strict=True) if p]  # fmt: skip
        zero = [e for e, v in zip(exponents, curve.errors.tolist(), strict=True) if v >= 1]
        below = f", zero below 2^{max(zero) + 1}" if zero else ""
        summary.append(f"{s.name}: {100 * curve.errors[-1]:.3g} % at the top{below}")
    return frame.svg(f"Largest relative error by magnitude. {'; '.join(summary)}", parts)


# -- values ----------------------------------------------------------------------------------------------------------


def _number_lines(rows: Sequence[tuple[Series, FormatValues]]) -> str:
    frame = Frame(720, 40 + _ROW * len(rows), left=12, top=6)
    positive = [row.positive for _, row in rows]
    low = min(math.frexp(float(v[0]))[1] - 1 for v in positive)
    high = max(math.frexp(float(v[-1]))[1] for v in positive)
    x = frame.x(low, high, powers=True)
    step = max(1, (high - low) // 12)
    parts = [*frame.columns(x, [(2.0**e, f"2^{e}") for e in range(low, high + 1, step)])]
    for i, (s, row) in enumerate(rows):
        at = frame.top + _ROW * i
        top = f"{row.values[-1]:.6g}"
        parts.append(text(frame.left, at + 12, f"{row.name}: {row.positive[0]:.3g} to {top}", "start", "name"))
        for values, opacity in (
            (row.positive[row.positive >= row.normal], 1),
            (row.positive[row.positive < row.normal], 0.45),
        ):
            if values.size:
                lines = "".join(f"M{x(float(v)):.1f},{at + 18}v18" for v in values)
                parts.append(
                    f'<path class="mark line f{s.number % 8}" style="opacity:{opacity};stroke-width:1" d="{lines}"/>'
                )
    label = "; ".join(f"{row.name}: {row.positive.size} positive values up to {row.values[-1]:.6g}" for _, row in rows)
    return frame.svg(f"Values of the formats. {label}", parts)


# -- blocks ----------------------------------------------------------------------------------------------------------


def _worst(summary: ReportSummary) -> list[ModelErrorRow]:
    """For each block format, the matrix of several blocks with the lowest SQNR."""
    worst = []
    for x in summary.formats:
        rows = [r for r in summary.worst_first(x.name) if r.measured.bins and r.measured.bins.blocks > 1]
        worst += [r for r in rows if math.isfinite(r.measured.errors.sqnr)][:1]
    return worst


def _blocks(row: ModelErrorRow, series: Sequence[Series]) -> str:
    """The largest magnitude of each block, under the largest that its scale can represent."""
    bins, fmt = row.measured.bins, row.measure.fmt
    assert isinstance(bins, BlockBins)
    assert isinstance(fmt, BlockFormat)
    own = find_first(s for s in series if s.name == fmt.name)
    limit = float(largest(fmt.element))
    live = np.isfinite(bins.high_amax) & (bins.high_amax > 0) & np.isfinite(bins.high_scale) & (bins.low_scale > 0)
    ends = [(np.where(live, a * k, np.nan), np.where(live, b * k, np.nan)) for a, b, k in
            ((bins.low_scale, bins.high_scale, limit), (bins.low_amax, bins.high_amax, 1.0))]  # fmt: skip
    known = np.concatenate([v for pair in ends for v in pair])
    known = known[np.isfinite(known)]
    frame = Frame(420, 230, left=46)
    low, high = (math.frexp(float(known.min()))[1] - 1, math.frexp(float(known.max()))[1]) if known.size else (0, 1)
    x, y = frame.x(0, bins.blocks), frame.y(low, high, powers=True)
    step = max(1, -(-(high - low) // 6))
    parts = [*frame.rows(y, [(2.0**e, f"2^{e}") for e in range(low, high + 1, step)])]
    parts += frame.columns(x, [(n, str(n)) for n in range(0, bins.blocks + 1, max(1, bins.blocks // 5))])
    parts += frame.titles(f"block, of {bins.blocks:,}", "magnitude")
    count = len(bins.values)
    places = [x(bins.blocks * i / count) for i in range(count + 1)]
    (_, limits), (lows, highs) = ends
    parts += _area(own, places, *([y(v) if v == v else None for v in values.tolist()] for values in (lows, highs)))
    parts += own.line(_steps(places, [y(v) if v == v else None for v in highs.tolist()]))
    edges = (f"M{places[i]:.1f},{y(v):.1f}H{places[i + 1]:.1f}" for i, v in enumerate(limits.tolist()) if v == v)
    parts.append(f'<path class="ceiling" d="{"".join(edges)}"/>')
    share = 100 * row.measured.errors.saturated / max(1, row.measured.errors.values)
    name = f"{short(row.tensor.name)}, {fmt.name}"
    key = '<svg class="swatch" viewBox="0 0 28 14" aria-hidden="true"><path class="ceiling" d="M2,7H26"/></svg>'
    caption = f"{own.swatch()}largest magnitude {key}scale × largest element; {share:.3g} % of the values saturate"
    label = f"Blocks of {name}: largest magnitudes, and what their scales can represent"
    return (
        f'<figure class="panel"><figcaption>{escape(name)}</figcaption>'
        f'<p class="hint">{caption}</p>{frame.svg(label, parts)}</figure>'
    )


def _steps(places: Sequence[float], values: Sequence[float | None]) -> Iterator[tuple[float, float] | None]:
    """A line with a step from each bin to the next."""
    for i, value in enumerate(values):
        yield from [None] if value is None else [(places[i], value), (places[i + 1], value)]


def _area(
    s: Series, places: Sequence[float], lows: Sequence[float | None], highs: Sequence[float | None]
) -> Iterator[str]:
    """The range of each bin, as rectangles."""
    boxes = "".join(
        f"M{places[i]:.1f},{low:.1f}H{places[i + 1]:.1f}V{high:.1f}H{places[i]:.1f}z"
        for i, (low, high) in enumerate(zip(lows, highs, strict=True))
        if low is not None and high is not None
    )
    if boxes:
        yield f'<path class="area f{s.number % 8}" d="{boxes}"/>'
