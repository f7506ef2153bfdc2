"""What a pickle describes, without running any of it: the standard library's unpickler, restricted.

Nothing is imported or called: a function or a class is only its name, an object the call that would make it. Keys of
tables are plain, since the hash of nested tuples that share their parts takes time without end; instructions are
counted.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error

_ORDERED_DICT: Final = "collections OrderedDict"
_MAX_KEY_PARTS: Final = 8  # of a tuple
_MAX_KEY_BITS: Final = 256


@dataclass(frozen=True, eq=False)
class PickledName:
    """A function or a class that the pickle names: 'module name'."""

    name: str


@dataclass(eq=False)
class PickledCall:
    """A call that the pickle asks for, or an object of another kind; nothing is called. state: what it is given."""

    name: str
    arguments: Any
    state: Any = None


@dataclass(frozen=True, eq=False)
class Persistent:
    """What a persistent id stands for."""

    identifier: Any


def load_pickle(data: bytes) -> Any:
    """The tables, lists, tuples, numbers, texts and calls of a pickle. Raises Error, and what broken input causes."""
    return _Reader(io.BytesIO(data), encoding="latin-1").load()


def key_text(key: Any) -> str:
    """The key of a table in the name of a tensor."""
    return key.name if isinstance(key, (PickledName, PickledCall)) else str(key)


Instruction = Callable[[Any], None]


class _Instructions(dict[int, Instruction]):
    """The instructions, counted."""

    left = limits.INSTRUCTIONS

    def __getitem__(self, code: int) -> Instruction:
        self.spend(1)
        return super().__getitem__(code)

    def __missing__(self, code: int) -> NoReturn:
        name = next((x.name for x in pickletools.opcodes if x.code == chr(code)), hex(code))
        raise Error(f"an instruction {name}, which state dicts do not have")

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise Error(f"a pickle of more than {limits.INSTRUCTIONS} instructions")


class _Reader(pickle._Unpickler):
    """The library's reader in Python, since the one in C allocates what a pickle asks for."""

    def __init__(self, file: io.BytesIO, **options: Any) -> None:
        super().__init__(file, **options)
        self.dispatch: _Instructions = _Instructions(_INSTRUCTIONS)  # type: ignore[misc]

    def find_class(self, module: str, name: str) -> Any:
        return PickledName(f"{module} {name}")

    def persistent_load(self, pid: Any) -> Any:
        return Persistent(pid)


def _set(table: Any, pairs: Iterable[tuple[Any, Any]]) -> None:
    """Put entries into a table; those of other objects are dropped."""
    for key, value in pairs:
        if not _is_plain(key) and not (type(key) is tuple and len(key) <= _MAX_KEY_PARTS and all(map(_is_plain, key))):
            raise Error(f"a table whose keys are of type {type(key).__name__}, or long")
        if type(table) is dict:
            table[key] = value


def _is_plain(key: Any) -> bool:
    if isinstance(key, int):
        return key.bit_length() <= _MAX_KEY_BITS  # also a truth value
    if isinstance(key, (str, bytes)):
        return len(key) <= limits.KEY
    return key is None or isinstance(key, (float, PickledName, PickledCall))


def _pairs(items: list[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(items[::2], items[1::2], strict=True)


def _setitem(reader: Any) -> None:
    value, key = reader.stack.pop(), reader.stack.pop()
    _set(reader.stack[-1], [(key, value)])


def _setitems(reader: Any) -> None:
    pairs = _pairs(reader.pop_mark())
    _set(reader.stack[-1], pairs)


def _dict(reader: Any) -> None:
    pairs = _pairs(reader.pop_mark())
    reader.append({})
    _set(reader.stack[-1], pairs)


def _append(reader: Any) -> None:
    item = reader.stack.pop()
    if type(reader.stack[-1]) is list:
        reader.stack[-1].append(item)


def _extend(reader: Any) -> None:
    items = reader.pop_mark()
    if type(reader.stack[-1]) is list:
        reader.stack[-1].extend(items)


def _call(reader: Any) -> None:
    arguments, function = reader.stack.pop(), reader.stack.pop()
    name = function.name if isinstance(function, PickledName) else "?"
    if name != _ORDERED_DICT:
        reader.append(PickledCall(name, arguments))
        return
    reader.append({})
    if arguments:  # of Python 2: a list of lists of two
        reader.dispatch.spend(len(arguments[0]))
        _set(reader.stack[-1], ((key, value) for key, value in arguments[0]))


def _call_with_keywords(reader: Any) -> None:
    reader.stack.pop()
    _call(reader)


def _build(reader: Any) -> None:
    """The state of an object; that of a table is only its metadata."""
    state = reader.stack.pop()
    if isinstance(reader.stack[-1], PickledCall):
        reader.stack[-1].state = state


def _bytearray(reader: Any) -> None:
    reader.append(reader.read(min(int.from_bytes(reader.read(8), "little"), limits.PICKLE)))


_UNCHANGED: Final = (
    *(pickle.PROTO, pickle.FRAME, pickle.STOP, pickle.MARK, pickle.POP, pickle.POP_MARK, pickle.DUP),
    *(pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE, pickle.INT, pickle.BININT, pickle.BININT1, pickle.BININT2),
    *(pickle.LONG, pickle.LONG1, pickle.LONG4, pickle.FLOAT, pickle.BINFLOAT),
    *(pickle.STRING, pickle.BINSTRING, pickle.SHORT_BINSTRING, pickle.UNICODE, pickle.BINUNICODE),
    *(pickle.SHORT_BINUNICODE, pickle.BINUNICODE8, pickle.BINBYTES, pickle.SHORT_BINBYTES, pickle.BINBYTES8),
    *(pickle.TUPLE, pickle.EMPTY_TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3),
    *(pickle.EMPTY_LIST, pickle.LIST, pickle.EMPTY_DICT, pickle.GLOBAL, pickle.STACK_GLOBAL),
    *(pickle.PERSID, pickle.BINPERSID, pickle.MEMOIZE, pickle.PUT, pickle.BINPUT, pickle.LONG_BINPUT),
    *(pickle.GET, pickle.BINGET, pickle.LONG_BINGET),
)
_LIBRARY_INSTRUCTIONS: Final[dict[int, Any]] = dict(pickle._Unpickler.dispatch)
_INSTRUCTIONS: Final[dict[int, Instruction]] = {code[0]: _LIBRARY_INSTRUCTIONS[code[0]] for code in _UNCHANGED} | {
    pickle.SETITEM[0]: _setitem,
    pickle.SETITEMS[0]: _setitems,
    pickle.DICT[0]: _dict,
    pickle.APPEND[0]: _append,
    pickle.APPENDS[0]: _extend,
    pickle.EMPTY_SET[0]: _LIBRARY_INSTRUCTIONS[pickle.EMPTY_LIST[0]],
    pickle.FROZENSET[0]: _LIBRARY_INSTRUCTIONS[pickle.LIST[0]],
    pickle.ADDITEMS[0]: _extend,
    pickle.REDUCE[0]: _call,
    pickle.NEWOBJ[0]: _call,
    pickle.NEWOBJ_EX[0]: _call_with_keywords,
    pickle.BUILD[0]: _build,
    pickle.BYTEARRAY8[0]: _bytearray,
}
