"""A diagnosis as text and as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from softfloat_ref.diagnosis.findings import WHERE, Diagnosis, Finding, Peeled
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis
from softfloat_ref.diagnosis.kinds import kind_of
from softfloat_ref.diagnosis.unexplained import attempts
from softfloat_ref.units import Unit

ALSO: Final = 5  # other explanations shown


def lines(d: Diagnosis, unit: Unit) -> list[str]:
    """The best explanation, how many cases it explains, what refutes the next best, and the simplest mismatch."""
    if d.late:
        return [_lateness(d)]
    if d.several is not None:
        return [*_several(d, d.several, unit), *_simplest(d, unit)]
    if not d.findings:
        none = f"no {kind_of(unit).tried} explains more cases than assuming no fault"
        return [f"diagnosis: {none}", *_shared(d), *_known(d), *_simplest(d, unit), *_to_try(d, unit)]
    first, *others = d.best
    rows = [_headline(d), f"  {_share(first, d)}: {first.hypothesis.name}"]
    rows += [f"  equally possible: {f.hypothesis.name}" for f in _telling(first, others)[:ALSO]]
    if second := d.runner_up:
        rows.append(f"  {_share(second, d)}: {second.hypothesis.name}" + (", refuted by" if d.refutation else ""))
        rows += [] if d.refutation is None else [f"    {case_text(d.refutation, unit, second.hypothesis)}"]
    rows += [f"  {row}" for row in d.facts]
    if d.exception is not None:
        rows += ["  not explained, for example:", f"    {case_text(d.exception, unit, first.hypothesis)}"]
    return [*rows, *([] if d.complete else _shared(d)), *_simplest(d, unit)]


def sentence(d: Diagnosis, unit: Unit) -> str:
    """The best explanation in one line, without "diagnosis: "."""
    if d.several is None:
        return lines(d, unit)[0].removeprefix("diagnosis: ")
    *first, last = [f.hypothesis.description for f in d.several.faults]
    return f"the device {_perhaps(d)}{', '.join(first)}, and {last}{_rest(d.examined - d.several.explained)}"


def shared_facts(d: Diagnosis) -> list[str]:
    """What is known of mismatches that nothing explains, in lines."""
    return [] if d.findings or d.several else [line.strip() for line in (*_shared(d), *d.facts)]


def _several(d: Diagnosis, peeled: Peeled, unit: Unit) -> list[str]:
    """Several faults, each with the mismatches that it explains and those before it do not."""
    left, text = d.wrong, _share(Finding(peeled.faults[0].hypothesis, peeled.explained), d)
    rows = [f"diagnosis: the device {_perhaps(d)}has {len(peeled.faults)} faults; together they {text}"]
    rows[0] = rows[0].replace("they explains", "they explain")
    for number, fault in enumerate(peeled.faults, 1):
        of = f"of {left} mismatches" if number == 1 else f"of the other {left}"
        rows.append(f"  {number}. it {fault.hypothesis.description}")
        share = f"explains {fault.mismatches} {of}"
        if not fault.mismatches:
            share = "explains right answers that the faults before it would make wrong"
        rows.append(f"     {share}: {fault.hypothesis.name}")
        left -= fault.mismatches
    rows += [f"  {row}" for row in d.facts]
    rows += [] if peeled.open is None else ["  not explained, for example:", f"    {case_text(peeled.open, unit)}"]
    return rows


def _perhaps(d: Diagnosis) -> str:
    """The word "perhaps", if many mismatches remain unexplained."""
    return "" if d.explains_nearly_all else "perhaps "


def _rest(count: int) -> str:
    return f"; {count} case{'s remain' if count > 1 else ' remains'} unexplained" if count else ""


def _lateness(d: Diagnosis) -> str:
    lines_ = f"{abs(d.late)} line{'s' * (abs(d.late) > 1)}"
    way = "late: each line answers an earlier question" if d.late > 0 else "early: each line answers a later question"
    return f"diagnosis: the answers are {lines_} {way} ({d.in_order} answers are right after this shift)"


def _headline(d: Diagnosis) -> str:
    """The first line, with "perhaps" if many cases remain unexplained, or if there are few cases."""
    f = d.findings[0]
    rest = d.examined - f.explained
    return f"diagnosis: the device {'' if d.sure else 'perhaps '}{f.hypothesis.description}{_rest(rest)}"


def _telling(first: Finding, others: Sequence[Finding]) -> list[Finding]:
    """The findings without those that extend the first by choices that do not matter here, and, beside one without
    conditions, those with some."""
    choices, plain = set(first.hypothesis.name.split(", ")), WHERE not in first.hypothesis.name
    left = (f for f in others if not (plain and WHERE in f.hypothesis.name))
    return [f for f in left if not choices < set(f.hypothesis.name.split(", "))]


def _share(f: Finding, d: Diagnosis) -> str:
    if f.explained == d.examined:
        return f"explains all {d.examined} cases, {d.wrong} of them mismatches"
    share = min(float(f"{100 * f.explained / d.examined:.3g}"), 99.9)
    return f"explains {f.explained} of {d.examined} cases ({share:.3g} %)"


def _shared(d: Diagnosis) -> list[str]:
    """What all mismatches have in common."""
    if d.codes:
        return [f"  in all {d.wrong} mismatches, {d.codes}"]
    if d.shared is None:
        return []
    right = f"the device is right in {d.shared.right or 'no'} such case{'s' * (d.shared.right > 1)}"
    return [f"  in all {d.wrong} mismatches, {d.shared.condition.text}; {right}"]


def _known(d: Diagnosis) -> list[str]:
    """What is known without an explanation: what wrong answers share, what comes near, and what was excluded."""
    rows = list(d.facts)
    if d.nearest is not None:
        h, right = d.nearest.hypothesis, d.nearest.explained - d.nearest.mismatches
        of = f"{d.nearest.mismatches} of the {d.wrong} wrong answers"
        rows.append(
            f"nearest: a device that {h.description} gives {of}, and errs in {d.examined - d.wrong - right} others"
        )
    if d.tried:
        also = "each also where all mismatches have something in common"
        rows.append(f"excluded: {d.tried} hypotheses, {also}; answers or flags of earlier or later operations")
    return [f"  {row}" for row in rows]


def _to_try(d: Diagnosis, unit: Unit) -> list[str]:
    return [f"  to try: {text}" for text in attempts(d.wrong, d.facts, d.simplest, unit)]


def _simplest(d: Diagnosis, unit: Unit) -> list[str]:
    if d.simplest is None:
        return []
    rows = [f"  simplest mismatch: {case_text(d.simplest, unit)}"]
    if d.alone is False:
        rows.append("  queried with this case alone, the device is right: its answers depend on earlier cases")
    return rows


def case_text(case: AnsweredCase, unit: Unit, instead: Hypothesis | None = None) -> str:
    """Operands, the expected and the actual answer in one line; and the answer of a hypothesis."""
    output = instead.model(case.inputs) if instead else None
    return kind_of(unit).case_text(case, None if output is None else output[: len(case.got)])


def as_dict(d: Diagnosis, unit: Unit) -> dict[str, Any]:
    """The diagnosis as data."""
    return {
        "examined": d.examined,
        "mismatched": d.wrong,
        "findings": [
            {"name": h.name, "kind": h.kind, "says": h.description, "explained": explained}
            for h, explained in ((f.hypothesis, f.explained) for f in d.findings)
        ],
        "complete": d.complete,
        "several": d.several
        and [{"name": h.name, "says": h.description, "mismatches": mismatches} for h, mismatches in d.several.faults],
        "refutation_of_runner_up": d.refutation and case_text(d.refutation, unit),
        "not_explained": d.exception and case_text(d.exception, unit),
        "in_common": d.codes or (d.shared and d.shared.condition.text) or None,
        "late": d.late,
        "repeats_alone": d.alone,
        "known": list(d.facts),
        "simplest_mismatch": d.simplest
        and {"operands": [f"{x:x}" for x in d.simplest.inputs], "text": case_text(d.simplest, unit)},
    }
