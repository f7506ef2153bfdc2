"""What was proved of the C library: a row for each proof in c_library.csv, and a table of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from softfloat_ref.base import limits
from softfloat_ref.base.files import read_text, write_data
from softfloat_ref.export.plan import wrap_line

RECORD: Final = Path(__file__).with_name("c_library.csv")
OLD: Final = "not since"  # of a function whose source text was another one


class Proved(NamedTuple):
    """A proof. core: the digest of the source text that it is about (c_digests.py)."""

    fmt: str
    operation: str
    rounding: str
    tininess: str
    policy: str
    core: str
    seconds: float


def read_record(file: Path = RECORD) -> list[Proved]:
    """The rows."""
    _, *rows = csv.reader(io.StringIO(read_text(file, limits.SOURCE)))
    return [Proved(*row[:-1], seconds=float(row[-1])) for row in rows]


def write_record(new: Proved, file: Path = RECORD) -> None:
    """Add a row, in place of an earlier one of the same function."""
    rows = {row[:-2]: row for row in (*(read_record(file) if file.exists() else ()), new)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([Proved._fields, *(rows[key] for key in sorted(rows))])
    write_data(file, text.getvalue())


def table(record: Iterable[Proved], digest: Callable[[Any], str]) -> Iterator[str]:
    """Lines: formats under a policy, with the roundings of operations and the seconds that one took."""
    functions: dict[tuple[str, ...], dict[str, list[Proved]]] = {}
    for row in record:
        functions.setdefault((row.fmt, row.policy, row.tininess), {}).setdefault(row.operation, []).append(row)
    for (fmt, policy, tininess), operations in functions.items():
        yield f"{fmt}, {policy}, tininess {tininess}"
        by_roundings: dict[tuple[str, ...], list[str]] = {}
        for operation, rows in operations.items():
            words = [operation, *_seconds(rows, digest)]
            by_roundings.setdefault(_roundings(rows), []).append(" ".join(words))
        for roundings, words in by_roundings.items():
            yield from wrap_line(f"  {', '.join(roundings)}: {', '.join(words)}", "")


def _seconds(rows: Sequence[Proved], digest: Callable[[Any], str]) -> Iterator[str]:
    """The most seconds, if that is at least one."""
    if any(row.core != digest(row) for row in rows):
        yield OLD
    elif (most := max(row.seconds for row in rows)) >= 1:
        yield f"{most:g}"


def _roundings(rows: Sequence[Proved]) -> tuple[str, ...]:
    order = ("rne", "rtz", "rdn", "rup", "rna", "rto")
    return tuple(sorted((row.rounding for row in rows), key=order.index))
