"""Files of lines, whichever form they have: it is recognized from their first lines, and each row is read by a
LineReader. Memory images (memories.py) and tables have several forms of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.readers import memories, tables
from softfloat_ref.golden.readers.lines import WordReader
from softfloat_ref.golden.readers.shapes import NumberedLines, Row

_TESTFLOAT: Final = re.compile(r"Errors found in |In \d+ tests, no errors|\d+ tests (?:total|performed)")
_IBM: Final = re.compile(r"Floating point tests: |Copyright of IBM Corp\. |-+$|Decimal floating point tests: ")
_WAVE: Final = ("$date", "$version", "$timescale", "$comment", "$scope", "$var")


def rows(reader: WordReader, lines: NumberedLines) -> Iterator[Row]:
    """The rows of a file. Raises Misread, AmbiguousDigits, Error."""
    for text in lines:
        start = text.strip().lower()
        if not start or start.startswith(("//", "#", "--")) or _IBM.match(text):
            if start.startswith(("//", "#")):
                reader.row(text)
            continue
        if start.startswith(_WAVE):
            raise Error("a waveform (VCD): name its signals, with --signal FIELD=NAME and --clock NAME")
        lines.put_back(text)
        yield from _form(reader, text)(reader, lines)
        return


def _form(reader: WordReader, text: str) -> memories.Rows:
    """The reader of a form, from its first line."""
    if (image := memories.form(text)) is not None:
        return image
    if tables.is_json(text):
        return tables.json_rows
    return tables.csv_rows if tables.is_header(reader, text) else _text_rows


def _text_rows(reader: WordReader, lines: NumberedLines) -> Iterator[Row]:
    """A row per line; from a line with @ and an address on, a row per word."""
    for text in memories.without_block_comments(lines):
        if text.lstrip().startswith("@"):
            lines.put_back(text)
            yield from memories.memh_rows(reader, lines)
            return
        if _TESTFLOAT.match(text) or _IBM.match(text):
            continue
        if "=>" not in text and "->" not in text and (more := next(lines, None)) is not None:
            if more.lstrip().startswith("=>"):  # TestFloat's long lines are two
                text = f"{text.rstrip()} {more.strip()}"
            else:
                lines.put_back(more)
        if (row := reader.row(text)) is not None:
            yield row
