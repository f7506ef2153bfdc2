"""Tensors of a safetensors file: its package checks the header, which gives the positions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import open_file
from softfloat_ref.base.trees import parse_json
from softfloat_ref.nn.model_files.tensors import ModelTensor, require_package

FORMATS: Final = {
    "F64": "fp64",
    "F32": "fp32",
    "F16": "fp16",
    "BF16": "bf16",
    "F8_E4M3": "fp8_e4m3",
    "F8_E5M2": "fp8_e5m2",
    "F8_E4M3FNUZ": "fp8_e4m3fnuz",
    "F8_E5M2FNUZ": "fp8_e5m2fnuz",
    "F8_E8M0": "e8m0",
    "F6_E3M2": "fp6_e3m2",
    "F6_E2M3": "fp6_e2m3",
    "F4": "fp4_e2m1",
    **{f"{kind}{bits}": f"{kind.lower()}{bits}" for kind in "IU" for bits in (8, 16, 32, 64)},
}
_SWIZZLED: Final = '"is_swizzled_scales": true'
_PACKED: Final = {"F4": "low-first", "F6_E2M3": "dense", "F6_E3M2": "dense"}


def read_header(path: Path) -> tuple[int, dict[str, Any]]:
    """The length of a file's header, and the header. Raises Error."""
    where = f"{path}: incomplete or damaged safetensors file"
    with open_file(path) as stream:
        size = int.from_bytes(stream.read(8), "little")
        if size > limits.TENSOR_HEADER:
            raise Error(f"{where}: a header of {size} bytes; the limit is {limits.TENSOR_HEADER}")
        header = parse_json(stream.read(size), where)
    if not isinstance(header, dict):
        raise Error(f"{where}: its header is not a table")
    return size, header


def read(path: Path) -> Iterator[ModelTensor]:
    """The tensors, in the order of the file. Raises Error."""
    library = require_package("safetensors", path)
    try:
        size, header = read_header(path)
        with library.safe_open(path, "numpy"):  # which checks it
            pass
    except Error:
        raise
    except (library.SafetensorError, ValueError, RecursionError, KeyError) as e:
        raise Error(f"{path}: incomplete or damaged safetensors file: {str(e)[:80]}") from None
    swizzled = _swizzled(header.pop("__metadata__", None))
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        kind, shape = entry["dtype"], tuple(entry["shape"])
        start, packed = 8 + size + entry["data_offsets"][0], _PACKED.get(kind, "")
        fmt, tiled = FORMATS.get(kind, ""), name in swizzled
        yield ModelTensor(name, shape, kind, fmt, str(path), start, packing=packed, swizzled=tiled)


def _swizzled(metadata: Any) -> set[str]:
    """The names of the scales that torchao says are in the order of NVIDIA's tiles."""
    entries = metadata.items() if isinstance(metadata, dict) else ()
    words = {str(k).rpartition(".") for k, v in entries if isinstance(v, str) and _SWIZZLED in v}
    return {f"{module}{dot}_{name}_scale" for module, dot, name in words}
