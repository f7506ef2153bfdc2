"""The diagnosis of a check: from its report to what the device seems to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from softfloat_ref.diagnosis.asking import Asker
from softfloat_ref.diagnosis.conditions import CaseCondition, common, conditions
from softfloat_ref.diagnosis.findings import Diagnosis
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Hypothesis, Output
from softfloat_ref.diagnosis.kinds import DiagnosedKind, kind_of
from softfloat_ref.diagnosis.order_faults import late_answers
from softfloat_ref.diagnosis.peeling import peel
from softfloat_ref.diagnosis.ranking import Conditions, explains, ranked_diagnosis, spread_out
from softfloat_ref.diagnosis.shrink import shrink, simplest
from softfloat_ref.diagnosis.simplify import simpler_choices
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.diagnosis.unexplained import by_class, facts
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing.devices import DeviceError
from softfloat_ref.testing.judge import CheckReport, judge_like
from softfloat_ref.units import Unit

EXAMINED: Final = 1 << 15  # cases on which the best hypotheses are run
EXAMINED_WIDE: Final = 1 << 11  # for blocks and dot products


def space_of(vectors: VectorSet, whole: Unit | None = None) -> Space[Any]:
    """The space of devices for a vector set. whole: the unit of which its unit is a part."""
    return kind_of(vectors.unit).space(vectors.source, whole)


def cases_of(report: CheckReport, comparator: Comparator) -> list[AnsweredCase]:
    """The cases kept in a report: mismatches and others mixed, each spread over the run."""
    width = report.vectors.unit.input_width
    most = EXAMINED_WIDE if report.vectors.cases.wide else EXAMINED
    wrong = max(most - len(report.right), most // 2)
    sample = [*spread_out(report.wrong, wrong), *spread_out(report.right, most - min(wrong, len(report.wrong)))]
    cases = [comparator.case(line[:width], line[width:], comparator.answer(answer)) for line, answer in sample]
    return [c for c in cases if not c.agrees] + [c for c in cases if c.agrees]


def comparator_of(report: CheckReport) -> Comparator:
    """Answers are compared as in the report: what was tolerated there is no mismatch here."""
    return Comparator.of(report.vectors.unit, report.tolerance, report.has_flags, judge_like(report).measure)


def diagnosis_of(report: CheckReport, ask: Asker | None = None) -> Diagnosis | None:
    """The diagnosis of a check; None if the device got nothing wrong. ask: to shrink its mismatches."""
    if not report.wrong:
        return None
    if late := late_diagnosis(report):
        return late
    unit = report.vectors.unit
    comparator = comparator_of(report)
    cases = cases_of(report, comparator)
    explained = _by_results(unit, comparator, cases)
    if explained is None:
        space, conditions_of = space_of(report.vectors, report.whole), partial(_conditions, kind_of(unit))
        explained = examined(space, comparator, cases, conditions_of)
    diagnosis = finished(explained, cases, unit, comparator)
    if diagnosis.simplest is None or ask is None:
        return diagnosis
    try:
        return _shrunk(diagnosis, diagnosis.simplest, _named(diagnosis), report, comparator, ask)
    except DeviceError:  # it answers in one run but not in several: show the mismatch unshrunk
        return diagnosis


def _by_results(unit: Unit, comparator: Comparator, cases: Sequence[AnsweredCase]) -> Diagnosis | None:
    """What explains every case of a unit whose results are computations of their own, by these."""
    results = kind_of(unit).apart()
    if results is None:
        return None
    return results.diagnosis(comparator, cases, partial(_conditions, kind_of(results.unit.dot)))


def examined(
    space: Space[Any], comparator: Comparator, cases: Sequence[AnsweredCase], conditions_of: Conditions
) -> Diagnosis:
    """What explains some cases: one fault, or several."""
    single = ranked_diagnosis(space, comparator, cases, conditions_of)
    if single.findings:
        first, *others = single.findings
        findings = (simpler_choices(space, comparator, cases, first), *others)
        single = dataclasses.replace(single, findings=findings)
    return dataclasses.replace(single, several=peel(space, comparator, cases, single, conditions_of))


def finished(diagnosis: Diagnosis, cases: Sequence[AnsweredCase], unit: Unit, comparator: Comparator) -> Diagnosis:
    """A diagnosis with what its mismatches have in common, and the simplest one."""
    known, named = kind_of(unit), _named(diagnosis)
    narrow = common(cases, conditions(known.features(), cases))
    first = simplest([c for c in cases if named is None or explains(named, c, comparator)], unit)
    simple = first or simplest(cases, unit)
    known_facts = _facts(diagnosis, cases, unit, comparator)
    return dataclasses.replace(
        diagnosis, shared=narrow, codes=known.of_codes(cases), simplest=simple, facts=known_facts
    )


def _facts(diagnosis: Diagnosis, cases: Sequence[AnsweredCase], unit: Unit, comparator: Comparator) -> tuple[str, ...]:
    """What wrong answers share without an explanation; where one leaves many open, which."""
    if not diagnosis.findings and diagnosis.several is None:
        return facts(cases, unit)
    if diagnosis.explains_nearly_all:
        return ()
    best = diagnosis.findings[0].hypothesis if diagnosis.several is None else diagnosis.several.stack[-1]
    left = [not explains(best, c, comparator) for c in cases]
    return tuple(by_class(cases, left, unit, "not explained"))


def _named(diagnosis: Diagnosis) -> Hypothesis | None:
    """The best explanation, if it is sure."""
    return diagnosis.findings[0].hypothesis if diagnosis.findings and diagnosis.sure else None


def _conditions(known: DiagnosedKind, cases: Sequence[AnsweredCase]) -> list[CaseCondition]:
    """The conditions that all mismatches fulfil, and the conjunction of them that the fewest right cases fulfil."""
    shared = conditions(known.features(), cases)
    narrow = common(cases, shared)
    return [*shared, narrow.condition] if narrow else shared


def late_diagnosis(report: CheckReport) -> Diagnosis | None:
    """The diagnosis of a device whose answers are late or early; None for other devices."""
    fault = late_answers(report, comparator_of(report))
    examined, wrong = len(report.wrong) + len(report.right), len(report.wrong)
    return Diagnosis(examined, wrong, late=fault.late, in_order=fault.in_order) if fault else None


def _shrunk(
    diagnosis: Diagnosis,
    first: AnsweredCase,
    named: Hypothesis | None,
    report: CheckReport,
    comparator: Comparator,
    ask: Asker,
) -> Diagnosis:
    """The simplest mismatch, if the device repeats it when queried alone, within the range of the operands. Raises
    DeviceError."""
    unit = report.vectors.unit

    def askable(inputs: Sequence[int]) -> bool:
        return report.allows(inputs) and kind_of(unit).askable(tuple(inputs))

    def answers(questions: Sequence[tuple[int, ...]]) -> list[Output]:
        return [comparator.answer(a) for a in ask(questions)]

    if answers([first.inputs]) == [first.expected]:
        return dataclasses.replace(diagnosis, simplest=first, alone=False)
    output = named.model(first.inputs) if named else None
    explained = named.model if named is not None and output is not None and comparator(output) == first.got else None
    case = shrink(first, unit, comparator, answers, explained, askable)
    return dataclasses.replace(diagnosis, simplest=case, alone=True)
