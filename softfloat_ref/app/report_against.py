"""`report --against`: a model compared with another one, tensor by tensor."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.app.report_rows import decibels, percent
from softfloat_ref.base.errors import Error, unknown

if TYPE_CHECKING:
    from softfloat_ref.app.against_summary import AgainstSummary, Models
    from softfloat_ref.nn.model_files.comparison import Difference

SORTS: Final = ("file", "name", "size", "sqnr", "error")
OUTPUTS: Final = (".html", ".csv", ".json")
_MAX_ROWS: Final = 40  # that are printed unless asked for
_WORST: Final = 10


def check(sort: str, outputs: Sequence[str]) -> None:
    """Raise Error for what a comparison does not have."""
    if sort not in SORTS:
        raise Error(f"--against: --sort {', '.join(SORTS)}; not {sort}")
    for path in outputs:
        if Path(path).suffix not in OUTPUTS:
            raise unknown(f"kind of comparison {Path(path).name!r}:", Path(path).suffix, OUTPUTS)


def compare(models: Models, sort: str | None, top: int | None, outputs: Sequence[str]) -> Iterator[str]:
    """The lines to print; the files are written first. Raises Error if the models have no tensor in common."""
    from softfloat_ref.app.against_page import html
    from softfloat_ref.app.against_summary import AgainstSummary
    from softfloat_ref.base.files import write_data

    summary = AgainstSummary(models, _differences(models))
    rows = _sorted(summary.rows, sort or SORTS[0])
    makers: dict[str, Callable[[], str]] = {
        ".csv": lambda: _csv(rows),
        ".json": lambda: json.dumps(_entries(rows), indent=1, allow_nan=False) + "\n",
        ".html": lambda: html(summary, rows if sort else None),
    }
    for path in outputs:
        write_data(path, makers[Path(path).suffix]())
    yield from _answer(summary)
    yield ""
    if sort is None and top is None and len(rows) > _MAX_ROWS:
        yield from _kinds(summary)
        yield ""
        yield from _table(summary.worst_first(summary.counted.rows)[:_WORST])
        yield f"the lowest SQNR of {len(rows)} tensors; all: --top N, --sort KEY, or -o FILE.html, .csv, .json"
        return
    yield from _table(rows[:top])
    if top is not None and top < len(rows):
        yield f"{len(rows) - top} more rows: leave --top out, or write them with -o FILE.csv"


def _differences(models: Models) -> list[Difference]:
    from softfloat_ref.app.output import progress
    from softfloat_ref.nn.model_files.comparison import differences

    by_name, rows = {t.name: t for t in models.others}, []
    both = [t for t in models.tensors if t.name in by_name]
    if not both:
        raise Error(
            f"the models have no tensor in common: {models.tensors[0].name}, ... against {models.others[0].name}, ...; "
            "tensors are compared by their names"
        )
    with progress(sum(t.size for t in both)) as bar:
        for row in differences(both, by_name):
            rows.append(row)
            bar.advance(row.tensor.name, row.tensor.size)
    return rows


def _sorted(rows: Sequence[Difference], sort: str) -> list[Difference]:
    keys: dict[str, Any] = {
        "name": lambda x: x.tensor.name,
        "size": lambda x: -x.tensor.size,
        "sqnr": lambda x: (bool(x.problem), x.errors.sqnr if x.errors.sqnr == x.errors.sqnr else float("inf")),
        "error": lambda x: -x.errors.largest_error,
    }
    return sorted(rows, key=keys[sort]) if sort in keys else list(rows)


# -- text ------------------------------------------------------------------------------------------------------------


def _answer(summary: AgainstSummary) -> Iterator[str]:
    """What differs, in a sentence; the size of both models; what has to be known."""
    yield summary.sentence()
    for name, values, bits, size in summary.models.sizes():
        yield f"{name}: {values} values, {bits:.4g} bits each, {size:.3f} MB"
    for text in summary.remarks():
        yield f"note: {text}"


def _kinds(summary: AgainstSummary) -> Iterator[str]:
    """What differs by kind of matrix."""
    from softfloat_ref.app.against_summary import DifferenceTally
    from softfloat_ref.app.report_text import columns

    lines: list[tuple[str, ...]] = [("kind", "number", "differ", "SQNR dB", "worst dB", "values", "codes", "scales")]
    for group in summary.largest_groups:
        x = DifferenceTally(group.items)
        shares = (str(y) for y in (x.values, x.codes, x.scales))
        counts = str(len(group.items)), str(len(x.differing))
        lines.append((group.label, *counts, decibels(x.errors.sqnr), decibels(x.low), *shares))
    yield from columns(lines, "<>>>>>>>")
    if left := len(summary.groups) - len(lines) + 1:
        yield f"{left} more kinds, with fewer values"


def _table(rows: Sequence[Difference]) -> Iterator[str]:
    from softfloat_ref.nn.model_files.comparison import bits

    heads = ("tensor", "shape", "stored", "against", "bits", "SQNR dB", "max error", "values", "codes", "scales")
    lines = [heads]
    for x in rows:
        own = x.tensor.fmt or x.tensor.type, x.other.fmt or x.other.type
        numbers = (decibels(x.errors.sqnr), f"{x.errors.largest_error:.4g}", percent(x.values, x.tensor.size))
        more = (_count(x.codes), _count(x.scales))
        cells = (x.problem, "", "", "", "") if x.problem else (*numbers, *more)
        lines.append((x.tensor.name, "x".join(map(str, x.tensor.shape)), *own, f"{bits(x.tensor):.4g}", *cells))
    widths = [max(map(len, column)) for column in zip(*((*x[:5], "") for x in lines), strict=True)]
    sizes = (7, 9, 9, 9, 9)
    for line in lines:
        head = "  ".join(f"{cell:{width}}" for cell, width in zip(line[:5], widths, strict=False))
        tail = line[5] if not line[6] else "  ".join(f"{c:>{n}}" for c, n in zip(line[5:], sizes, strict=True))
        yield f"{head}  {tail}".rstrip()


def _count(count: int | None) -> str:
    return "-" if count is None else str(count)


# -- files -----------------------------------------------------------------------------------------------------------


def _entries(rows: Sequence[Difference]) -> list[dict[str, Any]]:
    from softfloat_ref.nn.model_files.comparison import entry

    return [entry(x) for x in rows]


def _csv(rows: Sequence[Difference]) -> str:
    entries, out = _entries(rows), io.StringIO()
    writer = csv.DictWriter(out, list(entries[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: " ".join(v) if isinstance(v, list) else v for k, v in x.items()} for x in entries)
    return out.getvalue()
