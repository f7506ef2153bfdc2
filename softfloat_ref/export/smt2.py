"""A circuit as SMT-LIB 2 functions, in the logic QF_BV: no variable and no command, which are the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Final

from softfloat_ref.export.plan import planned
from softfloat_ref.symbolic.circuit import Circuit
from softfloat_ref.symbolic.terms import Term, concat, const, zext

_NAMES: Final = {
    "not": "bvnot", "neg": "bvneg", "and": "bvand", "or": "bvor", "xor": "bvxor", "add": "bvadd", "sub": "bvsub",
    "mul": "bvmul", "udiv": "bvudiv", "urem": "bvurem", "shl": "bvshl", "lshr": "bvlshr", "ashr": "bvashr",
    "concat": "concat",
}  # fmt: skip
_TRUTHS: Final = {"eq": "=", "ult": "bvult", "slt": "bvslt"}


def smt2_text(circuits: Sequence[Circuit]) -> str:
    """The functions: one with all outputs side by side, the first highest, and one of each output."""
    lines = ["; SPDX-License-Identifier: 0BSD", "(set-logic QF_BV)"]
    for circuit in circuits:
        lines += ["", *(f"; {line}".rstrip() for line in circuit.comment.splitlines()), *_functions(circuit)]
    return "\n".join([*lines, ""])


def _functions(circuit: Circuit) -> Iterator[str]:
    whole = reduce(concat, circuit.roots)
    joined = Circuit(circuit.name, circuit.inputs, (), {"": whole}, circuit.names)
    inputs = [(n, p.width) for p in circuit.inputs for n in p.names]
    parameters = " ".join(f"({n} (_ BitVec {w}))" for n, w in inputs)
    yield f"(define-fun {circuit.name} ({parameters}) (_ BitVec {whole.width})"
    body, levels = _levels(joined, whole)
    yield from body
    yield f"{')' * levels})"
    call = f"({circuit.name} {' '.join(n for n, _ in inputs)})"
    low = whole.width
    for port in circuit.outputs:
        for name in port.names:
            low -= port.width
            yield f"(define-fun {circuit.name}_{name} ({parameters}) (_ BitVec {port.width})"
            yield f"  ((_ extract {low + port.width - 1} {low}) {call}))"


def _levels(circuit: Circuit, whole: Term) -> tuple[list[str], int]:
    """Lets, one in another: each of the terms that need only those before. And how many there are."""
    circuit = Circuit(circuit.name, circuit.inputs, (), {"whole": whole}, circuit.names)
    raise NotImplementedError
