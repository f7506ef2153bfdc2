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
    """A proof. core: the digest of the source text that it is about (c_digests.py); question: that of what was asked
    of both sides, which other source text may leave as it is."""

    fmt: str
    operation: str
    rounding: str
    tininess: str
    policy: str
    core: str
    question: str
    seconds: float

    @property
    def key(self) -> tuple[str, ...]:
        """Which function it is about."""
        return self[:5]


def read_record(file: Path = RECORD) -> list[Proved]:
    """The rows."""
    _, *rows = csv.reader(io.StringIO(read_text(file, limits.SOURCE)))
    return [Proved._make([*row[:-1], float(row[-1])]) for row in rows]


def write_record(new: Proved, file: Path = RECORD) -> None:
    """Add a row, in place of an earlier one of the same function."""
    rows = {row.key: row for row in (*(read_record(file) if file.exists() else ()), new)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([Proved._fields, *(rows[key] for key in sorted(rows))])
    write_data(file, text.getvalue())


def table(record: Iterable[Proved], digest: Callable[[Any], str]) -> Iterator[str]:
    """Lines: formats under a policy, with the roundings of operations and the seconds that one took."""
    functions: dict[tuple[str, ...], dict[str, list[Proved]]] = {}
    for row in record:
        functions.setdefault((row.fmt, row.policy, row.tininess), {}).setdefault(row.operation, []).append(row)
    for (fmt, policy, tininess), operations in sorted(functions.items()):
        yield f"{fmt}, {policy}, tininess {tininess}"
        lines: dict[str, list[str]] = {}
        for operation, rows in operations.items():
            current = [row for row in rows if row.core == digest(row)]
            most = max((row.seconds for row in current), default=0)
            if current:
                lines.setdefault(_roundings(current), []).append(f"{operation} {most:g}" if most >= 1 else operation)
            if old := [row for row in rows if row not in current]:
                lines.setdefault(f"{_roundings(old)}, {OLD}", []).append(operation)
        for start, words_of_line in lines.items():
            yield from wrap_line(f"  {start}: {', '.join(words_of_line)}", "")


def _roundings(rows: Sequence[Proved]) -> str:
    order = ("rne", "rtz", "rdn", "rup", "rna", "rto")
    return ", ".join(sorted((row.rounding for row in rows), key=order.index))
