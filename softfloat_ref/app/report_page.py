"""The report as one self-contained HTML page: totals, pictures as inline SVG, and the table of all rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from softfloat_ref.app import plots, plots_formats
from softfloat_ref.app.report_rows import HEADS, ModelReport, cells, notes, shape
from softfloat_ref.arrays.exponents import AnyFormat
from softfloat_ref.oracle.affine import AffineFormat
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.formats import Format

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from softfloat_ref.nn.model_errors import ModelErrorRow

_WORST_TENSORS: Final = 2  # tensors per block format whose blocks are shown
_BINADES: Final = 24  # of magnitudes below the largest one
_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1c1c1c; }
h1 { font-size: 1.4rem; margin-bottom: 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; }
p { margin: .3rem 0 1rem; }
table { border-collapse: collapse; font-size: .87rem; width: 100%; }
th, td { text-align: right; padding: .15rem .6rem; border-bottom: 1px solid #e2e2e2; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; }
th.t, td.t { text-align: left; }
td.t:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 9rem; }
.wide { overflow-x: auto; }
svg { max-width: 100%; height: auto; }
"""


def html(report: ModelReport) -> str:
    """The page. Raises Error without matplotlib."""
    title = escape(f"Formats on {', '.join(report.models)}")
    tensors = {id(x.tensor): x.tensor.size for x in report.rows}
    head = f"{len(tensors)} tensors, {sum(tensors.values()):,} values; tensors skipped: {len(report.skipped)}"
    totals = [[name, *cells(errors)] for name, errors in report.totals()]
    rows = [
        [x.tensor.name, shape(x), x.measure.fmt.name, *((x.problem,) if x.problem else cells(x.measured.errors))]
        for x in report.rows
    ]
    parts = [
        f"<h1>{title}</h1>\n<p>{head}</p>\n",
        _table(["format", *HEADS], totals, 1),
        *(f"<p>{escape(text[0].upper() + text[1:])}.</p>\n" for text in notes(report)),
        *_pictures(report),
        f"<h2>All tensors</h2>\n{_table(['tensor', 'shape', 'format', *HEADS], rows, 3)}",
    ]
    if report.skipped:
        parts.append(f"<h2>Skipped</h2>\n{_table(['tensor', 'why'], report.skipped, 2)}")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{''.join(parts)}</body>\n</html>\n"
    )


def _table(heads: list[str], rows: object, texts: int) -> str:
    """texts: the number of columns of text, which are on the left."""

    def line(tag: str, row: object) -> str:
        listed = list(row)  # type: ignore[call-overload]
        wide = f' colspan="{len(heads) - texts}"' if len(listed) == texts + 1 < len(heads) else ""
        marks = [' class="t"' if i < texts or wide else "" for i in range(len(listed))]
        last = len(listed) - 1
        inner = (
            f"<{tag}{m}{wide if i == last else ''}>{escape(x)}</{tag}>"
            for i, (m, x) in enumerate(zip(marks, listed, strict=True))
        )
        return f"<tr>{''.join(inner)}</tr>\n"

    body = "".join(line("td", row) for row in rows)  # type: ignore[attr-defined]
    return f'<div class="wide"><table>\n{line("th", heads)}{body}</table></div>\n'


def _pictures(report: ModelReport) -> Iterator[str]:
    with plots.style():
        for number, (heading, fig, text) in enumerate(_figures(report)):
            yield f"<h2>{escape(heading)}</h2>\n<p>{escape(text)}</p>\n{plots.svg(fig, f'p{number}')}\n"


def _figures(report: ModelReport) -> Iterator[tuple[str, Figure, str]]:
    """Heading, picture and explanation."""
    formats = list({x.measure.fmt.name: x.measure.fmt for x in report.rows}.values())
    names = list(dict.fromkeys(x.tensor.name for x in report.rows))
    sqnr = {(x.tensor.name, x.measure.fmt.name): x.measured.errors.sqnr for x in report.rows if not x.problem}
    ratios = [(f.name, [sqnr.get((name, f.name), math.nan) for name in names]) for f in formats]
    text = "One mark per tensor and format. A tensor that a format represents exactly has no mark."
    yield "Signal to quantization noise", plots_formats.sqnr(names, ratios), text
    amax = max((x.measured.errors.amax for x in report.rows), default=1.0) or 1.0
    high = math.frexp(amax)[1]
    text = f"Largest relative error by magnitude, rounded to nearest. The model's largest magnitude is {amax:.4g}."
    plotted = [f for f in formats if not (isinstance(f, BlockFormat) and f.size == 1)]
    if plotted:
        yield (
            "Error of the formats",
            plots_formats.errors([plots_formats.curve(f, high - _BINADES, high) for f in plotted], high),
            text,
        )
    small = [f for f in formats if _fits_a_line(f)]
    if small:
        yield (
            "Values of the formats",
            plots_formats.number_lines(list(map(plots_formats.values_of, small))),
            "Each line is a finite value.",
        )
    for row in _worst(report):
        assert row.measured.bins is not None
        assert isinstance(row.measure.fmt, BlockFormat)
        text = f"{row.tensor.name} in {row.measure.fmt.name}: values above scale x largest element saturate."
        limit = float(largest(row.measure.fmt.element))
        heading = f"Blocks of {row.tensor.name}, {row.measure.fmt.name}"
        yield heading, plots_formats.blocks(row.measured.bins, limit, plots_formats.short(row.tensor.name)), text


def _fits_a_line(fmt: AnyFormat) -> bool:
    if isinstance(fmt, AffineFormat):
        return False
    return (fmt if isinstance(fmt, Format) else fmt.element).width <= plots_formats.MAX_BITS


def _worst(report: ModelReport) -> Iterator[ModelErrorRow]:
    """For each block format, the tensors of several blocks with the lowest ratio of signal to noise."""
    for name in report.formats:
        rows = [x for x in report.rows if x.measure.fmt.name == name and x.measured.bins and x.measured.bins.blocks > 1]
        finite = [x for x in rows if math.isfinite(x.measured.errors.sqnr)]
        yield from sorted(finite, key=lambda x: x.measured.errors.sqnr)[:_WORST_TENSORS]
