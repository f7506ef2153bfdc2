"""What writers get: batches of lines, as text and as memory words; the streams of bytes that they make of them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from softfloat_ref.base.files import open_file
from softfloat_ref.golden.tags import Run
from softfloat_ref.units import Field, Line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Data = Any  # bytes, or a numpy array of them
_BLOCK: Final = 1 << 20
LICENSE: Final = "SPDX-License-Identifier: 0BSD"


def text_line(fields: Sequence[Field]) -> Callable[[Line], str]:
    """A function from a line to TestFloat text: upper-case hexadecimal, single spaces."""
    template = " ".join(f"%0{f.digits}X" for f in fields for _ in range(f.lanes)) + "\n"
    return lambda line: template % line


def word_line(fields: Sequence[Field]) -> Callable[[Line], str]:
    """A function from a line to a memory word: each field's lanes reversed, so that lane 0 is the lowest."""
    template = "_".join("_".join([f"%0{f.digits}x"] * f.lanes) for f in fields) + "\n"
    order = last_lane_first(fields)
    if order is None:
        return lambda line: template % line
    return lambda line: template % tuple(line[i] for i in order)


def last_lane_first(fields: Sequence[Field]) -> list[int] | None:
    """The places of a line's codes with each field's lanes reversed; None if no field has lanes."""
    order: list[int] = []
    for f in fields:
        order += range(len(order) + f.lanes - 1, len(order) - 1, -1)
    return None if order == sorted(order) else order


def positions(fields: Sequence[Field]) -> dict[str, int]:
    """The lowest bit of each field in a memory word."""
    lsbs, lsb = {}, 0
    for f in reversed(fields):
        lsbs[f.name] = lsb
        lsb += f.stride * f.lanes
    return lsbs


def word_width(fields: Sequence[Field]) -> int:
    """Bits of a memory word."""
    return sum(f.stride * f.lanes for f in fields)


def identifier(name: str) -> str:
    """A name as part of an identifier of C and SystemVerilog."""
    return re.sub(r"\W", "_", name)


def string_literal(text: str) -> str:
    """A tag as a string literal of C and SystemVerilog."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass
class Batch:
    """Consecutive lines, as tuples, as a table with one row per field (in bulk), as codes with one row per line, or as
    text; and their tags."""

    fields: Sequence[Field]
    runs: list[Run]
    rows: list[Line] = field(default_factory=list)
    array: NDArray[np.int64] | None = None
    encoded: NDArray[np.uint8] | None = None
    codes: NDArray[np.uint64] | None = None

    @cached_property
    def table(self) -> NDArray[np.int64] | None:
        """The lines as a table, if they were made in bulk."""
        if self.encoded is None:
            return self.array
        from softfloat_ref.golden import bulk

        return bulk.parse_columns(self.encoded.tobytes())

    @property
    def count(self) -> int:
        if self.encoded is not None:
            return self.encoded.size // sum(f.digits + 1 for f in self.fields)
        if self.array is not None:
            return int(self.array.shape[1])
        return len(self.rows if self.codes is None else self.codes)

    @cached_property
    def lines(self) -> list[Line]:
        if self.codes is not None:
            return [tuple(line) for line in self.codes.tolist()]
        if self.table is None:
            return self.rows
        return [tuple(line) for line in self.table.T.view("u8").tolist()]

    @cached_property
    def text(self) -> Data:
        if self.encoded is not None:
            return self.encoded
        if self.codes is not None:
            return self._text_of(self.codes)
        if self.table is None:
            return "".join(map(text_line(self.fields), self.rows)).encode("ascii")
        from softfloat_ref.golden import bulk

        return bulk.text_of_columns(self.table, self.fields)

    def _text_of(self, codes: NDArray[np.uint64]) -> Data:
        from softfloat_ref.golden import bulk

        return bulk.text_of_columns(bulk.as_columns(codes), self.fields)

    @cached_property
    def words(self) -> Data:
        if self.codes is not None:
            from softfloat_ref.golden import bulk

            order = last_lane_first(self.fields)  # the lanes of a field have the same number of digits
            return bulk.memory_words(self.text if order is None else self._text_of(self.codes[:, order]))
        if self.array is None and self.encoded is None:
            return "".join(map(word_line(self.fields), self.rows)).encode("ascii")
        from softfloat_ref.golden import bulk

        return bulk.memory_words(self.text)

    def of(self, fields: Sequence[Field]) -> Batch:
        """The same lines with the first of their fields only."""
        width = sum(f.lanes for f in fields)
        rows = [line[:width] for line in self.rows]
        codes = None if self.codes is None else self.codes[:, :width]
        table = None if self.table is None else self.table[:width]
        return Batch(fields, self.runs, rows, table, codes=codes)

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
        left = self.size
        with open_file(self.path) as stream:
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
