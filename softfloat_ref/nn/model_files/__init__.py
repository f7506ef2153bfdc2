"""The tensors of a model's files: safetensors, .npz and .npy, ONNX, and PyTorch's state dicts. Nothing is unpickled."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, escaped, unknown
from softfloat_ref.base.files import open_file
from softfloat_ref.nn.model_files.tensors import ModelTensor

__all__ = ["KINDS", "ModelTensor", "tensors"]

# suffix: the module that reads such files
KINDS: Final = {
    ".safetensors": "safetensors",
    ".npz": "npz",
    ".npy": "npz",
    ".onnx": "onnx",
    ".pt": "pytorch",
    ".pth": "pytorch",
    ".bin": "pytorch",
    ".ckpt": "pytorch",
}


def tensors(path: str | Path) -> list[ModelTensor]:
    """The tensors of a file, in its order, each with its position: values are not read yet. Hidden characters of their
    names are escaped. Raises Error."""
    path = Path(path)
    if path.is_dir():
        raise Error(f"{path}: is a folder; give its files")
    if path.suffix not in KINDS:
        raise unknown(f"kind of model {path.name!r}:", path.suffix, KINDS)
    open_file(path).close()
    module: Any = importlib.import_module(f"{__name__}.{KINDS[path.suffix]}")
    listed: list[ModelTensor] = []
    try:
        for x in module.read(path.absolute()):
            listed.append(replace(x.check(), name=escaped(x.name)))
            if len(listed) > limits.TENSORS:
                raise Error(f"{path}: more than {limits.TENSORS} tensors")
            if len(x.name) > limits.KEY:
                raise Error(f"{path}: the name of tensor {len(listed)} has {len(x.name)} characters")
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from None
    if not listed:
        raise Error(f"{path}: has no tensors")
    return listed


def __dir__() -> list[str]:
    return sorted(__all__)
