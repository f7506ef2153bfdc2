"""Inputs that come from another line than the others: which one is named, alone and beside a fault of the arithmetic.

Chosen: an input of each role (operand, addend, rounding mode, lanes of a block), in whole, and each field of a number;
from lines before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from diagnosing import defect

from softfloat_ref.diagnosis.hypotheses import Model, expected_model
from softfloat_ref.diagnosis.parts import explanation
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.judge import Judge

MUL = VectorSet.make("mul", "fp16", 400)
FMA = VectorSet.make("fma", "fp16", 400)
DOT = VectorSet.make("dot", "fp8_e4m3@e8m0/4", 150)
MODES = VectorSet.make("mul", "fp16", 600, roundings="rne,rtz,rup")
ALL, SIGN, EXPONENT, FRACTION = -1, 0x8000, 0x7C00, 0x3FF


def diagnosed(
    vectors: VectorSet, model: Model, masks: dict[int, int], shift: int, only: Callable[..., bool] = any
) -> str:
    """The diagnosis of a device that takes some bits of some codes from another line. only: for which codes."""
    lines = [line for inputs in vectors.inputs() if (line := vectors.line(inputs)) is not None]
    width, results = vectors.unit.input_width, len(vectors.unit.result_formats)
    judge = Judge(vectors, shown=0)
    for i, line in enumerate(lines):
        own, other = line[:width], lines[(i + shift) % len(lines)][:width]
        mixed = [x & ~masks.get(k, 0) | y & masks.get(k, 0) for k, (x, y) in enumerate(zip(own, other, strict=True))]
        output = model(mixed if only(own) else own)
        output = line[width:] if output is None else output
        judge.compare(line, Answer(output[:results], output[-1] if vectors.unit.has_flags else None))
    cause = explanation(judge.report)
    assert cause is not None
    return "\n".join(cause.lines())


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("vectors", "masks", "shift", "text"),
    [
        (MUL, {1: ALL}, 1, "operand b of the next line"),
        (MUL, {0: SIGN}, -1, "the sign of operand a of the line before"),
        (MUL, {1: EXPONENT}, 2, "the exponent of operand b of the line after the next"),
        (MUL, {0: FRACTION}, -2, "the fraction of operand a of two lines before"),
        (FMA, {2: ALL}, -1, "operand c of the line before"),
        (DOT, dict.fromkeys(range(6, 10), ALL), 1, "operand b of the next line"),
        (MODES, {0: ALL}, -1, "the rounding of the line before"),
    ],
)
def test_an_input_of_another_line(vectors: VectorSet, masks: dict[int, int], shift: int, text: str) -> None:
    first, *rest = diagnosed(vectors, expected_model(vectors.unit), masks, shift).splitlines()
    assert f" answers are those with {text}" in first
    assert "where" not in first
    assert not any(line.startswith("diagnosis of") for line in rest)


def of_numbers(codes: Sequence[int]) -> bool:
    return all(0 < x & 0x7FFF < 0x7C00 for x in codes)


@pytest.mark.full
def test_only_for_some_operands() -> None:
    """Special cases are answered before the other operand comes."""
    first = diagnosed(MUL, expected_model(MUL.unit), {1: SIGN}, 1, of_numbers).partition("\n")[0]
    assert first.endswith("the sign of operand b of the next line, where every operand is a number other than zero")


def test_beside_another_fault() -> None:
    text = diagnosed(MUL, defect(MUL, "sticky dropped, inexact kept"), {1: ALL}, 1)
    assert "answers are those with operand b of the next line" in text.partition("\n")[0]
    assert "diagnosis of the answers to these inputs: the device rounds without a sticky bit" in text


@pytest.mark.full
@pytest.mark.parametrize("name", ["exponent +1", "sign inverted of b", "bit 15 is 0", "bytes reversed"])
def test_faults_of_one_line_are_not_taken_for_it(name: str) -> None:
    assert " of the next line" not in diagnosed(MUL, defect(MUL, name), {}, 1)
