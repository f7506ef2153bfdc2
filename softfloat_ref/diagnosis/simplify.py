"""Explanations without what their cases do not need: choices of a policy, conditions, faults that others cover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Generic

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.findings import Finding
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Hypothesis
from softfloat_ref.diagnosis.ranking import explains, spread_out
from softfloat_ref.diagnosis.spaces import ChoiceSpace, P, Space, fields_text, hypothesis

_TRIED_CASES: Final = 384  # mismatches, and as many agreeing cases, by which something is needless
_MOST_FIELDS: Final = 6  # of a policy, that are said one by one
_FEWEST_FIELDS: Final = 3  # of a named policy, that is said by its name if all of them are needed
_MOST_TRIES: Final = 3  # each with the cases that the one before gets wrong
_TOGETHER: Final = ("flush_outputs", "flush_rule", "tininess")  # of no effect, or of another, without the first
Fits = Callable[[Sequence[Hypothesis]], bool]


@dataclass(frozen=True)
class Simplifier(Generic[P]):
    """Takes from explanations of some cases what these do not need."""

    space: Space[P]
    comparator: Comparator
    cases: Sequence[AnsweredCase]

    def several(self, stack: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Faults with their choices one by one, without needless ones; as they are, if they are not all of steps."""
        if self.joined(stack) is None:
            return list(stack)
        some = _spread(self.cases)
        for _ in range(_MOST_TRIES):
            simpler = self._fitting(list(stack), some)
            missed = [c for c in self.cases if self._explains(stack, c) and not self._explains(simpler, c)]
            if self._explained(simpler, self.cases) >= self._explained(stack, self.cases):
                return simpler
            some += spread_out(missed, _TRIED_CASES)
        return list(stack)

    def _fitting(self, stack: list[Hypothesis], some: Sequence[AnsweredCase]) -> list[Hypothesis]:
        """Simpler faults that explain as many of some cases."""
        count = self._explained(stack, some)

        def fits(faults: Sequence[Hypothesis]) -> bool:
            joined = self.joined(faults)
            return joined is not None and self._explained(joined, some) >= count

        return self.joined(self._needed_faults(self._choices_apart(stack, fits), fits)) or stack

    def joined(self, faults: Sequence[Hypothesis]) -> list[Hypothesis] | None:
        """Some faults as one device, each with those before it; None if they are not all of steps."""
        model, stack = self.space.known_model(self.space.base), list[Hypothesis]()
        base = model
        for h in faults:
            before = model.preceded(h.own) if isinstance(model, Faulty) and h.early else None
            model = before or (model.joined(h.own, base) if isinstance(model, Faulty) else None)
            if model is None:
                return None
            stack.append(h._replace(model=model, alone=h.own))
        return stack

    def _explained(self, stack: Sequence[Hypothesis], cases: Sequence[AnsweredCase]) -> int:
        return sum(self._explains(stack, c) for c in cases)

    def _explains(self, stack: Sequence[Hypothesis], case: AnsweredCase) -> bool:
        return bool(stack) and explains(stack[-1], case, self.comparator)

    @staticmethod
    def _needed_faults(faults: list[Hypothesis], fits: Fits) -> list[Hypothesis]:
        """The faults without those, and without conditions, that the others make needless."""
        for i in reversed(range(len(faults))):
            wide = faults[i].wide
            if fits(without := [*faults[:i], *faults[i + 1 :]]):
                faults = without
            elif wide is not None and fits(widened := [*faults[:i], wide, *faults[i + 1 :]]):
                faults = widened
        return faults

    def _choices_apart(self, faults: list[Hypothesis], fits: Fits) -> list[Hypothesis]:
        """The faults, with those that are choices, as of a policy, as the needed choices one by one."""
        space = self.space
        points = [h for h in faults if _is_point(h, space)] if isinstance(space, ChoiceSpace) else []
        joined = self.joined(points) if points else None
        if not joined or not isinstance(space, ChoiceSpace) or not isinstance(joined[-1].model, Faulty):
            return faults
        first, others = faults.index(points[0]), [h for h in faults if not _is_point(h, space)]

        def with_points(some: Sequence[Any]) -> list[Hypothesis]:
            of_points = [h for p in some if p != space.base and (h := hypothesis(space, p)) is not None]
            return [*others[:first], *of_points, *others[first:]]

        start = getattr(joined[-1].model.unit, space.kind)
        point = needed(space, start, lambda p: fits(with_points([p])))
        if len(points) == 1 and space.key(point) == space.key(start):
            return faults
        apart = with_points(_apart(space, point))
        return apart if fits(apart) else faults


def _is_point(h: Hypothesis, space: Space[Any]) -> bool:
    return h.kind == space.kind and isinstance(h.own, Faulty) and not h.own.changes


def needed(space: ChoiceSpace[Any], point: Any, fits: Callable[[Any], bool]) -> Any:
    """A point without choices that are not needed; and with the usual ones, of those that do as well."""
    base = space.base
    for field in reversed(space.differing(point, base)):
        others = [base, *(p for p in space.changes(base) if list(space.differing(p, base)) == [field])]
        for other in others:
            changed = _changed(point, [field], other)
            if changed == point or (changed is not None and fits(changed)):
                point = changed
                break
    return point


def _changed(point: Any, fields: Sequence[str], other: Any) -> Any:
    """A point with another's choices; None if these exclude each other."""
    try:
        return point.replace(**{field: getattr(other, field) for field in fields})
    except Error:
        return None


def _apart(space: ChoiceSpace[Any], point: Any) -> list[Any]:
    """The points that have one of a point's choices each; just the point, if these are many or have a name."""
    fields = list(space.differing(point, space.base))
    named = len(fields) >= _FEWEST_FIELDS and not space.nearest(point)[1]
    together: list[str] = [x for x in _TOGETHER if x in fields] if _TOGETHER[0] in fields else []
    groups: list[list[str]] = [[x] for x in fields if x not in together]
    groups = [together, *groups] if together else groups
    apart = [_changed(space.base, group, point) for group in groups]
    return [point] if named or None in apart or len(fields) > _MOST_FIELDS else apart


def simpler_choices(space: Space[Any], comparator: Comparator, cases: Sequence[AnsweredCase], f: Finding) -> Finding:
    """A finding with several choices, without those that its cases do not need."""
    h = f.hypothesis
    if not isinstance(space, ChoiceSpace) or not isinstance(h.own, Faulty) or h.also is not None:
        return f
    model, start = h.own, getattr(h.own.unit, space.kind, space.base)
    if len(space.differing(start, space.base)) < 2:
        return f
    explained = [c for c in cases if explains(h, c, comparator)]

    def fits(point: Any, some: Sequence[AnsweredCase]) -> bool:
        try:
            other = h._replace(model=replace(model, unit=space.unit_of(point)))
        except Error:
            return False
        return all(explains(other, c, comparator) for c in some)

    point = start
    for some in (_spread(explained), explained):
        point = needed(space, start, partial(fits, some=some))
        if fits(point, explained):
            break
    own, name, text = space.differing(point, space.base), space.text(start), space.description(start)
    known = h.name.startswith(name) and h.description.startswith(text)
    if (
        space.key(point) == space.key(start)
        or not known
        or not 0 < len(own) <= _MOST_FIELDS
        or not fits(point, explained)
    ):
        return f
    simpler = h._replace(
        name=fields_text(own) + h.name.removeprefix(name),
        description=space.sentence(own) + h.description.removeprefix(text),
        model=replace(model, unit=space.unit_of(point)),
        unit=h.unit and space.unit_of(point),
    )
    return replace(f, hypothesis=simpler)


def _spread(cases: Sequence[AnsweredCase]) -> list[AnsweredCase]:
    """Some mismatches, and some agreeing cases."""
    wrong, right = [c for c in cases if not c.agrees], [c for c in cases if c.agrees]
    return [*spread_out(wrong, _TRIED_CASES), *spread_out(right, _TRIED_CASES)]
