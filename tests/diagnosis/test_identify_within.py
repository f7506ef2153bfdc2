"""Identification within an operand range: nothing outside is asked, and nothing is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis import identified
from softfloat_ref.diagnosis.asking import ask_model
from softfloat_ref.diagnosis.identify import Identification
from softfloat_ref.diagnosis.kinds import confirming, examiner
from softfloat_ref.diagnosis.selftest import subject
from softfloat_ref.golden.sets import VectorSet

RANGES = {
    ("dequantize", "mxfp4"): "scale in 0x70..0x80 and every elements is not zero",
    ("add", "bf16"): "a is normal and b is normal",
    ("mul", "fp8_e4m3"): "a is normal and abs(b) < 2",  # all operands can be tried
    ("quantize", "mxfp4"): "every values in 1..4",
}


def found(vectors: VectorSet, asked: list[tuple[int, ...]]) -> Identification[Any]:
    within = vectors.within
    assert within is not None

    def model(inputs: Sequence[int]) -> tuple[int, ...]:
        assert within.holds(inputs), inputs
        asked.append(tuple(inputs))
        return tuple(vectors.unit.answer(inputs))

    ask = ask_model(vectors.unit, model, vectors.unit.has_flags)
    return examiner(vectors).identify(ask, confirming(vectors, 60, 1))


@pytest.mark.full
@pytest.mark.parametrize(("op", "fmt"), RANGES)
def test_only_operands_within_are_asked(op: str, fmt: str) -> None:
    vectors, asked = subject(op, fmt, None).of_range(RANGES[op, fmt]), list[tuple[int, ...]]()
    result = found(vectors, asked)
    assert result.complete
    assert len(asked) >= 60
    assert f"only operands where {vectors.where}" in identified.lines(result, vectors.unit, vectors.where)[-1]


@pytest.mark.full
def test_what_differs_outside_is_alike() -> None:
    """Whether subnormal operands are flushed."""
    vectors = subject("add", "bf16", None).of_range("a is normal and b is normal")
    names = [name for c in found(vectors, []).candidates for name in c.names]
    assert "flush_inputs = on" in names
    whole = subject("add", "bf16", None)
    everywhere = examiner(whole).identify(ask_model(whole.unit, whole.unit.answer, True), confirming(whole, 60, 1))
    assert "flush_inputs = on" not in [name for c in everywhere.candidates for name in c.names]


@pytest.mark.full
def test_a_range_without_a_question() -> None:
    with pytest.raises(Error, match="no case is such that"):
        subject("dequantize", "mxfp4", None).of_range("scale = 0x70 and scale = 0x71")
    vectors = subject("add", "fp4_e2m1", None).of_range("a = b and b = 0x3 and a != 0x3")
    with pytest.raises(Error, match="where: no case found"):
        examiner(vectors)
