"""Diagnosis of devices that are wrong in some cases only, or in their order; and what is not said of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command import run
from diagnosing import defect, diagnosis, names

from softfloat_ref.diagnosis import report
from softfloat_ref.diagnosis.conditions import binade
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import CATALOGUE

FP16 = CATALOGUE["fp16"]
MUL = VectorSet.make("mul", "fp16", 2000)
RIGHT = Faulty(MUL.unit)
BLOCKS = VectorSet.make("quantize", "fp8_e4m3@e8m0/8", 200)


def right(inputs: Inputs) -> tuple[int, int]:
    output = RIGHT(inputs)
    assert output is not None
    return output[0], output[1]


def test_a_fault_in_one_binade_is_said_to_be_there_only() -> None:
    def model(inputs: Inputs) -> Output:
        code, flags = right(inputs)
        return code + 0x400 * (binade(decoder(FP16)(code)) == 14), flags

    d = diagnosis(MUL, model)
    assert d.complete
    where = "where the magnitude of the result is at least 2^14 and below 2^15"
    assert f"exponent +1, {where}" in names(d)
    assert any(line.endswith(f"one too high, but only {where}") for line in report.lines(d, MUL.unit))


def test_a_fault_of_one_operands_kind_is_said_to_be_of_that_only() -> None:
    """No listed defect fits: what the mismatches have in common is shown."""

    def model(inputs: Inputs) -> Output:
        code, flags = right(inputs)
        subnormal = 0 < inputs[1] & 0x7FFF < 0x400
        return (code ^ 0x155 if subnormal and code & 0x7C00 not in (0, 0x7C00) else code), flags

    d = diagnosis(MUL, model)
    assert not d.findings
    assert d.shared is not None
    assert "operand b is subnormal" in d.shared.condition.text
    lines = report.lines(d, MUL.unit)
    assert lines[0].endswith("explains more cases than assuming no fault")
    assert lines[1].startswith(f"  in all {d.wrong} mismatches, ")


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("wrong", [0x0000, 0x7BFF])
def test_nothing_is_said_that_explains_less_than_the_right_device(wrong: int) -> None:
    """Only Inf x 0 is wrong: no other operation, no flushing, and no policy comes near."""

    def model(inputs: Inputs) -> Output:
        code, flags = right(inputs)
        return (wrong, flags) if flags & 0x10 and not {inputs[0], inputs[1]} & {0x7C01, 0x7DFF} else (code, flags)

    d = diagnosis(MUL, model)
    assert all(f.explained > d.examined - d.wrong for f in d.findings)


@pytest.mark.full
def test_what_wrong_elements_have_in_common() -> None:
    lane = diagnosis(BLOCKS, _on_lane(3))
    assert lane.codes == "only element 3 is wrong"
    assert "  in all " in "\n".join(report.lines(lane, BLOCKS.unit))


def _on_lane(lane: int):  # type: ignore[no-untyped-def]
    def model(inputs: Inputs) -> Output | None:
        line = BLOCKS.line(tuple(inputs))
        if line is None:
            return None
        codes = list(line[8:])
        codes[1 + lane] ^= 1
        return tuple(codes)

    return model


def test_one_answer_to_everything() -> None:
    d = diagnosis(MUL, lambda _: (0x7E00, 0x10))
    assert d.findings[0].hypothesis.description == "gives 7e00 10 for every question"
    assert d.complete


def test_a_running_result_of_another_format() -> None:
    dots = VectorSet.make("dot", "fp16", 100, k=4, acc="fp32-sequential")
    other = VectorSet.make("dot", "fp16", 1, k=4, acc="fuse(c + p -> fp32:rne) -> bf16:rne -> fp32:rne;step=1")
    d = diagnosis(dots, lambda inputs: other.line(tuple(inputs))[len(inputs) :])  # type: ignore[index]
    assert names(d) == ["running result in bf16"]


def test_what_a_refuted_hypothesis_would_have_given_is_shown() -> None:
    d = diagnosis(MUL, defect(MUL, "sticky dropped"))
    assert d.runner_up is not None
    assert d.refutation is not None
    gives = d.runner_up.hypothesis.model(d.refutation.inputs)
    assert gives is not None
    assert f"; that gives {gives[0]:04x} " in report.case_text(d.refutation, MUL.unit, d.runner_up.hypothesis)


# -- devices --------------------------------------------------------------------------------------------------------

DEVICE = '''"""A multiplier whose answers depend on more than the question."""
import sys

import numpy as np

late = int(sys.argv[1]) if sys.argv[1].lstrip("-").isdigit() else 0
answers = []
with np.errstate(all="ignore"):
    for number, line in enumerate(sys.stdin, 1):
        a, b = (np.uint16(int(x, 16)).view(np.float16) for x in line.split())
        code = int((a * b).view(np.uint16))
        answers.append(code ^ 1 if sys.argv[1] == "state" and number % 50 == 0 else code)
        if sys.argv[1] == "few" and number == 3:
            answers[-1] ^= 1
if late > 0:
    answers = [0] * late + answers[:-late]
elif late < 0:
    answers = answers[-late:] + [0] * -late
if sys.argv[1] == "few":
    answers = [f"{x:04x}" for x in answers[:5]] + ["what?"]
for x in answers:
    print(x if isinstance(x, str) else f"{x:04x}")
'''


@pytest.fixture
def device(tmp_path: Path) -> str:
    (tmp_path / "mul.py").write_text(DEVICE)
    return f"{sys.executable} {tmp_path / 'mul.py'}"


def check(device: str) -> str:
    done = run("check", "mul", "--fmt", "fp16", "--compare-nan", "any", "-n", "1000", "--show", "0", "--dut", device)
    assert done.returncode == 1
    return done.stdout


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(("late", "shift"), [(1, "1 line late"), (3, "3 lines late"), (-2, "2 lines early")])
def test_answers_that_come_late(device: str, late: int, shift: str) -> None:
    out = check(f"{device} {late}")
    assert f"diagnosis: the answers are {shift}: each line answers" in out


def test_what_depends_on_what_came_before(device: str) -> None:
    out = check(f"{device} state")
    assert "queried with this case alone, the device is right: its answers depend on earlier cases" in out
    assert "no policy, profile, accumulator or listed defect explains more" in out


def test_little_evidence_is_no_proof(device: str) -> None:
    """Five answers, one of them wrong, and then nothing that is an answer."""
    out = check(f"{device} few")
    assert "device failure: after 5 answers" in out
    assert "diagnosis: the device perhaps " in out or "diagnosis: no policy" in out
