"""LLVM's instructions, other than those that go elsewhere, as the machine (llvm.py) runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from softfloat_ref.symbolic.build import ite
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import TRUE, const

from . import llvm_integers, llvm_memory
from .llvm_floats import INTEGERS, to_float
from .llvm_integers import BINARY, DIVISIONS, Bits, cast
from .llvm_memory import is_vector
from .llvm_source import Instruction, Pointer, vector_of, width_of
from .llvm_states import State


def _compared(machine: Any, i: Instruction, state: State) -> Any:
    order = i.text.split("icmp", 1)[1].removeprefix(" samesign").split()[0]

    def one(a: Any, b: Any) -> Bits:
        a, b = (llvm_memory.address(x) if isinstance(x, Pointer) else x for x in (a, b))
        return llvm_integers.compared(order, i.flags, a, b)

    return machine.each(i, state, one)


def _cast(machine: Any, i: Instruction, state: State) -> Any:
    shape = vector_of(i.type)
    width = width_of(shape[1] if shape else i.type)
    return machine.each(i, state, lambda a: llvm_integers.cast(i.op, i.flags, a, width))


def _converted(machine: Any, i: Instruction, state: State) -> Any:
    """An integer as a float."""
    if i.type != "float":
        raise Unsupported(f"LLVM's {i.op} to {i.type}")
    return machine.each(i, state, lambda a: Bits(to_float(i.op, a.term), cast("zext", i.flags, a, 64).poison))


def _selected(machine: Any, i: Instruction, state: State) -> Any:
    def one(c: Bits, a: Any, b: Any) -> Any:
        if isinstance(a, Pointer):
            if c.term.is_const:
                return a if c.term.value else b
            return Pointer(a.array, ite(c.term, a.at, b.at)) if a.array == b.array else llvm_memory.no_place()
        return llvm_integers.chosen(c, a, b)

    return machine.each(i, state, one)


def _same(machine: Any, i: Instruction, state: State) -> Any:
    """bitcast between equal types."""
    value = machine.operand(i.operands[0], state)
    one = value[0] if is_vector(value) else value
    if isinstance(one, Bits) and not i.type.endswith(f"i{one.term.width}") and f"i{one.term.width}>" not in i.type:
        raise Unsupported("LLVM's bitcast")
    return value


def _inserted(machine: Any, i: Instruction, state: State) -> Any:
    vector, value, at = (machine.operand(o, state) for o in i.operands)
    return (*vector[: at.term.value], value, *vector[at.term.value + 1 :])


def _placed(machine: Any, i: Instruction, state: State) -> list[Any]:
    """insertvalue: into a structure, a list."""
    values, value = (machine.operand(o, state) for o in i.operands)
    at = int(i.text.rsplit(",", 1)[1])
    return [*values[:at], value, *values[at + 1 :]]


def _extracted(machine: Any, i: Instruction, state: State) -> Any:
    vector, at = (machine.operand(o, state) for o in i.operands)
    return vector[at.term.value]


def _shuffled(machine: Any, i: Instruction, state: State) -> Any:
    both = [x for o in i.operands[:2] for x in machine.operand(o, state)]
    mask = i.text[i.text.rindex("<") :] if i.text.rstrip().endswith(">") else ""
    shape = vector_of(i.type) or llvm_memory.no_place()
    if not mask:  # zeroinitializer
        return (both[0],) * shape[0]
    places = [part.split()[1] for part in mask[1:-1].split(",")]
    return tuple(both[int(p)] if p.isdigit() else Bits(const(0, both[0].term.width), TRUE) for p in places)


Form = Callable[[Any, Instruction, State], Any]
FORMS: Final[dict[str, Form]] = {
    **dict.fromkeys(BINARY, lambda m, i, s: m.each(i, s, lambda a, b: llvm_integers.binary(i.op, i.flags, a, b))),
    **dict.fromkeys(DIVISIONS, lambda m, i, s: m.division(i, s)),
    **dict.fromkeys(("zext", "sext", "trunc"), _cast),
    **dict.fromkeys(INTEGERS, _converted),
    "icmp": _compared,
    "ptrtoint": lambda m, i, s: m.each(i, s, llvm_memory.address),
    "select": _selected,
    "bitcast": _same,
    "freeze": lambda m, i, s: m.frozen(i, s),
    "getelementptr": lambda m, i, s: m.address(i, s),
    "load": lambda m, i, s: m.load(i, s),
    "store": lambda m, i, s: m.store(i, s),
    "call": lambda m, i, s: m.called(i, s),
    "insertelement": _inserted,
    "extractelement": _extracted,
    "shufflevector": _shuffled,
    "alloca": lambda m, i, s: m.room(s, {}),
    "insertvalue": _placed,
    "extractvalue": lambda m, i, s: m.operand(i.operands[0], s)[int(i.text.rsplit(",", 1)[1])],
}
