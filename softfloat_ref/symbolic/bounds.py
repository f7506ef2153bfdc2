"""Bounds of integers that are sums of unknowns, under facts about other such sums.

Widths of terms follow from bounds. Intervals alone are too wide: that exponent - min(exponent, other) is not negative
follows from how the smaller one was chosen. So each integer is known as a sum (`Sum`) of unknowns; an unknown that was
chosen from several has these as its choices, each with the facts that hold where it was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

DEPTH: Final = 4  # of choices within choices that are looked into
EFFORT: Final = 2000  # sums that are looked at for one bound; what is not looked at only leaves it wider


class Infeasible(Exception):
    """The facts contradict each other: nothing reaches this place."""


@dataclass(eq=False)
class Unknown:
    """An integer from lo to hi. choices: the sums of which it is one, if it was chosen, each with its facts. laws: what
    else is known of it, each where something (a term) holds."""

    lo: int
    hi: int
    choices: tuple[tuple[Sum, Facts], ...] = ()
    laws: tuple[tuple[Any, Fact], ...] = ()


class Fact(NamedTuple):
    """lo <= sum <= hi; None: no limit."""

    sum: Sum
    lo: int | None
    hi: int | None


Facts = tuple[Fact, ...]


@dataclass(eq=False)
class Sum:
    """constant + the sum of factor * unknown."""

    constant: int
    parts: Mapping[Unknown, int] = field(default_factory=dict)

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """This sum and a multiple of another."""
        parts = dict(self.parts)
        for unknown, n in other.parts.items():
            parts[unknown] = parts.get(unknown, 0) + factor * n
        return Sum(self.constant + factor * other.constant, {u: n for u, n in parts.items() if n})

    def times(self, factor: int) -> Sum:
        """A multiple of this sum."""
        return Sum(0).plus(self, factor)

    def chosen(self, unknown: Unknown, choice: Sum) -> Sum:
        """The sum with one of its unknowns replaced."""
        factor = self.parts[unknown]
        rest = {u: n for u, n in self.parts.items() if u is not unknown}
        return Sum(self.constant, rest).plus(choice, factor)

    @property
    def range(self) -> tuple[int, int]:
        """The bounds that follow from the unknowns' own."""
        lo = hi = self.constant
        for u, n in self.parts.items():
            lo += n * (u.lo if n > 0 else u.hi)
            hi += n * (u.hi if n > 0 else u.lo)
        return lo, hi


def bounds(total: Sum, facts: Facts, laws: Facts = ()) -> tuple[int, int]:
    """The least interval found for a sum under facts, and laws of its unknowns. Raises Infeasible."""
    return _Search(laws).bounds(total, facts, DEPTH)


class _Search:
    """The search for one bound, which stops after some effort."""

    def __init__(self, laws: Facts) -> None:
        self.left, self.laws = EFFORT, laws

    def bounds(self, total: Sum, facts: Facts, depth: int) -> tuple[int, int]:
        self.left -= 1
        lo, hi = total.range
        for fact in facts:
            lo, hi = _narrowed(total, fact, (), lo, hi)
        for law in self.laws:
            lo, hi = _narrowed(total, law, facts, lo, hi)
        if depth:
            for unknown in total.parts:
                if unknown.choices and lo < hi and self.left > 0:
                    below, above = self.over_choices(total, unknown, facts, depth - 1)
                    lo, hi = max(lo, below), min(hi, above)
        if lo > hi:
            raise Infeasible
        return lo, hi

    def over_choices(self, total: Sum, unknown: Unknown, facts: Facts, depth: int) -> tuple[int, int]:
        ends = []
        for choice, more in unknown.choices:
            try:
                ends.append(self.bounds(total.chosen(unknown, choice), facts + more, depth))
            except Infeasible:
                continue
        if not ends:
            raise Infeasible
        return min(lo for lo, _ in ends), max(hi for _, hi in ends)


def _narrowed(total: Sum, fact: Fact, facts: Facts, lo: int, hi: int) -> tuple[int, int]:
    """Bounds from those of a fact, and those of the rest, under other facts: total = factor * fact.sum + rest."""
    tried = set()
    for unknown, n in fact.sum.parts.items():
        factor, left = divmod(total.parts.get(unknown, 0), n)
        if left or not factor or factor in tried:
            continue
        tried.add(factor)
        rest = total.plus(fact.sum, -factor)
        rest_lo, rest_hi = rest.range
        for other in facts:
            rest_lo, rest_hi = _narrowed(rest, other, (), rest_lo, rest_hi)
        at_lo, at_hi = (fact.lo, fact.hi) if factor > 0 else (fact.hi, fact.lo)
        if at_lo is not None:
            lo = max(lo, rest_lo + factor * at_lo)
        if at_hi is not None:
            hi = min(hi, rest_hi + factor * at_hi)
    return lo, hi
