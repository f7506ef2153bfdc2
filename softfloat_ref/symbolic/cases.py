"""The cases into which a proof splits a unit's inputs, a kind of unit a function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from softfloat_ref.symbolic.circuit import Case
from softfloat_ref.symbolic.integers import at, bit, both
from softfloat_ref.symbolic.terms import FALSE, Term, and_, not_
from softfloat_ref.symbolic.units import Combination, combinations, distance, inputs_of
from softfloat_ref.units import Unit
from softfloat_ref.units.operation import OperationUnit


@singledispatch
def cases(unit: Unit) -> Sequence[Case]:
    """The cases of a unit, the same ones in the same order each time; none for units that are not split."""
    return ()


@cases.register
def _sums(unit: OperationUnit) -> Sequence[Case]:
    """Of sums of two terms: by how far apart the exponents are, one case each where the terms overlap."""
    finite = [c for c in combinations(unit, inputs_of(unit)) if c.finite]
    if len(finite) != 1 or distance(unit, finite[0]) is None:
        return ()
    ordinary = finite[0].guard
    lo, hi = _range(unit, finite[0])
    near = unit.out.precision + 3 + unit.policy.random_count
    cuts = sorted({lo, *(k for k in range(-near, 2 * near) if lo < k <= hi), hi + 1})
    found = [Case("special", not_(ordinary), finite=False)]
    for low, high in zip(cuts, [k - 1 for k in cuts[1:]], strict=False):
        name = f"d={low}" if low == high else f"d={low}..{high}"
        assumption = and_(ordinary, _between(unit, finite[0], low, high))
        if assumption is not FALSE:
            found.append(Case(name, assumption, finite=True, distance=(low, high)))
    return tuple(found)


def _range(unit: OperationUnit, finite: Combination) -> tuple[int, int]:
    """The distances that occur."""
    with at(finite.path):
        d = distance(unit, finite)
    return (d.lo, d.hi) if hasattr(d, "lo") else (d, d)


def _between(unit: OperationUnit, finite: Combination, low: int, high: int) -> Term:
    with at(finite.path):
        d = distance(unit, finite)
        return bit(both(d >= low, d <= high))
