"""The interface of writers: batches of lines in, bytes of a file out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers.batch import Batch, Data, Facts, FileStream, Piece, StreamSlice
from softfloat_ref.units import Line

_ARRAYS_FROM: Final = 64  # lines of a run below which arrays cost more than they save


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
        return f"{vectors.name}{self.suffix}"

    def check(self, vectors: VectorSet, count: int) -> None:
        """Raise Error if a set of `count` lines cannot be written in this type."""

    def openings(self, vectors: VectorSet) -> list[bytes]:
        """The beginning of each stream."""
        return []

    def part(self, vectors: VectorSet, batch: Batch) -> list[Data]:
        """The bytes that a batch adds to each stream."""
        return []

    def placed(self, vectors: VectorSet, data: Sequence[Data], first: int) -> list[Data]:
        """The bytes of a batch whose first line has this number in the file, from 0: with addresses, if it has them."""
        return [*data]

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
        around = len(self.head(vectors, facts)) + len(self.foot(vectors, facts))
        return [max(size - around, 0) + self.trim]

    def lines(self, vectors: VectorSet, facts: Facts) -> int:
        around = (*self.openings(vectors), self.head(vectors, facts), self.foot(vectors, facts))
        return facts.count + sum(x.count(b"\n") for x in around) - int(self.trim > 0)


class Rows:
    """between[0], column 0, between[1], ..., the last column, and `end` of the line's tag.

    digits: of each column. expand: the columns of a line, if they differ from its codes; not needed for lines in bulk.
    """

    def __init__(
        self,
        digits: Sequence[int],
        between: Sequence[str],
        end: Callable[[str], str],
        expand: Callable[[Line], Sequence[int]] | None = None,
    ) -> None:
        self.digits = tuple(digits)
        self.between = tuple(between)
        self.end = end
        self.expand = expand
        shown = (f"{text.replace('%', '%%')}%0{d}x" for text, d in zip(between, digits, strict=True))
        self.template = "".join(shown)

    def encode(self, batch: Batch) -> Data:
        if batch.table is None or self.expand is not None:
            return self._one_by_one(batch.lines, batch.tags())
        if max((count for _, count in batch.runs), default=0) < _ARRAYS_FROM:
            return self._one_by_one(batch.lines, batch.tags())
        return self._in_arrays(batch)

    def _one_by_one(self, lines: Sequence[Line], tags: Any) -> bytes:
        template, end, expand = self.template, self.end, self.expand
        if expand is None:
            texts = (template % line + end(tag) for line, tag in zip(lines, tags, strict=True))
        else:
            texts = (template % tuple(expand(line)) + end(tag) for line, tag in zip(lines, tags, strict=True))
        return "".join(texts).encode("ascii")

    def _in_arrays(self, batch: Batch) -> Data:
        """Columns of characters, copied from the memory words to their positions."""
        import numpy as np

        source = batch.words.reshape(batch.count, -1)
        parts, start = [], 0
        for tag, count in batch.runs:
            pattern = self._pattern(tag)
            out = np.empty((count, len(pattern)), np.uint8)
            out[:] = np.frombuffer(pattern, np.uint8)
            read = write = 0
            for digits, text in zip(self.digits, self.between, strict=True):
                write += len(text)
                out[:, write : write + digits] = source[start : start + count, read : read + digits]
                write += digits
                read += digits + 1
            parts.append(out.reshape(-1))
            start += count
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _pattern(self, tag: str) -> bytes:
        """A line of zeros."""
        columns = (text + "0" * digits for text, digits in zip(self.between, self.digits, strict=True))
        return ("".join(columns) + self.end(tag)).encode("ascii")
