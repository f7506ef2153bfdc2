"""Tensors of .npz and .npy files. Compressed and Fortran-ordered arrays are read whole."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from softfloat_ref.base import npz
from softfloat_ref.base.archives import archive, data_offset
from softfloat_ref.base.errors import Error, errors_of, escaped
from softfloat_ref.base.files import open_file
from softfloat_ref.nn.model_files.tensors import UNTYPED, ModelTensor, problem_of

_FORMATS: Final = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    **{f"{word}{bits}": f"{word[0]}{bits}" for word in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"{UNTYPED}{size}": f"u{8 * size}" for size in (1, 2)},
}


def read(path: Path) -> Iterator[ModelTensor]:
    """The arrays, in the order of the file. Raises Error."""
    try:
        with errors_of(path):
            if path.suffix == ".npy":
                yield _single(path)
                return
            with archive(path) as members:
                for entry in members.infolist():
                    yield _member(path, members, entry)
    except (Error, OSError):
        raise
    except Exception:  # zipfile and numpy's header parser raise anything on broken input
        raise Error(f"{path}: not a readable {path.suffix} file of plain arrays") from None


def _single(path: Path) -> ModelTensor:
    with open_file(path) as stream:
        head = npz.header(stream, "")
        offset = stream.tell()
        tensor = _described(path, path.stem, head, offset)
        shape, by_columns, dtype = head
        if tensor.problem or not tensor.fmt or not by_columns:
            return tensor
        tensor.check()
        values = np.fromfile(stream, dtype, prod(shape))
    return _described(path, path.stem, head, data=np.ascontiguousarray(values.reshape(shape, order="F")))


def _member(path: Path, members: zipfile.ZipFile, entry: zipfile.ZipInfo) -> ModelTensor:
    name = entry.filename.removesuffix(".npy")
    if name == entry.filename:
        return ModelTensor(name, (), "file", problem="not an .npy array")
    with members.open(entry) as member:
        head = npz.header(member, escaped(name))
        begin = member.tell()
    tensor = _described(path, name, head)
    if tensor.problem or not tensor.fmt:
        return tensor
    if head[1] or entry.compress_type != zipfile.ZIP_STORED:
        return _described(
            path, name, head, data=npz.read_array(members, entry, fortran=True, kinds=npz.NUMBERS + UNTYPED)
        )
    if tensor.size * tensor.itemsize != entry.file_size - begin:
        raise Error(f"{escaped(name)}: {entry.file_size - begin} bytes of data do not fit shape {tensor.shape}")
    return _described(path, name, head, data_offset(members, entry) + begin)


def _described(path: Path, name: str, head: npz.Header, offset: int = 0, data: Any = None) -> ModelTensor:
    shape, _, dtype = head
    order = ">" if dtype.byteorder == ">" else "<"
    problem = problem_of(shape) or ("Python objects, which are never unpickled" if dtype.hasobject else "")
    kind = str(dtype.newbyteorder("=")).lstrip("|")[:60]
    if data is not None and dtype.kind == UNTYPED:
        data = data.view(f"u{dtype.itemsize}")
    place = (str(path), offset) if data is None else ("", 0)
    return ModelTensor(name, tuple(shape), kind, _FORMATS.get(kind, ""), *place, order, data, problem)
