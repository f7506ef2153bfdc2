"""A circuit without what its own conditions make superfluous."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from softfloat_ref.symbolic.build import eq, extract, ite, make, not_, zext
from softfloat_ref.symbolic.circuit import Circuit
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, subterms

_NEAR: Final = 3  # operations between a choice and where its condition is looked for


def tidied(circuit: Circuit) -> Circuit:
    """The circuit with the condition of each choice known on its two sides, near it."""
    new: dict[Term, Term] = {}
    names: dict[Term, str] = {}
    for t in subterms(circuit.roots):
        new[t] = _made(t, [new[a] for a in t.args])
        if t in circuit.names:
            names.setdefault(new[t], circuit.names[t])
    return replace(circuit, terms={name: new[t] for name, t in circuit.terms.items()}, names=names)


def _made(t: Term, args: list[Term]) -> Term:
    if not args:
        return t
    if t.op == "ite":
        c, a, b = args
        known = {c: TRUE}
        if c.op == "eq" and c.args[1].is_const:
            known[c.args[0]] = c.args[1]
        return ite(c, _given(a, known), _given(b, {c: FALSE}))
    if t.op == "eq" and args[0].op == "ite" and args[1].is_const and any(x.is_const for x in args[0].args[1:]):
        c, a, b = args[0].args
        return ite(c, eq(a, args[1]), eq(b, args[1]))
    if t.op == "or" and t.width == 1 and (common := _either_way(*args)) is not None:
        return common
    return make(t.op, t.width, *args, value=t.value)


def _either_way(a: Term, b: Term) -> Term | None:
    """x, of (x and y) or (x and not y)."""
    if a.op == b.op == "and":
        for x, y in (a.args, a.args[::-1]):
            if x in b.args and not_(y) in b.args:
                return x
    return None


def _given(t: Term, known: Mapping[Term, Term], depth: int = _NEAR) -> Term:
    if t in known:
        return known[t]
    if not depth or not t.args:
        return t
    found = tuple(_given(a, known, depth - 1) for a in t.args)
    return t if found == t.args else make(t.op, t.width, *found, value=t.value)


def even_shift(t: Term) -> Term:
    """A shift by as many bits as it moves, as SMT-LIB and BTOR2 have it: a term of shifts and extensions."""
    a, by = t.args
    width = max(t.width, by.width)
    a = make("sext" if t.op == "ashr" else "zext", width, a)
    return extract(make(t.op, width, a, zext(by, width)), t.width - 1, 0)
