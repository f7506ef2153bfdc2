"""Every tensor on a report's page: tables of matrices and of vectors, with a search, and all numbers of a tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from softfloat_ref.app.html_page import breakable, cell, data, format_name
from softfloat_ref.app.report_charts import layer_name
from softfloat_ref.app.report_rows import cells, shape
from softfloat_ref.app.report_summary import ReportSummary
from softfloat_ref.app.svg import Series
from softfloat_ref.nn.model_errors import ModelErrorRow

MEASURES: Final = (  # as report_rows.cells has them
    "SQNR, dB",
    "largest error",
    "largest relative error",
    "saturated",
    "to zero",
    "lost (NaN or Inf)",
    "scales",
)

Rows = Sequence[ModelErrorRow]  # of a tensor, in the order of the formats


def sections(summary: ReportSummary, series: Sequence[Series], order: Sequence[str] | None) -> Iterator[str]:
    """The tables, the worst weights first, and their numbers. order: names of tensors, if in another order."""
    first = summary.smallest or summary.formats[0]
    yield _tools(first.name, order is not None)
    number, numbers = 0, []
    for name, heading, rows in (("matrices", "Matrices", summary.matrices), ("vectors", "Vectors", summary.vectors)):
        if not rows:
            continue
        by_tensor = summary.by_tensor(rows)
        tensors = list(by_tensor.values())
        if order is not None:
            places = {x: i for i, x in enumerate(order)}
            tensors.sort(key=lambda x: places[x[0].tensor.name])
        else:
            tensors.sort(key=lambda x: summary.sort_key(x[first.number]))
        sorted_by = None if order is not None else first.number
        yield f'<h3 id="{name}">{heading}</h3>\n'
        yield _table(summary, tensors, series, sorted_by, number)
        numbers += [[_numbers(x) for x in rows_of] for rows_of in tensors]
        number += len(tensors)
    yield data("numbers", {"measures": MEASURES, "formats": [s.name for s in series], "rows": numbers})


def _tools(first: str, ordered: bool) -> str:
    options = "".join(f'<option value="{i}">{escape(x)}</option>' for i, x in enumerate(MEASURES))
    order = "" if ordered else f" The lowest SQNR in {escape(first)} is first; a click on a column sorts by it."
    return (
        '<h2 id="tensors">Every tensor</h2>\n'
        f'<p class="hint">SQNR in dB by format.{order} A tensor opens with all its numbers.</p>\n'
        '<div class="tools script" role="search"><label for="search">Find</label>'
        '<input type="search" id="search" placeholder="part of a name or kind" aria-describedby="matching" '
        'aria-keyshortcuts="/" autocomplete="off" spellcheck="false">'
        '<output id="matching" for="search" aria-live="polite"></output>'
        f'<label>Show <select id="measure">{options}</select></label></div>\n'
    )


def _table(
    summary: ReportSummary, tensors: Sequence[Rows], series: Sequence[Series], first: int | None, number: int
) -> str:
    """first: the column of a format that it is sorted by."""
    heads = [
        *(("tensor", "t"), ("kind", "t"), ("layer", ""), ("shape", "")),
        *((format_name(s.name), "") for s in series),
    ]
    sorted_by = None if first is None else 4 + first
    columns = "".join(
        cell("th", x, c, ' scope="col"' + ' aria-sort="ascending"' * (i == sorted_by)) for i, (x, c) in enumerate(heads)
    )
    body = "".join(_row(summary, x, i) for i, x in enumerate(tensors, number))
    return (
        '<div class="wide"><table class="tensors">\n'
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )


def _row(summary: ReportSummary, rows: Rows, number: int) -> str:
    kind = summary.kind(rows[0])
    part = f"{kind.stack}: " if kind.stack else ""
    line = cell("th", breakable(rows[0].tensor.name), "t name", ' scope="row"') + cell(
        "td", breakable(part + kind.kind), "t kind"
    )
    line += cell("td", layer_name(kind.depth)) + cell("td", shape(rows[0]))
    return f'<tr data-row="{number}">{line}{"".join(cell("td", _numbers(x)[0]) for x in rows)}</tr>\n'


def _numbers(x: ModelErrorRow) -> list[str]:
    """The texts of a tensor in a format, by measure; of one that the format refuses, and why."""
    return ["refused", x.problem] if x.problem else list(cells(x.measured.errors))
