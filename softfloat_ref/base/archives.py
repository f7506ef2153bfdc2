"""Zip archives that nobody vouches for: each member is stored or deflated, no two have one name, and the size of what
they unpack to is limited."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, escaped
from softfloat_ref.base.files import open_file

_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MAX_DIRECTORY_END: Final = 1 << 17  # bytes that the end of a directory has at most, with its comment
_LOCAL_HEADER: Final = 30  # bytes of a member's local header before its name
_MAX_EXPANSION: Final = 1032  # largest expansion of one byte by deflate (zlib's technical details)


class _Opening(io.BufferedReader):
    """A file whose reads are limited while zipfile reads the directory, whose size the file itself gives."""

    limit = limits.DIRECTORY

    def read(self, size: int | None = -1, /) -> bytes:
        if self.limit and size is not None and size > self.limit:
            raise Error(f"a directory of {size} bytes; the limit is {self.limit}")
        return super().read(_MAX_DIRECTORY_END if self.limit and (size is None or size < 0) else size)


@contextmanager
def archive(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """A zip archive, checked, for reading. Raises Error, and what zipfile raises on broken input."""
    with _Opening(open_file(path).detach()) as stream, zipfile.ZipFile(stream) as zip_file:
        stream.limit = 0
        _check(zip_file, os.fstat(stream.fileno()).st_size)
        yield zip_file


def _check(zip_file: zipfile.ZipFile, size: int) -> None:
    entries = zip_file.infolist()
    if len(entries) > limits.MEMBERS:
        raise Error(f"{len(entries)} members; the limit is {limits.MEMBERS}")
    names = set[str]()
    for entry in entries:
        name = escaped(entry.filename)
        if entry.filename in names:
            raise Error(f"{name}: two members of this name")
        names.add(entry.filename)
        if entry.compress_type not in _METHODS or entry.flag_bits & 1:
            raise Error(f"{name}: compressed by another method than deflate, or encrypted")
        stored = entry.compress_type == zipfile.ZIP_STORED
        if entry.file_size > entry.compress_size * (1 if stored else _MAX_EXPANSION):
            raise Error(f"{name}: {entry.compress_size} bytes, which claim to become {entry.file_size}")
    held = sum(e.compress_size for e in entries)
    if held > size:
        raise Error(f"its members claim {held} bytes; the file has {size}")
    limit = max(limits.UNPACKED, limits.EXPANSION * size)
    becomes = sum(e.file_size for e in entries if e.compress_type != zipfile.ZIP_STORED)
    if becomes > limit:
        raise Error(f"its compressed members become {becomes} bytes; the limit is {limit}: store them uncompressed")


def content(zip_file: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes:
    """The bytes of a member of an archive, at most so many. Raises Error."""
    if entry.file_size > limit:
        raise Error(f"{escaped(entry.filename)}: {entry.file_size} bytes; the limit is {limit}")
    with zip_file.open(entry) as member:
        return member_bytes(member, entry.file_size)


def member_bytes(member: IO[bytes], size: int) -> bytes:
    """What follows in a member that claims a size: no more is unpacked, even if there is more."""
    return member.read(size + 1)


def data_offset(zip_file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """The position in an archive of a member's first byte. Raises Error if no member is there."""
    stream = cast(IO[bytes], zip_file.fp)
    stream.seek(entry.header_offset)
    head = stream.read(_LOCAL_HEADER)
    if len(head) < _LOCAL_HEADER or head[:4] != b"PK\3\4":
        raise Error(f"{escaped(entry.filename)}: not where the zip file's directory says")
    return (
        entry.header_offset
        + _LOCAL_HEADER
        + int.from_bytes(head[26:28], "little")
        + int.from_bytes(head[28:30], "little")
    )
