"""Compares a file of vectors with its expected content, byte by byte, in constant memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from softfloat_ref.base.files import open_file
from softfloat_ref.base.search import find_first
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers import Batch, Data, Facts, FileStream, Piece, StreamSlice, Writer, text_line
from softfloat_ref.units import Field, Line

_MAX_SHOWN: Final = 120

Add = Callable[[str], None]


@dataclass
class Region:
    """A stream of a writer, where it lies in a file. trim: bytes of the last line that are not written."""

    stream: FileStream
    opening: bytes
    name: str
    record: int
    trim: int
    lines_before: int


@dataclass
class FileLayout:
    """A file: its writer and streams."""

    writer: Writer
    path: Path
    regions: list[Region] = field(default_factory=list)


class _Unread(FileStream):
    """A stream with only its size known."""

    def crc(self, crc: int = 0) -> int:
        return 0


def file_layout(writer: Writer, vectors: VectorSet, facts: Facts, path: Path, add: Add) -> FileLayout:
    """The positions of the streams in a file; the text around them is compared."""
    size = path.stat().st_size
    unread: list[FileStream] = [_Unread(path, 0, n) for n in writer.sizes(vectors, facts, size)]
    placement, at, before = FileLayout(writer, path), 0, 0
    places: dict[int, tuple[int, int]] = {}
    for piece in writer.pieces(vectors, facts, unread):
        if isinstance(piece, StreamSlice):
            places[piece.stream] = at, piece.size
            at += piece.size
        else:
            before += 0 if places else piece.count(b"\n")
            at += len(piece)
    placed = [FileStream(path, places[i][0], whole.size) for i, whole in enumerate(unread)]
    if at != size or not _same_around(writer.pieces(vectors, facts, placed), path):
        what = "the text around its lines" if writer.openings(vectors) else "the header"
        add(f"{path.name}: {what} does not match this set")
    openings, names = writer.openings(vectors), writer.names(vectors) if placed else []
    for i, (opening, name) in enumerate(zip(openings, names, strict=True)):
        start, length = places[i]
        lines = before + opening.count(b"\n")
        stream, trim = FileStream(path, start, length), placed[i].size - length
        placement.regions.append(Region(stream, opening, name, writer.record(vectors, i), trim, lines))
    return placement


def _same_around(pieces: Iterable[Piece], path: Path) -> bool:
    """Whether a file has the expected content around its streams."""
    with open_file(path) as stream:
        for piece in pieces:
            if isinstance(piece, StreamSlice):
                stream.seek(piece.size, 1)
            elif stream.read(len(piece)) != piece:
                return False
    return True


class Comparison:
    """The files of a folder, compared line by line with batches of expected lines.

    Only if bytes differ, lines are compared one by one: the file's line with the oracle's.
    """

    def __init__(self, vectors: VectorSet, layouts: Sequence[FileLayout], add: Add) -> None:
        self.vectors = vectors
        self.add = add
        self.lines = 0
        self.foreign = False
        self.inputs = vectors.unit.input_width
        self.readers = [(x.writer, [_StreamReader(x.path, r, i) for i, r in enumerate(x.regions)]) for x in layouts]

    def __enter__(self) -> Comparison:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._each():
            reader.stream.close()

    def opening(self) -> None:
        """Check the beginning of the streams."""
        for reader in self._each():
            if reader.read(len(reader.region.opening)) != reader.region.opening:
                self.add(f"{reader.file}: the start of the file does not match this set")
                reader.broken = True

    def _each(self) -> Iterator[_StreamReader]:
        return (reader for _, readers in self.readers for reader in readers)

    def compare(self, batch: Batch) -> None:
        """The next lines of every file."""
        for writer, readers in self.readers:
            written = writer.placed(self.vectors, writer.part(self.vectors, batch), self.lines)
            for reader, data in zip(readers, written, strict=True):
                if reader.broken:
                    continue
                wanted = bytes(memoryview(data))
                got = reader.read(len(wanted))
                if got != wanted and not (reader.at_end and got == wanted[: len(wanted) - reader.region.trim]):
                    self._differing(writer, reader, batch, got, wanted)
        self.lines += batch.count

    def finish(self) -> None:
        """No file may have more lines than there are cases."""
        for reader in self._each():
            if not reader.broken and not reader.at_end:
                self.add(f"{reader.file}: continues after the last case of this set")

    def _differing(self, writer: Writer, reader: _StreamReader, batch: Batch, got: bytes, wanted: bytes) -> None:
        record, text = reader.region.record, writer.text
        if record:
            ours, theirs = ([x[i : i + record] for i in range(0, len(x), record)] for x in (wanted, got))
        else:
            ours, theirs = (x.splitlines(keepends=True) for x in (wanted, got))
            reader.broken = True  # the following lines need not be aligned
        for i, line in enumerate(ours):
            theirs_line = theirs[i] if i < len(theirs) else b""
            if theirs_line == line or (
                i == len(ours) - 1 and reader.at_end and theirs_line == line[: len(line) - reader.region.trim]
            ):
                continue
            if writer.key == "tv":
                self._wrong_line(reader, self.lines + i, theirs_line, batch.lines[i])
            else:
                truth = self._truth(writer, reader, batch, i)
                self.add(difference_text(reader.file, reader.region, self.lines + i, text, theirs_line, truth))
            if not record:
                return

    def _truth(self, writer: Writer, reader: _StreamReader, batch: Batch, i: int) -> Data:
        """A case recomputed by the scalar oracle, whichever way the batch was generated."""
        line = self.vectors.line(batch.lines[i][: self.inputs])
        if line is None:
            return b"no defined result"
        tag = find_first(itertools.islice(batch.tags(), i, None))
        parts = writer.part(self.vectors, Batch(self.vectors.fields, [(tag, 1)], [line]))
        return writer.placed(self.vectors, parts, self.lines + i)[reader.number]

    def _wrong_line(self, reader: _StreamReader, number: int, text: bytes, expected: Line) -> None:
        """A line of TestFloat text has its own operands: report the expected result for those."""
        at, quoted = location(reader.file, reader.region, number, True), line_text(text, True)
        codes = parse_line(text, self.vectors.fields)
        if codes is None:
            self.add(f"{at}: not a line of this set: {quoted!r}")
            return
        inputs = codes[: self.inputs]
        if inputs != expected[: self.inputs] and not self.foreign:
            self.foreign = True
            self.add(f"{at}: from here on, the cases do not match the set's seed and generator")
        line = self.vectors.line(inputs)
        if line != codes:
            right = "no defined result" if line is None else text_line(self.vectors.fields)(line).strip()
            self.add(f"{at}: {quoted} but the oracle says {right}")


class _StreamReader:
    """A stream of a file, read in order."""

    def __init__(self, path: Path, region: Region, number: int = 0) -> None:
        self.region = region
        self.file = path.name
        self.number = number  # among the writer's streams
        self.stream: IO[bytes] = open_file(path)
        self.stream.seek(region.stream.start)
        self.left = region.stream.size
        self.broken = False

    @property
    def at_end(self) -> bool:
        return self.left == 0

    def read(self, size: int) -> bytes:
        """The next bytes, or the remaining ones."""
        data = self.stream.read(min(size, self.left))
        self.left -= len(data)
        return data


def location(file: str, region: Region, line: int, text: bool) -> str:
    """Where a line is: file and number, or array and index."""
    return f"{file}:{region.lines_before + line + 1}" if text else f"{file}: {region.name}[{line}]"


def difference_text(file: str, region: Region, number: int, text: bool, got: Data, wanted: Data) -> str:
    """The text of a case in a file, and the expected text; for a case with several lines, the first that differs."""
    ours, theirs = bytes(memoryview(wanted)), bytes(memoryview(got))
    lines = ours.splitlines(keepends=True) if text else [ours]
    if len(lines) > 1:
        others = theirs.splitlines(keepends=True)
        others += [b""] * (len(lines) - len(others))
        k = next((i for i, (x, y) in enumerate(zip(lines, others, strict=False)) if x != y), 0)
        ours, theirs, number = lines[k], others[k], number * len(lines) + k
    return (
        f"{location(file, region, number, text)}: {line_text(theirs, text)} but the oracle says {line_text(ours, text)}"
    )


def line_text(data: Any, text: bool) -> str:
    """A line, or an element of an array, for a message."""
    raw = bytes(memoryview(data))
    shown = raw.decode("ascii", "replace").removesuffix("\n").replace("\n", "\\n") if text else raw[::-1].hex()
    return shown if len(shown) <= _MAX_SHOWN else shown[:_MAX_SHOWN] + "..."


def parse_line(text: bytes, fields: Sequence[Field]) -> Line | None:
    """The codes of a line of TestFloat text, or None if it is not exactly a line of the set."""
    if not text.endswith(b"\n"):
        return None
    parts = text[:-1].decode("ascii", "replace").split(" ")
    lanes = [f for f in fields for _ in range(f.lanes)]
    if len(parts) != len(lanes):
        return None
    codes = []
    for part, f in zip(parts, lanes, strict=True):
        if len(part) != f.digits or any(c not in "0123456789ABCDEF" for c in part):
            return None
        code = int(part, 16)
        if code >> f.width:
            return None
        codes.append(code)
    return tuple(codes)
