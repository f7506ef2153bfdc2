"""State dicts in the form of torch.save, without PyTorch."""

from __future__ import annotations

import io
import pickle
import sys
import types
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

STORAGES = {"float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "int64": "LongStorage"}


class Tensor:
    """A tensor as PyTorch pickles it: a view of a storage."""

    def __init__(self, array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], first: int = 0) -> None:
        self.array, self.arguments = array, (first, shape, strides, False, OrderedDict())

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        storage = _Storage(self.array)
        return sys.modules["torch._utils"]._rebuild_tensor_v2, (storage, *self.arguments)


class _Storage:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array


def whole(array: np.ndarray) -> Tensor:
    """A contiguous array."""
    strides = tuple(n // array.itemsize for n in array.strides)
    return Tensor(array, array.shape, strides)


def save(path: Path, state: Any, monkeypatch: Any, compression: int = zipfile.ZIP_STORED) -> None:
    """Write a file; names that PyTorch's own would have."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in STORAGES.values():
        setattr(torch, name, type(name, (), {"__module__": "torch", "__qualname__": name}))
    exec("def _rebuild_tensor_v2(*arguments): raise AssertionError('called')", vars(utils))
    arrays: list[np.ndarray] = []
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "torch", torch)
        patch.setitem(sys.modules, "torch._utils", utils)
        stream = io.BytesIO()

        class Pickler(pickle.Pickler):
            def persistent_id(self, x: object) -> Any:
                if not isinstance(x, _Storage):
                    return None
                arrays.append(x.array)
                kind = getattr(torch, STORAGES[x.array.dtype.name])
                return "storage", kind, str(len(arrays) - 1), "cpu", x.array.size

        Pickler(stream, 2).dump(state)
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("m/data.pkl", stream.getvalue())
        archive.writestr("m/byteorder", "little")
        for i, array in enumerate(arrays):
            archive.writestr(f"m/data/{i}", array.tobytes())
