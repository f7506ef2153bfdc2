"""Self-contained pages of HTML: a head with style and script, tables of texts."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any


def page(title: str, parts: Iterable[str]) -> str:
    """A page that needs no other file."""
    style, script = (Path(__file__).with_name(f"report.{x}").read_text(encoding="utf-8") for x in ("css", "js"))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{''.join(parts)}</main>\n"
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )


def data(name: str, value: Any) -> str:
    """What the page's script reads."""
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def breakable(name: str) -> Html:
    """A long name, which may be continued on the next line behind the marks that join its parts."""
    return Html(re.sub(r"([._/:-]+)(?=.)", r"\1<wbr>", escape(name, quote=False)))


def format_name(name: str) -> Html:
    """A format's name, which may be continued behind its element."""
    return Html(escape(name).replace("@", "@<wbr>"))


def cell(tag: str, content: str, classes: str = "", attributes: str = "") -> str:
    """A cell of a table; its content is escaped unless it is `Html`."""
    inner = content if isinstance(content, Html) else escape(content)
    named = f' class="{classes}"' if classes else ""
    return f"<{tag}{named}{attributes}>{inner}</{tag}>"


def table(
    label: str,
    heads: Sequence[str],
    rows: Iterable[str | Sequence[str]],
    texts: Collection[int] = (0,),
    classes: str = "",
) -> str:
    """A table, whose first column names the rows; where it is wider than the screen, it scrolls, also by keyboard.

    label: what it lists. rows: cells, or `Html` of a row. texts: the columns of text, which are on the left."""
    head = "".join(cell("th", x, "t" * (i in texts), ' scope="col"') for i, x in enumerate(heads))
    return scrolling(
        label, f"<thead><tr>{head}</tr></thead>\n<tbody>\n{''.join(_row(x, texts) for x in rows)}</tbody>", classes
    )


def scrolling(label: str, inner: str, classes: str = "") -> str:
    """The element around the parts of a table."""
    named = f' class="{classes}"' if classes else ""
    place = f'<div class="wide" role="region" tabindex="0" aria-label="{escape(label)}">'
    return f"{place}<table{named}>\n{inner}</table></div>\n"


def _row(cells: str | Sequence[str], texts: Collection[int]) -> str:
    if isinstance(cells, Html):
        return cells
    first, *rest = cells
    head = cell("th", first, "t name", ' scope="row"')
    columns = (cell("td", x, "t name" * (i in texts)) for i, x in enumerate(rest, 1))
    return f"<tr>{head}{''.join(columns)}</tr>\n"
