"""Rows of tables whose columns have names: our own .csv and .jsonl, and those of others."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from softfloat_ref.base.errors import Error
from softfloat_ref.base.trees import parse_json
from softfloat_ref.golden.readers.lines import WordReader
from softfloat_ref.golden.readers.shapes import Row, Shape
from softfloat_ref.golden.readers.words import Misread


def is_header(reader: WordReader, text: str) -> bool:
    """Whether a line names the columns of a table: all results are among them."""
    names = {name.strip().strip('"').lower() for name in text.split(",")}
    return "," in text and {n.lower() for n in reader.names(Shape(False, True, False))} <= names


def is_json(text: str) -> bool:
    """Whether a line is an object of JSON."""
    return text.lstrip().startswith("{")


def csv_rows(reader: WordReader, lines: Iterable[str]) -> Iterator[Row]:
    """The rows below a header."""
    rows = csv.reader(lines, strict=True)
    try:
        lower = {n.lower(): n for n in reader.names(Shape(True, True, True))}
        header = [lower.get(name.strip().lower(), name) for name in next(rows, [])]
        shape = _shape(reader, header)
        places = [header.index(name) for name in reader.names(shape)]
        reader.kind = "a table (.csv)"
        for values in rows:
            if not values:
                continue
            if len(values) != len(header):
                raise Misread(f"{','.join(values)[:80]!r} has {len(values)} of {len(header)} columns")
            yield _row(reader, shape, [values[i].strip() for i in places])
    except csv.Error as e:
        raise Misread(f"a table in .csv: {e}") from None


def _shape(reader: WordReader, names: Sequence[str]) -> Shape:
    """Which fields a table has: each that the names have all columns of."""
    known = set(names)

    def has(shape: Shape) -> bool:
        return set(reader.names(shape)) <= known

    inputs, flags = has(Shape(True, False, False)), has(Shape(False, False, True))
    for shape in (
        Shape(inputs, True, flags),
        Shape(inputs, True, False),
        Shape(False, True, flags),
        Shape(False, True, False),
    ):
        if shape in reader.shapes:
            return shape
    raise Misread(f"a table without operands; its columns are {', '.join(names)[:200]}")


def json_rows(reader: WordReader, lines: Iterable[str]) -> Iterator[Row]:
    """Objects with a code, or a list of codes, for each field; a header without results is not one of them."""
    results = {f.name for f in reader.unit.results}
    for number, text in enumerate(lines):
        if not text.strip():
            continue
        try:
            table = parse_json(text.encode("ascii", "replace"), "a line")
        except Error as e:
            raise Misread(str(e)) from None
        if not isinstance(table, dict):
            raise Misread(f"{text[:80]!r} is not an object")
        if not results <= table.keys():
            if number:
                raise Misread(f"{text[:80]!r} has no results")
            continue  # the header of our own files
        values = {name: [*map(_text, x)] if isinstance(x, list) else [_text(x)] for name, x in table.items()}
        names = {f.name for f in reader.fields(Shape(True, True, True))}
        columns = {
            (name if len(own) == 1 else f"{name}[{i}]"): word
            for name, own in values.items()
            if name in names
            for i, word in enumerate(own)
        }
        shape = _shape(reader, [*columns])
        reader.kind = "objects of JSON"
        yield _row(reader, shape, [columns[name] for name in reader.names(shape)])


def _text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 256:
        return f"'h{value:x}"
    if not isinstance(value, str):
        raise Misread(f"{str(value)[:80]!r} is not a code")
    return value


def _row(reader: WordReader, shape: Shape, words: Sequence[str]) -> Row:
    columns = reader.columns_of(shape)
    return reader.row_of(shape, [c.code(w) for c, w in zip(columns, words, strict=True)])
