"""Checkpoints: named arrays and a table, in one .npz or .safetensors file, written completely or not at all."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base import limits, npz
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.files import read_bytes, write_file
from softfloat_ref.base.trees import parse_json
from softfloat_ref.nn.model_files.safetensors import read_header
from softfloat_ref.nn.runlog import from_json, to_json

OTHER_NETWORK: Final = "the checkpoint belongs to another network"
META: Final = "meta"  # of an .npz file: the table as JSON, in bytes

Arrays = dict[str, NDArray[Any]]


def save(path: str | Path, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Write a checkpoint; the file's suffix says which kind: .npz, or .safetensors (an extra). Raises Error.

    arrays: of numbers, by name. meta: numbers, text, lists and tables. The same arguments give the same bytes.
    """
    path = Path(path)
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":
            raise Error(f"{path}: {name} is an array of {array.dtype}; checkpoints hold numbers")
    text = json.dumps(to_json(meta), allow_nan=False)
    data = _kind(path)[0](dict(arrays), text, path)
    write_file(path, lambda stream: stream.write(data))


def load(path: str | Path) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the table of a checkpoint. Raises Error for any other or damaged file; never unpickles."""
    path = Path(path)
    arrays, text = _kind(path)[1](path)
    meta = parse_json(text, f"{path}: incomplete or damaged checkpoint: its metadata")
    if not isinstance(meta, dict):
        raise Error(f"{path}: not a checkpoint: its metadata is not a table")
    return arrays, from_json(meta)


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays whose names begin with the prefix, by the rest of their names."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def check_like(arrays: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """The arrays. Raises Error if one is not of the expected shape and type."""
    for name, array in arrays.items():
        if name not in expected or (array.shape, array.dtype) != (expected[name].shape, expected[name].dtype):
            raise Error(OTHER_NETWORK)
    return arrays


def _npz_bytes(arrays: Arrays, meta: str, path: Path) -> bytes:
    if META in arrays:
        raise Error(f"{path}: an array may not be called {META!r}")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:  # as numpy's savez, which takes no array called `file`
        for name, array in {**arrays, META: np.frombuffer(meta.encode(), np.uint8)}.items():
            entry = zipfile.ZipInfo(f"{name}.npy")  # of a fixed date
            with archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
    return stream.getvalue()


def _from_npz(path: Path) -> tuple[Arrays, bytes]:
    arrays = npz.load(path, kinds=npz.NUMBERS)
    if META not in arrays:
        raise Error(f"{path}: not a checkpoint: it has no array {META!r}")
    return arrays, arrays.pop(META).tobytes()


def _safetensors(path: Path) -> ModuleType:
    try:
        import safetensors.numpy
    except ImportError:
        raise Error(f"{path}: needs safetensors: pip install 'softfloat-ref[train]', or use .npz") from None
    module: ModuleType = safetensors.numpy  # whether mypy finds the package or not
    return module


def _safetensors_bytes(arrays: Arrays, meta: str, path: Path) -> bytes:
    whole = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    data: bytes = _safetensors(path).save(whole, metadata={META: meta})
    return data


def _from_safetensors(path: Path) -> tuple[Arrays, str]:
    library = _safetensors(path)
    table = read_header(path)[1].get("__metadata__") or {}
    import safetensors

    try:
        arrays: Arrays = library.load(read_bytes(path, limits.MODEL))
    except Error:
        raise
    except (safetensors.SafetensorError, ValueError, KeyError) as e:
        raise Error(f"{path}: incomplete or damaged safetensors file: {str(e)[:80]}") from None
    if META not in table:
        raise Error(f"{path}: not a checkpoint: its metadata has no {META!r}")
    return arrays, table[META]


_Kind = tuple[Callable[[Arrays, str, Path], bytes], Callable[[Path], tuple[Arrays, str | bytes]]]
KINDS: Final[dict[str, _Kind]] = {
    ".npz": (_npz_bytes, _from_npz),
    ".safetensors": (_safetensors_bytes, _from_safetensors),
}


def _kind(path: Path) -> _Kind:
    if path.suffix not in KINDS:
        raise unknown(f"kind of checkpoint {path.name!r}:", path.suffix, KINDS)
    return KINDS[path.suffix]
