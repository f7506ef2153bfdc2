"""What writers are given, and what they are: batches of lines in, bytes of a file out."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from softfloat_ref.golden.sets import Field, Line, Vectors
from softfloat_ref.golden.tags import Run
from softfloat_ref.golden.writers.layout import text_line, word_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Data = Any  # bytes, or a numpy array of them
_BLOCK = 1 << 20


@dataclass
class Batch:
    """Lines in a row, as tuples or as a table with a row a field (in bulk); and the tags they have."""

    fields: Sequence[Field]
    runs: list[Run]
    rows: list[Line] = field(default_factory=list)
    table: NDArray[np.int64] | None = None

    @property
    def count(self) -> int:
        """How many lines."""
        return len(self.rows) if self.table is None else int(self.table.shape[1])

    @cached_property
    def lines(self) -> list[Line]:
        """The lines as tuples, however they came."""
        if self.table is None:
            return self.rows
        return [tuple(line) for line in self.table.T.view("u8").tolist()]

    @cached_property
    def text(self) -> Data:
        """As TestFloat text."""
        if self.table is None:
            return "".join(map(text_line(self.fields), self.rows)).encode("ascii")
        from softfloat_ref.golden import bulk

        return bulk.text(self.table, self.fields)

    @cached_property
    def words(self) -> Data:
        """As memory words."""
        if self.table is None:
            return "".join(map(word_line(self.fields), self.rows)).encode("ascii")
        from softfloat_ref.golden import bulk

        return bulk.words(self.text)

    def tags(self) -> Iterator[str]:
        """The tag of each line."""
        for tag, count in self.runs:
            for _ in range(count):
                yield tag


@dataclass(frozen=True)
class Facts:
    """What is known once every line is made. runs: the tags' runs, as often as asked for, neighbours merged."""

    count: int
    runs: Callable[[], Iterable[Run]]


@dataclass(frozen=True)
class Stream:
    """Bytes that lie in a file: those that a writer's batches made."""

    path: Path
    start: int
    size: int

    def blocks(self) -> Iterator[bytes]:
        """The bytes, in blocks."""
        left = self.size
        with open(self.path, "rb") as stream:
            stream.seek(self.start)
            while left and (data := stream.read(min(_BLOCK, left))):
                left -= len(data)
                yield data

    def crc(self, crc: int = 0) -> int:
        """The CRC-32 of the bytes, as zip files have it, going on from that of what is before them."""
        for data in self.blocks():
            crc = zlib.crc32(data, crc)
        return crc


class Slice(NamedTuple):
    """The first `size` bytes of a stream."""

    stream: int
    size: int


Piece = bytes | Slice


class Writer(Protocol):
    """A type of file. Batches add to its streams; in the end the file is put together from them.

    key: its name on the command line. text: whether it has lines.
    """

    key: str
    text: bool

    def file_name(self, vectors: Vectors) -> str:
        """The name of the file."""

    def check(self, vectors: Vectors, count: int) -> None:
        """Raises Error where a set of so many lines cannot be written so."""

    def openings(self, vectors: Vectors) -> list[bytes]:
        """What each stream begins with."""

    def part(self, vectors: Vectors, batch: Batch) -> list[Data]:
        """What a batch adds to each stream."""

    def pieces(self, vectors: Vectors, facts: Facts, streams: Sequence[Stream]) -> Iterator[Piece]:
        """The file, in order."""

    def sizes(self, vectors: Vectors, facts: Facts, size: int) -> list[int]:
        """The sizes that the streams have in a file of that size."""

    def names(self, vectors: Vectors) -> list[str]:
        """What to call each stream in a message; empty for the only one."""

    def record(self, vectors: Vectors, stream: int) -> int:
        """Bytes of each line in a stream; 0 where they differ."""

    def lines(self, vectors: Vectors, facts: Facts) -> int:
        """How many lines the file has, but for comments in front of memory words; in binary files: of its arrays."""


class LineWriter:
    """A writer of one line a case: head, lines, foot. The last `trim` bytes of the last line are left out."""

    key = ""
    suffix = ""
    text = True
    trim = 0

    def file_name(self, vectors: Vectors) -> str:
        """The set's name and the suffix."""
        return f"{vectors.name}{self.suffix}"

    def check(self, vectors: Vectors, count: int) -> None:
        """Any set will do."""

    def opening(self, vectors: Vectors) -> bytes:
        """The head, where it is known before the lines are."""
        return b""

    def head(self, vectors: Vectors, facts: Facts) -> bytes:
        """The head, where it tells of the lines."""
        return b""

    def foot(self, vectors: Vectors, facts: Facts) -> bytes:
        """What follows the lines."""
        return b""

    def openings(self, vectors: Vectors) -> list[bytes]:
        """Of the only stream."""
        return [self.opening(vectors)]

    def part(self, vectors: Vectors, batch: Batch) -> list[Data]:
        """The lines of a batch."""
        raise NotImplementedError

    def pieces(self, vectors: Vectors, facts: Facts, streams: Sequence[Stream]) -> Iterator[Piece]:
        """Head, lines, foot."""
        if head := self.head(vectors, facts):
            yield head
        yield Slice(0, streams[0].size - self.trim)
        if foot := self.foot(vectors, facts):
            yield foot

    def sizes(self, vectors: Vectors, facts: Facts, size: int) -> list[int]:
        """What is left between head and foot."""
        around = len(self.head(vectors, facts)) + len(self.foot(vectors, facts))
        return [max(size - around, 0) + self.trim]

    def names(self, vectors: Vectors) -> list[str]:
        """Of the only stream: none."""
        return [""]

    def record(self, vectors: Vectors, stream: int) -> int:
        """Lines may differ in length."""
        return 0

    def lines(self, vectors: Vectors, facts: Facts) -> int:
        """The cases, and the lines around them."""
        around = (*self.openings(vectors), self.head(vectors, facts), self.foot(vectors, facts))
        return facts.count + sum(x.count(b"\n") for x in around) - int(self.trim > 0)
