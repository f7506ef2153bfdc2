"""A diagnosis in words, and as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from softfloat_ref.codec import decoder
from softfloat_ref.diagnosis.cost import operand_formats
from softfloat_ref.diagnosis.hypotheses import Case, Hypothesis, Output
from softfloat_ref.diagnosis.ranking import Diagnosis, Finding
from softfloat_ref.explain import flag_text, value_text
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing import block_answers
from softfloat_ref.testing.check import Checkable

ALSO: Final = 5  # other explanations shown
_LANES: Final = 4


def lines(d: Diagnosis, vectors: Checkable) -> list[str]:
    """What the device seems to do, how far that goes, what refutes the next best, and the simplest mismatch."""
    if d.late:
        return [_lateness(d)]
    if not d.findings:
        none = "no policy, profile, accumulator or listed defect explains more cases than the right device does"
        return [f"diagnosis: {none}", *_shared(d), *_simplest(d, vectors)]
    first, *others = d.best
    found = [_headline(d), f"  {_share(first, d)}: {first.hypothesis.name}"]
    found += [f"  as many: {f.hypothesis.name}" for f in _telling(first, others)[:ALSO]]
    if second := d.runner_up:
        found.append(f"  {_share(second, d)}: {second.hypothesis.name}" + (", refuted by" if d.refutation else ""))
        found += [] if d.refutation is None else [f"    {case_text(d.refutation, vectors, second.hypothesis)}"]
    if d.exception is not None:
        found += ["  not explained, for one:", f"    {case_text(d.exception, vectors, first.hypothesis)}"]
    return [*found, *([] if d.complete else _shared(d)), *_simplest(d, vectors)]


def _lateness(d: Diagnosis) -> str:
    lines_ = f"{abs(d.late)} line{'s' * (abs(d.late) > 1)}"
    way = "late: each line answers an earlier question" if d.late > 0 else "early: each line answers a later question"
    return f"diagnosis: the answers come {lines_} {way} ({d.in_order} answers are right then)"


def _headline(d: Diagnosis) -> str:
    """The first line, with a "perhaps" where much is left unexplained, or there is little to explain."""
    f = d.findings[0]
    rest = d.examined - f.explained
    also = f", and does something else in {rest} case{'s' * (rest > 1)}" if rest else ""
    return f"diagnosis: the device {'' if d.sure else 'perhaps '}{f.hypothesis.says}{also}"


def _telling(first: Finding, others: Sequence[Finding]) -> list[Finding]:
    """Without those that are the first with more choices, which do not matter here."""
    choices = set(first.hypothesis.name.split(", "))
    return [f for f in others if not choices < set(f.hypothesis.name.split(", "))]


def _share(f: Finding, d: Diagnosis) -> str:
    if f.explained == d.examined:
        return f"explains all {d.examined} cases, {d.wrong} of them mismatches"
    share = min(float(f"{100 * f.explained / d.examined:.3g}"), 99.9)
    return f"explains {f.explained} of {d.examined} cases ({share:.3g} %)"


def _shared(d: Diagnosis) -> list[str]:
    """What all mismatches have in common."""
    if d.codes:
        return [f"  in all {d.wrong} mismatches {d.codes}"]
    if d.shared is None:
        return []
    right = f"{d.shared.right or 'no'} case{'s' * (d.shared.right > 1)} like that came right"
    return [f"  in all {d.wrong} mismatches {d.shared.condition.text}; {right}"]


def _simplest(d: Diagnosis, vectors: Checkable) -> list[str]:
    if d.simplest is None:
        return []
    found = [f"  simplest mismatch: {case_text(d.simplest, vectors)}"]
    if d.alone is False:
        found.append("  asked for that alone the device is right: what it answers depends on what came before")
    return found


def case_text(case: Case, vectors: Checkable, instead: Hypothesis | None = None) -> str:
    """Operands, what is expected and what came, in one line; and what a hypothesis says instead."""
    says = instead.model(case.inputs) if instead else None
    says = None if says is None else says[: len(case.got)]
    if isinstance(vectors, VectorSet) and vectors.block is not None:
        return _block_text(case, vectors, says)
    if isinstance(vectors, DotSet):
        shown = _dot_text(case, vectors)
    else:
        formats = operand_formats(vectors)
        shown = f"{vectors.op} " + " ".join(_code(x, f) for x, f in zip(case.inputs, formats, strict=True))
    answers = f"expected {_answer(case.expected, vectors)}, got {_answer(case.got, vectors)}"
    if case.agrees:
        answers = f"got {_answer(case.got, vectors)}, as expected"
    return f"{shown}: {answers}" + ("" if says is None else f"; that gives {_answer(says, vectors)}")


def _code(code: int, fmt: Any) -> str:
    return f"r={code:x}" if fmt is None else f"{fmt.hex(code)} ({_value(code, fmt)})"


def _value(code: int, fmt: Any) -> str:
    return value_text(decoder(fmt)(code)).split(" (0x")[0] if not code >> fmt.width else "too wide"


def _answer(output: tuple[int, ...], vectors: Any) -> str:
    text = f"{vectors.out.hex(output[0])} ({_value(output[0], vectors.out)})"
    return text if len(output) < 2 else f"{text} flags {flag_text(output[1])}"


def _dot_text(case: Case, vectors: DotSet) -> str:
    formats, at, parts = operand_formats(vectors), 0, []
    for f in (x for x in vectors.fields if x.role == "operand"):
        codes = case.inputs[at : at + f.lanes]
        shown = {i: x for i, x in enumerate(codes) if x} if f.lanes > 1 else {0: codes[0]}
        fmt = formats[at]
        assert fmt is not None
        if f.lanes > 1 and len(set(codes)) == 1 and codes[0]:
            parts.append(f"{f.name} {fmt.hex(codes[0])} everywhere")
        elif f.lanes > 1:
            parts.append(f"{f.name} {_sparse(shown, fmt)}")
        else:
            parts.append(f"{f.name} {_code(codes[0], fmt)}")
        at += f.lanes
    return "dot " + ", ".join(parts)


def _sparse(codes: dict[int, int], fmt: Any) -> str:
    if not codes:
        return "0"
    shown = [f"[{i}]={fmt.hex(x)}" for i, x in list(codes.items())[:_LANES]]
    rest = len(codes) - _LANES
    return " ".join(shown) + (f" and {rest} more" if rest > 0 else "")


def _block_text(case: Case, vectors: VectorSet, says: Output | None) -> str:
    formats = block_answers.formats(vectors)
    against = case.expected if says is None else says
    places = [i for i, (x, y) in enumerate(zip(against, case.got, strict=True)) if x != y][:_LANES]
    quantize = vectors.op == "quantize"

    def name(i: int) -> str:
        return ("scale" if i == 0 else f"element {i - 1}") if quantize else f"value {i}"

    def answers(i: int) -> str:
        right = f"{name(i)} {formats[i].hex(case.expected[i])}"
        came = f"{right} came" if case.expected[i] == case.got[i] else f"{right} came as {formats[i].hex(case.got[i])}"
        return came if says is None else f"{came}; that gives {formats[i].hex(says[i])}"

    wrong = [answers(i) for i in places]
    inputs = operand_formats(vectors)
    shown = {i: x for i, x in enumerate(case.inputs) if x}
    nonzero = [f"[{i}]={_code(x, inputs[i])}" for i, x in list(shown.items())[:_LANES]]
    rest = len(shown) - _LANES
    given = " ".join(nonzero) + (f" and {rest} more" if rest > 0 else "") or "zeros"
    return f"{vectors.op} {given}: {', '.join(wrong)}"


def as_dict(d: Diagnosis, vectors: Checkable) -> dict[str, Any]:
    """The diagnosis as data."""
    return {
        "examined": d.examined,
        "mismatched": d.wrong,
        "findings": [
            {"name": f.hypothesis.name, "kind": f.hypothesis.kind, "says": f.hypothesis.says, "explained": f.explained}
            for f in d.findings
        ],
        "complete": d.complete,
        "refutation_of_runner_up": d.refutation and case_text(d.refutation, vectors),
        "not_explained": d.exception and case_text(d.exception, vectors),
        "in_common": d.codes or (d.shared and d.shared.condition.text) or None,
        "late": d.late,
        "repeats_alone": d.alone,
        "simplest_mismatch": d.simplest
        and {"operands": [f"{x:x}" for x in d.simplest.inputs], "text": case_text(d.simplest, vectors)},
    }
