"""File writers: one class per type of file, each in its own module; WRITERS holds them by their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers.batch import (
    LICENSE,
    Batch,
    Data,
    Facts,
    FileStream,
    Piece,
    StreamSlice,
    positions,
    text_line,
    word_line,
    word_width,
)
from softfloat_ref.golden.writers.cheader import CHeaderWriter
from softfloat_ref.golden.writers.csv import CsvWriter
from softfloat_ref.golden.writers.fptest import FptestWriter
from softfloat_ref.golden.writers.images import ALL_IMAGES, IMAGE_WRITERS, IMAGES
from softfloat_ref.golden.writers.jsonl import JsonLinesWriter
from softfloat_ref.golden.writers.memories import CoeWriter, HexWriter, MifWriter
from softfloat_ref.golden.writers.npz import NpzWriter
from softfloat_ref.golden.writers.readmemh import HEADER, HeaderWriter, WordWriter, svh, word_header
from softfloat_ref.golden.writers.riscv import ASSEMBLY, MACROS, AssemblyWriter, MacroWriter
from softfloat_ref.golden.writers.svpkg import PackageWriter
from softfloat_ref.golden.writers.testfloat import TestFloatWriter
from softfloat_ref.golden.writers.writer import Writer

__all__ = [
    "HEADER",
    "LICENSE",
    "WRITERS",
    "Batch",
    "Data",
    "Facts",
    "FileStream",
    "Piece",
    "StreamSlice",
    "Writer",
    "choose_writers",
    "of_set",
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
    AssemblyWriter(),
    MacroWriter(),
    CoeWriter(),
    MifWriter(),
    HexWriter(),
    FptestWriter(),
    *IMAGE_WRITERS,
)
WRITERS: Final[dict[str, Writer]] = {w.key: w for w in _ALL}
_COMPANIONS: Final = {"memh": ("svh",), ASSEMBLY: (MACROS,), ALL_IMAGES: IMAGES}  # files that come with others
# What --format takes: types of files for lines, except those that come with another.
NAMES: Final = tuple(name for name in WRITERS if not any(name in x for x in _COMPANIONS.values()))


def parse_names(text: str) -> tuple[str, ...]:
    """`tv,csv`: names of writers. Raises Error, listing the closest ones."""
    names = [word.strip().lower() for word in text.split(",") if word.strip()]
    if not names:
        raise Error(f"--format: choose from {', '.join(NAMES)}")
    for name in names:
        if name not in (*NAMES, ALL_IMAGES):
            raise unknown("file format", name, NAMES)
    return tuple(dict.fromkeys(names))


def of_set(vectors: VectorSet) -> list[Writer]:
    """The writers of the types of files that the set has."""
    return [w for w in _of_kind(vectors) if w.has(vectors)]


def _of_kind(vectors: VectorSet) -> list[Writer]:
    """The writers of the types of files that the set's kind has, which not all of its sets need have."""
    types = vectors.cases.file_types
    return [w for key, w in WRITERS.items() if key in types or (key in IMAGES and ALL_IMAGES in types)]


def choose_writers(names: Iterable[str], vectors: VectorSet, count: int) -> list[Writer]:
    """The writers of those names, in the registry's order, the words with their header; by default the default
    writers of the set's kind. Raises Error if a type is not available for the set."""
    wanted = set(names) or set(vectors.cases.default)
    for name in wanted - set(vectors.cases.file_types):
        raise Error(
            f"{vectors.name}: file type {name} is not available for these vectors; "
            f"choose from {', '.join(vectors.cases.file_types)}"
        )
    for name in wanted & WRITERS.keys():
        WRITERS[name].check(vectors, count)
    with_companions = {*wanted, *(name for key in wanted for name in _COMPANIONS.get(key, ()))}
    return [w for w in _of_kind(vectors) if w.key in with_companions and w.has(vectors)]


def __dir__() -> list[str]:
    return sorted(__all__)
