"""Registers that hold several things, taken apart: what says that there is a result, and the result.

A record of VHDL or a packed structure is one register of a netlist. What follows an operation (stream) is told from
registers whose contents are known, as a valid is, and those that may hold anything. So a register with both kinds of
bits is cut between them. Wherever it is cut, its pieces side by side are the register: the circuit stays the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import groupby
from typing import Final, NamedTuple

from softfloat_ref.proof.btor2 import Machine
from softfloat_ref.rtl.bundle import ones
from softfloat_ref.symbolic.build import adjacent, extract, ite, make, substitute
from softfloat_ref.symbolic.terms import Term, var

_BITWISE: Final = ("not", "and", "or", "xor")


class _Bits(NamedTuple):
    """Bits of a term, from `high` down to `low`."""

    term: Term
    high: int
    low: int


def taken_apart(machine: Machine, control: Iterable[str], whole: Collection[str] = ()) -> Machine:
    """The same circuit, with registers cut between bits that some outputs rest on, sooner or later, and bits that these
    do not. control: the names of the outputs; whole: registers that stay in one piece, as those that never change do.
    """
    influence = _influence(machine, control)
    pieces = {
        name: list(_pieces(machine.nexts[name], influence.get(v, 0)))
        for name, v in machine.registers.items()
        if name not in whole and machine.nexts[name] is not v
    }
    pieces = {name: spans for name, spans in pieces.items() if len(spans) > 1}
    return _cut(machine, pieces) if pieces else machine


def _cut(machine: Machine, pieces: Mapping[str, Sequence[tuple[int, int]]]) -> Machine:
    """The circuit with some registers in pieces, the highest first."""
    registers, nexts, starts = dict[str, Term](), dict[str, Term](), dict[str, Term]()
    joined = dict[Term, Term]()
    for name, v in machine.registers.items():
        spans = pieces.get(name, [(v.width - 1, 0)])
        names = [f"{name} bits {high} to {low}" for high, low in spans] if name in pieces else [name]
        registers |= {own: var(own, high - low + 1) for own, (high, low) in zip(names, spans, strict=True)}
        nexts |= zip(names, _slices(machine.nexts[name], spans), strict=True)
        if name in machine.starts:
            starts |= zip(names, _slices(machine.starts[name], spans), strict=True)
        if name in pieces:
            joined[v] = reduce(adjacent, (registers[own] for own in names))
    signals = {**machine.signals, **{name: machine.registers[name] for name in pieces}}
    return replace(
        machine,
        outputs=_with(machine.outputs, joined),
        registers=registers,
        nexts=_with(nexts, joined),
        starts=_with(starts, joined),
        aliases={alias: name for alias, name in machine.aliases.items() if name not in pieces},
        signals=_with(signals, joined),
    )


def _with(terms: Mapping[str, Term], by: Mapping[Term, Term]) -> dict[str, Term]:
    return dict(zip(terms, substitute([*terms.values()], by), strict=True))


# -- where to cut ------------------------------------------------------------------------------------------------------


def _influence(machine: Machine, control: Iterable[str]) -> dict[Term, int]:
    """The bits of terms, as ones, on which some outputs may rest, in this cycle or a later one."""
    nexts = {v: machine.nexts[name] for name, v in machine.registers.items()}
    bits = dict[Term, int]()
    stack = [(machine.outputs[name], ones(machine.outputs[name].width)) for name in control]
    while stack:
        t, mask = stack.pop()
        new = mask & ~bits.get(t, 0)
        if new:
            bits[t] = bits.get(t, 0) | new
            stack += [(nexts[t], new)] if t in nexts else _rests_on(t, new)
    return bits


def _rests_on(t: Term, mask: int) -> list[tuple[Term, int]]:
    """The bits of its arguments on which bits of a term rest."""
    if t.op == "concat":
        high, low = t.args
        return [(high, mask >> low.width), (low, mask & ones(low.width))]
    if t.op == "extract":
        return [(t.args[0], mask << t.value[1])]
    if t.op == "ite":
        return [(t.args[0], 1), *((way, mask) for way in t.args[1:])]
    if t.op in _BITWISE:
        return [(a, mask) for a in t.args]
    return [(a, ones(a.width)) for a in t.args]


def _pieces(contents: Term, influence: int) -> Iterator[tuple[int, int]]:
    """A register's bits in runs of those that count and those that do not, the highest first; not cut where its next
    contents are a number that is computed in one."""
    high = contents.width - 1
    for _, run in groupby(range(contents.width - 1, -1, -1), lambda i: influence >> i & 1):
        low = min(run)
        if low == 0 or _is_seam(contents, low):
            yield high, low
            high = low - 1


def _is_seam(contents: Term, low: int) -> bool:
    """Whether the bits from this one on and those below are written apart."""
    stack, seen = [(contents, low)], set[tuple[Term, int]]()
    while stack:
        t, at = place = stack.pop()
        if place in seen or not 0 < at < t.width or not t.args:
            continue
        seen.add(place)
        if t.op == "concat":
            stack += [(t.args[0], at - t.args[1].width), (t.args[1], at)]
        elif t.op == "extract":
            stack.append((t.args[0], at + t.value[1]))
        elif t.op == "ite" or t.op in _BITWISE:
            stack += [(a, at) for a in t.args[t.op == "ite" :]]
        else:
            return False
    return True


# -- slices ------------------------------------------------------------------------------------------------------------


def _slices(t: Term, spans: Sequence[tuple[int, int]]) -> list[Term]:
    """Bits of a term, in which what is written apart is told apart."""
    roots = [_Bits(t, high, low) for high, low in spans]
    stack, wanted, made = list(roots), set[_Bits](), dict[_Bits, Term]()
    while stack:
        bits = stack.pop()
        if bits not in wanted:
            wanted.add(bits)
            stack += _parts(bits)
    for bits in sorted(wanted, key=lambda bits: bits.term.number):  # arguments first
        made[bits] = _made(bits, [made[part] for part in _parts(bits)])
    return [made[root] for root in roots]


def _parts(bits: _Bits) -> list[_Bits]:
    """The bits of arguments that these are made of; none where they are no more than a slice."""
    t, high, low = bits
    if high - low + 1 == t.width:
        return []
    if t.op == "concat":
        above, below = t.args
        parts = [_Bits(above, high - below.width, max(low - below.width, 0))] if high >= below.width else []
        return [*parts, *([_Bits(below, min(high, below.width - 1), low)] if low < below.width else [])]
    if t.op == "ite" or t.op in _BITWISE:
        return [_Bits(a, high, low) for a in t.args[t.op == "ite" :]]
    return []


def _made(bits: _Bits, parts: Sequence[Term]) -> Term:
    t, high, low = bits
    if not parts:
        return extract(t, high, low)
    if t.op == "concat":
        return reduce(adjacent, parts)
    return ite(t.args[0], *parts) if t.op == "ite" else make(t.op, high - low + 1, *parts)
