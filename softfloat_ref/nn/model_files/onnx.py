"""Initializers of an ONNX model; external data stay where they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from softfloat_ref.arrays import exchange
from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, escaped
from softfloat_ref.base.files import read_bytes
from softfloat_ref.nn.model_files.tensors import ModelTensor, problem_of, require_package

_FORMATS: Final = {
    "DOUBLE": "fp64",
    "FLOAT": "fp32",
    "FLOAT16": "fp16",
    "BFLOAT16": "bf16",
    "FLOAT8E4M3FN": "fp8_e4m3",
    "FLOAT8E4M3FNUZ": "fp8_e4m3fnuz",
    "FLOAT8E5M2": "fp8_e5m2",
    "FLOAT8E5M2FNUZ": "fp8_e5m2fnuz",
}


def read(path: Path) -> Iterator[ModelTensor]:
    """The initializers of the model's graph, in their order. Raises Error."""
    library = require_package("onnx", path)
    try:
        model = library.load_model_from_string(read_bytes(path, limits.MODEL))
    except (Error, OSError):
        raise
    except Exception as e:  # protobuf raises its own errors
        raise Error(f"{path}: not a readable ONNX model: {str(e).splitlines()[0][:80] if str(e) else ''}") from None
    for tensor in model.graph.initializer:
        yield _tensor(library, path, tensor)


def _tensor(library: Any, path: Path, tensor: Any) -> ModelTensor:
    types = library.TensorProto.DataType
    kind = types.Name(tensor.data_type) if tensor.data_type in types.values() else f"type {tensor.data_type}"
    name, shape, fmt = str(tensor.name), tuple(int(n) for n in tensor.dims), _FORMATS.get(kind, "")
    described = ModelTensor(name, shape, kind, fmt, problem=problem_of(shape))
    if described.skipped:
        return described
    if tensor.data_location == library.TensorProto.EXTERNAL:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        return ModelTensor(name, shape, kind, fmt, *_place(path, name, entries, described))
    try:
        array = library.numpy_helper.to_array(tensor)
        return ModelTensor(
            name, shape, kind, fmt, data=exchange.from_ml_dtypes(array)[0].reshape(shape).view(_dtype(array))
        )
    except Exception as e:
        raise Error(f"{path}: the values of '{escaped(name)}' do not fit its type and shape: {str(e)[:80]}") from None


def _dtype(array: Any) -> Any:
    """numpy's own floats keep their type; others are codes."""
    return array.dtype if array.dtype.kind == "f" and array.dtype.name.startswith("float") else f"u{array.itemsize}"


def _place(path: Path, name: str, entries: dict[str, str], described: ModelTensor) -> tuple[str, int]:
    """The file and the position of external data. Raises Error for a file outside the model's folder."""
    where = f"{path}: external data of '{escaped(name)}'"
    try:
        offset, length = (
            int(entries.get("offset", "0")),
            int(entries.get("length", str(described.size * described.itemsize))),
        )
    except ValueError:
        raise Error(f"{where}: offset and length are not numbers") from None
    folder, file = path.parent.resolve(), (path.parent / entries.get("location", "")).resolve()
    if not file.is_relative_to(folder) or not file.is_file():
        raise Error(f"{where}: {entries.get('location', '')!r} is not a file in the model's folder")
    if offset < 0 or length != described.size * described.itemsize:
        raise Error(f"{where}: {length} bytes do not fit shape {described.shape} of {described.type}")
    return str(file), offset
