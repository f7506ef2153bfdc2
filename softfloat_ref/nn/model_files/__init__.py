"""The tensors of models' files: safetensors, GGUF, ONNX, Flax, .npz and .npy, PyTorch's state dicts and TorchScript,
whole or in shards. Quantized weights are joined with their scales. Nothing is unpickled."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, escaped, unknown
from softfloat_ref.base.files import open_file
from softfloat_ref.nn.model_files.folders import INDEX, files_of
from softfloat_ref.nn.model_files.layouts import layout_table
from softfloat_ref.nn.model_files.quantized import QuantizedTensor
from softfloat_ref.nn.model_files.recognition import weights
from softfloat_ref.nn.model_files.stored import StoredFormats
from softfloat_ref.nn.model_files.tensors import ModelTensor

__all__ = ["KINDS", "ModelTensor", "QuantizedTensor", "model_tensors", "tensors"]

# suffix: the module that reads such files
KINDS: Final = {
    ".safetensors": "safetensors",
    ".gguf": "gguf",
    ".npz": "npz",
    ".npy": "npz",
    ".onnx": "onnx",
    ".msgpack": "flax",
    ".pt": "pytorch",
    ".pth": "pytorch",
    ".bin": "pytorch",
    ".ckpt": "pytorch",
}


def tensors(path: str | Path, layouts: Sequence[str | Path] = (), stored: Sequence[str] = ()) -> list[ModelTensor]:
    """`model_tensors` of one file or folder."""
    return model_tensors([path], layouts, stored)


def model_tensors(
    paths: Sequence[str | Path], layouts: Sequence[str | Path] = (), stored: Sequence[str] = ()
) -> list[ModelTensor]:
    """The tensors of a model in one or several files, folders or index files, in their order: values are not read yet.
    Where two files have one of the same name, every name begins with its file.

    layouts: TOML files with rows of a user's own. stored: FORMAT or PATTERN=FORMAT of tensors that a file has as bytes
    without a type. Raises Error."""
    table, formats = layout_table(layouts), StoredFormats.parsed(stored)
    listed = [(x, [formats.named(t) for t in _members(x)]) for x in paths]
    if sum(len(of) for _, of in listed) > limits.TENSORS:
        raise Error(f"{', '.join(map(str, paths))}: more than {limits.TENSORS} tensors")
    formats.check_used()
    names = [t.name for _, of in listed for t in of]
    if len(set(names)) == len(names):
        return weights([t for _, of in listed for t in of], table)
    return [replace(t, name=f"{path}:{t.name}") for path, of in listed for t in weights(of, table)]


def _members(path: str | Path) -> list[ModelTensor]:
    """The tensors of a file, or of all shards. Raises Error."""
    model = files_of(path, KINDS)
    members = [t for file in model.files for t in _listed(file)]
    model.check({t.name for t in members})
    return members


def _listed(path: Path) -> Iterator[ModelTensor]:
    """The tensors of a file, hidden characters of their names escaped. Raises Error."""
    if path.suffix not in KINDS:
        raise unknown(f"kind of model {path.name!r}:", path.suffix, [*KINDS, f"a folder, or its {INDEX}"])
    open_file(path).close()
    module: Any = importlib.import_module(f"{__name__}.{KINDS[path.suffix]}")
    number = 0
    try:
        for number, x in enumerate(module.read(path.absolute()), 1):
            yield replace(x.check(), name=escaped(x.name))
            if number > limits.TENSORS:
                raise Error(f"{path}: more than {limits.TENSORS} tensors")
            if len(x.name) > limits.KEY:
                raise Error(f"{path}: the name of tensor {number} has {len(x.name)} characters")
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from None
    if not number:
        raise Error(f"{path}: has no tensors")


def __dir__() -> list[str]:
    return sorted(__all__)
