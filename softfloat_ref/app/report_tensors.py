"""Every tensor on the page of a report or a comparison: tables of matrices and of vectors, with a search, and all
numbers of a tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from softfloat_ref.app.html_page import breakable, cell, data, scrolling
from softfloat_ref.nn.tensor_kinds import TensorKind, layer_name


class TensorLine(NamedTuple):
    """A tensor. facts: texts behind its kind and layer; shown: a text for each column of numbers; numbers: all of
    them, a list for each row of its details."""

    name: str
    kind: TensorKind
    facts: Sequence[str]
    shown: Sequence[str]
    numbers: Sequence[Sequence[str]]


class TensorTables(NamedTuple):
    """What all tables of tensors have. facts: heads of the facts; columns: of the numbers, as HTML; measures: the heads
    of the details; names: of the rows of the details; sorted_by: a column in whose order the tensors are; switch:
    whether the columns show one measure, which can be chosen."""

    facts: Sequence[str]
    columns: Sequence[str]
    measures: Sequence[str]
    names: Sequence[str]
    sorted_by: int | None
    switch: bool

    def sections(self, hint: str, tables: Sequence[tuple[str, str, Sequence[TensorLine]]]) -> Iterator[str]:
        """tables: a name for links, a heading and the tensors of each, in order; empty ones are left out."""
        yield f'<h2 id="tensors">Every tensor</h2>\n<p class="hint">{hint}</p>\n{self._tools()}'
        number, numbers = 0, []
        for name, heading, lines in tables:
            if lines:
                yield f'<h3 id="{name}">{heading}</h3>\n{self._table(heading, lines, number)}'
                numbers += [x.numbers for x in lines]
                number += len(lines)
        plain = {"measures": self.measures, "formats": self.names, "columns": len(self.columns), "rows": numbers}
        yield data("numbers", plain)

    def _tools(self) -> str:
        options = "".join(f'<option value="{i}">{escape(x)}</option>' for i, x in enumerate(self.measures))
        return (
            '<div class="tools script" role="search"><label for="search">Find</label>'
            '<input type="search" id="search" placeholder="part of a name or kind" aria-describedby="matching" '
            'aria-keyshortcuts="/" autocomplete="off" spellcheck="false">'
            '<output id="matching" for="search" aria-live="polite"></output>'
            + f'<label>Show <select id="measure">{options}</select></label>' * self.switch
            + "</div>\n"
        )

    def _table(self, label: str, lines: Sequence[TensorLine], number: int) -> str:
        heads: list[tuple[str, str]] = [("tensor", "t"), ("kind", "t"), ("layer", ""), *((x, "") for x in self.facts)]
        sorted_by = None if self.sorted_by is None else len(heads) + self.sorted_by
        heads += [(x, "") for x in self.columns]
        columns = (
            cell("th", x, c, ' scope="col"' + ' aria-sort="ascending"' * (i == sorted_by))
            for i, (x, c) in enumerate(heads)
        )
        head = f"<thead><tr>{''.join(columns)}</tr></thead>\n"
        body = "".join(_row(x, i) for i, x in enumerate(lines, number))
        return scrolling(label, f"{head}<tbody>\n{body}</tbody>", "tensors")


def _row(x: TensorLine, number: int) -> str:
    part = f"{x.kind.stack}: " if x.kind.stack else ""
    line = cell("th", breakable(x.name), "t name", ' scope="row"') + cell("td", breakable(part + x.kind.kind), "t kind")
    rest = (cell("td", text) for text in (layer_name(x.kind.depth), *x.facts, *x.shown))
    return f'<tr data-row="{number}">{line}{"".join(rest)}</tr>\n'
