"""Circuits as BTOR2, a line for each term: inputs and outputs by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from softfloat_ref.symbolic.build import make, zext
from softfloat_ref.symbolic.circuit import Circuit
from softfloat_ref.symbolic.terms import Term, shared_term, subterms

_OPERATORS: Final = {"shl": "sll", "lshr": "srl", "ashr": "sra", "extract": "slice", "zext": "uext", "sext": "sext"}
_SHIFTS: Final = ("shl", "lshr", "ashr")


def btor2_text(circuits: Sequence[Circuit]) -> str:
    """The lines. Inputs and outputs of several circuits are told apart by the circuits' names."""
    file = _Btor2File()
    file.lines += ["; SPDX-License-Identifier: 0BSD"]
    for circuit in circuits:
        file.add(circuit, f"{circuit.name}." if len(circuits) > 1 else "")
    return "\n".join([*file.lines, ""])


class _Btor2File:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.last = 0
        self.sorts: dict[int, int] = {}

    def line(self, text: str) -> int:
        """A numbered line; its number."""
        self.last += 1
        self.lines.append(f"{self.last} {text}")
        return self.last

    def sort(self, width: int) -> int:
        """The sort of that width."""
        if width not in self.sorts:
            self.sorts[width] = self.line(f"sort bitvec {width}")
        return self.sorts[width]

    def add(self, circuit: Circuit, prefix: str) -> None:
        """The lines of a circuit."""
        self.lines += [f"; {line}".rstrip() for line in circuit.comment.splitlines()]
        numbers: dict[Term, int] = {}
        inputs = {n: self.line(f"input {self.sort(p.width)} {prefix}{n}") for p in circuit.inputs for n in p.names}
        for t in subterms(circuit.roots):
            numbers[t] = inputs[t.value] if t.op == "var" else self.term(t, numbers, circuit.names.get(t, ""))
        for name in (n for p in circuit.outputs for n in p.names):
            self.line(f"output {numbers[circuit.terms[name]]} {prefix}{name}")

    def term(self, t: Term, numbers: dict[Term, int], name: str) -> int:
        """The line of a term, after those of its arguments."""
        if t.is_const:
            return self.line(f"constd {self.sort(t.width)} {t.value}")
        if t.op in _SHIFTS and t.args[1].width != t.width:
            for inner in subterms([even_shift(t)]):
                if inner not in numbers:
                    numbers[inner] = self.term(inner, numbers, "")
            return numbers[even_shift(t)]
        values = list(t.value) if t.op == "extract" else []
        values += [t.width - t.args[0].width] if t.op in ("zext", "sext") else []
        operands = [numbers[a] for a in t.args]
        symbol = f" {name}" if name and not name.endswith(".") else ""
        words = " ".join(map(str, (_OPERATORS.get(t.op, t.op), self.sort(t.width), *operands, *values)))
        return self.line(words + symbol)


def even_shift(t: Term) -> Term:
    """A shift by as many bits as it moves, as BTOR2 has it: a term of shifts and extensions."""
    a, by = t.args
    width = max(t.width, by.width)
    a = make("sext" if t.op == "ashr" else "zext", width, a)
    shifted = shared_term(t.op, width, (a, zext(by, width)))  # not simplified: that would undo it
    return shifted if width == t.width else shared_term("extract", t.width, (shifted,), (t.width - 1, 0))
