"""Several faults at once: what one hypothesis explains is set aside, and the rest is diagnosed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final, Generic

from softfloat_ref.diagnosis.findings import WHERE, Diagnosis, Finding, Peeled, PeeledFault
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Hypothesis, Model
from softfloat_ref.diagnosis.ranking import Conditions, Search, explains, spread_out
from softfloat_ref.diagnosis.simplify import Simplifier
from softfloat_ref.diagnosis.spaces import P, Space

MOST: Final = 9  # faults
_SEARCHED_CASES: Final = 2048  # mismatches, and as many agreeing cases, in which further faults are searched
_FIRST_FAULTS: Final = 3  # faults that are tried as the first
_FEWEST_UNDONE: Final = 16  # right answers that others get wrong, and this one right again, without further mismatches
_UNDONE: Final = 0.9  # of these
_MANY: Final = 5  # faults that explain all cases, after which only a usual choice is tried as the first


def peel(
    space: Space[P], comparator: Comparator, cases: Sequence[AnsweredCase], single: Diagnosis, conditions_of: Conditions
) -> Peeled | None:
    """Two or more faults that together explain more cases than the best single diagnosis; None if there are none.

    conditions_of: the conditions that all mismatches of some cases fulfil, to which a fault may be restricted.
    """
    right = space.model(space.base)
    if right is None or single.complete or not single.wrong:
        return None
    wrong, agreeing = [c for c in cases if not c.agrees], [c for c in cases if c.agrees]
    some = [*spread_out(wrong, _SEARCHED_CASES), *spread_out(agreeing, _SEARCHED_CASES)]
    peeling = _Peeling(space, comparator, some, cache(right), conditions_of)
    simplifier = Simplifier(space, comparator, some)
    least = single.findings[0].explained if single.findings else 0
    best: Peeled | None = None
    for first in peeling.layer([])[:_FIRST_FAULTS]:
        if best is not None and best.explained == len(cases) and not _worth_trying(first.hypothesis, best):
            continue
        several = over(simplifier.several(peeling.from_first(first)), cases, comparator)
        if len(several.faults) > 1 and several.explained > least and (best is None or several.rank < best.rank):
            best = several
    return best


@dataclass(frozen=True)
class _Peeling(Generic[P]):
    """The search for several faults of one device. right: the model of the right device. points: those tried, by their
    names."""

    space: Space[P]
    comparator: Comparator
    cases: Sequence[AnsweredCase]
    right: Model
    conditions_of: Conditions
    points: dict[str, P] = field(default_factory=dict)

    def layer(self, stack: Sequence[Hypothesis]) -> list[Finding]:
        """The best single faults on top of those already found, that explain enough more mismatches."""
        under = cache(stack[-1].model) if stack else self.right
        left = self.left(stack)
        search = Search(self.space, self.comparator, sorted(left, key=lambda c: c.agrees))
        if stack:
            point = self.points.get(stack[0].name)
            search = replace(search, under=under, stack=stack[-1].model, right=self.right, point=point)
        findings = sorted([*search.run_once(), *search.restricted(self.conditions_of)], key=lambda f: f.rank)
        self.points.update(search.points)
        explained = sum(c.agrees for c in left)
        telling = (f for f in findings if f.is_telling(explained) and f.explained >= explained + f.hypothesis.evidence)
        return [f for f in telling if self._gains(f, left)]

    def _gains(self, f: Finding, left: Sequence[AnsweredCase]) -> bool:
        """Whether it explains enough further mismatches of the device, and does not only undo what others do; or
        undoes nearly all that they do wrongly: a part of the same circuit."""
        pairs = [(c, x) for c, x in zip(self.cases, left, strict=True) if not x.agrees]
        wrong, undone = ([c for c, _ in pairs if c.agrees is agrees] for agrees in (False, True))
        if sum(explains(f.hypothesis, c, self.comparator) for c in wrong) >= f.hypothesis.evidence:
            return True
        again = sum(explains(f.hypothesis, c, self.comparator) for c in undone)
        return again >= _FEWEST_UNDONE and _UNDONE * len(undone) <= again

    def left(self, stack: Sequence[Hypothesis]) -> list[AnsweredCase]:
        """The cases, seen as those of a device that is expected to have the faults of the stack."""
        return [_seen(c, stack[-1].model, self.comparator) for c in self.cases] if stack else list(self.cases)

    def from_first(self, first: Finding) -> list[Hypothesis]:
        """The faults found one by one after the first; each has those before it."""
        stack = [first.hypothesis]
        while len(stack) < MOST and any(not c.agrees for c in self.left(stack)) and (more := self.layer(stack)):
            stack = self._lifted([*stack, more[0].hypothesis])
        return stack

    def _lifted(self, stack: list[Hypothesis]) -> list[Hypothesis]:
        """The same faults, without the conditions that a later one has made needless."""
        for i, h in enumerate(stack):
            if h.wide is not None:
                other = Simplifier(self.space, self.comparator, self.cases).joined(
                    [*stack[:i], h.wide, *stack[i + 1 :]]
                )
                if other and self._explained(other[-1]) >= self._explained(stack[-1]):
                    stack = other
        return stack

    def _explained(self, h: Hypothesis) -> int:
        return sum(explains(h, c, self.comparator) for c in self.cases)


def _worth_trying(first: Hypothesis, best: Peeled) -> bool:
    """Whether to try a fault as the first of several, beside some that explain all cases: if these have conditions and
    are few; or if it is a usual choice, and they are not two of these."""
    restricted = not best.plain and len(best.faults) < _MANY
    return restricted or (first.usual and not (best.usual and len(best.faults) == 2))


def over(stack: Sequence[Hypothesis], cases: Sequence[AnsweredCase], comparator: Comparator) -> Peeled:
    """How much of all cases several faults explain."""
    fits = [explains(stack[-1], c, comparator) for c in cases]
    unexplained = next((c for c, fit in zip(cases, fits, strict=True) if not fit), None)
    return Peeled(_shares(stack, cases, comparator), sum(fits), unexplained, tuple(stack))


def _seen(case: AnsweredCase, under: Model, comparator: Comparator) -> AnsweredCase:
    """A case as one of a device that is expected to have the faults found so far."""
    output = under(case.inputs)
    if output is None:
        return case
    return case._replace(expected=case.got if comparator.gives(output, case) else comparator(output))


def _shares(
    stack: Sequence[Hypothesis], cases: Sequence[AnsweredCase], comparator: Comparator
) -> tuple[PeeledFault, ...]:
    """The faults, each with the mismatches that it explains and those before it do not; each once."""
    faults: dict[str, PeeledFault] = {}
    left = [c for c in cases if not c.agrees]
    for h in stack:
        outputs = [h.model(c.inputs) for c in left]
        rest = [c for c, x in zip(left, outputs, strict=True) if x is None or not comparator.gives(x, c)]
        name = h.name.partition(WHERE)[0]  # the same fault again, over or under another
        before = faults.get(name, PeeledFault(h, 0))
        faults[name] = before._replace(mismatches=before.mismatches + len(left) - len(rest))
        left = rest
    return tuple(faults.values())
