"""Faults of the order of answers, alone and beside faults of the arithmetic: both are named.

Chosen: each way in which an answer can depend on the operations around it (all of it or its flags late or early by few
and by many lines, flags gathered in all or in part, held in a latch, answers repeated), for units with one result, with
flags, with lanes and with parts; beside no fault, one of rounding, of range, of a sign, of the exponent and of flags.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import accumulate

import pytest
from diagnosing import defect

from softfloat_ref.diagnosis.checked import comparator_of, space_of
from softfloat_ref.diagnosis.hypotheses import Model, Output, expected_model
from softfloat_ref.diagnosis.order_faults import order_fault
from softfloat_ref.diagnosis.parts import explanation
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.rtl.assumptions import PortAssumptions
from softfloat_ref.rtl.tolerance import Tolerance
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.judge import CheckReport, Judge
from softfloat_ref.units import MixedUnit, OperationUnit
from softfloat_ref.units.requests import make_unit

MUL = OperationUnit.make("mul", "fp16")
LESS, NEG = OperationUnit.make("lt", "fp16"), OperationUnit.make("neg", "fp16")
BOTH = MixedUnit((MUL, OperationUnit.make("add", "fp16")))
Order = Callable[[Sequence[Output]], Sequence[Output]]  # from the answers one by one to those that come


def late(by: int, what: int = -1) -> Order:
    """Answers some lines late (early: less than 0), or only one of their codes."""

    def shifted(answers: Sequence[Output]) -> Sequence[Output]:
        filled = (
            [answers[7]] * by + [*answers][: len(answers) - by] if by > 0 else [*answers][-by:] + [answers[7]] * -by
        )
        if what < 0:
            return filled
        return [(*x[:what], y[what], *x[what + 1 :]) for x, y in zip(answers, filled, strict=True)]

    return shifted


def gathered(mask: int = 31) -> Order:
    """Flags of all operations so far."""

    def order(answers: Sequence[Output]) -> Sequence[Output]:
        seen, rows = 0, []
        for *codes, flags in answers:
            seen |= flags & mask
            rows.append((*codes, flags & ~mask | seen))
        return rows

    return order


def held(only: Callable[[Output], bool], flags_only: bool = True) -> Order:
    """Flags, or answers, of the operation before where the right answer is such a one."""

    def order(answers: Sequence[Output]) -> Sequence[Output]:
        rows = [answers[0]]
        for x in answers[1:]:
            rows.append(((*x[:-1], rows[-1][-1]) if flags_only else rows[-1]) if only(x) else x)
        return rows

    return order


def reported(vectors: VectorSet, model: Model, order: Order, **keys: object) -> CheckReport:
    lines = [line for inputs in vectors.inputs() if (line := vectors.line(inputs)) is not None]
    width, results = vectors.unit.input_width, len(vectors.unit.result_formats)
    judge = Judge(vectors, shown=0)
    judge.report.tolerance = Tolerance(sticky=bool(keys.pop("sticky", False)))
    judge.report.assumptions = PortAssumptions(**{"clock": "clk", "latency": 1, **keys})  # type: ignore[arg-type]
    answers = order([model(line[:width]) or () for line in lines])
    for line, answer in zip(lines, answers, strict=True):
        judge.compare(line, Answer(answer[:results], answer[-1] if vectors.unit.has_flags else None))
    return judge.report


def said(report: CheckReport) -> str:
    cause = explanation(report)
    assert cause is not None
    return "\n".join(cause.lines())


def flushing(unit: OperationUnit) -> Model:
    return expected_model(OperationUnit.make(unit.op, unit.formats[0], policy=get_policy({"flush_outputs": True})))


def with_rounding(mode: str) -> Model:
    return expected_model(OperationUnit.make("mul", "fp16", policy=get_policy({"rounding": mode})))


SECOND: dict[str, tuple[Model, str]] = {
    "flush_outputs": (flushing(MUL), "flush_outputs = on"),
    "rtz": (with_rounding("rtz"), "rounding = rtz"),
    "exponent +1": (defect(VectorSet(MUL, 1), "exponent +1"), "exponent +1"),
    "sticky dropped, inexact kept": (defect(VectorSet(MUL, 1), "sticky dropped, inexact kept"), "sticky dropped"),
    "no inexact": (defect(VectorSet(MUL, 1), "no inexact"), "no inexact"),
}


def test_flags_that_are_those_of_the_answer_before_by_chance() -> None:
    """Each overflow follows an exact result: one that lacks inexact has the flag of the answer before."""
    vectors = VectorSet(MUL, 1000)
    model = defect(vectors, "overflow without inexact")
    lines = [line for inputs in vectors.inputs() if (line := vectors.line(inputs)) is not None]
    exact, overflows = ([x for x in lines if x[-1] == flags] for flags in (0, 5))
    ordered = [x for pair in zip(exact, overflows[:10], strict=False) for x in pair] + [x for x in lines if x[-1] == 1]
    judge = Judge(vectors, shown=0)
    for line in ordered:
        *codes, flags = model(line[:2]) or ()
        judge.compare(line, Answer(tuple(codes), flags))
    assert order_fault(judge.report, comparator_of(judge.report)) is not None
    assert "does not raise inexact with overflow" in said(judge.report)


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("by", [1, 2, -1, 5, 19])
@pytest.mark.parametrize("second", SECOND)
def test_a_wrong_latency_is_named_beside_another_fault(by: int, second: str) -> None:
    model, name = SECOND[second]
    text = said(reported(VectorSet(MUL, 500), model, late(by)))
    assert text.startswith(
        f"diagnosis: the answers are {abs(by)} line{'s' * (abs(by) > 1)} {'late' if by > 0 else 'early'}"
    )
    assert (f"latency = {1 + by}, not 1" in text) == (by >= -1)
    assert "diagnosis of the shifted answers: the device " in text
    assert name in text


@pytest.mark.parametrize("by", [1, -2, 3])
def test_a_wrong_latency_with_pauses_between_operations(by: int) -> None:
    """Where no operation came, the module answers another one that the bench offered; the log says when it paused."""
    draw, vectors, model = random.Random(5), VectorSet(MUL, 600), SECOND["flush_outputs"][0]
    lines = [line for inputs in vectors.inputs() if (line := vectors.line(inputs)) is not None]
    pauses = [draw.choice((0, 0, 0, 1, 4)) for _ in lines]
    cycles = list(accumulate(pause + 1 for pause in pauses))
    offered = dict(zip(cycles, lines, strict=True))
    judge = Judge(vectors, shown=0)
    judge.report.assumptions = PortAssumptions("clk", latency=4, pauses=True)
    for i, pause in enumerate(pauses):
        judge.note(f"// pause {i} {pause}")
    for line, cycle in zip(lines, cycles, strict=True):
        code, flags = model(offered.get(cycle - by, draw.choice(lines))[:2]) or (0, 0)
        judge.compare(line, Answer((code,), flags))
    text = said(judge.report)
    assert f"latency = {4 + by}, not 4\ndiagnosis of the shifted answers: the device flushes tiny results" in text
    assert "\n  explains all " in text


@pytest.mark.parametrize(
    ("vectors", "by"),
    [
        (VectorSet(LESS, 300), 1),
        (VectorSet(NEG, 300), 3),
        (VectorSet(BOTH, 300), 2),
        (VectorSet(make_unit("quantize", "mxfp4"), 60), 1),
        (VectorSet(make_unit("dot", "fp8_e4m3", k=4), 60), -2),
        (VectorSet(MUL, 400), 60),
    ],
)
def test_a_wrong_latency_of_other_units(vectors: VectorSet, by: int) -> None:
    report = reported(vectors, expected_model(vectors.unit), late(by))
    fault = order_fault(report, comparator_of(report))
    assert fault is not None
    assert fault.late == by
    assert not fault.report.mismatched


def folded(step: Callable[[int, int, int], int]) -> Order:
    """Flags from those before, those of the operation, and its result."""

    def order(answers: Sequence[Output]) -> Sequence[Output]:
        held, rows = 0, []
        for code, flags in answers:
            held = step(held, flags, code)
            rows.append((code, held))
        return rows

    return order


def special(code: int) -> bool:
    return code & 0x7C00 == 0x7C00 or not code & 0x7FFF


LATCHES = {
    "special results set invalid and divide by zero, others the rest": (
        lambda f, n, c: f & 7 | n & 24 if special(c) else f & 24 | n & 7,
        "",
    ),
    "written if any is raised": (lambda f, n, _: n or f, ""),
    "written if the result is not zero": (lambda f, n, c: n if c & 0x7FFF else f, ", where the result is zero"),
    "gathered until an exact result": (lambda f, n, _: f | n if n & 1 else n, ""),
    "gathered until a zero": (lambda f, n, c: f | n if c & 0x7FFF else n, ""),
    "inexact kept at overflow": (lambda f, n, _: n & ~1 | f & 1 if n & 4 else n, ""),
}


@pytest.mark.full
@pytest.mark.parametrize("latch", LATCHES)
def test_latches_in_all_forms(latch: str) -> None:
    """Chosen as the ways in which a process may leave flags unassigned: on a branch, by an enable, by no default."""
    step, where = LATCHES[latch]
    text = said(reported(VectorSet(MUL, 1000), expected_model(MUL), folded(step)))
    assert f"answers keep flags of the answer before{where}" in text.partition("\n")[0]
    assert "diagnosis of" not in text  # nothing else is wrong


@pytest.mark.parametrize(
    ("order", "sentence", "second"),
    [
        (gathered(), "the flags accumulate: each answer has those of all operations so far", "flush_outputs"),
        (gathered(16), "the flags invalid accumulate: each", "sticky dropped, inexact kept"),
        (gathered(1), "the flags inexact accumulate", "rtz"),
        (late(1, 1), "the flags are 1 operation late, and the results are not", "rtz"),
        (late(-1, 1), "the flags are 1 operation early", "flush_outputs"),
        (held(lambda x: not x[0] & 0x3FF), "answers keep flags of the answer before", "sticky dropped, inexact kept"),
        (held(lambda x: x[0] & 0x7C00 == 0x7C00, False), "answers are the answer before again", "rtz"),
    ],
)
@pytest.mark.full(keep=1)
def test_flags_and_answers_of_earlier_operations(order: Order, sentence: str, second: str) -> None:
    model, name = SECOND[second]
    text = said(reported(VectorSet(MUL, 500), model, order))
    assert text.partition("\n")[0].count(sentence) == 1, text
    assert name in text


def test_gathered_flags_ask_for_sticky() -> None:
    text = said(reported(VectorSet(MUL, 300), expected_model(MUL), gathered()))
    assert "say so in the port map: [sticky]" in text
    assert "\ndiagnosis of" not in text  # nothing else is wrong
    text = said(reported(VectorSet(MUL, 300), expected_model(MUL), gathered(), clock="none"))
    assert "a latch holds them" in text


def test_flags_that_are_not_sticky() -> None:
    """Where the port map has [sticky]."""
    report = reported(VectorSet(MUL, 300), SECOND["rtz"][0], list, sticky=True)
    text = said(report)
    assert text.startswith(
        "diagnosis: the flags of each answer are those of its operation alone\n  the port map has [sti"
    )
    assert "rounding = rtz" in text


@pytest.mark.full
def test_a_stale_input_is_named() -> None:
    """An answer that is not computed again while a stays: a sensitivity list without b."""
    vectors = VectorSet(OperationUnit.make("add", "fp8_e4m3"), 1200)
    lines = [line for inputs in vectors.inputs() if (line := vectors.line(inputs)) is not None]
    again = {i for i in range(1, len(lines)) if lines[i][0] == lines[i - 1][0]}

    def stale(answers: Sequence[Output]) -> Sequence[Output]:
        rows = [answers[0]]
        for i, x in enumerate(answers[1:], 1):
            rows.append(rows[-1] if i in again else x)
        return rows

    text = said(reported(vectors, expected_model(vectors.unit), stale))
    assert "answers are the answer before again, in all of them with the same a" in text


WITHOUT_MEMORY = [
    VectorSet(MUL, 150),
    VectorSet(make_unit("fma", "bf16"), 100),
    VectorSet(LESS, 200),
    VectorSet(make_unit("convert", "fp32", out="i8"), 150),
    VectorSet(make_unit("quantize", "mxfp4"), 40),
    VectorSet(make_unit("dot", "fp8_e4m3", k=4), 40),
]


@pytest.mark.full(gate=2)
@pytest.mark.parametrize("vectors", WITHOUT_MEMORY)
def test_no_listed_defect_is_taken_for_a_fault_of_the_order(vectors: VectorSet) -> None:
    space = space_of(vectors)
    wrong = {}
    for h in space.defects(space.base):
        report = reported(vectors, lambda i, h=h: h.model(i) or vectors.unit.answer(i), list)  # type: ignore[misc]
        if report.wrong and (fault := order_fault(report, comparator_of(report))):
            wrong[h.name] = fault.sentence
    assert not wrong
