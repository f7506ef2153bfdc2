"""A tensor of a model's file: where its values are, and how to read some of them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import open_file
from softfloat_ref.oracle.formats import get_format

Array = NDArray[Any]

_FLOATS: Final = {"fp64": "f8", "fp32": "f4", "fp16": "f2"}  # those that are numpy's types; others are codes
_MAX_DIMENSIONS: Final = 32


class Unreadable(Error):
    """A file whose values cannot be read any more."""


@dataclass(frozen=True)
class ModelTensor:
    """A tensor of a file. type: as the file calls it. fmt: the format of its values; '' if they are not floats. path,
    offset: the file with its values in C order, and the first one's position in bytes; order: of
    their bytes. data: the values instead, where a file does not have them in one piece. problem: why the values cannot
    be read."""

    name: str
    shape: tuple[int, ...]
    type: str
    fmt: str = ""
    path: str = ""
    offset: int = 0
    order: str = "<"
    data: Array | None = field(default=None, compare=False, repr=False)
    problem: str = ""

    @property
    def size(self) -> int:
        """The number of values."""
        return prod(self.shape)

    @property
    def skipped(self) -> str:
        """Why it is not measured; '' if it is."""
        if self.problem:
            return self.problem
        if not self.fmt:
            return f"{self.type} is not a float type"
        return "0-dimensional" if not self.shape else "" if self.size else "empty"

    @property
    def itemsize(self) -> int:
        """The bytes of one value in the file."""
        return convert.code_dtype(get_format(self.fmt)).itemsize if self.fmt else 0

    def check(self) -> ModelTensor:
        """The tensor. Raises Error if the file ends before it."""
        if self.fmt and self.data is None and not self.problem:
            end = self.offset + self.size * self.itemsize
            if end > Path(self.path).stat().st_size:
                raise Error(f"{self.path}: incomplete: ends before the tensor {self.name!r}")
        return self

    def read(self, first: int, count: int) -> Array:
        """`count` values from a position on: floats of numpy's own types, of float32 where numpy has no such type."""
        if self.data is not None:
            codes = self.data.reshape(-1)[first : first + count]
        else:
            dtype = np.dtype(self.order + _FLOATS.get(self.fmt, f"u{self.itemsize}"))
            try:
                with open_file(self.path) as stream:
                    stream.seek(self.offset + first * dtype.itemsize)
                    codes = np.fromfile(stream, dtype, count)
            except (OSError, Error) as e:
                raise Unreadable(str(e)) from None
            if codes.size != count:
                raise Unreadable(f"{self.path}: became shorter while it was read")
        codes = codes.astype(codes.dtype.newbyteorder("="), copy=False)
        if codes.dtype.kind == "f":
            return codes
        if self.fmt == "bf16":
            return (codes.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return convert.decode(codes, self.fmt)


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
