"""Compiled functions as terms: what Numba makes of them, read for all inputs at once.

A function runs on arrays, some elements of which are symbols. Loops end after a number of rounds that is no symbol;
where a condition is one, both ways are taken, and meet again. As in LLVM's Language Reference Manual, an integer may be
poison: it is, where an operation breaks a promise (no overflow, a shift by fewer bits than there are). What a function
must never do (choose its way by poison, divide by zero, leave an array, raise an error) is collected as `broken`.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from softfloat_ref.symbolic.build import and_, concat, eq, extract, make, not_, or_, selected
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, const

from . import llvm_integers, llvm_memory
from .llvm_forms import FORMS
from .llvm_integers import Bits
from .llvm_memory import is_vector
from .llvm_source import (
    NULL,
    RANGE,
    WORD,
    Function,
    Global,
    Instruction,
    Label,
    Local,
    Module,
    Pointer,
    module,
    type_of,
    vector_of,
    width_of,
)
from .llvm_states import Guard, Memory, State, met, under

_MOST: Final = 1 << 13  # blocks that are run
_IGNORED: Final = (
    "NRT_incref", "NRT_decref", "llvm.lifetime", "llvm.experimental.noalias",
)  # fmt: skip
_RANGE: Final = re.compile(r"!range\b|\brange\(")
_DATA: Final = 24  # bytes from the beginning of what owns an array to the place of the array (NRT_MemInfo)


Possible = Callable[[Guard], bool]


class Symbols(NamedTuple):
    """An array whose elements are terms. like: an array of numpy's of the same type and shape; terms: in its order."""

    like: Any
    terms: Sequence[Term]


class Ran(NamedTuple):
    """What a function leaves behind: the elements of its arrays, in the order of its arguments, and the inputs for
    which it does what it must not, or leaves poison."""

    arrays: list[list[Term]]
    broken: Term


def run(kernel: Any, *arguments: Any) -> Ran:
    """A function that Numba compiles, on arrays (numpy's or Symbols), tuples and integers. Raises Unsupported."""
    types = tuple(type_of(x.like if isinstance(x, Symbols) else x) for x in arguments)
    return ran(module(kernel, types), *arguments)


def ran(module: Module, *arguments: Any) -> Ran:
    """A function as Numba makes them: with a place for what it returns, one for an error, and its arguments."""
    machine = _Machine(module)
    flat = [part for x in arguments for part in machine.given(x)]
    own = [k for k in machine.memory if k not in machine.aligned]
    out = [machine.new({}), machine.new({})]
    status, memory = machine.call(module.functions[module.main], [*out, *flat], (), machine.memory)
    machine.never((), not_(eq(status.term, const(0, status.term.width))))
    cells = [memory[k] for k in own]
    for cell in (c for many in cells for c in many):
        machine.never((), cell.poison)
    return Ran([[c.term for c in many] for many in cells], or_(*machine.broken))


def answers(module: Module, count: int, *arguments: Term, possible: Possible = lambda conditions: True) -> Ran:
    """A function of integers and of the place where it leaves words of 64 bits; it may write and read variables.
    possible: whether bits can all be set, of the conditions under which a loop goes on; True if that is not known."""
    machine = _Machine(module, module.variables, possible)
    place = machine.new([Bits(const(0, WORD), TRUE)] * count)
    _, memory = machine.call(module.functions[module.main], [*map(Bits, arguments), place], (), machine.memory)
    cells = memory[place.array or 0]
    for cell in cells:
        machine.never((), cell.poison)
    return Ran([[c.term for c in cells]], or_(*machine.broken))


class _Machine:
    """A function's run. broken: what must never happen; tables: where the module's constant arrays and variables are;
    aligned: of what the addresses of constant arrays are multiples. variables: their widths; poison until something is
    stored there, since other code may change them before."""

    def __init__(
        self, module: Module, variables: Mapping[str, int] = {}, possible: Possible = lambda conditions: True
    ) -> None:
        self.module = module
        self.possible = possible
        self.broken: list[Term] = []
        self.memory: dict[int, Any] = {}
        self.steps = 0
        self.tables = {name: self.new(list(table.elements)) for name, table in module.tables.items()}
        self.aligned = {self.tables[name].array: table.align for name, table in module.tables.items()}
        self.tables |= {name: self.new([Bits(const(0, width), TRUE)]) for name, width in variables.items()}

    def never(self, guard: Guard, what: Term) -> None:
        if what is not FALSE:
            self.broken.append(and_(*guard, what))

    def new(self, content: Any) -> Pointer:
        """A new array."""
        number = len(self.memory)
        self.memory[number] = content
        return Pointer(number, const(0, WORD))

    def given(self, x: Any) -> Iterator[Any]:
        """An argument as Numba passes it: an array as its owner, number of elements, their size, place, shape and
        steps."""
        if isinstance(x, tuple) and not isinstance(x, Symbols):
            for part in x:
                yield from self.given(part)
            return
        like = x.like if isinstance(x, Symbols) else x
        if not isinstance(like, np.ndarray):
            width = np.asarray(x).dtype.itemsize * 8
            yield Bits(const(int(x), width))
            return
        terms = x.terms if isinstance(x, Symbols) else [const(v, like.itemsize * 8) for v in like.ravel().tolist()]
        numbers = [const(n, WORD) for n in (like.size, like.itemsize, *like.shape, *like.strides)]
        size, item, *rest = map(Bits, numbers)
        yield from (NULL, NULL, size, item, self.new([Bits(t) for t in terms]), *rest)

    # -- control -----------------------------------------------------------------------------------------------------

    def call(self, f: Function, arguments: Sequence[Any], guard: Guard, memory: Memory) -> tuple[Any, Memory]:
        """What a function returns, and the memory then."""
        queue: list[tuple[int, int]] = []  # rounds so far, and the block's place
        waiting: dict[tuple[int, int], list[State]] = {}
        returned: list[tuple[State, Any]] = []
        blocks = {place: block for block, place in f.order.items()}

        def go(rounds: int, came: int, to: int, state: State) -> None:
            place = f.order[to]
            again = place <= f.order[came]
            if again and not self.possible(state.guard):
                return
            key = (rounds + again, place)
            if key not in waiting:
                heapq.heappush(queue, key)
            waiting.setdefault(key, []).append(self.entered(f, came, to, state))

        start = State(guard, dict(zip(f.arguments, arguments, strict=True)), memory)
        waiting[0, 0] = [start]
        queue.append((0, 0))
        while queue:
            key = heapq.heappop(queue)
            block, state = blocks[key[1]], met(waiting.pop(key))
            self.steps += 1
            if self.steps > _MOST:
                raise Unsupported("a compiled loop that does not end soon")
            state, last = self.block(f.blocks[block], state)
            if last.op == "ret":
                returned.append((state, self.operand(last.operands[0], state) if last.operands else None))
            for condition, to in self.ways(last, state):
                if condition is not FALSE and not_(condition) not in state.guard:
                    go(key[0], block, to, replace(state, guard=under(state.guard, condition)))
        value = Local(-1)  # the returned value, as one more
        end = met([replace(s, values={value.number: x}) for s, x in returned])
        result = end.values[value.number]
        return (_ranged(result, *f.promised) if f.promised else result), end.memory

    def ways(self, last: Instruction, state: State) -> list[tuple[Term, int]]:
        """Where a block leads, and when."""
        match last.op:
            case "br" if len(last.operands) == 1:
                return [(TRUE, last.operands[0].block)]
            case "br":
                condition = self.operand(last.operands[0], state)
                self.never(state.guard, condition.poison)
                no, yes = (o.block for o in last.operands[1:])
                return [(condition.term, yes), (not_(condition.term), no)]
            case "switch":
                chosen = self.operand(last.operands[0], state)
                self.never(state.guard, chosen.poison)
                others, *labels = (o.block for o in last.operands if isinstance(o, Label))
                codes = [const(int(x), chosen.term.width) for x in re.findall(r"i\d+ (-?\d+), label", last.text)]
                ways = [(eq(chosen.term, code), label) for code, label in zip(codes, labels, strict=True)]
                return [*ways, (not_(or_(*(c for c, _ in ways))), others)]
            case "unreachable":
                self.never(state.guard, TRUE)
        return []

    def entered(self, f: Function, came: int, to: int, state: State) -> State:
        """The state at the beginning of a block, with what depends on where it is entered from."""
        values = dict(state.values)
        for i in f.blocks[to]:
            if i.op != "phi":
                break
            values[i.number] = self.operand(i.operands[i.blocks.index(came)], state)
        return replace(state, values=values)

    def block(self, instructions: Sequence[Instruction], state: State) -> tuple[State, Instruction]:
        values, memory = dict(state.values), dict(state.memory)
        state = replace(state, values=values, memory=memory)
        for i in instructions[:-1]:
            if i.op != "phi":
                value = self.instruction(i, state)
                if value is not None:
                    values[i.number] = value
        return state, instructions[-1]

    # -- instructions ------------------------------------------------------------------------------------------------

    def operand(self, o: Any, state: State) -> Any:
        if isinstance(o, Local):
            if o.number not in state.values:
                raise Unsupported("a value of LLVM's that not every way to this place defines")
            return state.values[o.number]
        if isinstance(o, Global) and o.name in self.tables:
            return self.tables[o.name]
        if isinstance(o, str):
            raise Unsupported(f"LLVM's {o[:60]}")
        return o

    def instruction(self, i: Instruction, state: State) -> Any:
        """The value of an instruction; None if it has none. Changes the memory of the state."""
        known = FORMS.get(i.op)
        if known is None:
            raise Unsupported(f"LLVM's {i.op}")
        return known(self, i, state)

    def each(self, i: Instruction, state: State, of: Callable[..., Any]) -> Any:
        """An operation on integers, or element by element on vectors."""
        operands = [self.operand(o, state) for o in i.operands]
        return llvm_memory.each(of, *operands)

    def division(self, i: Instruction, state: State) -> Any:
        def one(a: Bits, b: Bits) -> Bits:
            quotient, broken = llvm_integers.division(i.op, i.flags, a, b)
            self.never(state.guard, broken)
            return quotient

        return self.each(i, state, one)

    def address(self, i: Instruction, state: State) -> Any:
        """getelementptr."""
        base, *indices = (self.operand(o, state) for o in i.operands)
        promise, kind = llvm_memory.stepped_over(i.text.split("getelementptr", 1)[1])
        if kind in self.module.types:
            kind, indices = self.module.types[kind], [x for x in indices[:1] if _is_first(indices[1:])]

        def one(pointer: Pointer, *at: Bits) -> Pointer:
            step, beyond = llvm_memory.offset(kind, [b.term for b in at])
            self.never(state.guard, or_(*(b.poison for b in at), beyond if promise else FALSE))
            return pointer._replace(at=llvm_integers.total(pointer.at, step))

        return llvm_memory.each(one, base, *indices)

    def load(self, i: Instruction, state: State) -> Any:
        _refuse_volatile(i)
        if re.search("!(range|nonnull|noundef)", i.text):
            raise Unsupported("a promise about what is loaded")
        pointer = self.operand(i.operands[0], state)
        self.never(state.guard, self.misaligned(pointer, i.text))
        if (shape := vector_of(i.type)) is None:
            return self.cell(pointer, i.type, state)
        steps = (const(llvm_memory.size(shape[1]) * k, WORD) for k in range(shape[0]))
        places = [pointer._replace(at=llvm_integers.total(pointer.at, step)) for step in steps]
        return tuple(self.cell(place, shape[1], state) for place in places)

    def misaligned(self, pointer: Any, text: str) -> Term:
        """Whether a place in a constant array is not where an instruction promises it to be."""
        promised = re.search(r", align (\d+)", text)
        if promised is None or not isinstance(pointer, Pointer) or pointer.array not in self.aligned:
            return FALSE
        align = int(promised[1])
        if align > self.aligned[pointer.array]:
            return TRUE
        low = align.bit_length() - 1
        return not_(eq(extract(pointer.at, low - 1, 0), const(0, low))) if low else FALSE

    def cell(self, pointer: Pointer, kind: str, state: State, where: Term = TRUE) -> Any:
        """An element. where: whether it is loaded at all."""
        content = self.content(pointer, state)
        if isinstance(content, dict):
            return self.single(pointer, kind, content)
        index, broken = llvm_memory.index(pointer.at, content, width_of(kind))
        self.never((*state.guard, where), broken)
        if index.is_const:
            return content[index.value] if index.value < len(content) else Bits(const(0, width_of(kind)))
        poison = selected([c.poison for c in content], index) if any(c.poison is not FALSE for c in content) else FALSE
        return Bits(llvm_memory.chosen([c.term for c in content], index), poison)

    def single(self, pointer: Pointer, kind: str, content: Mapping[int, Any]) -> Any:
        """A value that was stored at that very place."""
        if not pointer.at.is_const:
            llvm_memory.no_place()
        value = content.get(pointer.at.value)
        if isinstance(value, Bits) and (kind == "ptr" or value.term.width != width_of(kind)):
            raise Unsupported("a value of another width")
        if value is None:
            return NULL if kind == "ptr" else Bits(const(0, width_of(kind)), TRUE)
        return value

    def content(self, pointer: Any, state: State, changed: bool = False) -> Any:
        if not isinstance(pointer, Pointer) or pointer.array is None:
            raise Unsupported("memory that belongs to no argument")
        if changed and pointer.array in self.aligned:
            raise Unsupported("a store into a constant array")
        return state.memory[pointer.array]

    def store(self, i: Instruction, state: State) -> None:
        _refuse_volatile(i)
        value, pointer = (self.operand(o, state) for o in i.operands)
        content = self.content(pointer, state, changed=True)
        if not pointer.at.is_const:
            llvm_memory.no_place()
        copy = content.copy()
        state.memory[pointer.array] = copy  # type: ignore[index]
        vector = value if is_vector(value) else (value,)
        if isinstance(copy, dict):
            llvm_memory.put(copy, pointer.at.value, vector)
            return
        index, broken = llvm_memory.index(pointer.at, content, vector[0].term.width)
        if broken is not FALSE or index.value + len(vector) > len(content):
            raise Unsupported("a place outside an array")
        copy[index.value : index.value + len(vector)] = vector

    def called(self, i: Instruction, state: State) -> Any:
        *arguments, callee = i.operands
        name = callee.name if isinstance(callee, Global) else ""
        if name.startswith(_IGNORED):
            return None
        values = [self.operand(o, state) for o in arguments]
        if re.search(r"\bnoundef\b", i.text):
            self.never(state.guard, or_(*(x.poison for x in _integers(values))))
        if name == "llvm.assume":
            return self.never(state.guard, or_(not_(values[0].term), values[0].poison))
        if name.startswith("llvm.masked.gather"):
            return self.gather(i, state, *values)
        if name.startswith("llvm.memcpy"):
            return self.copied(state, *values)
        if name.startswith("llvm.memset"):
            return self.filled(state, *values)
        if name == "NRT_MemInfo_alloc_aligned":
            return self.room(state, {_DATA: self.room(state, {})})
        if name.startswith("llvm."):
            own = re.sub(r"\.v?\d*i\d+$", "", name.removeprefix("llvm."))
            return self.in_range(i, llvm_memory.each(llvm_integers.intrinsic(own), *values))
        if name not in self.module.functions:
            raise Unsupported(f"a call of {name or 'what is not known'}")
        value, memory = self.call(self.module.functions[name], values, state.guard, state.memory)
        state.memory.update(memory)  # type: ignore[attr-defined]
        return self.in_range(i, value)

    def in_range(self, i: Instruction, value: Any) -> Any:
        """A result; poison, where it is not in the range that is promised."""
        head, _, rest = i.text.partition("@")
        written = RANGE.search(head)
        if not (written or _RANGE.search(rest)):
            return value
        known = (int(written[1]), int(written[2])) if written else i.promised
        if known is None:
            raise Unsupported("a promise about a result")
        return _ranged(value, *known)

    def filled(self, state: State, place: Pointer, byte: Bits, size: Bits, *rest: Any) -> None:
        """memset, of whole elements of an array."""
        content = self.content(place, state, changed=True)
        width = content[0].term.width if isinstance(content, list) and content else 0
        if not width or not (place.at.is_const and size.term.is_const):
            llvm_memory.no_place()
        index, broken = llvm_memory.index(place.at, content, width)
        count, left = divmod(size.term.value, width // 8)
        if broken is not FALSE or left or index.value + count > len(content):
            raise Unsupported("a place outside an array")
        copy, cell = content.copy(), byte.term
        while cell.width < width:
            cell = concat(cell, cell)
        copy[index.value : index.value + count] = [Bits(cell, byte.poison)] * count
        state.memory[place.array] = copy  # type: ignore[index]

    def copied(self, state: State, to: Pointer, source: Pointer, size: Bits, *rest: Any) -> None:
        """memcpy, between rooms of single values. Their array, in C, may be longer."""
        values, room = self.content(source, state), self.content(to, state, changed=True)
        if not (isinstance(values, dict) and isinstance(room, dict) and size.term.is_const and size.poison is FALSE):
            llvm_memory.no_place()
        if not (to.at.is_const and source.at.is_const):
            llvm_memory.no_place()
        state.memory[to.array] = llvm_memory.copied(room, to.at.value, values, source.at.value, size.term.value)  # type: ignore[index]

    def room(self, state: State, content: dict[int, Any]) -> Pointer:
        """Room for single values."""
        pointer = self.new({})
        state.memory[pointer.array] = content  # type: ignore[index]
        return pointer

    def gather(self, i: Instruction, state: State, places: Any, *rest: Any) -> Any:
        """Elements where a bit of a mask is set."""
        mask, others = rest[-2:]
        _, kind = vector_of(i.type) or llvm_memory.no_place()
        values = []
        for place, there, other in zip(places, mask, others, strict=True):
            loaded = self.cell(place, kind, state, there.term)
            values.append(llvm_integers.chosen(there, loaded, other))
        return tuple(values)

    def frozen(self, i: Instruction, state: State) -> Any:
        """freeze: of no poison, itself."""

        def one(a: Bits) -> Bits:
            self.never(state.guard, a.poison)
            return Bits(a.term)

        return self.each(i, state, one)


def _ranged(value: Any, low: int, high: int) -> Any:
    """Integers; poison, where they are not from one number to below another."""

    def one(a: Bits) -> Bits:
        above = make("sub", a.term.width, a.term, const(low, a.term.width))
        inside = make("ult", 1, above, const(high - low, a.term.width))
        return Bits(a.term, or_(a.poison, not_(inside)))

    return llvm_memory.each(one, value)


def _is_first(indices: Sequence[Bits]) -> bool:
    """Whether they are those of the first part of a structure."""
    return all(x.term.is_const and x.term.value == 0 and x.poison is FALSE for x in indices)


def _refuse_volatile(i: Instruction) -> None:
    if re.search(rf"\b{i.op} (atomic|volatile)\b", i.text):
        raise Unsupported(f"LLVM's {i.op} of memory that others change")


def _integers(values: Iterable[Any]) -> Iterator[Bits]:
    """The integers among values and in structures."""
    for x in values:
        if isinstance(x, list):
            yield from _integers(x)
        elif isinstance(x, Bits):
            yield x
