"""The interface of writers: batches of lines in, bytes of a file out."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from softfloat_ref.base.files import opened
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.tags import Run
from softfloat_ref.golden.writers.layout import text_line, word_line
from softfloat_ref.units import Field, Line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Data = Any  # bytes, or a numpy array of them
_BLOCK = 1 << 20


@dataclass
class Batch:
    """Consecutive lines, as tuples, as a table with one row per field (in bulk), or as text; and their tags."""

    fields: Sequence[Field]
    runs: list[Run]
    rows: list[Line] = field(default_factory=list)
    array: NDArray[np.int64] | None = None
    encoded: NDArray[np.uint8] | None = None

    @cached_property
    def table(self) -> NDArray[np.int64] | None:
        """The lines as a table, if they were made in bulk."""
        if self.encoded is None:
            return self.array
        from softfloat_ref.golden import bulk

        return bulk.parse_columns(self.encoded.tobytes())

    @property
    def count(self) -> int:
        """The number of lines."""
        if self.encoded is not None:
            return self.encoded.size // sum(f.digits + 1 for f in self.fields)
        return len(self.rows) if self.array is None else int(self.array.shape[1])

    @cached_property
    def lines(self) -> list[Line]:
        """The lines as tuples."""
        if self.table is None:
            return self.rows
        return [tuple(line) for line in self.table.T.view("u8").tolist()]

    @cached_property
    def text(self) -> Data:
        """As TestFloat text."""
        if self.encoded is not None:
            return self.encoded
        if self.table is None:
            return "".join(map(text_line(self.fields), self.rows)).encode("ascii")
        from softfloat_ref.golden import bulk

        return bulk.text_of_columns(self.table, self.fields)

    @cached_property
    def words(self) -> Data:
        """As memory words."""
        if self.array is None and self.encoded is None:
            return "".join(map(word_line(self.fields), self.rows)).encode("ascii")
        from softfloat_ref.golden import bulk

        return bulk.memory_words(self.text)

    def of(self, fields: Sequence[Field]) -> Batch:
        """The same lines with the first of their fields only."""
        width = sum(f.lanes for f in fields)
        rows = [line[:width] for line in self.rows]
        return Batch(fields, self.runs, rows, None if self.table is None else self.table[:width])

    def tags(self) -> Iterator[str]:
        """The tag of each line."""
        for tag, count in self.runs:
            for _ in range(count):
                yield tag


@dataclass(frozen=True)
class Facts:
    """Facts known after the last line. runs: the runs of the tags, neighbours merged; can be called repeatedly."""

    count: int
    runs: Callable[[], Iterable[Run]]


@dataclass(frozen=True)
class FileStream:
    """Bytes in a file, from a writer's batches."""

    path: Path
    start: int
    size: int

    def blocks(self) -> Iterator[bytes]:
        """The bytes, in blocks."""
        left = self.size
        with opened(self.path) as stream:
            stream.seek(self.start)
            while left and (data := stream.read(min(_BLOCK, left))):
                left -= len(data)
                yield data

    def crc(self, crc: int = 0) -> int:
        """The CRC-32 of the bytes as in zip files, continued from the CRC-32 of the bytes before them."""
        for data in self.blocks():
            crc = zlib.crc32(data, crc)
        return crc


class StreamSlice(NamedTuple):
    """The first `size` bytes of a stream."""

    stream: int
    size: int


Piece = bytes | StreamSlice


class Writer:
    """A type of file. Batches add to its streams; at the end the file is assembled from them.

    key: its name on the command line. suffix: of its files' names. text: whether it has lines. comments: whether
    streams begin with comment lines, which are not counted.
    """

    key = ""
    suffix = ""
    text = True
    comments = False

    def has(self, vectors: VectorSet) -> bool:
        """Whether a set, whose kind has this type, can have such a file."""
        return True

    def file_name(self, vectors: VectorSet) -> str:
        """The name of the file."""
        return f"{vectors.name}{self.suffix}"

    def check(self, vectors: VectorSet, count: int) -> None:
        """Raise Error if a set of `count` lines cannot be written in this type."""

    def openings(self, vectors: VectorSet) -> list[bytes]:
        """The beginning of each stream."""
        return []

    def part(self, vectors: VectorSet, batch: Batch) -> list[Data]:
        """The bytes that a batch adds to each stream."""
        return []

    def pieces(self, vectors: VectorSet, facts: Facts, streams: Sequence[FileStream]) -> Iterator[Piece]:
        """The file, in order."""
        raise NotImplementedError

    def sizes(self, vectors: VectorSet, facts: Facts, size: int) -> list[int]:
        """The sizes that the streams have in a file of that size."""
        return []

    def names(self, vectors: VectorSet) -> list[str]:
        """The name of each stream in messages; empty for a single stream."""
        return [""]

    def record(self, vectors: VectorSet, stream: int) -> int:
        """Bytes of each line in a stream; 0 if they differ."""
        return 0

    def lines(self, vectors: VectorSet, facts: Facts) -> int:
        """The number of lines of the file, without comments before memory words; in binary files, of its arrays."""
        return facts.count


class LineWriter(Writer):
    """A writer of one line per case: head, lines, foot. The last `trim` bytes of the last line are left out."""

    trim = 0

    def opening(self, vectors: VectorSet) -> bytes:
        """The head, if it is known before the lines."""
        return b""

    def head(self, vectors: VectorSet, facts: Facts) -> bytes:
        """The head, if it depends on the lines."""
        return b""

    def foot(self, vectors: VectorSet, facts: Facts) -> bytes:
        """The text after the lines."""
        return b""

    def openings(self, vectors: VectorSet) -> list[bytes]:
        return [self.opening(vectors)]

    def pieces(self, vectors: VectorSet, facts: Facts, streams: Sequence[FileStream]) -> Iterator[Piece]:
        if head := self.head(vectors, facts):
            yield head
        yield StreamSlice(0, streams[0].size - self.trim)
        if foot := self.foot(vectors, facts):
            yield foot

    def sizes(self, vectors: VectorSet, facts: Facts, size: int) -> list[int]:
        """The size between head and foot."""
        around = len(self.head(vectors, facts)) + len(self.foot(vectors, facts))
        return [max(size - around, 0) + self.trim]

    def lines(self, vectors: VectorSet, facts: Facts) -> int:
        """The cases, and the lines around them."""
        around = (*self.openings(vectors), self.head(vectors, facts), self.foot(vectors, facts))
        return facts.count + sum(x.count(b"\n") for x in around) - int(self.trim > 0)
