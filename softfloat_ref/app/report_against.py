"""`report --against`: a model compared with another one, tensor by tensor."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.app.report_rows import decibels
from softfloat_ref.base.errors import Error, unknown

if TYPE_CHECKING:
    from softfloat_ref.nn.model_files import ModelTensor
    from softfloat_ref.nn.model_files.comparison import Difference

SORTS: Final = ("file", "name", "size", "sqnr", "error")
OUTPUTS: Final = (".csv", ".json")


def check(sort: str, outputs: Sequence[str]) -> None:
    """Raise Error for what a comparison does not have."""
    if sort not in SORTS:
        raise Error(f"--against: --sort {', '.join(SORTS)}; not {sort}")
    for path in outputs:
        if Path(path).suffix not in OUTPUTS:
            raise unknown(f"kind of comparison {Path(path).name!r}:", Path(path).suffix, OUTPUTS)


def compare(
    tensors: Sequence[ModelTensor],
    others: Sequence[ModelTensor],
    sort: str,
    top: int | None,
    outputs: Sequence[str],
) -> Iterator[str]:
    """The lines of a table; the files are written first. Raises Error if the models have no tensor in common."""
    from softfloat_ref.app.output import progress
    from softfloat_ref.base.files import write_data
    from softfloat_ref.nn.model_files.comparison import differences, entry

    by_name, rows = {t.name: t for t in others}, []
    both = [t for t in tensors if t.name in by_name]
    if not both:
        raise Error(
            f"the models have no tensor in common: {tensors[0].name}, ... against {others[0].name}, ...; "
            "tensors are compared by their names"
        )
    with progress(sum(t.size for t in both)) as bar:
        for row in differences(both, by_name):
            rows.append(row)
            bar.advance(row.tensor.name, row.tensor.size)
    rows = _sorted(rows, sort)
    entries = [entry(x) for x in rows]
    makers: dict[str, Callable[[Sequence[dict[str, Any]]], str]] = {
        ".csv": _csv,
        ".json": lambda x: json.dumps(x, indent=1, default=str) + "\n",
    }
    for path in outputs:
        write_data(path, makers[Path(path).suffix](entries))
    yield from _table(rows[:top])
    if top is not None and top < len(rows):
        yield f"{len(rows) - top} more rows: leave --top out, or write them with -o FILE.csv"
    yield from _sizes(tensors, others)
    mine = {t.name for t in tensors}
    for word, names in (
        ("only in the model", [t.name for t in tensors if t.name not in by_name]),
        ("only in the other", [t.name for t in others if t.name not in mine]),
    ):
        if names:
            yield f"{word}: {len(names)} tensors, such as {names[0]}" if len(names) > 1 else f"{word}: {names[0]}"


def _sorted(rows: list[Difference], sort: str) -> list[Difference]:
    keys: dict[str, Any] = {
        "name": lambda x: x.tensor.name,
        "size": lambda x: -x.tensor.size,
        "sqnr": lambda x: (bool(x.problem), x.errors.sqnr if x.errors.sqnr == x.errors.sqnr else float("inf")),
        "error": lambda x: -x.errors.largest_error,
    }
    return sorted(rows, key=keys[sort]) if sort in keys else rows


def _table(rows: Sequence[Difference]) -> Iterator[str]:
    from softfloat_ref.nn.model_files.comparison import bits

    heads = ("tensor", "shape", "stored", "against", "bits", "SQNR dB", "max error", "values", "codes", "scales")
    lines = [heads]
    for x in rows:
        own = x.tensor.fmt or x.tensor.type, x.other.fmt or x.other.type
        numbers = (decibels(x.errors.sqnr), f"{x.errors.largest_error:.4g}", _share(x.values, x.tensor.size))
        more = (_count(x.codes), _count(x.scales))
        cells = (x.problem, "", "", "", "") if x.problem else (*numbers, *more)
        lines.append((x.tensor.name, "x".join(map(str, x.tensor.shape)), *own, f"{bits(x.tensor):.4g}", *cells))
    widths = [max(map(len, column)) for column in zip(*((*x[:5], "") for x in lines), strict=True)]
    sizes = (7, 9, 9, 9, 9)
    for line in lines:
        head = "  ".join(f"{cell:{width}}" for cell, width in zip(line[:5], widths, strict=False))
        tail = line[5] if not line[6] else "  ".join(f"{c:>{n}}" for c, n in zip(line[5:], sizes, strict=True))
        yield f"{head}  {tail}".rstrip()


def _share(count: int, size: int) -> str:
    return "0" if not count else f"{100 * count / size:.3f} %"


def _count(count: int | None) -> str:
    return "-" if count is None else str(count)


def _sizes(tensors: Sequence[ModelTensor], others: Sequence[ModelTensor]) -> Iterator[str]:
    from softfloat_ref.nn.model_files.comparison import size_of

    for word, listed in (("model", tensors), ("other", others)):
        values, size = size_of(listed)
        yield f"{word}: {values} values, {8 * size / max(1, values):.4g} bits each, {size / 1e6:.3f} MB"


def _csv(entries: Sequence[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(entries[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(entries)
    return out.getvalue()
