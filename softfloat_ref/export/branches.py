"""Where a program computes terms: in the innermost branch that needs them, if that spares enough work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from softfloat_ref.symbolic.terms import Term, subterms

_MIN_SPARED: Final = 12  # operations that a branch must spare
_COSTS: Final = {"const": 0, "var": 0, "zext": 0, "mul": 3, "udiv": 25, "urem": 25}
_MAX_PASSES: Final = 8


class ChoiceGroup(NamedTuple):
    """Choices on one condition, printed as one `if`. Groups of a smaller depth come later."""

    condition: Term
    depth: int


BranchPath = tuple[tuple[ChoiceGroup, bool], ...]  # the branches around a statement, outermost first


@dataclass(frozen=True)
class Branches:
    """places: of each term; depths: a term depends on terms of no smaller depth; selects: choices made by operators."""

    places: dict[Term, BranchPath]
    depths: dict[Term, int]
    selects: frozenset[Term]

    def group(self, t: Term) -> ChoiceGroup | None:
        """The group of a choice; None for other terms."""
        return ChoiceGroup(t.args[0], self.depths[t]) if t.op == "ite" and t not in self.selects else None


def branches(roots: Sequence[Term]) -> Branches:
    """The branches of a program that computes the roots."""
    order = subterms(roots)
    selects: frozenset[Term] = frozenset()
    for _ in range(_MAX_PASSES):
        result = _placed(order, roots, selects)
        more = selects | set(_small(order, result))
        if more == selects:
            return result
        selects = more
    return _placed(order, roots, selects)


def _placed(order: list[Term], roots: Iterable[Term], selects: frozenset[Term]) -> Branches:
    places: dict[Term, BranchPath] = {}
    depths: dict[Term, int] = {}

    def note(t: Term, place: BranchPath, depth: int) -> None:
        places[t] = _common(places[t], place) if t in places else place
        depths[t] = max(depths.get(t, 0), depth)

    for t in roots:
        note(t, (), 0)
    result = Branches(places, depths, selects)
    for t in reversed(order):
        place, depth = places[t], depths[t]
        group = result.group(t)
        if group is None:
            for a in t.args:
                note(a, place, depth)
        else:
            condition, yes, no = t.args
            note(condition, place, depth + 1)
            note(yes, (*place, (group, True)), depth + 1)
            note(no, (*place, (group, False)), depth + 1)
    return result


def _common(a: BranchPath, b: BranchPath) -> BranchPath:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]


def _small(order: list[Term], placed: Branches) -> Iterable[Term]:
    """The choices neither side of which is much work: an operator is cheaper than a branch."""
    work: Counter[BranchPath] = Counter()
    for t in order:
        for n in range(1, len(placed.places[t]) + 1):
            work[placed.places[t][:n]] += _COSTS.get(t.op, 1)
    for t in order:
        group = placed.group(t)
        if group is not None and max(work[(*placed.places[t], (group, side))] for side in (True, False)) < _MIN_SPARED:
            yield t
