"""The diagnosis of a check: from its report to what the device seems to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from operator import eq
from typing import Any, Final

from softfloat_ref.diagnosis.accumulator_space import AccumulatorSpace
from softfloat_ref.diagnosis.asking import Asker
from softfloat_ref.diagnosis.conditions import common, conditions, of_codes
from softfloat_ref.diagnosis.hypotheses import Case, Hypothesis, Lens, Output
from softfloat_ref.diagnosis.policy_space import PolicySpace
from softfloat_ref.diagnosis.profile_space import DequantizeSpace, ProfileSpace
from softfloat_ref.diagnosis.ranking import Diagnosis, diagnose, explains, spread
from softfloat_ref.diagnosis.shrink import shrink, simplest
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing.check import Checkable, Report, input_width
from softfloat_ref.testing.compare import CompareNan, Rule
from softfloat_ref.testing.devices import DeviceError

EXAMINED: Final = 1 << 15  # cases that the best hypotheses are run over, of scalar operations
EXAMINED_BLOCKS: Final = 1 << 11  # of blocks and dot products
MOST_LATE: Final = 8  # lines


def space_of(vectors: Checkable) -> Space[Any]:
    """The space of the devices that a vector set is for."""
    if not isinstance(vectors, VectorSet):
        return AccumulatorSpace(vectors)
    if vectors.block is None:
        return PolicySpace(vectors)
    return ProfileSpace(vectors) if vectors.op == "quantize" else DequantizeSpace(vectors)


def cases_of(report: Report, lens: Lens) -> list[Case]:
    """The cases that a report has kept; mismatches and others in a mixture, each spread over the run."""
    vectors = report.vectors
    width = input_width(vectors)
    scalar = isinstance(vectors, VectorSet) and vectors.block is None
    most = EXAMINED if scalar else EXAMINED_BLOCKS
    wrong = max(most - len(report.right), most // 2)
    kept = [*_spread(report.wrong, wrong), *_spread(report.right, most - min(wrong, len(report.wrong)))]
    cases = [Case(line[:width], lens(line[width:]), lens.answer(answer)) for line, answer in kept]
    return [c for c in cases if not c.agrees] + [c for c in cases if c.agrees]


def _spread(found: Sequence[Any], count: int) -> list[Any]:
    return spread(found, max(count, 0))


def diagnosis_of(report: Report, nan: CompareNan, flags: bool, ask: Asker | None = None) -> Diagnosis | None:
    """What the device of a check seems to do; None where it got nothing wrong. ask: to shrink its mismatches."""
    if not report.wrong:
        return None
    vectors = report.vectors
    lens = Lens.of(vectors, Rule(vectors.out, nan, flags), report.has_flags)
    cases = cases_of(report, lens)
    late, in_order = lateness(report, lens)
    if late:
        return Diagnosis(len(cases), sum(not c.agrees for c in cases), late=late, in_order=in_order)
    shared = conditions(vectors, cases)
    narrow = common(cases, shared)
    found = diagnose(space_of(vectors), lens, cases, [*shared, narrow.condition] if narrow else shared)
    found = dataclasses.replace(found, shared=narrow, codes=of_codes(vectors, cases))
    named = found.findings[0].hypothesis if found.findings and found.sure else None
    first = simplest([c for c in cases if named is None or explains(named, c, lens)], vectors)
    first = first or simplest(cases, vectors)
    if first is None or ask is None:
        return dataclasses.replace(found, simplest=first)
    try:
        return _shrunk(found, first, named, vectors, lens, ask)
    except DeviceError:  # it answers in one run but not in many: shown as it was found
        return dataclasses.replace(found, simplest=first)


def lateness(report: Report, lens: Lens) -> tuple[int, int]:
    """By how many lines the answers come late (early: less than 0), and how many are right then; 0 lines where that is
    not nearly all that can be."""
    width = input_width(report.vectors)
    expected = [lens(line[width:]) for line, _ in report.first]
    got = [lens.answer(answer) for _, answer in report.first]
    count = len(got)
    right = sum(map(eq, expected, got))
    found: dict[int, int] = {}
    for k in (x for x in range(1, MOST_LATE + 1) if 4 * x <= count):
        found[k] = sum(map(eq, expected, got[k:]))
        found[-k] = sum(map(eq, expected[k:], got))
    best = max(found, key=lambda k: (found[k], -abs(k)), default=0)
    nearly_all = best and 20 * found[best] >= 19 * (count - abs(best))
    return (best, found[best]) if nearly_all and found[best] > right + abs(best) else (0, 0)


def _shrunk(
    found: Diagnosis, first: Case, named: Hypothesis | None, vectors: Checkable, lens: Lens, ask: Asker
) -> Diagnosis:
    """The simplest mismatch, where the device repeats it when asked alone. Raises DeviceError."""

    def answers(questions: Sequence[tuple[int, ...]]) -> list[Output | None]:
        return [lens.answer(a) for a in ask(questions)]

    if answers([first.inputs]) == [first.expected]:
        return dataclasses.replace(found, simplest=first, asked=1, alone=False)
    says = named.model(first.inputs) if named else None
    explained = named.model if named is not None and says is not None and lens(says) == first.got else None
    case, asked = shrink(first, vectors, lens, answers, explained)
    return dataclasses.replace(found, simplest=case, asked=asked + 1, alone=True)
