"""Where a program computes terms: in the innermost branch that needs them, if that spares enough work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from softfloat_ref.symbolic.terms import Term, subterms

_LEAST: Final = 12  # operations that a branch must spare
_COSTS: Final = {"const": 0, "var": 0, "zext": 0, "mul": 3, "udiv": 25, "urem": 25}
_ROUNDS: Final = 8


class Group(NamedTuple):
    """Choices on one condition, made together: with `if`, not with operators. Those of a smaller depth come later."""

    condition: Term
    depth: int


Place = tuple[tuple[Group, bool], ...]  # the branches around a statement, outermost first


@dataclass(frozen=True)
class Branches:
    """places: of each term; depths: a term depends on terms of no smaller depth; selects: choices made by operators."""

    places: dict[Term, Place]
    depths: dict[Term, int]
    selects: frozenset[Term]

    def group(self, t: Term) -> Group | None:
        """The group of a choice; None for other terms."""
        return Group(t.args[0], self.depths[t]) if t.op == "ite" and t not in self.selects else None


def branches(roots: Sequence[Term]) -> Branches:
    """The branches of a program that computes the roots."""
    order = subterms(roots)
    selects: frozenset[Term] = frozenset()
    for _ in range(_ROUNDS):
        found = _placed(order, roots, selects)
        more = selects | set(_small(order, found))
        if more == selects:
            return found
        selects = more
    return _placed(order, roots, selects)


def _placed(order: list[Term], roots: Iterable[Term], selects: frozenset[Term]) -> Branches:
    places: dict[Term, Place] = {}
    depths: dict[Term, int] = {}

    def note(t: Term, place: Place, depth: int) -> None:
        places[t] = _common(places[t], place) if t in places else place
        depths[t] = max(depths.get(t, 0), depth)

    for t in roots:
        note(t, (), 0)
    found = Branches(places, depths, selects)
    for t in reversed(order):
        place, depth = places[t], depths[t]
        group = found.group(t)
        if group is None:
            for a in t.args:
                note(a, place, depth)
        else:
            condition, yes, no = t.args
            note(condition, place, depth + 1)
            note(yes, (*place, (group, True)), depth + 1)
            note(no, (*place, (group, False)), depth + 1)
    return found


def _common(a: Place, b: Place) -> Place:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]


def _small(order: list[Term], found: Branches) -> Iterable[Term]:
    """The choices of whose sides neither is much work."""
    work: Counter[Place] = Counter()
    for t in order:
        for n in range(1, len(found.places[t]) + 1):
            work[found.places[t][:n]] += _COSTS.get(t.op, 1)
    for t in order:
        group = found.group(t)
        if group is not None and max(work[(*found.places[t], (group, side))] for side in (True, False)) < _LEAST:
            yield t
