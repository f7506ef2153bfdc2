"""A rounding inside a unit, found in a circuit.

What follows of it is proved for any code and flags, and that the circuit has the reference's by itself. So that all
cases mean the same terms of the circuit, these are all that have the values of the reference's for many inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_ as or_bits
from typing import Final, NamedTuple

from softfloat_ref.oracle.formats import Format
from softfloat_ref.proof.built import by_values
from softfloat_ref.proof.cut import implies, resized, same_number
from softfloat_ref.symbolic.build import and_, eq, ite, make, not_, or_
from softfloat_ref.symbolic.classes import is_in
from softfloat_ref.symbolic.reading import Rounded
from softfloat_ref.symbolic.terms import Term, const, evaluator, var, variables

_LEAST_SAMPLES: Final = 100  # inputs by which terms are found


class RoundedSide(NamedTuple):
    """A result of the rounding. theirs: the circuit's; value: the variable; never: bits that are not set, of flags."""

    ours: Term
    theirs: Sequence[Term]
    value: Term
    never: Term

    def holds(self, t: Term) -> Term:
        """Whether these bits are not set."""
        return eq(make("and", t.width, t, self.never), const(0, t.width))

    @property
    def same(self) -> Term:
        """Whether it is as found."""
        return and_(self.holds(self.ours), *(same_number(self.ours, t) for t in self.theirs))


class InnerRounding(NamedTuple):
    """The same rounding on both sides, of a sum that is a number for some inputs: where."""

    where: Term
    code: RoundedSide
    flags: RoundedSide
    fmt: Format

    @property
    def wrong(self) -> Term:
        """Whether it is not the same after all, or is a NaN."""
        return and_(
            self.where, or_(not_(self.code.same), not_(self.flags.same), is_in("nan", self.code.ours, self.fmt))
        )

    @property
    def facts(self) -> Term:
        """What is known of the variables."""
        number = not_(is_in("nan", self.code.value, self.fmt))
        return implies(self.where, and_(number, self.flags.holds(self.flags.value)))

    def by(self, always: bool) -> dict[Term, Term]:
        """What stands in place of terms. always: the sum is a number for all inputs that are assumed."""
        values = {t: resized(side.value, t.width) for side in self[1:3] for t in (side.ours, *side.theirs)}
        return values if always else {t: ite(self.where, value, t) for t, value in values.items()}


def rounding_inside(
    rounded: Rounded, theirs: Sequence[Term], inputs: Sequence[Mapping[str, int]]
) -> InnerRounding | None:
    """The rounding of a reference in a circuit; None if it is not there."""
    run = evaluator([rounded.where])
    usable = [values for values in inputs if run(values)[0]]
    if len(usable) < _LEAST_SAMPLES:
        return None
    places, sides = by_values(theirs, usable), list[RoundedSide]()
    for ours in (rounded.code.node, rounded.flags.node):
        values = tuple(evaluator([ours])(values)[0] for values in usable)
        never = ~reduce(or_bits, values) if sides else 0
        of = set(variables([ours]))
        same = [t for t in places.get(values, ()) if of.issuperset(variables([t]))]
        sides.append(RoundedSide(ours, same, var(f"rounded {len(sides)}", ours.width), const(never, ours.width)))
    code, flags = sides
    return InnerRounding(rounded.where, code, flags, rounded.fmt) if code.theirs else None  # it may have no flags
