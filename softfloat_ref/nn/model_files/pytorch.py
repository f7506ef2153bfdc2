"""Tensors of a PyTorch state dict, or of a checkpoint that holds some, without PyTorch.

The file is a zip archive: a pickle that describes the tensors, and their values. The pickle is not unpickled: its
instructions are read as data, by a reader that knows those of tables, lists, numbers and tensors, calls nothing and
imports nothing.
"""

from __future__ import annotations

import pickletools
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any, Final, cast

import numpy as np

from softfloat_ref.base import npz
from softfloat_ref.base.errors import Error
from softfloat_ref.nn.model_files.tensors import MAX_TENSORS, Tensor, problem_of

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
}
_TENSORS: Final = ("torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor_v3")
_PARAMETERS: Final = ("torch._utils _rebuild_parameter", "torch._utils _rebuild_parameter_with_state")
_TABLE: Final = "collections OrderedDict"
_MARK: Final = object()
_DEPTH: Final = 20  # of tables in tables


@dataclass(frozen=True)
class _Name:
    """A function or a class that the pickle names: 'module name'."""

    name: str


@dataclass(frozen=True)
class _Call:
    """A call that the pickle asks for, or an object of another kind; nothing is called."""

    name: str
    arguments: Any


@dataclass(frozen=True)
class _Storage:
    """What a persistent id stands for."""

    identifier: Any


def read(path: Path) -> Iterator[Tensor]:
    """The tensors, in the order of the state dict; names of tables in tables are joined by dots. Raises Error."""
    try:
        with zipfile.ZipFile(path) as archive, open(path, "rb") as stream:
            yield from _tensors(path, archive, stream)
    except (Error, OSError):
        raise
    except zipfile.BadZipFile:
        raise Error(
            f"{path}: not a zip archive as torch.save writes; save its state dict with a current PyTorch"
        ) from None
    except Exception as e:
        raise Error(f"{path}: not a readable PyTorch file: {str(e)[:80] or type(e).__name__}") from None


def _tensors(path: Path, archive: zipfile.ZipFile, stream: IO[bytes]) -> Iterator[Tensor]:
    heads = [n for n in archive.namelist() if n.endswith("data.pkl") and n.count("/") <= 1]
    if len(heads) != 1:
        raise Error(f"{path}: a zip archive without data.pkl: not written by torch.save")
    if archive.getinfo(heads[0]).compress_type != zipfile.ZIP_STORED:
        raise Error(f"{path}: a compressed archive: not written by torch.save")
    folder = heads[0].removesuffix("data.pkl")
    order = archive.read(f"{folder}byteorder").strip() if f"{folder}byteorder" in archive.namelist() else b"little"
    found = False
    for number, (name, call) in enumerate(_named(_load(archive.read(heads[0])), "", 0)):
        if number >= MAX_TENSORS:
            raise Error(f"{path}: more than {MAX_TENSORS} tensors")
        found = True
        yield _tensor(path, archive, stream, folder, name, call, ">" if order == b"big" else "<")
    if not found:
        raise Error(f"{path}: holds no tensors by name; save a state dict: torch.save(model.state_dict(), ...)")


def _named(x: Any, name: str, depth: int) -> Iterator[tuple[str, _Call]]:
    """The tensors of tables in tables."""
    if isinstance(x, _Call) and x.name in _PARAMETERS:
        x = x.arguments[0]
    if isinstance(x, _Call) and x.name in _TENSORS:
        yield name or "tensor", x
    elif isinstance(x, (dict, list, tuple)) and depth < _DEPTH:
        for key, value in x.items() if isinstance(x, dict) else enumerate(x):
            yield from _named(value, f"{name}.{key}" if name else str(key), depth + 1)


def _tensor(
    path: Path, archive: zipfile.ZipFile, stream: IO[bytes], folder: str, name: str, call: _Call, order: str
) -> Tensor:
    storage, first, shape, strides = call.arguments[:4]
    kind, key = storage.identifier[1:3]
    word = kind.name.rpartition(" ")[2]
    if call.name == _TENSORS[1]:
        word = call.arguments[6].name.rpartition(" ")[2]
    fmt, problem = _FORMATS.get(word, ""), problem_of(shape) or problem_of(strides)
    last = first + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if not problem else 0
    if not problem and last + 1 - first < prod(shape):
        problem = f"a view with strides {tuple(strides)}, in which values repeat"
    found = Tensor(name, tuple(shape), word.removesuffix("Storage").lower() or "?", fmt, problem=problem)
    if found.skipped:
        return found
    entry = archive.getinfo(f"{folder}data/{key}")
    if first < 0 or (last + 1) * found.itemsize > entry.file_size or entry.compress_type != zipfile.ZIP_STORED:
        raise Error(f"{path}: the values of {name!r} are not in the file")
    start = npz.data_offset(stream, entry) + first * found.itemsize
    place = Tensor(name, found.shape, found.type, fmt, str(path), start, order)
    if _is_contiguous(shape, strides):
        return place
    flat = Tensor(name, (last + 1 - first,), found.type, fmt, str(path), start, order).check()
    values = flat.read(0, flat.size)
    view = np.lib.stride_tricks.as_strided(values, shape, [s * values.itemsize for s in strides], writeable=False)
    kept = {"float64": "fp64", "float32": "fp32", "float16": "fp16"}[values.dtype.name]
    return Tensor(name, found.shape, found.type, kept, data=np.ascontiguousarray(view))


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the values are in C order, one after the other."""
    step = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n > 1 and stride != step:
            return False
        step *= n
    return True


# -- the pickle --------------------------------------------------------------------------------------------------------


def _load(data: bytes) -> Any:
    """What a pickle describes: tables, lists, tuples, numbers, text and calls. Raises what broken input causes."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    for opcode, given, _ in pickletools.genops(data):
        name, argument = opcode.name, cast(Any, given)
        if name == "STOP":
            return stack[-1]
        if name in ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"):
            memo[len(memo) if name == "MEMOIZE" else argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(memo[argument])
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name in _STEPS:
            _STEPS[name](stack)
        elif name == "GLOBAL":
            stack.append(_Name(argument))
        elif argument is not None and name not in ("PROTO", "FRAME"):
            stack.append(argument)  # a number or a text
        elif name not in ("PROTO", "FRAME"):
            raise ValueError(f"an instruction {name}, which state dicts do not have")
    raise ValueError("ends before its last instruction")


def _marked(stack: list[Any]) -> list[Any]:
    """The items above the last mark, taken off the stack with it."""
    place = max(i for i, x in enumerate(stack) if x is _MARK)
    found = stack[place + 1 :]
    del stack[place:]
    return found


def _set(table: Any, pairs: list[Any]) -> None:
    if isinstance(table, dict):
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            table[key if isinstance(key, (str, int, float, bool)) else str(key)[:80]] = value


def _extend(target: Any, items: list[Any]) -> None:
    if isinstance(target, list):
        target.extend(items)


def _call(stack: list[Any]) -> None:
    arguments, function = stack.pop(), stack.pop()
    name = function.name if isinstance(function, _Name) else "?"
    if name == _TABLE:
        stack.append(dict(arguments[0]) if arguments else {})
    else:
        stack.append(_Call(name, arguments))


def _build(stack: list[Any]) -> None:
    """The state of an object; that of a table is only its metadata."""
    stack.pop()


def _global(stack: list[Any]) -> None:
    name, module = stack.pop(), stack.pop()
    stack.append(_Name(f"{module} {name}"))


def _setitem(stack: list[Any]) -> None:
    value, key = stack.pop(), stack.pop()
    _set(stack[-1], [key, value])


def _last(count: int) -> Any:
    def step(stack: list[Any]) -> None:
        items = tuple(stack[len(stack) - count :])
        del stack[len(stack) - count :]
        stack.append(items)

    return step


def _append(stack: list[Any]) -> None:
    item = stack.pop()
    _extend(stack[-1], [item])


def _setitems(stack: list[Any]) -> None:
    pairs = _marked(stack)
    _set(stack[-1], pairs)


def _appends(stack: list[Any]) -> None:
    items = _marked(stack)
    _extend(stack[-1], items)


_CONSTANTS: Final[dict[str, Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": list,
    "MARK": lambda: _MARK,
}
_STEPS: Final[dict[str, Any]] = {
    "TUPLE": lambda stack: stack.append(tuple(_marked(stack))),
    "LIST": lambda stack: stack.append(_marked(stack)),
    "TUPLE1": _last(1),
    "TUPLE2": _last(2),
    "TUPLE3": _last(3),
    "APPEND": _append,
    "APPENDS": _appends,
    "ADDITEMS": _appends,
    "SETITEM": _setitem,
    "SETITEMS": _setitems,
    "POP": lambda stack: stack.pop(),
    "REDUCE": _call,
    "NEWOBJ": _call,
    "BUILD": _build,
    "STACK_GLOBAL": _global,
    "BINPERSID": lambda stack: stack.append(_Storage(stack.pop())),
}
