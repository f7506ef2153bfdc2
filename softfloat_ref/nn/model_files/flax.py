"""Arrays of a checkpoint of Flax (JAX): MessagePack, whose extension of type 1 is an array. No values are read here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import IO, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, errors_of, escaped
from softfloat_ref.base.files import open_file
from softfloat_ref.nn.model_files.tensors import ModelTensor, problem_of

_FORMATS: Final = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e4m3fnuz": "fp8_e4m3fnuz",
    "float8_e5m2": "fp8_e5m2",
    "float8_e5m2fnuz": "fp8_e5m2fnuz",
    "float8_e8m0fnu": "e8m0",
    **{f"{word}{bits}": f"{word[0]}{bits}" for word in ("int", "uint") for bits in (8, 16, 32, 64)},
}
_ARRAY: Final = 1  # Flax's extensions: an array, a complex number, a numpy scalar
_CHUNKED: Final = "__msgpack_chunked_array__"
_FIXED: Final = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, **{0xCC + i: 1 << i % 4 for i in range(8)}}
_LENGTHS: Final = {  # first byte: kind, and the bytes of the length that follow
    **{0xC4 + i: ("bytes", 1 << i) for i in range(3)},
    **{0xC7 + i: ("extension", 1 << i) for i in range(3)},
    **{0xD9 + i: ("text", 1 << i) for i in range(3)},
    **{0xDC + i: ("list", 2 << i) for i in range(2)},
    **{0xDE + i: ("table", 2 << i) for i in range(2)},
}


def read(path: Path) -> Iterator[ModelTensor]:
    """The arrays, in the order of the file; names of tables in tables are joined by dots. Raises Error."""
    with errors_of(path), open_file(path) as stream:
        yield from _Reader(stream, os.fstat(stream.fileno()).st_size, path).tensors("", 0)


class _Reader:
    """A file, whose lengths are checked before anything is skipped or read."""

    def __init__(self, stream: IO[bytes], size: int, path: Path) -> None:
        self._stream, self._size, self._path, self._left = stream, size, path, limits.VALUES

    def tensors(self, name: str, depth: int) -> Iterator[ModelTensor]:
        """The arrays of the next value."""
        kind, length = self._head()
        if kind in ("table", "list"):
            if depth == limits.TABLES:
                raise Error(f"tables nested more than {limits.TABLES} deep")
            for i in range(length):
                key = self._key() if kind == "table" else str(i)
                if key == _CHUNKED:
                    raise Error(f"'{escaped(name[:80])}' is in chunks, which are not read")
                self._spend(1 + len(name) + len(key))
                yield from self.tensors(f"{name}.{key}" if name else key, depth + 1)
        elif kind == "extension" and self._bytes(1)[0] == _ARRAY:
            end = self._stream.tell() + length
            yield self._array(name or "array", end)
            self._stream.seek(end)
        else:
            self._forward(length)

    def _array(self, name: str, end: int) -> ModelTensor:
        where = f"the array '{escaped(name[:80])}'"
        if end > self._size:
            raise Error(f"incomplete: ends in {where}")
        if self._head() != ("list", 3):
            raise Error(f"{where} is not a shape, a type and bytes")
        kind, count = self._head()
        if kind != "list" or count > 32:
            raise Error(f"{where} has no shape")
        shape = tuple(self._integer(where) for _ in range(count))
        word = self._key()
        kind, length = self._head()
        fmt = _FORMATS.get(word, "")
        described = ModelTensor(name, shape, escaped(word[:40]), fmt, problem=problem_of(shape))
        if described.problem or not fmt:
            return described
        if kind != "bytes" or length != prod(shape) * described.itemsize:
            raise Error(f"{where}: {length} bytes do not fit shape {shape} of {described.type}")
        return ModelTensor(name, shape, described.type, fmt, str(self._path), self._stream.tell()).check()

    def _head(self) -> tuple[str, int]:
        """The kind of the next value, and its length; of a number, the bytes that follow."""
        first = self._bytes(1)[0]
        if first in _LENGTHS:
            kind, size = _LENGTHS[first]
            return kind, int.from_bytes(self._bytes(size), "big")
        if first in _FIXED:
            return "number", _FIXED[first]
        if first < 0x80 or first >= 0xE0:
            return "number", 0
        if first >= 0xD4:
            return "extension", 1 << first - 0xD4
        if first < 0xA0:
            return "table" if first < 0x90 else "list", first & 15
        if first < 0xC0:
            return "text", first & 31
        raise Error(f"a byte {first:02x} that MessagePack does not have")

    def _key(self) -> str:
        kind, length = self._head()
        if kind != "text" or length > limits.KEY:
            raise Error(f"a key that is not a text of at most {limits.KEY} bytes")
        return self._bytes(length).decode("utf-8", "backslashreplace")

    def _integer(self, where: str) -> int:
        first = self._bytes(1)[0]
        if first < 0x80:
            return first
        if first not in range(0xCC, 0xD0):
            raise Error(f"{where} has no shape")
        return int.from_bytes(self._bytes(1 << first - 0xCC), "big")

    def _forward(self, count: int) -> None:
        place = self._stream.tell() + count
        if place > self._size:
            raise Error("incomplete: ends in a value")
        self._stream.seek(place)

    def _bytes(self, count: int) -> bytes:
        data = self._stream.read(count)
        if len(data) < count:
            raise Error("incomplete: ends in a value")
        return data

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise Error(f"tables of more than {limits.VALUES} entries and characters of names")
