"""A circuit as SMT-LIB 2 functions, in the logic QF_BV: no variable and no command, which are the user's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Final

from softfloat_ref.export.plan import operands, planned
from softfloat_ref.export.tidy import even_shift
from softfloat_ref.symbolic.circuit import Circuit
from softfloat_ref.symbolic.terms import Term

_NAMES: Final = {
    "not": "bvnot", "neg": "bvneg", "and": "bvand", "or": "bvor", "xor": "bvxor", "add": "bvadd", "sub": "bvsub",
    "mul": "bvmul", "udiv": "bvudiv", "urem": "bvurem", "shl": "bvshl", "lshr": "bvlshr", "ashr": "bvashr",
    "concat": "concat",
}  # fmt: skip
_SHIFTS: Final = ("shl", "lshr", "ashr")
_TRUTHS: Final = {"eq": "=", "ult": "bvult", "slt": "bvslt"}


def smt2_text(circuits: Sequence[Circuit]) -> str:
    """The functions: one with all outputs side by side, the first highest, and one of each output."""
    lines = ["; SPDX-License-Identifier: 0BSD", "(set-logic QF_BV)"]
    for circuit in circuits:
        lines += ["", *(f"; {line}".rstrip() for line in circuit.comment.splitlines()), *_functions(circuit)]
    return "\n".join([*lines, ""])


def _functions(circuit: Circuit) -> Iterator[str]:
    inputs = [(n, p.width) for p in circuit.inputs for n in p.names]
    outputs = [(n, p.width) for p in circuit.outputs for n in p.names]
    parameters = " ".join(f"({n} {_sort(w)})" for n, w in inputs)
    low = sum(w for _, w in outputs)
    yield f"(define-fun {circuit.name} ({parameters}) {_sort(low)}"
    yield from _body(circuit)
    call = f"({circuit.name} {' '.join(n for n, _ in inputs)})"
    for name, width in outputs:
        low -= width
        yield f"(define-fun {circuit.name}_{name} ({parameters}) {_sort(width)}"
        yield f"  ((_ extract {low + width - 1} {low}) {call}))"


def _body(circuit: Circuit) -> Iterator[str]:
    """Lets, one in another, each of the terms that need only those before; last the outputs."""
    plan = planned(circuit, {circuit.name}, lambda t: ())
    text = _Texts(plan.names)
    depth: dict[Term, int] = {}
    levels: dict[int, list[Term]] = defaultdict(list)
    for t in plan.stated:
        depth[t] = 1 + max((depth[a] for a in operands(t, plan)), default=0)
        levels[depth[t]].append(t)
    for _, terms in sorted(levels.items()):
        bindings = [f"({plan.names[t]} {text.whole(t)})" for t in terms]
        yield f"  (let ({bindings[0]}"
        yield from (f"        {b}" for b in bindings[1:])
        yield "  )"
    yield f"  {reduce(lambda a, b: f'(concat {a} {b})', map(text, circuit.roots))}"
    yield f"  {')' * len(levels)})"


def _sort(width: int) -> str:
    return f"(_ BitVec {width})"


class _Texts:
    def __init__(self, names: Mapping[Term, str]) -> None:
        self.names = names

    def __call__(self, t: Term) -> str:
        """The name of a term, or its expression."""
        return self.names.get(t) or self.whole(t)

    def whole(self, t: Term) -> str:
        """The expression of a term."""
        if t.is_const:
            return f"(_ bv{t.value} {t.width})"
        if t.op == "ite":
            c, a, b = t.args
            return f"(ite {self.truth(c)} {self(a)} {self(b)})"
        if t.op in _TRUTHS:
            return f"(ite {self.compared(t)} #b1 #b0)"
        if t.op in _SHIFTS and t.args[1].width != t.width:
            return self(even_shift(t))
        return f"({_operator(t)} {' '.join(map(self, t.args))})"

    def truth(self, t: Term) -> str:
        """A bit as a truth value."""
        return self.compared(t) if t not in self.names and t.op in _TRUTHS else f"(= {self(t)} #b1)"

    def compared(self, t: Term) -> str:
        """A comparison as a truth value."""
        return f"({_TRUTHS[t.op]} {' '.join(map(self, t.args))})"


def _operator(t: Term) -> str:
    if t.op == "extract":
        return f"(_ extract {t.value[0]} {t.value[1]})"
    if t.op in ("zext", "sext"):
        return f"(_ {'zero' if t.op == 'zext' else 'sign'}_extend {t.width - t.args[0].width})"
    return _NAMES[t.op]
