"""The largest of many numbers, in whatever order a circuit compares them.

That two orders of comparisons have the same result is hard to see for a solver. So the largest number becomes a
variable that is at least each of the numbers, and is one of them, which says all of it. A number may count only where
a bit is set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from softfloat_ref.proof.cut import at_most, implies
from softfloat_ref.symbolic.build import and_, eq, not_, or_
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, subterms, var, variables

FEWEST: Final = 3  # numbers, of which there is more than one order


class _Number(NamedTuple):
    """One of the numbers, and where it counts."""

    there: Term
    value: Term


@dataclass(frozen=True)
class Largest:
    """The largest of numbers. value: the variable in its place; order: the inputs of each number that is compared with
    the largest so far, the last one first; None if they are compared otherwise."""

    value: Term
    numbers: Sequence[_Number]
    order: tuple[frozenset[Term], ...] | None

    @property
    def facts(self) -> Term:
        """What makes it the largest: it is at least each number that counts, and equal to one of them."""
        least = (implies(n.there, at_most(n.value, self.value)) for n in self.numbers)
        return and_(*least, or_(*(and_(n.there, eq(n.value, self.value)) for n in self.numbers)))


def largest_numbers(roots: Sequence[Term]) -> dict[Term, Largest]:
    """The largest of three numbers or more that are found in terms in more than one order."""
    steps = {t: step for t in subterms(roots) if (step := _step(t)) is not None}
    inner = {x for first, _, other in steps.values() for x in (first, other)}
    inner |= {t for top, (first, _, other) in steps.items() for t in top.args if t in steps and t not in (first, other)}
    many = [(t, numbers) for t in steps if t not in inner and len(numbers := _numbers(t, steps)) >= FEWEST]
    largest_of = {t: Largest(var(f"largest {k}", t.width), n, _order(t, steps)) for k, (t, n) in enumerate(many)}
    orders = {largest.order for largest in largest_of.values()}
    return largest_of if len(orders) > 1 or (None in orders and len(largest_of) > 1) else {}


def _order(top: Term, steps: Mapping[Term, _Step]) -> tuple[frozenset[Term], ...] | None:
    others = list[Term]()
    while top in steps:
        top, _, other = steps[top]
        if top not in steps:
            top, other = (other, top) if other in steps else (top, other)
        if other in steps:
            return None
        others.append(other)
    return tuple(inputs for t in (*others, top) if (inputs := frozenset(variables([t]))))


_Step = tuple[Term, Term, Term]  # a number, where another one counts, and that


def _step(t: Term) -> _Step | None:
    """A choice of the larger of two numbers, if it is one."""
    if (pair := _larger(t)) is not None:
        return pair[0], TRUE, pair[1]
    if t.op != "ite" or t.width == 1:
        return None
    condition, yes, no = t.args
    for where, larger, first in ((condition, yes, no), (not_(condition), no, yes)):
        pair = _larger(larger)
        if pair is not None and first in pair:
            return first, where, pair[pair[0] is first]
    if condition.op == "and":
        for part, other in (condition.args, condition.args[::-1]):
            if part.op == "ult" and part.args == (no, yes):
                return no, other, yes
    return None


def _larger(t: Term) -> tuple[Term, Term] | None:
    """The two numbers of which a term is the larger one: that to which it is compared, and that."""
    if t.op != "ite" or t.width == 1 or t.args[0].op != "ult":
        return None
    condition, yes, no = t.args
    return (no, yes) if condition.args == (no, yes) else None


def _numbers(top: Term, steps: Mapping[Term, _Step]) -> list[_Number]:
    """The numbers of which a term is the largest."""
    there, numbers = {top: TRUE}, list[_Number]()
    for t in reversed(subterms([top])):
        if t not in there:
            continue
        if t not in steps:
            numbers.append(_Number(there[t], t))
            continue
        first, where, other = steps[t]
        for x, counts in ((other, and_(there[t], where)), (first, there[t])):
            there[x] = or_(there.get(x, FALSE), counts)
    return numbers
