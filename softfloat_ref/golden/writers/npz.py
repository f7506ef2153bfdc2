"""numpy's .npz: one array per field, and the runs of equal tags as arrays. Reproducible: no time, no version.

`np.repeat(f["tag_names"][f["tag_index"]], f["tag_count"])` gives each line its tag. np.load needs no pickle.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers.batch import Batch, Data, Facts, FileStream, Piece, StreamSlice
from softfloat_ref.golden.writers.writer import Writer
from softfloat_ref.units import Field

_WORD: Final = 8  # bytes
_ALIGN: Final = 64  # of the data in a .npy file, numpy.lib.format
_DATE: Final = 1 << 5 | 1  # 1980-01-01, the first date of zip files
_MAX_32_BITS: Final = 0xFFFFFFFF


class NpzWriter(Writer):
    """NAME.npz. Lanes are a second dimension; codes wider than 64 bits have 64-bit words as the last dimension, the
    least significant first."""

    key = "npz"
    suffix = ".npz"
    text = False

    def openings(self, vectors: VectorSet) -> list[bytes]:
        return [b""] * len(vectors.fields)

    def names(self, vectors: VectorSet) -> list[str]:
        return [f.name for f in vectors.fields]

    def record(self, vectors: VectorSet, stream: int) -> int:
        f = vectors.fields[stream]
        return _item(f) * _words(f) * f.lanes

    def part(self, vectors: VectorSet, batch: Batch) -> list[Data]:
        """The columns of a batch, little-endian."""
        if batch.table is not None:
            columns = zip(batch.table, vectors.fields, strict=True)
            return [column.astype(f"<u{_item(f)}").tobytes() for column, f in columns]
        arrays: list[Data] = []
        start = 0
        for f in vectors.fields:
            size, end = _item(f) * _words(f), start + f.lanes
            arrays.append(b"".join(code.to_bytes(size, "little") for line in batch.lines for code in line[start:end]))
            start = end
        return arrays

    def sizes(self, vectors: VectorSet, facts: Facts, size: int) -> list[int]:
        return [facts.count * self.record(vectors, i) for i in range(len(vectors.fields))]

    def pieces(self, vectors: VectorSet, facts: Facts, streams: Sequence[FileStream]) -> Iterator[Piece]:
        """A zip file without compression: the arrays one after the other, then the directory."""
        entries: list[_ZipMember] = []
        offset = 0
        for i, f in enumerate(vectors.fields):
            shape = (facts.count, *(n for n in (f.lanes, _words(f)) if n > 1))
            head = _npy_header(f"<u{_item(f)}", shape)
            entry = _ZipMember(f.name, len(head) + streams[i].size, streams[i].crc(zlib.crc32(head)), offset)
            local = entry.local()
            yield local + head
            yield StreamSlice(i, streams[i].size)
            entries.append(entry)
            offset += len(local) + entry.size
        for name, data in _tag_arrays(facts):
            entry = _ZipMember(name, len(data), zlib.crc32(data), offset)
            local = entry.local()
            yield local + data
            entries.append(entry)
            offset += len(local) + entry.size
        yield _directory(entries, offset)


def _item(f: Field) -> int:
    """Bytes of an element of the array."""
    return next((n for n in (1, 2, 4) if f.width <= 8 * n), _WORD)


def _words(f: Field) -> int:
    return -(-f.width // (8 * _WORD))


def _npy_header(kind: str, shape: tuple[int, ...]) -> bytes:
    """The header of a .npy file, version 1.0 (numpy.lib.format), padded to a multiple of 64 bytes."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape!r}, }}"
    text += " " * (-(len(text) + 11) % _ALIGN) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("ascii")


def _tag_arrays(facts: Facts) -> Iterator[tuple[str, bytes]]:
    numbers: dict[str, int] = {}
    index, counts = bytearray(), bytearray()
    for tag, count in facts.runs():
        index += struct.pack("<I", numbers.setdefault(tag, len(numbers)))
        counts += struct.pack("<q", count)
    runs, width = len(index) // 4, max(map(len, numbers), default=1)
    names = b"".join(tag.encode("utf-32-le").ljust(4 * width, b"\0") for tag in numbers)
    yield "tag_names", _npy_header(f"<U{width}", (len(numbers),)) + names
    yield "tag_index", _npy_header("<u4", (runs,)) + bytes(index)
    yield "tag_count", _npy_header("<i8", (runs,)) + bytes(counts)


@dataclass(frozen=True)
class _ZipMember:
    """A member of the zip file (PKWARE APPNOTE 4.3, 4.5.3): stored, without time, with 64-bit sizes if needed."""

    name: str
    size: int
    crc: int
    offset: int

    def local(self) -> bytes:
        """The header in front of the data."""
        wide = self.size >= _MAX_32_BITS
        extra = struct.pack("<HHQQ", 1, 16, self.size, self.size) if wide else b""
        size = _MAX_32_BITS if wide else self.size
        name = self._file_name()
        numbers = (0x04034B50, 45 if wide else 20, 0, 0, 0, _DATE, self.crc, size, size, len(name), len(extra))
        return struct.pack("<IHHHHHIIIHH", *numbers) + name + extra

    def central(self) -> bytes:
        """The entry of the directory."""
        wide, far = self.size >= _MAX_32_BITS, self.offset >= _MAX_32_BITS
        values = (*([self.size, self.size] if wide else []), *([self.offset] if far else []))
        extra = struct.pack(f"<HH{len(values)}Q", 1, 8 * len(values), *values) if values else b""
        size, offset = _MAX_32_BITS if wide else self.size, _MAX_32_BITS if far else self.offset
        name, version = self._file_name(), 45 if values else 20
        numbers: list[Any] = [0x02014B50, version, version, 0, 0, 0, _DATE, self.crc, size, size, len(name)]
        return struct.pack("<IHHHHHHIIIHHHHHII", *numbers, len(extra), 0, 0, 0, 0, offset) + name + extra

    def _file_name(self) -> bytes:
        return f"{self.name}.npy".encode("ascii")


def _directory(entries: Sequence[_ZipMember], offset: int) -> bytes:
    """The directory and the end record of a zip file."""
    listed = b"".join(e.central() for e in entries)
    end = b""
    if offset >= _MAX_32_BITS:
        sizes = (len(entries), len(entries), len(listed), offset)
        end += struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, *sizes)
        end += struct.pack("<IIQI", 0x07064B50, 0, offset + len(listed), 1)
    at = min(offset, _MAX_32_BITS)
    return listed + end + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(entries), len(entries), len(listed), at, 0)
