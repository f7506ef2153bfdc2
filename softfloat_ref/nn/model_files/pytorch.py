"""Tensors of a PyTorch state dict, of a checkpoint that holds some, or of a TorchScript archive, without PyTorch.

The file is a zip archive: a pickle that describes the tensors, and their values. The pickle is not unpickled: see
`pickles`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from softfloat_ref.base import limits
from softfloat_ref.base.archives import archive, content, data_offset
from softfloat_ref.base.errors import Error, errors_of, escaped
from softfloat_ref.nn.model_files.pickles import Persistent, PickledCall, PickledName, key_text, load_pickle
from softfloat_ref.nn.model_files.tensors import ModelTensor, problem_of

_FP4_PAIRS: Final = "float4_e2m1fn_x2"
_INTEGERS: Final = {"Char": "i8", "Byte": "u8", "Short": "i16", "Int": "i32", "Long": "i64"}
_FORMATS: Final = {
    "DoubleStorage": "fp64",
    "FloatStorage": "fp32",
    "HalfStorage": "fp16",
    "BFloat16Storage": "bf16",
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e4m3fnuz": "fp8_e4m3fnuz",
    "float8_e5m2": "fp8_e5m2",
    "float8_e5m2fnuz": "fp8_e5m2fnuz",
    "float8_e8m0fnu": "e8m0",
    _FP4_PAIRS: "fp4_e2m1",
    **{f"{word}Storage": fmt for word, fmt in _INTEGERS.items()},
    **{f"{word}{bits}": f"{word[0]}{bits}" for word in ("int", "uint") for bits in (8, 16, 32, 64)},
}
_TENSORS: Final = ("torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor_v3")
_SCRIPTED: Final = "__torch__"  # of classes of TorchScript, whose state is a table
_PARAMETERS: Final = ("torch._utils _rebuild_parameter", "torch._utils _rebuild_parameter_with_state")
_SIZES: Final = {  # bytes of a value
    **dict.fromkeys(("DoubleStorage", "LongStorage", "ComplexFloatStorage"), 8),
    **dict.fromkeys(("FloatStorage", "IntStorage", "QInt32Storage"), 4),
    **dict.fromkeys(("HalfStorage", "BFloat16Storage", "ShortStorage"), 2),
    **dict.fromkeys(("CharStorage", "ByteStorage", "BoolStorage", "QInt8Storage", "QUInt8Storage"), 1),
    "ComplexDoubleStorage": 16,
    "UntypedStorage": 1,
}


def read(path: Path) -> Iterator[ModelTensor]:
    """The tensors, in the order of the state dict; names of tables in tables are joined by dots. Raises Error."""
    try:
        with errors_of(path), archive(path) as members:
            yield from _File(path, members).tensors()
    except (Error, OSError):
        raise
    except zipfile.BadZipFile:
        raise Error(
            f"{path}: not a zip archive as torch.save writes; save its state dict with a current PyTorch"
        ) from None
    except Exception as e:
        raise Error(f"{path}: not a readable PyTorch file: {str(e)[:80] or type(e).__name__}") from None


@dataclass
class _Walk:
    """The tensors of tables in tables. left: entries and characters that it may still see: parts that tables share are
    seen once for each way to them."""

    left: int = limits.VALUES

    def named(self, x: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, PickledCall]]:
        self._spend(1)
        if isinstance(x, PickledCall) and x.name in _PARAMETERS:
            x = x.arguments[0]
        if isinstance(x, PickledCall) and x.name in _TENSORS:
            yield name or "tensor", x
        elif isinstance(x, PickledCall) and x.name.startswith(_SCRIPTED) and isinstance(x.state, dict):
            yield from self.named(x.state, name, depth)
        elif isinstance(x, (dict, list, tuple)) and x:
            if depth == limits.TABLES:
                raise Error(f"tables nested more than {limits.TABLES} deep")
            self._spend(len(x))
            for key, value in x.items() if isinstance(x, dict) else enumerate(x):
                if isinstance(value, (PickledCall, dict, list, tuple)):
                    inner = f"{name}.{key_text(key)}" if name else key_text(key)
                    self._spend(len(inner))
                    yield from self.named(value, inner, depth + 1)

    def _spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise Error(f"tables of more than {limits.VALUES} entries and characters of names")


@dataclass
class _File:
    """An archive. folder: of its members; order: of the bytes. copied: bytes of tensors that are not in one piece."""

    path: Path
    archive: zipfile.ZipFile
    folder: str = ""
    order: str = "<"
    copied: int = field(default=0, init=False)

    def tensors(self) -> Iterator[ModelTensor]:
        """The tensors that the pickle names."""
        names = self.archive.namelist()
        heads = [n for n in names if n.endswith("data.pkl") and n.count("/") <= 1]
        if len(heads) != 1:
            raise Error("a zip archive without data.pkl: not written by torch.save")
        head = self.archive.getinfo(heads[0])
        if head.compress_type != zipfile.ZIP_STORED:
            raise Error("a compressed archive: not written by torch.save")
        self.folder = heads[0].removesuffix("data.pkl")
        if f"{self.folder}byteorder" in names:
            order = content(self.archive, self.archive.getinfo(f"{self.folder}byteorder"), 16)
            self.order = ">" if order.strip() == b"big" else "<"
        number = 0
        for number, (name, call) in enumerate(
            _Walk().named(load_pickle(content(self.archive, head, limits.PICKLE))), 1
        ):
            if number > limits.TENSORS:
                raise Error(f"more than {limits.TENSORS} tensors")
            yield self._tensor(name, call)
        if not number:
            raise Error("holds no tensors by name; save a state dict: torch.save(model.state_dict(), ...)")

    def _tensor(self, name: str, call: PickledCall) -> ModelTensor:
        storage, first, shape, strides = call.arguments[:4]
        problem = problem_of(shape) or problem_of(strides)
        if not problem and (type(first) is not int or len(strides) != len(shape)):
            problem = "a shape, strides and a position that do not fit together"
        last = first + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if not problem else 0
        if not problem and last + 1 - first < prod(shape):
            problem = f"a view with strides {tuple(strides)}, in which values repeat"
        word, entry = self._storage(name, storage)
        if call.name == _TENSORS[1]:
            word = _word(call.arguments[6])
        fmt = _FORMATS.get(word, "")
        kind = escaped(word.removesuffix("Storage").lower()[:40]) or "?"
        described = ModelTensor(name, tuple(shape) if not problem_of(shape) else (), kind, fmt, problem=problem)
        if described.problem or not fmt or not described.size:
            return described
        if first < 0 or (last + 1) * described.itemsize > entry.file_size or entry.compress_type != zipfile.ZIP_STORED:
            raise Error(f"the values of {_quoted(name)} are not in the file")
        start = data_offset(self.archive, entry) + first * described.itemsize
        place = ModelTensor(name, described.shape, described.type, fmt, str(self.path), start, self.order)
        if word == _FP4_PAIRS:
            return _pairs(place, _is_contiguous(shape, strides))
        return place if _is_contiguous(shape, strides) else self._copied(place, last + 1 - first, strides)

    def _storage(self, name: str, storage: Any) -> tuple[str, zipfile.ZipInfo]:
        """The type of a storage, and the member with its values. Raises Error if the member has fewer than it says."""
        identifier = storage.identifier if isinstance(storage, Persistent) else ()
        if not isinstance(identifier, tuple) or len(identifier) < 5 or not isinstance(identifier[2], str):
            raise Error(f"{_quoted(name)} has no storage")
        word, key, count = _word(identifier[1]), identifier[2], identifier[4]
        entry = self.archive.getinfo(f"{self.folder}data/{key}")
        if type(count) is not int or not 0 <= count < 1 << 62:
            raise Error(f"the storage of {_quoted(name)} has no valid number of values")
        if count * _SIZES.get(word, 0) > entry.file_size:
            raise Error(f"the storage of {_quoted(name)} claims {count} values, but has {entry.file_size} bytes")
        return word, entry

    def _copied(self, place: ModelTensor, size: int, strides: tuple[int, ...]) -> ModelTensor:
        """A tensor whose values lie apart from each other, with its values."""
        flat = ModelTensor(place.name, (size,), place.type, place.fmt, place.path, place.offset, place.order).check()
        self.copied += 2 * size * flat.itemsize
        if self.copied > max(limits.UNPACKED, limits.EXPANSION * self.path.stat().st_size):
            raise Error(f"tensors that share values, of {self.copied} bytes; save contiguous ones")
        values = flat.codes(0, size)
        view = np.lib.stride_tricks.as_strided(
            values, place.shape, [s * values.itemsize for s in strides], writeable=False
        )
        return ModelTensor(place.name, place.shape, place.type, place.fmt, data=np.ascontiguousarray(view))


def _pairs(place: ModelTensor, contiguous: bool) -> ModelTensor:
    """A tensor of bytes that have two codes each."""
    if not contiguous or not place.shape:
        return replace(place, fmt="", problem="a view of pairs of codes; save a contiguous tensor")
    return replace(place, shape=(*place.shape[:-1], 2 * place.shape[-1]), packing="low-first")


def _word(x: Any) -> str:
    """The last word of a class's name."""
    return x.name.rpartition(" ")[2] if isinstance(x, PickledName) else ""


def _quoted(name: str) -> str:
    return f"'{escaped(name[:80])}'"


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the values are in C order, one after the other."""
    step = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n > 1 and stride != step:
            return False
        step *= n
    return True
