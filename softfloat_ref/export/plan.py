"""How a circuit is prepared for printing: it is simplified, and its plan says which terms get a name of their own."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Final

from softfloat_ref.symbolic.build import eq, ite, make, not_
from softfloat_ref.symbolic.circuit import Circuit
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, subterms

_MAX_OPERATORS: Final = 5  # operators in an expression
_LINE_LENGTH: Final = 110
_NO_STAGE: Final = "select"  # terms that no function names: which of the operands' classes it is
_SHORT_OPERATORS: Final = ("extract", "not", "zext")  # as short as a name
_RESULT_WORDS: Final = {
    "add": "sum", "sub": "difference", "mul": "product", "udiv": "quotient", "urem": "remainder", "shl": "shifted",
    "lshr": "shifted", "ashr": "shifted", "eq": "equal", "ult": "less", "slt": "less", "ite": "chosen",
    "concat": "joined", "extract": "part", "and": "common", "or": "merged", "xor": "different", "not": "inverse",
    "neg": "negated", "zext": "extended", "sext": "extended",
}  # fmt: skip
_BIT_WORDS: Final = {"and": "both", "or": "either"}
_SEARCH_DEPTH: Final = 3  # operations between a choice and where its condition is looked for
FLIPPED: Final = {"==": "==", "!=": "!=", "<": ">", ">=": "<="}  # comparisons with their sides exchanged
Needs = Callable[[Term], Iterable[Term]]  # the arguments of a term that must have names


@dataclass(frozen=True)
class PrintPlan:
    """names: of the variables and of the stated terms, which are in order; stages: of all terms."""

    names: dict[Term, str]
    stated: list[Term]
    stages: dict[Term, str]


def identifier(text: str) -> str:
    """A text as an identifier."""
    word = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"_{word}" if word[:1].isdigit() else word


def is_atom(text: str) -> bool:
    """Whether an expression needs no parentheses as an operand: it has no space but within brackets."""
    level = 0
    for char in text:
        level += (char in "({[") - (char in ")}]")
        if char == " " and not level:
            return False
    return True


def wrap_line(line: str, indent: str) -> list[str]:
    """A statement, on several lines if it is long: broken behind a comma, or else between words."""
    lines = []
    while len(line) > _LINE_LENGTH:
        comma, space = (line.rfind(x, len(indent) + 8, _LINE_LENGTH) for x in (", ", " "))
        at = comma + 1 if comma > _LINE_LENGTH // 2 else space
        if at <= 0:
            break
        lines.append(line[:at])
        line = f"{indent}    {line[at + 1 :]}"
    return [*lines, line]


def simplify(circuit: Circuit) -> Circuit:
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


def _given(t: Term, known: Mapping[Term, Term], depth: int = _SEARCH_DEPTH) -> Term:
    if t in known:
        return known[t]
    if not depth or not t.args:
        return t
    args = tuple(_given(a, known, depth - 1) for a in t.args)
    return t if args == t.args else make(t.op, t.width, *args, value=t.value)


def make_plan(circuit: Circuit, reserved: Collection[str], needs: Needs, forced: Iterable[Term] = ()) -> PrintPlan:
    """The plan of a circuit: a term is stated if it has a name, is used often, or makes an expression too long.

    reserved: names that no term gets; needs: operands that the language can only name; forced: stated at any rate.
    """
    order = subterms(circuit.roots)
    uses = Counter(a for t in order for a in t.args) + Counter(circuit.roots)
    hints = {t: hint for t, hint in circuit.names.items() if not hint.endswith(".")}
    chosen = _chosen(order, uses, hints, needs, set(forced))
    stated = [t for t in order if t in chosen]
    stages = _stages(order, circuit.names)
    names = {t: t.value for t in order if t.op == "var"}
    used = {*reserved, *names.values(), *(n for p in circuit.outputs for n in (p.name, *p.names))}
    for t in stated:
        names[t] = _unique(hints.get(t) or _described(t, stages[t]), used)
    return PrintPlan(names, stated, stages)


def _chosen(
    order: list[Term], uses: Counter[Term], hints: Mapping[Term, str], needs: Needs, forced: set[Term]
) -> set[Term]:
    needed = {a for t in order for a in needs(t) if a.op not in ("const", "var")} | forced
    chosen: set[Term] = set()
    size: dict[Term, int] = {}  # operators of the expression that stands for the term
    for t in order:
        inside = sum(size[a] for a in t.args)
        size[t] = inside if t.op in _SHORT_OPERATORS or not t.args else inside + 1
        if not t.args:
            continue
        often = uses[t] > 1 and size[t] > 0
        if t in needed or often or size[t] > _MAX_OPERATORS or (t in hints and size[t] > 0):
            chosen.add(t)
            size[t] = 0
    return chosen


def _unique(hint: str, used: set[str]) -> str:
    """The hint as a name that is not used yet; it is noted."""
    base, k = identifier(hint), 1
    name = base
    while name in used:
        k += 1
        name = f"{base}_{k}"
    used.add(name)
    return name


def _stages(order: list[Term], hints: Mapping[Term, str]) -> dict[Term, str]:
    """The stage of each term: that of its name, else that of what uses it."""
    stages: dict[Term, str] = {}
    for t in reversed(order):
        if t in hints:
            stages[t] = hints[t].partition(".")[0]
        own = stages.setdefault(t, _NO_STAGE)
        for a in t.args:
            stages.setdefault(a, own)
    return stages


def _described(t: Term, stage: str) -> str:
    word = _BIT_WORDS.get(t.op, _RESULT_WORDS[t.op]) if t.width == 1 else _RESULT_WORDS[t.op]
    return f"{stage}_{word}"


def by_stage(plan: PrintPlan) -> list[tuple[str, list[Term]]]:
    """The stated terms with their stages: operands first, but those of a stage together as far as that goes."""
    waiting = {t: operands(t, plan) for t in plan.stated}
    users: dict[Term, list[Term]] = defaultdict(list)
    for t, needed in waiting.items():
        for a in needed:
            users[a].append(t)
    ready: dict[str, list[tuple[int, Term]]] = defaultdict(list)
    stages: list[tuple[str, list[Term]]] = []

    def add(t: Term) -> None:
        heappush(ready[plan.stages[t]], (t.number, t))

    for t in [t for t, needed in waiting.items() if not needed]:
        add(t)
    while any(ready.values()):
        last = stages[-1][0] if stages else None
        stage = last if last is not None and ready[last] else min((x[0][0], s) for s, x in ready.items() if x)[1]
        if last != stage:
            stages.append((stage, []))
        _, t = heappop(ready[stage])
        stages[-1][1].append(t)
        for user in users[t]:
            waiting[user].remove(t)
            if not waiting[user]:
                add(user)
    return stages


def operands(t: Term, plan: PrintPlan) -> set[Term]:
    """The stated terms in a term's expression."""
    stated: set[Term] = set()
    within = list(t.args)
    while within:
        a = within.pop()
        if a in plan.names and a.op != "var":
            stated.add(a)
        else:
            within.extend(a.args)
    return stated
