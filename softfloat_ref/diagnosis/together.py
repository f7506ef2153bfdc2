"""The diagnoses of a unit's parts. Parts that differ only in their policies are diagnosed together, since a fault
seldom depends on the rounding; and what explains one part is evidence for the same in others."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

from softfloat_ref.base.search import find_first
from softfloat_ref.diagnosis.checked import cases_of, comparator_of, diagnosis_of, examined, finished, late_diagnosis
from softfloat_ref.diagnosis.conditions import CaseCondition, Feature, conditions
from softfloat_ref.diagnosis.findings import Diagnosis, Finding
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Hypothesis, Inputs, Model, Output
from softfloat_ref.diagnosis.kinds import kind_of
from softfloat_ref.diagnosis.peeling import over
from softfloat_ref.diagnosis.ranking import explains
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.testing.judge import CheckReport
from softfloat_ref.units import Unit


def diagnoses(reports: Sequence[CheckReport]) -> list[Diagnosis | None]:
    """The diagnosis of each part; None where the device got nothing wrong."""
    of = {r.vectors.unit: r for r in reports if r.wrong}
    of_unit: dict[Unit, Diagnosis | None] = {}
    for units in families(of):
        family = [of[x] for x in units]
        if len(family) == 1 or any(late_diagnosis(r) for r in family):
            of_unit |= {r.vectors.unit: diagnosis_of(r) for r in family}
        else:
            of_unit |= _of_family(family)
    _corroborate(of_unit)
    return [of_unit.get(r.vectors.unit) for r in reports]


def _of_family(reports: Sequence[CheckReport]) -> dict[Unit, Diagnosis | None]:
    """The diagnoses of parts that differ only in their policies."""
    units = [r.vectors.unit for r in reports]
    comparators = list(map(comparator_of, reports))
    own = [cases_of(r, comparator) for r, comparator in zip(reports, comparators, strict=True)]
    joined = [c._replace(inputs=(i, *c.inputs)) for i, some in enumerate(own) for c in some]
    joined = sorted(joined, key=lambda c: c.agrees)
    space = FamilySpace.of(units, reports[0].whole)
    together = examined(space, comparators[0], joined, partial(_conditions, units))
    diagnoses: dict[Unit, Diagnosis | None] = {}
    for i, (report, cases) in enumerate(zip(reports, own, strict=True)):
        alone = None
        part = _of_part(together, space, i, cases, comparators[i])
        if not (part.several or (part.findings and part.explains_nearly_all)):
            alone = diagnosis_of(report)
        better = alone is not None and alone.explained > part.explained
        diagnoses[units[i]] = alone if better else finished(part, cases, units[i], comparators[i])
    return diagnoses


def _conditions(units: Sequence[Unit], cases: Sequence[AnsweredCase]) -> list[CaseCondition]:
    return conditions(features(units), cases)


def _of_part(
    together: Diagnosis, space: FamilySpace, i: int, cases: Sequence[AnsweredCase], comparator: Comparator
) -> Diagnosis:
    """What the diagnosis of a family says of one of its parts."""
    part = Diagnosis(len(cases), sum(not c.agrees for c in cases))
    if together.several is not None:
        stack = [space.own(h, i) for h in together.several.stack]
        several = over(stack, cases, comparator)
        several = several._replace(faults=tuple(f for f in several.faults if f.mismatches))
        if len(several.faults) > 1:
            return dataclasses.replace(part, several=several)
        if len(several.faults) == 1:
            h = several.faults[0].hypothesis._replace(model=stack[-1].model)
            elsewhere = together.wrong - part.wrong
            return _with(part, [_over(h, cases, comparator)], elsewhere, cases, comparator)
        return part
    first = together.findings[0].explained if together.findings else 0
    best = [_over(space.own(f.hypothesis, i), cases, comparator) for f in together.findings if f.explained == first]
    best = sorted(best, key=lambda f: f.rank)
    return _with(part, best, together.wrong - part.wrong, cases, comparator)


def _with(
    part: Diagnosis, findings: Sequence[Finding], elsewhere: int, cases: Sequence[AnsweredCase], comparator: Comparator
) -> Diagnosis:
    """A diagnosis with findings, those that tell more than assuming no fault."""
    explaining = tuple(f for f in findings if f.is_telling(part.examined - part.wrong))
    if not explaining:
        return part
    exception = next((c for c in cases if not explains(explaining[0].hypothesis, c, comparator)), None)
    return dataclasses.replace(part, findings=explaining, exception=exception, elsewhere=elsewhere)


def _over(h: Hypothesis, cases: Sequence[AnsweredCase], comparator: Comparator) -> Finding:
    """How much of a part's cases a hypothesis explains."""
    explained = [c for c in cases if explains(h, c, comparator)]
    return Finding(h, len(explained), sum(not c.agrees for c in explained))


def _corroborate(of_unit: dict[Unit, Diagnosis | None]) -> None:
    """Count, for each diagnosis that explains its part, the mismatches that the same explains in other parts; of
    several, the one that explains the most is the first."""
    whole = {unit: d for unit, d in of_unit.items() if d is not None and d.several is None and d.complete}
    counts: Counter[str] = Counter()
    for d in whole.values():
        counts.update(dict.fromkeys({f.hypothesis.name for f in d.best}, d.wrong))
    for unit, d in whole.items():
        order = sorted(d.best, key=lambda f: -counts[f.hypothesis.name])
        rest = [f for f in d.findings if f not in order]
        elsewhere = counts[order[0].hypothesis.name] - d.wrong
        findings = (*order, *rest)
        of_unit[unit] = dataclasses.replace(d, findings=findings, elsewhere=max(elsewhere, d.elsewhere))


# -- several units as one --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FamilySpace(Space[str]):
    """The spaces of several units as one; inputs begin with the number of a unit.

    A point is a name: in each unit, the choice of that name, or the expected one where the unit has none of that name.
    """

    kind: ClassVar[str] = "policy"
    spaces: tuple[Space[Any], ...] = ()
    known: tuple[dict[str, Any], ...] = field(default=(), compare=False)  # each space's points, by their names

    @staticmethod
    def of(units: Sequence[Unit], whole: Unit | None = None) -> FamilySpace:
        """The units' spaces as one. whole: the unit of which they are parts."""
        spaces = tuple(kind_of(unit).space(whole=whole) for unit in units)
        return FamilySpace(units[0], "", spaces, tuple({} for _ in spaces))

    @cached_property
    def base(self) -> str:
        return ""

    def named(self) -> Iterable[str]:
        return self._entered(lambda space, _: space.named(), "")

    def changes(self, point: str) -> Iterable[str]:
        return self._entered(lambda space, own: space.changes(own), point)

    def _entered(self, points_of: Callable[[Space[Any], Any], Iterable[Any]], name: str) -> Iterable[str]:
        """The names of points found in each space, from its point of this name."""
        entered: dict[str, None] = {}
        for i, space in enumerate(self.spaces):
            for point in points_of(space, self._own(i, name)):
                if space.key(point) != space.key(space.base):
                    entered[space.text(point)] = None
                    self.known[i].setdefault(space.text(point), point)
        return entered

    def _own(self, i: int, name: str) -> Any:
        return self.known[i].get(name, self.spaces[i].base)

    def model(self, point: str) -> Model | None:
        models = [space.model(self._own(i, point)) for i, space in enumerate(self.spaces)]
        return by_unit([m for m in models if m is not None]) if None not in models else None

    def key(self, point: str) -> Hashable:
        return tuple(space.key(self._own(i, point)) for i, space in enumerate(self.spaces))

    def text(self, point: str) -> str:
        return point

    def description(self, point: str) -> str:
        spaces = zip(self.spaces, self.known, strict=True)
        return find_first(space.description(known[point]) for space, known in spaces if point in known)

    def size(self, point: str) -> int:
        having = zip(self.spaces, self.known, strict=True)
        return max((s.size(known[point]) for s, known in having if point in known), default=0)

    def own(self, h: Hypothesis, i: int) -> Hypothesis:
        """A hypothesis as one of unit i alone, without what changes nothing there: a choice, the condition of its
        rounding."""
        name, sentence, point = h.name, h.description, h.name.split("; ")[0]
        if point != name and point not in self.known[i] and any(point in known for known in self.known):
            name, sentence = name.removeprefix(f"{point}; "), sentence.removeprefix(f"{self.description(point)}, and ")
        where = rounding_text(self.spaces[i].unit)
        for text in (f" and {where}", f"{where} and ", f", but only where {where}", f", where {where}"):
            name, sentence = name.replace(text, ""), sentence.replace(text, "")
        return h._replace(name=name, description=sentence, model=of_unit(h.model, i))

    def defects(self, point: str) -> Iterator[Hypothesis]:
        return self._merged(point, [s.defects(self._own(i, point)) for i, s in enumerate(self.spaces)])

    def suggested(self, point: str, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        own = [[c._replace(inputs=c.inputs[1:]) for c in cases if c.inputs[0] == i] for i in range(len(self.spaces))]
        defects = [s.suggested(self._own(i, point), own[i]) for i, s in enumerate(self.spaces)]
        return self._merged(point, defects)

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        below = [of_unit(under, i) for i in range(len(self.spaces))]
        defects = [s.answer_defects(x) for s, x in zip(self.spaces, below, strict=True)]
        return _merged(defects, below)

    def _merged(self, point: str, defects: Sequence[Iterable[Hypothesis]]) -> Iterator[Hypothesis]:
        models = [space.model(self._own(i, point)) for i, space in enumerate(self.spaces)]
        return _merged(defects, [m for m in models if m is not None]) if None not in models else iter(())


def _merged(defects: Sequence[Iterable[Hypothesis]], instead: Sequence[Model]) -> Iterator[Hypothesis]:
    """The hypotheses of each unit, those of one name as one. instead: how a unit answers that has none of a name."""
    tables = [{h.name: h for h in some} for some in defects]
    for name, h in {name: h for table in reversed(tables) for name, h in table.items()}.items():
        models = [t[name].model if name in t else x for t, x in zip(tables, instead, strict=True)]
        yield h._replace(model=by_unit(models), may_give=None)


def by_unit(models: Sequence[Model]) -> Model:
    """The models of several units as one; inputs begin with the number of a unit."""
    return lambda inputs: models[inputs[0]](inputs[1:])


def of_unit(model: Model, i: int) -> Model:
    """The model of one unit in that of several."""
    return lambda inputs: model((i, *inputs))


def features(units: Sequence[Unit]) -> Iterator[Feature]:
    """Properties that mismatches of several units may have in common: those of each, and the rounding."""
    roundings = list(map(rounding_text, units))
    if len(set(roundings)) > 1:
        yield Feature(lambda i, _: roundings[i[0]], lambda v: str(v[0]))
    for f in kind_of(units[0]).features():

        def of(inputs: Inputs, expected: Output, f: Feature = f) -> int | str | None:
            return f.of(inputs[1:], expected)

        yield f._replace(of=of)


def rounding_text(unit: Unit) -> str:
    """The condition that the rounding is that of a unit."""
    return f"the rounding is {unit.properties()['rounding']}"


def families(units: Iterable[Unit]) -> list[list[Unit]]:
    """The units in families, each of operations that differ only in their policies, in order of appearance."""
    by_family: dict[Hashable, list[Unit]] = {}
    for unit in units:
        by_family.setdefault(kind_of(unit).family, []).append(unit)
    return list(by_family.values())
