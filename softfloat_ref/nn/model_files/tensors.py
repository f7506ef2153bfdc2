"""A tensor of a model's file: where its values are, and how to read some of them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert, packing
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import open_file
from softfloat_ref.oracle.formats import Format, get_format

Array = NDArray[Any]

_FLOATS: Final = {"fp64": "f8", "fp32": "f4", "fp16": "f2"}  # those that are numpy's types; others are codes
SCALES_ONLY: Final = "e8m0"  # a format of scales, never of weights
INTEGERS: Final = {f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)}
UNTYPED: Final = "V"  # numpy's name for bytes of a type that it does not know begins with this
_MAX_DIMENSIONS: Final = 32


class Unreadable(Error):
    """A file whose values cannot be read any more."""


@dataclass(frozen=True)
class ModelTensor:
    """A tensor of a file. type: as the file calls it. fmt: the format of its values; '' for a type without one. path,
    offset: the file with its values in C order, and the first one's position in bytes; order: of
    their bytes. data: the values instead, where a file does not have them in one piece. problem: why the values cannot
    be read. packing: how codes share bytes, as a name of `packing.ELEMENT_LAYOUTS`; '' if each has its own. swizzled:
    whether it is known to be scales in NVIDIA's tiles."""

    name: str
    shape: tuple[int, ...]
    type: str
    fmt: str = ""
    path: str = ""
    offset: int = 0
    order: str = "<"
    data: Array | None = field(default=None, compare=False, repr=False)
    problem: str = ""
    packing: str = ""
    swizzled: bool = False

    @property
    def size(self) -> int:
        """The number of values."""
        return prod(self.shape)

    @property
    def unmeasurable(self) -> str:
        """Why its values are not those of a weight; '' if they are."""
        if self.fmt == SCALES_ONLY:
            return f"{self.type}: scales of blocks, of a tensor that no layout knows (--layouts)"
        if self.type.startswith(UNTYPED):
            return (
                f"{self.type}: bytes without a type, as ml_dtypes and JAX save theirs; name their format with --stored"
            )
        return "" if self.fmt and not get_format(self.fmt).is_integer else f"{self.type} is not a float type"

    @property
    def skipped(self) -> str:
        """Why it is not measured; '' if it is."""
        return (
            self.problem or self.unmeasurable or ("0-dimensional" if not self.shape else "" if self.size else "empty")
        )

    @property
    def itemsize(self) -> int:
        """The bytes of one value in the file; of packed ones, of a byte with some of them."""
        return convert.code_dtype(get_format(self.fmt)).itemsize if self.fmt else 0

    @property
    def nbytes(self) -> int:
        """The bytes of all values in the file."""
        if self.packing:
            return packing.ELEMENT_LAYOUTS[self.packing].size(self.size, get_format(self.fmt).width)
        return self.size * self.itemsize

    def check(self) -> ModelTensor:
        """The tensor. Raises Error if the file ends before it."""
        if self.fmt and self.data is None and not self.problem:
            end = self.offset + self.nbytes
            if end > Path(self.path).stat().st_size:
                raise Error(f"{self.path}: incomplete: ends before the tensor {self.name!r}")
        return self

    def read(self, first: int, count: int) -> Array:
        """`count` values from a position on: floats of numpy's own types, of float32 where numpy has no such type."""
        codes = self._stored(first, count)
        if codes.dtype.kind == "f":
            return codes
        if self.fmt == "bf16":
            return (codes.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return convert.decode(codes, self.fmt)

    def values(self) -> Array:
        """All values in the tensor's shape; integers in their own type. Raises Error for a tensor that has none."""
        if self.problem or not self.fmt:
            raise Error(f"{self.name}: {self.skipped}")
        fmt = get_format(self.fmt)
        if not fmt.is_integer or fmt.width < 8:
            return self.read(0, self.size).reshape(self.shape)
        return self.codes(0, self.size).view(f"{'i' if fmt.signed else 'u'}{fmt.width // 8}").reshape(self.shape)

    def codes(self, first: int, count: int) -> Array:
        """The unsigned codes of `count` values from a position on."""
        stored = self._stored(first, count)
        return stored.view(f"u{stored.itemsize}")

    def numbers(self, first: int, count: int) -> NDArray[np.float64]:
        """`count` values from a position on as float64, integers too."""
        return numbers(self.codes(first, count), get_format(self.fmt))

    def raw(self, first: int, count: int) -> NDArray[np.uint8]:
        """`count` bytes of the values from a position on, low byte first."""
        if self.data is not None:
            stored = np.ascontiguousarray(self.data, self.data.dtype.newbyteorder("<"))
            return stored.reshape(-1).view(np.uint8)[first : first + count]
        if self.order == ">" and self.itemsize > 1:
            values = self._stored(first // self.itemsize, -(-(first + count) // self.itemsize) - first // self.itemsize)
            return values.view(np.uint8)[first % self.itemsize :][:count]
        return self._from_file(np.dtype(np.uint8), first, count)

    def _stored(self, first: int, count: int) -> Array:
        """As the file has them: numpy's own floats, or codes."""
        if self.packing:
            return self._unpacked(first, count)
        if self.data is not None:
            stored = self.data.reshape(-1)[first : first + count]
        else:
            stored = self._from_file(np.dtype(self.order + _FLOATS.get(self.fmt, f"u{self.itemsize}")), first, count)
        return stored.astype(stored.dtype.newbyteorder("="), copy=False)

    def _unpacked(self, first: int, count: int) -> Array:
        """The codes of some values, of the bytes that hold them."""
        width = get_format(self.fmt).width
        start = first - first % 8  # at a whole byte, whatever the width
        end = min(self.size, -(-(first + count) // 8) * 8)
        begin, stop = start * width // 8, -(-end * width // 8)
        if self.data is not None:
            data = self.data.reshape(-1)[begin:stop]
        else:
            data = self._from_file(np.dtype(np.uint8), begin, stop - begin)
        return packing.ELEMENT_LAYOUTS[self.packing].unpack(data, end - start, width)[first - start :][:count]

    def _from_file(self, dtype: np.dtype[Any], first: int, count: int) -> Array:
        try:
            with open_file(self.path) as stream:
                stream.seek(self.offset + first * dtype.itemsize)
                read = np.fromfile(stream, dtype, count)
        except (OSError, Error) as e:
            raise Unreadable(str(e)) from None
        if read.size != count:
            raise Unreadable(f"{self.path}: became shorter while it was read")
        return read


def numbers(codes: Array, fmt: Format) -> NDArray[np.float64]:
    """The values of codes as float64, which has them exactly. Raises Error for codes that are not the format's."""
    if fmt.is_integer and fmt.width > 16:
        return codes.view(f"{'i' if fmt.signed else 'u'}{codes.itemsize}").astype(np.float64)
    if fmt.width < 8 * codes.itemsize:
        codes = convert.checked_codes(codes, fmt)
    return convert.to_float64(convert.Source(codes, fmt))


def problem_of(shape: Any) -> str:
    """What is wrong with a shape that a file gives; '' if nothing is."""
    if not isinstance(shape, (list, tuple)) or len(shape) > _MAX_DIMENSIONS or not all(type(n) is int for n in shape):
        return f"a shape is a list of at most {_MAX_DIMENSIONS} integers"  # others are not shown: they may be endless
    right = all(0 <= n < 1 << 62 for n in shape) and prod(shape) < 1 << 62
    return "" if right else f"shape {'x'.join(f'{n:x}'[:20] for n in shape)[:40]} (hexadecimal)"


def require_package(name: str, path: Path) -> Any:
    """A package that is needed to read a file. Raises Error without it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        top = name.partition(".")[0]
        raise Error(f"{path}: needs {top}: pip install 'softfloat-ref[models]'") from None
