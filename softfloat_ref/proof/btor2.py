"""Reads BTOR2 (Niemetz et al., CAV 2018), in which Yosys writes a circuit, into terms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.symbolic.build import eq, extract, ite, make, not_, sext, zext
from softfloat_ref.symbolic.terms import FALSE, Op, Term, const, var, variables

UNDEFINED: Final = "undefined"  # begins the names of values that the source leaves open


@dataclass(frozen=True)
class Machine:
    """A circuit with registers: outputs and next contents as terms of the variables of inputs and registers.

    Names of registers are Yosys' (dut.product_1), or `register N`. starts: the contents at power-up, if they are given.
    aliases: registers by the name of a signal that is their contents, outside an asynchronous reset. signals: what
    has a name in the source.
    """

    inputs: Mapping[str, Term] = field(default_factory=dict)
    outputs: Mapping[str, Term] = field(default_factory=dict)
    registers: Mapping[str, Term] = field(default_factory=dict)
    nexts: Mapping[str, Term] = field(default_factory=dict)
    starts: Mapping[str, Term] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    signals: Mapping[str, Term] = field(default_factory=dict)

    def uses(self, name: str) -> bool:
        """Whether an output or a register depends on an input's value."""
        return self.inputs.get(name) in variables([*self.outputs.values(), *self.nexts.values()])


_BINARY: Final[dict[str, Op]] = {
    "and": "and", "or": "or", "xor": "xor", "add": "add", "sub": "sub", "mul": "mul", "udiv": "udiv", "urem": "urem",
    "concat": "concat", "eq": "eq", "iff": "eq", "ult": "ult", "slt": "slt", "sll": "shl", "srl": "lshr", "sra": "ashr",
}  # fmt: skip
_INVERTED: Final[dict[str, str]] = {
    "nand": "and", "nor": "or", "xnor": "xor", "neq": "eq", "ugte": "ult", "sgte": "slt",
}  # fmt: skip
_SWAPPED: Final = {"ugt": "ult", "sgt": "slt"}
_NOT_SWAPPED: Final = {"ulte": "ult", "slte": "slt"}
_BASES: Final = {"const": 2, "constd": 10, "consth": 16}
_CONSTANTS: Final = {"zero": 0, "one": 1, "ones": -1}
_ALIAS: Final = re.compile(r"^\d+ uext \d+ (\d+) 0 ([^\s;]+)", re.MULTILINE)  # Yosys' second names
_NEXT: Final = re.compile(r"^\d+ next \d+ (\d+)", re.MULTILINE)
_IGNORED: Final = ("bad", "constraint", "fair", "justice")  # assertions and assumptions in the source: none is used


def read_btor2(text: str) -> Machine:
    """The machine of a file's text. Raises Error, with the line, for arrays and operators that are not supported."""
    reader = _Reader({int(number) for number in _NEXT.findall(text)})
    for number, line in enumerate(text.splitlines(), 1):
        words, _, comment = line.partition(";")
        if words.strip():
            try:
                reader.read(words.split(), comment)
            except (KeyError, IndexError, ValueError) as e:
                message = str(e) if isinstance(e, Error) else "wrong or unknown"
                raise Error(f"BTOR2 line {number}: {line.strip()[:60]!r}: {message}") from None
    aliases = {name: int(number) for number, name in _ALIAS.findall(text)}
    return reader.machine(aliases)


class _Reader:
    """The nodes of the lines read so far, by number. registers: the states with a next; others have any value in each
    cycle."""

    def __init__(self, registers: Set[int]) -> None:
        self.driven = registers
        self.sorts: dict[int, int] = {}
        self.nodes: dict[int, Term] = {}
        self.inputs: dict[str, Term] = {}
        self.outputs: dict[str, Term] = {}
        self.registers: dict[str, Term] = {}
        self.nexts: dict[str, Term] = {}
        self.starts: dict[str, Term] = {}

    def machine(self, aliases: Mapping[str, int]) -> Machine:
        """What was read. aliases: nodes by a second name."""
        own = {v: name for name, v in self.registers.items()}
        known = {name: own[v] for name, n in aliases.items() if (v := _held(self.nodes[n], own)) is not None}
        signals = {name: self.nodes[n] for name, n in aliases.items()}
        return Machine(self.inputs, self.outputs, self.registers, self.nexts, self.starts, known, signals)

    def read(self, words: list[str], comment: str) -> None:
        """A line."""
        number, kind = int(words[0]), words[1]
        if kind == "sort":
            if words[2] != "bitvec":
                raise Error("arrays (memories) are not supported")
            self.sorts[number] = int(words[3])
        elif kind == "output":
            self.outputs[words[3] if len(words) > 3 else comment.split()[0]] = self._node(words[2])
        elif kind in ("next", "init"):
            into = self.nexts if kind == "next" else self.starts
            into[str(self.nodes[int(words[3])].value)] = self._node(words[4])
        elif kind not in _IGNORED:
            self.nodes[number] = self._line_node(number, kind, words)

    def _line_node(self, number: int, kind: str, words: list[str]) -> Term:
        width = self.sorts[int(words[2])]
        if kind in ("input", "state"):
            return self._free(number, words, width)
        if kind in _BASES:
            return const(int(words[3], _BASES[kind]), width)
        if kind in _CONSTANTS:
            return const(_CONSTANTS[kind], width)
        if kind == "slice":
            return extract(self._node(words[3]), int(words[4]), int(words[5]))
        return _operation(kind, width, [self._node(word) for word in words[3 : 3 + _arity(kind)]])

    def _free(self, number: int, words: list[str], width: int) -> Term:
        """An input or a register. Without a name, an input is a value that the source leaves undefined (x)."""
        into = self.registers if number in self.driven else self.inputs
        name = words[3] if len(words) > 3 else f"{UNDEFINED if into is self.inputs else 'register'} {number}"
        if name in into:
            name = f"{name} {number}"
        into[name] = var(name, width)
        return into[name]

    def _node(self, word: str) -> Term:
        number = int(word)
        return not_(self.nodes[-number]) if number < 0 else self.nodes[number]


def _held(term: Term, registers: Mapping[Term, str]) -> Term | None:
    """The register whose contents a term is, but in a reset, where it is a constant."""
    ways = term.args[1:] if term.op == "ite" else (term,)
    held = [t for t in ways if t in registers]
    return held[0] if len(held) == 1 and all(t in registers or t.is_const for t in ways) else None


_UNARY: Final[dict[str, Callable[[int, Term], Term]]] = {
    "not": lambda width, a: not_(a),
    "neg": lambda width, a: make("neg", width, a),
    "inc": lambda width, a: make("add", width, a, const(1, width)),
    "dec": lambda width, a: make("sub", width, a, const(1, width)),
    "uext": lambda width, a: zext(a, width),
    "sext": lambda width, a: sext(a, width),
    "redor": lambda width, a: not_(eq(a, const(0, a.width))),
    "redand": lambda width, a: eq(a, const(-1, a.width)),
    "redxor": lambda width, a: _parity(a),
}


def _arity(kind: str) -> int:
    return 3 if kind == "ite" else 1 if kind in _UNARY else 2


def _operation(kind: str, width: int, args: list[Term]) -> Term:
    if kind in _UNARY:
        return _UNARY[kind](width, args[0])
    if kind == "ite":
        return ite(*args)
    if kind in _BINARY:
        return make(_BINARY[kind], width, *args)
    if kind in _INVERTED:
        return not_(_operation(_INVERTED[kind], width, args))
    if kind in _SWAPPED:
        return _operation(_SWAPPED[kind], width, args[::-1])
    if kind in _NOT_SWAPPED:
        return not_(_operation(_NOT_SWAPPED[kind], width, args[::-1]))
    if kind in ("sdiv", "srem"):
        return _signed_quotient(kind, *args)
    raise Error(f"{kind} is not supported")


def _parity(a: Term) -> Term:
    bits = [extract(a, bit, bit) for bit in range(a.width)]
    parity = FALSE
    for bit in sorted(bits, key=lambda b: b.is_const):  # constants last: words that differ in those alone are alike
        parity = make("xor", 1, parity, bit)
    return parity


def _signed_quotient(kind: str, a: Term, b: Term) -> Term:
    """Rounded toward zero; the remainder has the dividend's sign (SMT-LIB's bvsdiv and bvsrem)."""
    w = a.width

    def negated(wrong: Term, x: Term) -> Term:
        return ite(wrong, make("neg", w, x), x)

    sign_a, sign_b = extract(a, w - 1, w - 1), extract(b, w - 1, w - 1)
    sizes = negated(sign_a, a), negated(sign_b, b)
    if kind == "sdiv":
        return negated(make("xor", 1, sign_a, sign_b), make("udiv", w, *sizes))
    return negated(sign_a, make("urem", w, *sizes))
