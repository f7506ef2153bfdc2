"""A file of vectors against what it must hold, byte by byte, in constant memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from softfloat_ref.golden.sets import Field, Line, Vectors
from softfloat_ref.golden.writers import Batch, Facts, Piece, Slice, Stream, Writer, text_line

MAX_PROBLEMS: Final = 10
_SHOWN: Final = 120

Add = Callable[[str], None]


@dataclass
class Region:
    """A stream of a writer, where it lies in a file. trim: bytes of the last line that are not written."""

    stream: Stream
    opening: bytes
    name: str
    record: int
    trim: int
    lines_before: int


@dataclass
class Layout:
    """A file: its writer and streams."""

    writer: Writer
    path: Path
    regions: list[Region] = field(default_factory=list)


class _Unread(Stream):
    """A stream of which only the size is known."""

    def crc(self, crc: int = 0) -> int:
        return 0


def layout(writer: Writer, vectors: Vectors, facts: Facts, path: Path, add: Add) -> Layout:
    """Where the streams lie in a file; what is around them is compared."""
    size = path.stat().st_size
    unread: list[Stream] = [_Unread(path, 0, n) for n in writer.sizes(vectors, facts, size)]
    found, at, before = Layout(writer, path), 0, 0
    places: dict[int, tuple[int, int]] = {}
    for piece in writer.pieces(vectors, facts, unread):
        if isinstance(piece, Slice):
            places[piece.stream] = at, piece.size
            at += piece.size
        else:
            before += 0 if places else piece.count(b"\n")
            at += len(piece)
    placed = [Stream(path, places[i][0], whole.size) for i, whole in enumerate(unread)]
    if at != size or not _same_around(writer.pieces(vectors, facts, placed), path):
        what = "this set's header must be" if writer.key == "svh" else "this set's file must be, around its lines"
        add(f"{path.name}: is not what {what}")
    openings, names = writer.openings(vectors), writer.names(vectors) if placed else []
    for i, (opening, name) in enumerate(zip(openings, names, strict=True)):
        start, length = places[i]
        lines = before + opening.count(b"\n")
        stream, trim = Stream(path, start, length), placed[i].size - length
        found.regions.append(Region(stream, opening, name, writer.record(vectors, i), trim, lines))
    return found


def _same_around(pieces: Iterable[Piece], path: Path) -> bool:
    """Whether a file has, around its streams, what it must have."""
    with open(path, "rb") as stream:
        for piece in pieces:
            if isinstance(piece, Slice):
                stream.seek(piece.size, 1)
            elif stream.read(len(piece)) != piece:
                return False
    return True


class Comparison:
    """The files of a folder, line by line against batches of what they must hold.

    Only where bytes differ are lines looked at one by one: what stands there, and what the oracle says.
    """

    def __init__(self, vectors: Vectors, layouts: Sequence[Layout], add: Add) -> None:
        self.vectors = vectors
        self.add = add
        self.lines = 0
        self.foreign = False
        self.inputs = sum(f.lanes for f in vectors.fields if f.role in ("control", "operand", "random"))
        self.readers = [(x.writer, [_Reader(x.path, r, i) for i, r in enumerate(x.regions)]) for x in layouts]

    def __enter__(self) -> Comparison:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._each():
            reader.stream.close()

    def opening(self) -> None:
        """What the streams begin with."""
        for reader in self._each():
            if reader.read(len(reader.region.opening)) != reader.region.opening:
                self.add(f"{reader.file}: does not begin as this set's file must")
                reader.broken = True

    def _each(self) -> Iterator[_Reader]:
        return (reader for _, readers in self.readers for reader in readers)

    def compare(self, batch: Batch) -> None:
        """The next lines of every file."""
        for writer, readers in self.readers:
            for reader, data in zip(readers, writer.part(self.vectors, batch), strict=True):
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
                self.add(f"{reader.file}: goes on after the last of this set's cases")

    def _differing(self, writer: Writer, reader: _Reader, batch: Batch, got: bytes, wanted: bytes) -> None:
        record, text = reader.region.record, writer.text
        if record:
            ours, theirs = ([x[i : i + record] for i in range(0, len(x), record)] for x in (wanted, got))
        else:
            ours, theirs = (x.splitlines(keepends=True) for x in (wanted, got))
            reader.broken = True  # what follows need not be in step
        for i, line in enumerate(ours):
            found = theirs[i] if i < len(theirs) else b""
            if found == line or (
                i == len(ours) - 1 and reader.at_end and found == line[: len(line) - reader.region.trim]
            ):
                continue
            if writer.key == "tv":
                self._wrong_line(reader, self.lines + i, found, batch.lines[i])
            else:
                at = reader.place(self.lines + i, text)
                self.add(f"{at}: {shown(found, text)} but the oracle says {self._truth(writer, reader, batch, i)}")
            if not record:
                return

    def _truth(self, writer: Writer, reader: _Reader, batch: Batch, i: int) -> str:
        """A line of a file as the scalar oracle has it, however the batch was made."""
        line = self.vectors.line(batch.lines[i][: self.inputs])
        if line is None:
            return "no defined result"
        tag = next(itertools.islice(batch.tags(), i, None))
        parts = writer.part(self.vectors, Batch(self.vectors.fields, [(tag, 1)], [line]))
        return shown(parts[reader.number], writer.text)

    def _wrong_line(self, reader: _Reader, number: int, text: bytes, expected: Line) -> None:
        """A line of TestFloat text has its own operands: what is right for those."""
        at, said = reader.place(number, True), shown(text, True)
        given = parse_line(text, self.vectors.fields)
        if given is None:
            self.add(f"{at}: not a line of this set: {said!r}")
            return
        inputs = given[: self.inputs]
        if inputs != expected[: self.inputs] and not self.foreign:
            self.foreign = True
            self.add(f"{at}: from here on, not the cases of this set's seed and generator")
        line = self.vectors.line(inputs)
        if line != given:
            right = "no defined result" if line is None else text_line(self.vectors.fields)(line).strip()
            self.add(f"{at}: {said} but the oracle says {right}")


class _Reader:
    """A stream of a file, read in order."""

    def __init__(self, path: Path, region: Region, number: int = 0) -> None:
        self.region = region
        self.file = path.name
        self.number = number  # among the writer's streams
        self.stream: IO[bytes] = open(path, "rb")  # noqa: SIM115
        self.stream.seek(region.stream.start)
        self.left = region.stream.size
        self.broken = False

    @property
    def at_end(self) -> bool:
        """Whether all was read."""
        return self.left == 0

    def read(self, size: int) -> bytes:
        """The next bytes, or what is left."""
        data = self.stream.read(min(size, self.left))
        self.left -= len(data)
        return data

    def place(self, line: int, text: bool) -> str:
        """Where a line is: file and number, or array and index."""
        return place(self.file, self.region, line, text)


def place(file: str, region: Region, line: int, text: bool) -> str:
    """Where a line is: file and number, or array and index."""
    return f"{file}:{region.lines_before + line + 1}" if text else f"{file}: {region.name}[{line}]"


def shown(data: Any, text: bool) -> str:
    """A line, or an element of an array, for a message."""
    raw = bytes(memoryview(data))
    shown = raw.decode("ascii", "replace").removesuffix("\n").replace("\n", "\\n") if text else raw[::-1].hex()
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."


def parse_line(text: bytes, fields: Sequence[Field]) -> Line | None:
    """The codes of a line of TestFloat text, or None where it is not exactly one of the set's."""
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
