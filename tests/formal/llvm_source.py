"""Functions that Numba compiles, as LLVM has them: instructions by blocks, parsed by llvmlite.

Each is compiled anew, since Numba keeps no readable form of what it loads from its cache.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from llvmlite import binding
from numba import njit, typeof

from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import FALSE, TRUE, const

from .llvm_integers import BINARY, DIVISIONS, Bits

WORD: Final = 64  # bits of a pointer


class Pointer(NamedTuple):
    """A place in an array, in bytes from its beginning; array None: no place, poison included."""

    array: int | None
    at: Any  # a Term


NULL: Final = Pointer(None, const(0, WORD))


class Local(NamedTuple):
    """An argument or an instruction of the function, as an operand."""

    number: int


class Label(NamedTuple):
    """A block, as an operand."""

    block: int


class Global(NamedTuple):
    """A function or a variable of the module, as an operand."""

    name: str


class Instruction(NamedTuple):
    """One of a block. flags: the promises in its text. blocks: of a phi, where each operand comes from. promised: what
    its metadata say of its result, from the first number to below the second; None if that is not known."""

    number: int
    op: str
    type: str
    operands: tuple[Any, ...]
    text: str
    flags: frozenset[str]
    blocks: tuple[int, ...] = ()
    promised: tuple[int, int] | None = None


class Function(NamedTuple):
    """A function. arguments: their numbers; order: the blocks' places in a reverse postorder; promised: of its result,
    as of an instruction's."""

    name: str
    arguments: tuple[int, ...]
    blocks: tuple[tuple[Instruction, ...], ...]
    order: Mapping[int, int]
    promised: tuple[int, int] | None = None


class Table(NamedTuple):
    """A constant array. align: its address is a multiple of so many bytes."""

    elements: tuple[Bits, ...]
    align: int


class Module(NamedTuple):
    """The functions that are defined, by name. main: the one that was asked for; tables: constant arrays of integers;
    variables: the widths of those that are integers; types: of structures of one integer."""

    functions: Mapping[str, Function]
    main: str
    tables: Mapping[str, Table] = {}
    variables: Mapping[str, int] = {}
    types: Mapping[str, str] = {}


_FLAGS: Final = frozenset(("nuw", "nsw", "exact", "disjoint", "nneg", "samesign"))
_FLAGGED: Final = BINARY | DIVISIONS | {"zext", "sext", "trunc", "sitofp", "uitofp"}
_RANGES: Final = re.compile(r"^!(\d+) = !\{i\d+ (-?\d+), i\d+ (-?\d+)\}$", re.M)
RANGE: Final = re.compile(r"\brange\(i\d+ (-?\d+), (-?\d+)\)")
_PROMISE: Final = re.compile(r", !range !(\d+)")
_NAME: Final = re.compile(r'@(?:"([^"]*)"|([\w.$-]+))\(')
_TABLE: Final = re.compile(
    r"= (?:internal |private )?(?:dso_local )?(?:(?:local_)?unnamed_addr )?constant "
    r"\[(\d+) x i\d+\] (?:c\"(.*)\"|\[((?:i\d+ -?\d+(?:, )?)+)\])(?:, align (\d+))?$"
)
_STRUCTURE: Final = re.compile(r"^(%[\w.]+) = type \{ (i\d+) \}$", re.M)
_VARIABLE: Final = re.compile(
    r"= (?:internal )?(?:dso_local )?(?:local_unnamed_addr )?global i(\d+) -?\d+(?:, align \d+)?$"
)


@lru_cache(maxsize=64)
def module(kernel: Any, signature: tuple[Any, ...]) -> Module:
    """The functions into which Numba compiles one. signature: the types of its arguments."""
    options = {k: v for k, v in kernel.targetoptions.items() if k not in ("cache", "nopython")}
    fresh = njit(**options)(kernel.py_func)
    fresh.compile(signature)
    compiled = fresh.overloads[fresh.signatures[0]]
    return parsed(compiled.library.get_llvm_str(), compiled.fndesc.llvm_func_name)


def parsed(text: str, main: str) -> Module:
    """A function of a module in LLVM's language, and those that it calls. Raises Unsupported."""
    try:
        module = binding.parse_assembly(text)
    except RuntimeError as e:
        raise Unsupported(f"LLVM's text: {e}") from None
    functions, variables = list(module.functions), list(module.global_variables)
    defined = {f.name: f for f in functions if not f.is_declaration}
    table, waiting, ranges = dict[str, Function](), [main], _ranges(str(module))
    while waiting:
        name = waiting.pop()
        if name in defined and name not in table:
            if name not in ranges:
                raise Unsupported(f"the promises of the function {name}")
            table[name] = function = _function(defined[name], ranges[name])
            waiting += [o.name for block in function.blocks for i in block for o in i.operands if isinstance(o, Global)]
    used = {
        o.name for f in table.values() for block in f.blocks for i in block for o in i.operands if isinstance(o, Global)
    }
    tables = {v.name: own for v in variables if v.name in used and (own := _table(str(v))) is not None}
    integers = {v.name: int(m[1]) for v in variables if v.name in used and (m := _VARIABLE.search(str(v).strip()))}
    return Module(table, main, tables, integers, dict(_STRUCTURE.findall(str(module))))


def _ranges(text: str) -> dict[str, list[tuple[int, int] | None]]:
    """What metadata promise of results, in the order of the instructions, by the names of functions. The number of a
    node in the text of an instruction is another one than in that of the module, where it is defined. Before
    them, what the function promises of its own. Without functions that promise something of their arguments."""
    known = {number: (int(low), int(high)) for number, low, high in _RANGES.findall(text)}
    promised = {}
    for function in re.split(r"^define ", text, flags=re.M)[1:]:
        head = function.partition("\n")[0]
        if (name := _NAME.search(head)) and "range(" not in head[name.end() :]:
            own = RANGE.search(head[: name.start()])
            results = [known.get(number) for number in _PROMISE.findall(function)]
            promised[name[1] or name[2]] = [(int(own[1]), int(own[2])) if own else None, *results]
    return promised


def _table(text: str) -> Table | None:
    """The constant array that a variable is, if it is one of integers."""
    match = _TABLE.search(text.strip())
    if match is None:
        return None
    count, codes, elements, align = match.groups()
    if elements is not None:
        values = tuple(constant(part.strip()) for part in elements.split(","))
    else:
        signs = re.findall(r"\\([0-9A-F]{2})|\\?(.)", codes)
        values = tuple(Bits(const(int(number, 16) if number else ord(sign), 8)) for number, sign in signs)
    if len(values) != int(count):
        raise Unsupported("the text of a constant array")
    return Table(values, int(align or 1))


def type_of(x: Any) -> Any:
    """Numba's type of an argument."""
    return typeof(x)  # type: ignore[no-untyped-call]


def _function(f: Any, ranges: Sequence[tuple[int, int] | None]) -> Function:
    """ranges: what it promises of its result; and what metadata promise of instructions' results, in their order."""
    own, *ranges = ranges
    arguments, blocks = list(f.arguments), list(f.blocks)
    instructions = [list(b.instructions) for b in blocks]
    values = [*arguments, *(i for many in instructions for i in many)]
    numbers = {v: Local(k) for k, v in enumerate(values)} | {b: Label(k) for k, b in enumerate(blocks)}
    left = list(ranges[::-1]) if len(ranges) == sum(map(_is_promised, values[len(arguments) :])) else []
    promised = {i: left.pop() for i in values[len(arguments) :] if left and _is_promised(i)}
    parsed_blocks = tuple(tuple(_instruction(i, numbers, promised.get(i)) for i in many) for many in instructions)
    return Function(f.name, tuple(range(len(arguments))), parsed_blocks, _ordered(parsed_blocks), own)


def _is_promised(i: Any) -> bool:
    return _PROMISE.search(str(i)) is not None


def _instruction(i: Any, numbers: Mapping[Any, Any], promised: tuple[int, int] | None) -> Instruction:
    text = str(i).strip()
    head = text.split("=", 1)[1] if i.type.name != "void" and "=" in text else text
    words = head.split("(")[0].split(",")[0].split()
    flags = _FLAGS & set(words)
    if i.opcode in _FLAGGED:
        before_type = words[1 : words.index(str(next(i.operands).type).split()[0])]
        if unknown := set(before_type) - _FLAGS:
            raise Unsupported(f"LLVM's {i.opcode} {min(unknown)}")
    operands = tuple(_operand(o, numbers) for o in i.operands)
    blocks = tuple(numbers[b].block for b in i.incoming_blocks) if i.opcode == "phi" else ()
    return Instruction(numbers[i].number, i.opcode, str(i.type), operands, text, flags, blocks, promised)


def _operand(o: Any, numbers: Mapping[Any, Any]) -> Any:
    if o in numbers:
        return numbers[o]
    if o.value_kind.name in ("function", "global_variable"):
        return Global(o.name)
    return constant(str(o)) if o.is_constant else str(o)


# -- constants ---------------------------------------------------------------------------------------------------------


def width_of(kind: str) -> int:
    """The bits of an integer's type. Raises Unsupported."""
    if not re.fullmatch(r"i\d+", kind):
        raise Unsupported(f"LLVM's type {kind}")
    return int(kind[1:])


def vector_of(kind: str) -> tuple[int, str] | None:
    """The length of a vector's type, and the type of its elements."""
    match = re.fullmatch(r"<(\d+) x ([^<>]+)>", kind)
    return (int(match[1]), match[2]) if match else None


def struct_of(kind: str) -> list[str] | None:
    """The types of a structure of integers."""
    match = re.fullmatch(r"\{ (i\d+(?:, i\d+)*) \}", kind)
    return match[1].split(", ") if match else None


def constant(text: str) -> Any:
    """A constant from its text, with its type; the text itself if it is none that is known."""
    kind, _, rest = _split(text)
    if (shape := vector_of(kind)) is not None:
        return _vector(rest, *shape)
    if (parts := struct_of(kind)) is not None:
        return _struct(rest, parts)
    if kind == "ptr":
        return NULL if rest in ("null", "poison", "undef") else text
    if not re.fullmatch(r"i\d+", kind):
        return text
    width = width_of(kind)
    if rest in ("poison", "undef"):
        return Bits(const(0, width), TRUE)
    words = {"true": 1, "false": 0, "zeroinitializer": 0}
    return Bits(const(words.get(rest) if rest in words else int(rest), width), FALSE)  # type: ignore[arg-type]


def _split(text: str) -> tuple[str, str, str]:
    """Type and value."""
    if text[:1] in ("<", "{"):
        end = text.index(">" if text[0] == "<" else "}") + 1
        return text[:end], " ", text[end:].strip()
    return text.partition(" ")


def _vector(text: str, count: int, kind: str) -> Any:
    if text in ("poison", "undef", "zeroinitializer"):
        one = constant(f"{kind} {text}") if kind != "ptr" else NULL
        return (one,) * count
    if text.startswith("splat"):
        return (constant(text[text.index("(") + 1 : -1]),) * count
    return tuple(constant(part.strip()) for part in text[1:-1].split(","))


def _struct(text: str, kinds: Sequence[str]) -> list[Any]:
    if text in ("poison", "undef", "zeroinitializer"):
        return [constant(f"{kind} {text}") for kind in kinds]
    return [constant(part.strip()) for part in text[1:-1].split(",")]


# -- order -------------------------------------------------------------------------------------------------------------


def _ordered(blocks: Sequence[Sequence[Instruction]]) -> dict[int, int]:
    """The blocks' places in a reverse postorder: a block comes after all that lead to it, but for ways back."""
    after, seen = list[int](), {0}
    waiting = [(0, iter(_next(blocks[0][-1])))]
    while waiting:
        block, others = waiting[-1]
        other = next((n for n in others if n not in seen), None)
        if other is None:
            after.append(block)
            waiting.pop()
        else:
            seen.add(other)
            waiting.append((other, iter(_next(blocks[other][-1]))))
    return {block: k for k, block in enumerate(reversed(after))}


def _next(last: Instruction) -> list[int]:
    return [o.block for o in last.operands if isinstance(o, Label)]
