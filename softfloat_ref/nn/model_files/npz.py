"""Tensors of .npz and .npy files. Compressed and Fortran-ordered arrays are read whole."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from softfloat_ref.base import npz
from softfloat_ref.base.errors import Error
from softfloat_ref.nn.model_files.tensors import Tensor, problem_of

_FORMATS: Final = {"float64": "fp64", "float32": "fp32", "float16": "fp16"}

Header = tuple[tuple[Any, ...], bool, Any]


def read(path: Path) -> Iterator[Tensor]:
    """The arrays, in the order of the file. Raises Error."""
    try:
        if path.suffix == ".npy":
            yield _single(path)
            return
        with zipfile.ZipFile(path) as archive, open(path, "rb") as stream:
            for entry in archive.infolist():
                yield _member(path, archive, entry, stream)
    except OSError:
        raise
    except Error as e:
        raise Error(f"{path}: {e}") from None
    except Exception:  # zipfile and numpy's header parser raise anything on broken input
        raise Error(f"{path}: not a readable {path.suffix} file of plain arrays") from None


def _single(path: Path) -> Tensor:
    with open(path, "rb") as stream:
        head = npz.header(stream, path.stem)
        offset = stream.tell()
    if head[1]:
        return _described(path, path.stem, head, data=np.load(path, allow_pickle=False))
    return _described(path, path.stem, head, offset)


def _member(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, stream: IO[bytes]) -> Tensor:
    name = entry.filename.removesuffix(".npy")
    if name == entry.filename:
        return Tensor(name, (), "file", problem="not an .npy array")
    with archive.open(entry) as member:
        head = npz.header(member, name)
        begin = member.tell()
    found = _described(path, name, head)
    if found.skipped:
        return found
    if head[1] or entry.compress_type != zipfile.ZIP_STORED:
        return _described(path, name, head, data=npz.read_array(archive, entry, fortran=True, kinds=npz.NUMBERS))
    if found.size * found.itemsize != entry.file_size - begin:
        raise Error(f"{name}: {entry.file_size - begin} bytes of data do not fit shape {found.shape}")
    return _described(path, name, head, npz.data_offset(stream, entry) + begin)


def _described(path: Path, name: str, head: Header, offset: int = 0, data: Any = None) -> Tensor:
    shape, _, dtype = head
    order = ">" if dtype.byteorder == ">" else "<"
    problem = problem_of(shape) or ("Python objects, which are never unpickled" if dtype.hasobject else "")
    kind = str(dtype.newbyteorder("="))
    place = (str(path), offset) if data is None else ("", 0)
    return Tensor(name, tuple(shape), kind, _FORMATS.get(kind, ""), *place, order, data, problem)
