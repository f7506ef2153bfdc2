"""Several faults at once: what one hypothesis explains is set aside, and the rest is diagnosed again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from softfloat_ref.diagnosis.conditions import Condition
from softfloat_ref.diagnosis.hypotheses import Case, Comparator, Hypothesis, Model
from softfloat_ref.diagnosis.ranking import WHERE, Diagnosis, Fault, Finding, Peeled, Search
from softfloat_ref.diagnosis.spaces import P, Space

MOST: Final = 4  # faults
Conditions = Callable[[Sequence[Case]], Sequence[Condition]]


def peel(
    space: Space[P], comparator: Comparator, cases: Sequence[Case], single: Diagnosis, found: Conditions
) -> Peeled | None:
    """Two or more faults that together explain more cases than the best single diagnosis; None if there are none.

    found: the conditions that all mismatches of some cases fulfil, to which a fault may be restricted.
    """
    right = space.model(space.base)
    if right is None or single.complete or not single.wrong:
        return None
    right = cache(right)
    stack: list[Hypothesis] = []
    under, left, explained = right, list(cases), len(cases) - single.wrong
    while len(stack) < MOST and explained < len(cases):
        search = Search(space, comparator, sorted(left, key=lambda c: c.agrees))
        if stack:
            search = replace(search, under=under, stack=stack[-1].model, right=right)
        best = _best(search, found)
        if best is None or best.explained < explained + best.hypothesis.evidence:
            break
        above = cache(best.hypothesis.model)
        seen = [_seen(c, above, comparator) for c in cases]
        of = zip(cases, left, seen, strict=True)
        if sum(not c.agrees and not x.agrees and y.agrees for c, x, y in of) < best.hypothesis.evidence:
            break  # it only undoes what another fault does too much
        stack.append(best.hypothesis)
        under, left, explained = above, seen, best.explained
    faults = _shares(stack, cases, comparator)
    if len(faults) < 2 or explained <= (single.findings[0].explained if single.findings else 0):
        return None
    return Peeled(faults, explained, next((c for c, x in zip(cases, left, strict=True) if not x.agrees), None))


def _best(search: Search[P], found: Conditions) -> Finding | None:
    """The best single fault on top of those already found."""
    findings = [*search.run_once(), *search.restricted(found(search.cases))]
    return min(findings, key=lambda f: f.rank, default=None)


def _seen(case: Case, under: Model, comparator: Comparator) -> Case:
    """A case as one of a device that is expected to have the faults found so far."""
    output = under(case.inputs)
    return case if output is None else case._replace(expected=comparator(output))


def _shares(stack: Sequence[Hypothesis], cases: Sequence[Case], comparator: Comparator) -> tuple[Fault, ...]:
    """The faults, each with the mismatches that it explains and those before it do not; each once."""
    faults: dict[str, Fault] = {}
    left = [c for c in cases if not c.agrees]
    for h in stack:
        outputs = [h.model(c.inputs) for c in left]
        rest = [c for c, x in zip(left, outputs, strict=True) if x is None or comparator(x) != c.got]
        name = h.name.partition(WHERE)[0]  # the same fault again, over or under another
        before = faults.get(name, Fault(h, 0))
        faults[name] = before._replace(mismatches=before.mismatches + len(left) - len(rest))
        left = rest
    return tuple(faults.values())
