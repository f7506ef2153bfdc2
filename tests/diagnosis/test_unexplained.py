"""What is said of a device that no hypothesis explains: one case for each fact, with a fault made for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from diagnosing import diagnosis

from softfloat_ref.diagnosis import report
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Inputs, Output, expected_model
from softfloat_ref.diagnosis.unexplained import attempts, facts
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.units import OperationUnit

MUL = OperationUnit.make("mul", "fp16")
VECTORS = VectorSet(MUL, 600)
right = expected_model(MUL)


def hashed(inputs: Inputs) -> bool:
    """For cases that have nothing in common."""
    return (inputs[0] * 40503 ^ inputs[1] * 9973) >> 7 & 7 == 3


def cases(wrong: Callable[[Inputs, int, int], Output]) -> list[AnsweredCase]:
    """Cases of a device that is wrong where a hash says so."""
    rows = []
    for inputs in VECTORS.inputs():
        code, flags = MUL.answer(inputs)
        rows.append(
            AnsweredCase(inputs, (code, flags), wrong(inputs, code, flags) if hashed(inputs) else (code, flags))
        )
    return rows


@pytest.mark.parametrize(
    ("wrong", "fact"),
    [
        (lambda i, c, f: (c ^ 0x150, f), "only bits 8, 6, 4 of the result differ"),
        (lambda i, c, f: (c ^ 0x10, f), "only bit 4 of the result differs"),
        (lambda i, c, f: (c ^ 0x8000, f), "only the sign of the result is wrong"),
        (lambda i, c, f: (c ^ 1, f), "every wrong result is the next number: "),
        (lambda i, c, f: (c & 0x8000, f), "every wrong result is too small in magnitude"),
        (lambda i, c, f: (0x1234, f), "the device gives 1234 in all of them"),
        (lambda i, c, f: (i[1], f), "the device gives operand b in all of them"),
        (lambda i, c, f: (c ^ 0x10, f), "the flags are right in all of them"),
        (lambda i, c, f: (c, f ^ 1), "every result is right, only flags are wrong"),
        (lambda i, c, f: (c, f & ~1), "inexact is missing in "),
        (lambda i, c, f: (c, f | 8), "divide by zero is raised wrongly in "),
    ],
)
def test_a_fact(wrong: Callable[[Inputs, int, int], Output], fact: str) -> None:
    assert any(text.startswith(fact) for text in facts(cases(wrong), MUL))


def test_what_is_excluded_and_what_comes_near() -> None:
    """Results with a hash of their operands are rounded toward zero: no condition says where."""
    truncated = OperationUnit.make("mul", "fp16", policy={"rounding": "rtz"})

    def model(inputs: Inputs) -> Output:
        return (truncated if hashed(inputs) else MUL).answer(tuple(inputs))

    found = diagnosis(VECTORS, model)
    assert not found.findings
    lines = report.lines(found, MUL)
    assert any(line.startswith("  nearest: a device that rounds toward zero (truncates) gives ") for line in lines)
    assert any(line.startswith(f"  excluded: {found.tried} hypotheses") for line in lines)
    assert found.tried > 100
    assert any("its steps, beside signals of the module: softfloat-ref explain mul --fmt" in line for line in lines)


def test_what_to_try() -> None:
    near = [c for c in cases(lambda i, c, f: (c ^ 1, f)) if not c.agrees][:3]
    assert [text.split(":")[0] for text in attempts(3, facts(near, MUL), near[0], MUL)] == [
        "3 mismatches say little",
        "if the unit may err by an ulp, --ulp 1 accepts that",
        "its steps, beside signals of the module",
    ]
