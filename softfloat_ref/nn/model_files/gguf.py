"""Tensors of a GGUF file. Metadata are skipped, in time and memory that the file's size bounds."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import IO, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.kernels import block_dispatch, dispatch, nibbles
from softfloat_ref.arrays.scaled import Scales
from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, errors_of, escaped
from softfloat_ref.base.files import open_file
from softfloat_ref.nn.model_files.gguf_blocks import BLOCK_TYPES, OTHER_TYPES, PLAIN_TYPES, Array, Blocks, BlockType
from softfloat_ref.nn.model_files.quantized import EXACT, QuantizedTensor, Span, rounded
from softfloat_ref.nn.model_files.tensors import ModelTensor, numbers, problem_of
from softfloat_ref.oracle.formats import get_format

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_STRING, _ARRAY, _U32 = 8, 9, 4
_SIZES: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of values by type
_ALIGNMENT: Final = "general.alignment"
_MAX_DIMENSIONS: Final = 32


def read(path: Path) -> Iterator[ModelTensor]:
    """The tensors, in the order of the file. Raises Error."""
    with errors_of(path), open_file(path) as stream:
        header = _Header(stream, os.fstat(stream.fileno()).st_size)
        infos = list(header.tensors())
        if header.order == ">":
            raise Error("a GGUF file of big-endian numbers; convert it to little-endian")
        start = -(-stream.tell() // header.alignment) * header.alignment
        for name, shape, kind, offset in infos:
            yield _tensor(path, name, shape, kind, start + offset)


def _tensor(path: Path, name: str, shape: tuple[int, ...], kind: int, offset: int) -> ModelTensor:
    if kind in PLAIN_TYPES:
        return ModelTensor(name, shape, *PLAIN_TYPES[kind], str(path), offset, problem=problem_of(shape))
    own = BLOCK_TYPES.get(kind)
    if own is None:
        word = OTHER_TYPES.get(kind, f"type {kind}")
        return ModelTensor(name, shape, word, problem=problem_of(shape) or f"GGUF type {word} is not supported")
    problem = problem_of(shape)
    if not problem and (not shape or shape[-1] % own.values):
        problem = f"rows that are not whole blocks of {own.values} values"
    size = prod(shape) // own.values * own.size if not problem else 0
    source = ModelTensor(name, (size,), own.name, "u8", str(path), offset).check()
    return GgufTensor(
        name, shape, own.name, own.name, problem=problem, element=own.elements, unit=own.values, stored=size,
        source=source, kind=kind,
    )  # fmt: skip


class _Header:
    """The part of a file before its values. Every value that is skipped has at least a byte in the file."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream, self._size, self.order, self.alignment = stream, size, "<", 32
        if self._bytes(4) != _MAGIC:
            raise Error("does not begin with GGUF")
        version = self._bytes(4)
        self.order = "<" if int.from_bytes(version, "little") < 1 << 16 else ">"
        number = struct.unpack(f"{self.order}I", version)[0]
        if number not in _VERSIONS:
            raise Error(f"GGUF version {number} is not supported; use {' or '.join(map(str, _VERSIONS))}")
        self._count, metadata = self._number("Q"), self._number("Q")
        for _ in range(metadata):
            self._entry()

    def tensors(self) -> Iterator[tuple[str, tuple[int, ...], int, int]]:
        """Name, shape, type and position of each tensor."""
        if self._count > limits.TENSORS:
            raise Error(f"{self._count} tensors; the limit is {limits.TENSORS}")
        names = set[str]()
        for _ in range(self._count):
            name = self._text(limits.KEY)
            count = self._number("I")
            if count > _MAX_DIMENSIONS:
                raise Error(f"the tensor '{escaped(name[:80])}' has {count} dimensions")
            shape = tuple(self._number("Q") for _ in range(count))[::-1]
            if name in names:
                raise Error(f"two tensors have the name '{escaped(name[:80])}'")
            names.add(name)
            yield name, shape, self._number("I"), self._number("Q")

    def _entry(self) -> None:
        key, kind = self._text(limits.KEY), self._number("I")
        if key == _ALIGNMENT:
            if kind != _U32:
                raise Error(f"{_ALIGNMENT} is not a number of 32 bits")
            self.alignment = self._number("I")
            if self.alignment < 1 or self.alignment & (self.alignment - 1):
                raise Error(f"{_ALIGNMENT} = {self.alignment} is not a power of two")
        else:
            self._skip(kind, 0)

    def _skip(self, kind: int, depth: int) -> None:
        """Skip a value of a type."""
        if kind in _SIZES:
            self._forward(_SIZES[kind])
        elif kind == _STRING:
            self._forward(self._number("Q"))
        elif kind == _ARRAY and depth < limits.TABLES:
            inner, count = self._number("I"), self._number("Q")
            if inner in _SIZES:
                self._forward(count * _SIZES[inner])
                return
            for _ in range(count):  # each has a length of eight bytes, so the file ends first
                self._skip(inner, depth + 1)
        else:
            raise Error(f"metadata of type {kind}" if kind != _ARRAY else "lists in lists in its metadata")

    def _forward(self, count: int) -> None:
        place = self._stream.tell() + count
        if place > self._size:
            raise Error("incomplete: ends in its header")
        self._stream.seek(place)

    def _text(self, limit: int) -> str:
        length = self._number("Q")
        if length > limit:
            raise Error(f"a name of {length} bytes; the limit is {limit}")
        return self._bytes(length).decode("utf-8", "backslashreplace")

    def _number(self, code: str) -> int:
        size = struct.calcsize(code)
        return int(struct.unpack(self.order + code, self._bytes(size))[0])

    def _bytes(self, count: int) -> bytes:
        data = self._stream.read(count)
        if len(data) < count:
            raise Error("incomplete: ends in its header")
        return data


@dataclass(frozen=True)
class GgufTensor(QuantizedTensor):
    """A tensor of blocks. kind: ggml's number of their type."""

    source: ModelTensor = field(default_factory=lambda: ModelTensor("", (), ""))
    kind: int = 0

    @property
    def _type(self) -> BlockType:
        return BLOCK_TYPES[self.kind]

    def _data(self, span: Span) -> Array:
        """The blocks of a span, one a row, as bytes."""
        own, row = self._type, self.shape[-1]
        begin = (span.top * row + span.left) // own.values
        count = (span.shape[0] * span.shape[1]) // own.values
        return self.source.raw(begin * own.size, count * own.size).reshape(count, own.size)

    def _blocks(self, span: Span) -> Blocks:
        return self._type.split(self._data(span))

    def _scaled(self, span: Span) -> tuple[Array, Scales]:
        elements, scales = scaled_blocks(self._type, self._blocks(span))
        minimum = None if scales.minimum is None else np.reshape(scales.minimum, span.shape)
        own = scales._replace(scale=scales.scale.reshape(span.shape), minimum=minimum)
        return elements.reshape(span.shape), own

    def _short(self, span: Span, arithmetic: str) -> NDArray[np.float32]:
        own = self._type
        if not dispatch.use_compiled(prod(span.shape)) or convert.flushes_subnormals():
            return super()._short(span, arithmetic)
        if not own.scale_bytes:
            return self._by_loop(span)
        group, table = own.values // own.scale_bytes, _value_table(self.kind)
        return nibbles.values_of_halves(self._data(span), own.scale_bytes, group, table).reshape(span.shape)

    def _by_loop(self, span: Span) -> NDArray[np.float32]:
        """The values by the loop of block formats, where a value is a product."""
        own, blocks = self._type, self._blocks(span)
        if blocks.minima is not None:
            elements, scales = scaled_blocks(own, blocks)
            return rounded(elements, scales, EXACT).reshape(span.shape)
        fmt, out = get_format(own.elements), np.empty(blocks.codes.shape, np.float32)
        table = numbers(np.arange(1 << fmt.width, dtype=np.uint8), fmt) - own.zero
        codes, size = np.ascontiguousarray(blocks.codes), own.values // blocks.scales.shape[1]
        block_dispatch.scale_rows(codes, blocks.scales, size, table, out)
        return out.reshape(span.shape)

    def elements(self, span: Span) -> Array:
        return self._blocks(span).codes.reshape(span.shape)

    def scales_of(self, span: Span) -> Scales:
        return self._scaled(span)[1]

    def stored_scales(self) -> dict[str, Array]:
        rows = prod(self.shape[:-1])
        blocks = self._blocks(Span(0, rows, 0, self.shape[-1]))
        shape = (*self.shape[:-1], -1)
        parts = {"scales": blocks.scales.reshape(shape)}
        return parts if blocks.minima is None else {**parts, "minima": blocks.minima.reshape(shape)}


def scaled_blocks(own: BlockType, blocks: Blocks) -> tuple[Array, Scales]:
    """The elements of blocks, one block a row, as float64, and the scale of each."""
    elements = numbers(np.ascontiguousarray(blocks.codes), get_format(own.elements))
    each = own.values // blocks.scales.shape[1]
    minimum = None if blocks.minima is None else np.repeat(blocks.minima, each, axis=1)
    scales = Scales(np.repeat(blocks.scales, each, axis=1), zero=own.zero or None, minimum=minimum)
    return elements + 0.0 if own.drops_sign else elements, scales


@lru_cache(maxsize=4)
def _value_table(kind: int) -> Array:
    """The value of every scale with every element, of a type whose scales are bytes: those of blocks that have them."""
    own = BLOCK_TYPES[kind]
    half = np.arange(own.values // own.scale_bytes // 2, dtype=np.uint8)
    data = np.zeros((256, own.size), np.uint8)
    data[:, : own.scale_bytes] = np.arange(256)[:, np.newaxis]
    data[:, own.scale_bytes :][:, : half.size] = (
        half | (half + half.size & 15) << 4
    )  # so the first elements are 0 to 15
    return np.ascontiguousarray(rounded(*scaled_blocks(own, own.split(data)), EXACT)[:, :16])
