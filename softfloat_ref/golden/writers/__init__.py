"""File writers: one class a type of file, in a module of its own; WRITERS holds them by their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from softfloat_ref.errors import Error, unknown
from softfloat_ref.golden.sets import Vectors
from softfloat_ref.golden.writers.batch import Batch, Data, Facts, Piece, Slice, Stream, Writer
from softfloat_ref.golden.writers.cheader import CHeaderWriter
from softfloat_ref.golden.writers.csv import CsvWriter
from softfloat_ref.golden.writers.jsonl import JsonLinesWriter
from softfloat_ref.golden.writers.layout import LICENSE, positions, text_line, word_line, word_width
from softfloat_ref.golden.writers.npz import NpzWriter
from softfloat_ref.golden.writers.readmemh import HEADER, HeaderWriter, WordWriter, svh, word_header
from softfloat_ref.golden.writers.svpkg import PackageWriter
from softfloat_ref.golden.writers.testfloat import TestFloatWriter

__all__ = [
    "DEFAULT_FORMATS",
    "HEADER",
    "LICENSE",
    "WRITERS",
    "Batch",
    "Data",
    "Facts",
    "Piece",
    "Slice",
    "Stream",
    "Writer",
    "chosen",
    "parse_names",
    "positions",
    "svh",
    "text_line",
    "word_header",
    "word_line",
    "word_width",
]

_ALL: Final[tuple[Writer, ...]] = (
    TestFloatWriter(),
    WordWriter(),
    HeaderWriter(),
    PackageWriter(),
    CHeaderWriter(),
    CsvWriter(),
    JsonLinesWriter(),
    NpzWriter(),
)
WRITERS: Final[dict[str, Writer]] = {w.key: w for w in _ALL}
DEFAULT_FORMATS: Final = ("tv", "memh")
NAMES: Final = tuple(name for name in WRITERS if name != "svh")  # that comes with memh


def parse_names(text: str) -> tuple[str, ...]:
    """`tv,csv`: names of writers. Raises Error, listing the closest ones."""
    names = [word.strip().lower() for word in text.split(",") if word.strip()]
    if not names:
        raise Error(f"--format: give some of {', '.join(NAMES)}")
    for name in names:
        if name not in NAMES:
            raise unknown("file format", name, NAMES)
    return tuple(dict.fromkeys(names))


def chosen(names: Iterable[str], vectors: Vectors, count: int) -> list[Writer]:
    """The writers of those names, in the registry's order, the words with their header.

    Raises Error where the set is not one for them."""
    wanted = set(names)
    found = [w for key, w in WRITERS.items() if key in wanted or (key == "svh" and "memh" in wanted)]
    for writer in found:
        writer.check(vectors, count)
    return found
