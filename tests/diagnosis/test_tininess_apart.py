"""Devices with a wrong rounding that detect tininess by logic of its own, which is right: one fault, not two.

Chosen: roundings, and errors of the bits below the last one, in a conversion and in a product, which have tiny results.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.diagnosis import report
from softfloat_ref.diagnosis.hypotheses import Inputs, Output, expected_model
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.flags import INEXACT, UNDERFLOW
from softfloat_ref.units import OperationUnit

CONVERT = VectorSet.make("convert", "fp32", 1000, out="fp8_e4m3")
MUL = VectorSet.make("mul", "fp16", 2000)


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("vectors", [CONVERT, MUL], ids=["convert", "mul"])
@pytest.mark.parametrize(
    "name",
    [
        *(f"rounding = {x}" for x in ("rtz", "rup", "rdn", "rhz", "rna", "rnu")),
        *("rounds away", "sticky dropped", "guard one bit low", "subnormal results x2"),
    ],
)
def test_a_wrong_rounding_with_right_tininess(vectors: VectorSet, name: str) -> None:
    unit, mode = vectors.unit, name.partition("rounding = ")[2]
    assert isinstance(unit, OperationUnit)
    other = replace(unit, policy=unit.policy.replace(rounding=mode or "rne"))
    right, wrong = expected_model(unit), expected_model(other) if mode else defect(vectors, name)

    def device(inputs: Inputs) -> Output:
        expected, output = right(inputs), wrong(inputs)
        assert expected is not None
        assert output is not None
        code, flags = output
        tiny = expected[1] & UNDERFLOW and flags & INEXACT
        return code, flags & ~UNDERFLOW | (UNDERFLOW if tiny else 0)

    found = diagnosis(vectors, device)
    assert found.complete
    assert found.several is None
    width = vectors.unit.input_width
    apart = any(device(i[:width]) != wrong(i[:width]) for i in vectors.inputs())
    assert names(found)[0] == (f"{name}, tininess apart" if apart else name)
    assert ("but detects tininess as expected" in report.sentence(found, vectors.unit)) is apart
