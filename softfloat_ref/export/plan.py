"""Which terms are stated under a name of their own, and which stand within the expressions that use them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from softfloat_ref.symbolic.circuit import Circuit
from softfloat_ref.symbolic.terms import Term, subterms

_LONGEST: Final = 5  # operators in an expression
_LINE: Final = 110
_NO_STAGE: Final = "select"  # terms that no function names: which of the operands' classes it is
_FREE: Final = ("extract", "not", "zext")  # as short as a name
_WORDS: Final = {
    "add": "sum", "sub": "difference", "mul": "product", "udiv": "quotient", "urem": "remainder", "shl": "shifted",
    "lshr": "shifted", "ashr": "shifted", "eq": "equal", "ult": "less", "slt": "less", "ite": "chosen",
    "concat": "joined", "extract": "part", "and": "common", "or": "merged", "xor": "different", "not": "inverse",
    "neg": "negated", "zext": "extended", "sext": "extended",
}  # fmt: skip
_BIT_WORDS: Final = {"and": "both", "or": "either"}
FLIPPED: Final = {"==": "==", "!=": "!=", "<": ">", ">=": "<="}  # comparisons with their sides exchanged
Needs = Callable[[Term], Iterable[Term]]  # the arguments of a term that must have names


@dataclass(frozen=True)
class Plan:
    """names: of the variables and of the stated terms, which are in order; stages: of all terms."""

    names: dict[Term, str]
    stated: list[Term]
    stages: dict[Term, str]


def identifier(text: str) -> str:
    """A text as an identifier."""
    found = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"_{found}" if found[:1].isdigit() else found


def is_atom(text: str) -> bool:
    """Whether an expression needs no parentheses as an operand: it has no space but within brackets."""
    level = 0
    for char in text:
        level += (char in "({[") - (char in ")}]")
        if char == " " and not level:
            return False
    return True


def wrapped(line: str, indent: str) -> list[str]:
    """A statement, on several lines if it is long: broken behind a comma, or else between words."""
    found = []
    while len(line) > _LINE:
        comma, space = (line.rfind(x, len(indent) + 8, _LINE) for x in (", ", " "))
        at = comma + 1 if comma > _LINE // 2 else space
        if at <= 0:
            break
        found.append(line[:at])
        line = f"{indent}    {line[at + 1 :]}"
    return [*found, line]


def planned(circuit: Circuit, reserved: Collection[str], needs: Needs, forced: Iterable[Term] = ()) -> Plan:
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
    unique = _Unique({*reserved, *names.values(), *(n for p in circuit.outputs for n in (p.name, *p.names))})
    for t in stated:
        names[t] = unique(hints.get(t) or _described(t, stages[t]))
    return Plan(names, stated, stages)


def _chosen(
    order: list[Term], uses: Counter[Term], hints: Mapping[Term, str], needs: Needs, forced: set[Term]
) -> set[Term]:
    needed = {a for t in order for a in needs(t) if a.op not in ("const", "var")} | forced
    chosen: set[Term] = set()
    size: dict[Term, int] = {}  # operators of the expression that stands for the term
    for t in order:
        inside = sum(size[a] for a in t.args)
        size[t] = inside if t.op in _FREE or not t.args else inside + 1
        if not t.args:
            continue
        often = uses[t] > 1 and size[t] > 0
        if t in needed or often or size[t] > _LONGEST or (t in hints and size[t] > 0):
            chosen.add(t)
            size[t] = 0
    return chosen


class _Unique:
    def __init__(self, used: set[str]) -> None:
        self.used = used

    def __call__(self, hint: str) -> str:
        base, k = identifier(hint), 1
        name = base
        while name in self.used:
            k += 1
            name = f"{base}_{k}"
        self.used.add(name)
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
    word = _BIT_WORDS.get(t.op, _WORDS[t.op]) if t.width == 1 else _WORDS[t.op]
    return f"{stage}_{word}"


def by_stage(plan: Plan) -> list[tuple[str, list[Term]]]:
    """The stated terms with their stages: operands first, but those of a stage together as far as that goes."""
    waiting = {t: operands(t, plan) for t in plan.stated}
    users: dict[Term, list[Term]] = defaultdict(list)
    for t, needed in waiting.items():
        for a in needed:
            users[a].append(t)
    ready: dict[str, list[tuple[int, Term]]] = defaultdict(list)
    found: list[tuple[str, list[Term]]] = []

    def add(t: Term) -> None:
        heappush(ready[plan.stages[t]], (t.number, t))

    for t in [t for t, needed in waiting.items() if not needed]:
        add(t)
    while any(ready.values()):
        stage = found[-1][0] if found and ready[found[-1][0]] else min((x[0][0], s) for s, x in ready.items() if x)[1]
        if not found or found[-1][0] != stage:
            found.append((stage, []))
        _, t = heappop(ready[stage])
        found[-1][1].append(t)
        for user in users[t]:
            waiting[user].remove(t)
            if not waiting[user]:
                add(user)
    return found


def operands(t: Term, plan: Plan) -> set[Term]:
    """The stated terms in a term's expression."""
    found: set[Term] = set()
    within = list(t.args)
    while within:
        a = within.pop()
        if a in plan.names and a.op != "var":
            found.add(a)
        else:
            within.extend(a.args)
    return found
