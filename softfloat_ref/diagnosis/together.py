"""The diagnoses of a unit's parts: parts that differ only in their policies are diagnosed together, and what explains
one part is evidence for the same in others."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from functools import partial

from softfloat_ref.diagnosis.checked import cases_of, comparator_of, diagnosis_of, examined, finished, late_diagnosis
from softfloat_ref.diagnosis.conditions import CaseCondition, conditions
from softfloat_ref.diagnosis.families import FamilySpace, families, features
from softfloat_ref.diagnosis.findings import Diagnosis, Finding
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Hypothesis
from softfloat_ref.diagnosis.peeling import over
from softfloat_ref.diagnosis.ranking import explains
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
    space = FamilySpace.of(units)
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
    """A diagnosis with findings, those that explain more than assuming no fault."""
    explaining = tuple(f for f in findings if f.explained > part.examined - part.wrong)
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
