"""A circuit as SMT-LIB 2 functions, in the logic QF_BV, without variables and commands, which the user adds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Final

from softfloat_ref.export.plan import make_plan, operands
from softfloat_ref.symbolic.circuit import Circuit
from softfloat_ref.symbolic.smtlib import applied, literal, sort
from softfloat_ref.symbolic.terms import Term

_RESERVED: Final = "and as assert concat distinct exists extract false forall ite let match not or par repeat true xor"
KEYWORDS: Final = frozenset(_RESERVED.split())  # and functions of the logic


def smt2_text(circuits: Sequence[Circuit]) -> str:
    """The functions: one with all outputs side by side, the first highest, and one of each output."""
    lines = ["; SPDX-License-Identifier: 0BSD", "(set-logic QF_BV)"]
    for circuit in circuits:
        lines += ["", *(f"; {line}".rstrip() for line in circuit.comment.splitlines()), *_functions(circuit)]
    return "\n".join([*lines, ""])


def _functions(circuit: Circuit) -> Iterator[str]:
    inputs = [(n, p.width) for p in circuit.inputs for n in p.names]
    outputs = [(n, p.width) for p in circuit.outputs for n in p.names]
    parameters = " ".join(f"({n} {sort(w)})" for n, w in inputs)
    low = sum(w for _, w in outputs)
    yield f"(define-fun {circuit.name} ({parameters}) {sort(low)}"
    yield from _body(circuit)
    call = f"({circuit.name} {' '.join(n for n, _ in inputs)})"
    for name, width in outputs:
        low -= width
        yield f"(define-fun {circuit.name}_{name} ({parameters}) {sort(width)}"
        yield f"  ((_ extract {low + width - 1} {low}) {call}))"


def _body(circuit: Circuit) -> Iterator[str]:
    """Lets, one in another, each of the terms that need only those before; last the outputs."""
    plan = make_plan(circuit, {*KEYWORDS, circuit.name}, lambda t: ())
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


class _Texts:
    def __init__(self, names: Mapping[Term, str]) -> None:
        self.names = names

    def __call__(self, t: Term) -> str:
        """The name of a term, or its expression."""
        return self.names.get(t) or self.whole(t)

    def whole(self, t: Term) -> str:
        """The expression of a term."""
        return literal(t.value, t.width) if t.is_const else applied(t, {a: self(a) for a in t.args})
