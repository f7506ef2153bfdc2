"""Models' tensors written as plain arrays: values, or codes and scales, some rows at a time."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error, counted, unknown
from softfloat_ref.base.files import write_file
from softfloat_ref.nn.model_files.quantized import QuantizedTensor
from softfloat_ref.nn.model_files.safetensors import FORMATS
from softfloat_ref.nn.model_files.tensors import ModelTensor
from softfloat_ref.oracle.formats import get_format

Array = NDArray[Any]
SUFFIXES: Final = (".safetensors", ".npz", ".npy")
_SLAB: Final = 1 << 20  # values at a time
_ALIGNED: Final = 8  # bytes to which the header of a safetensors file is filled up
_NUMPY: Final = {"fp64": "f8", "fp32": "f4", "fp16": "f2"}


@dataclass(frozen=True)
class PlainArray:
    """An array to be written. fmt: of its values; pieces: their codes, low byte first, in order."""

    name: str
    shape: tuple[int, ...]
    fmt: str
    pieces: Callable[[], Iterator[Array]]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in numpy's files: numpy's own floats and integers."""
        fmt = get_format(self.fmt)
        return np.dtype(f"<{_NUMPY.get(self.fmt) or ('i' if fmt.signed else 'u') + str(-(-fmt.width // 8))}")

    @property
    def nbytes(self) -> int:
        """The size of all pieces."""
        return prod(self.shape) * self.dtype.itemsize


def value_arrays(
    tensors: Iterable[ModelTensor], *, exactly: bool = False, arithmetic: str = "exact", numpy_only: bool = False
) -> Iterator[PlainArray]:
    """The values of tensors: of quantized ones in FP32, or exactly in FP64; others as they are stored, but in FP32 if
    numpy_only and numpy has no such type. Tensors with a problem are left out."""
    for t in tensors:
        if t.problem or not t.fmt:
            continue
        if isinstance(t, QuantizedTensor):
            reader = _exact_reader(t) if exactly else _reader(t, arithmetic)
            yield PlainArray(t.name, t.shape, "fp64" if exactly else "fp32", _slabs(t, reader))
        elif numpy_only and t.unmeasurable == "" and t.fmt not in _NUMPY:
            yield PlainArray(t.name, t.shape, "fp32", _slabs(t, _single_reader(t)))
        elif t.packing:
            yield PlainArray(t.name, t.shape, "fp32", _slabs(t, t.read))
        else:
            yield PlainArray(t.name, t.shape, t.fmt, _slabs(t, t.codes))


def part_arrays(tensors: Iterable[ModelTensor]) -> Iterator[PlainArray]:
    """The codes of quantized tensors, one each, and their scales, as NAME.codes, NAME.scales and so on."""
    for t in tensors:
        if isinstance(t, QuantizedTensor) and not t.problem:
            yield PlainArray(f"{t.name}.codes", t.shape, "u8" if t.code_bytes == 1 else "u32", _slabs(t, t.codes))
            for role, array in t.stored_scales().items():
                fmt = f"u{8 * array.itemsize}" if array.dtype.kind == "u" else "fp64"
                yield PlainArray(f"{t.name}.{role}", array.shape, fmt, partial(iter, [array]))


def _reader(t: QuantizedTensor, arithmetic: str) -> Callable[[int, int], Array]:
    return lambda first, count: t.read(first, count, arithmetic=arithmetic)


def _exact_reader(t: QuantizedTensor) -> Callable[[int, int], Array]:
    return t.read_exactly


def _single_reader(t: ModelTensor) -> Callable[[int, int], Array]:
    return lambda first, count: np.asarray(t.read(first, count), np.float32)


def _slabs(t: ModelTensor, read: Callable[[int, int], Array]) -> Callable[[], Iterator[Array]]:
    return lambda: (read(i, min(_SLAB, t.size - i)) for i in range(0, t.size, _SLAB))


# -- files -------------------------------------------------------------------------------------------------------------


def write_arrays(path: str | Path, arrays: Sequence[PlainArray]) -> None:
    """Write a .safetensors, .npz or .npy file, completely or not at all. Raises Error."""
    suffix = Path(path).suffix
    if suffix == ".npy" and len(arrays) != 1:
        raise Error(f"{path}: a .npy file holds one array, not {len(arrays)}; choose one with --tensor, or write .npz")
    writers: dict[str, Callable[[IO[bytes], Sequence[PlainArray]], None]] = {
        ".safetensors": _write_safetensors,
        ".npz": _write_npz,
        ".npy": lambda s, a: _write_npy(s, a[0]),
    }
    if suffix not in writers:
        raise unknown(f"kind of file {Path(path).name!r}:", suffix, SUFFIXES)
    if not arrays:
        raise Error(f"{path}: nothing to write: no tensor that was chosen has values")
    write_file(path, lambda stream: writers[suffix](stream, arrays))


def _bytes(array: PlainArray) -> Iterator[Array]:
    count = 0
    for piece in array.pieces():
        data = np.ascontiguousarray(piece, piece.dtype.newbyteorder("<"))
        count += data.nbytes
        yield data.reshape(-1).view(np.uint8)
    if count != array.nbytes:
        raise Error(f"{array.name}: {counted(count, 'byte')} where {array.nbytes} are expected")


def _write_safetensors(stream: IO[bytes], arrays: Sequence[PlainArray]) -> None:
    types = {fmt: word for word, fmt in FORMATS.items()}
    header, end = {}, 0
    for x in arrays:
        header[x.name] = {"dtype": types[x.fmt], "shape": list(x.shape), "data_offsets": [end, end + x.nbytes]}
        end += x.nbytes
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNED)
    stream.write(len(text).to_bytes(8, "little") + text)
    for x in arrays:
        for data in _bytes(x):
            stream.write(data.data)


def _write_npz(stream: IO[bytes], arrays: Sequence[PlainArray]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for x in arrays:
            with archive.open(zipfile.ZipInfo(f"{x.name}.npy"), "w", force_zip64=True) as member:
                _write_npy(member, x)


def _write_npy(stream: IO[bytes], array: PlainArray) -> None:
    head = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(stream, head)
    for data in _bytes(array):
        stream.write(data.data)
