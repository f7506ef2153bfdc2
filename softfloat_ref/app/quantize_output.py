"""The output of `quantize`: tables, values, codes, JSON and array files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from softfloat_ref.app.quantize_kinds import ARRAY_FILES, Arrays, Kind, QuantizedRow
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import write_data, write_file
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.exact import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_PRINTED: Final = 256  # number of values up to which an array is printed without --as


class QuantizeResult(NamedTuple):
    """A result: rows of text input, or arrays."""

    kind: Kind
    content: list[QuantizedRow] | Arrays
    summary: str


def summary_of_rows(rows: list[QuantizedRow], numbers: list[list[Fraction | Value]], kind: Kind) -> str:
    """A one-line summary of quantized rows of text."""
    count = sum(len(r.codes) for r in rows)
    flat = [x for row in numbers for x in row]
    results = [v for r in rows for v in r.values]
    flushed = sum(1 for x, v in zip(flat, results, strict=True) if v.is_zero and not _is_zero(x))
    blocks = f", {sum(len(r.scales or ()) for r in rows)} blocks" if isinstance(kind.fmt, BlockFormat) else ""
    return f"{kind.fmt.name}: {count} values{blocks}, {flushed} flushed to zero"


def _is_zero(x: Fraction | Value) -> bool:
    return x.is_zero if isinstance(x, Value) else x == 0


def deliver(result: QuantizeResult, output: str | None, form: str | None) -> None:
    """Write the result to a file, or print it."""
    is_array = isinstance(result.content, Arrays)
    if output is not None:
        _write(output, result, form or "value")
    elif form is None and isinstance(result.content, Arrays) and result.content.codes.size > MAX_PRINTED:
        print("values not printed: use -o FILE, or --as value, hex or json", file=sys.stderr)
    else:
        for line in _lines(result, form):
            sys.stdout.write(line + "\n")
    if is_array or output is not None:
        print(result.summary, file=sys.stderr)


def _lines(result: QuantizeResult, form: str | None) -> Iterator[str]:
    kind = result.kind
    rows = kind.array_rows(result.content, form) if isinstance(result.content, Arrays) else result.content
    match form:
        case "json":
            yield json.dumps(kind.json(rows), indent=1)
        case "value":
            text = kind.writer()
            for row in rows:
                yield " ".join(map(text, row.values))
        case "hex":
            for row in rows:
                yield from kind.hex_lines(row)
        case _:
            for row in rows:
                yield from _table(row, kind)


def _table(row: QuantizedRow, kind: Kind) -> Iterator[str]:
    """One line per value: as given, its code, the code's value; scales above their values."""
    widths, text = [max(map(len, column), default=0) for column in row.columns], kind.writer()
    above: dict[int, list[str]] = {}
    for place, line in kind.table(row):
        above.setdefault(place, []).append(line)
    for i, (code, value) in enumerate(zip(row.codes, row.values, strict=True)):
        yield from above.get(i, ())
        cells = [f"{column[i]:>{width}}" for column, width in zip(row.columns, widths, strict=True)]
        yield "  ".join([*cells, kind.hex(code), text(value)])


# -- files -------------------------------------------------------------------------------------------------------------


def _write(path: str, result: QuantizeResult, form: str) -> None:
    suffix = Path(path).suffix
    if suffix in ARRAY_FILES:
        _write_arrays(path, suffix, result, form)
        return
    plain = result.kind.as_printed
    lines = _lines(result, "json" if suffix == ".json" and not plain else form)
    text = "".join((line.replace(" ", ",") if suffix == ".csv" and not plain else line) + "\n" for line in lines)
    write_data(path, text)


def _write_arrays(path: str, suffix: str, result: QuantizeResult, form: str) -> None:
    import numpy as np

    if suffix == ".npy" and form == "json":
        raise Error(f"{path}: a .npy file holds values or codes; use --as value or --as hex")
    parts = _parts(result)
    if suffix == ".npz":
        named: dict[str, Any] = {"format": np.array(result.kind.fmt.name), **parts}
        write_file(path, lambda stream: np.savez(stream, **named))
        return
    codes = result.content.codes if isinstance(result.content, Arrays) else parts["codes"]
    array = codes if form == "hex" else parts["values"]
    write_file(path, lambda stream: np.save(stream, array, allow_pickle=False))


def _parts(result: QuantizeResult) -> dict[str, NDArray[Any]]:
    """The result as arrays by name; text input must then be rectangular."""
    if isinstance(result.content, Arrays):
        return result.content.parts
    if len({len(r.codes) for r in result.content}) != 1:
        raise Error("rows of different lengths do not form an array; write .csv or .json")
    return result.kind.array_parts(result.content)
