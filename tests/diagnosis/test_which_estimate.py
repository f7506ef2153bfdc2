"""Which estimate is this? A device for one estimate, checked or identified as another, or as the exact operation."""

from __future__ import annotations

import pytest
from diagnosing import diagnosis, names

from softfloat_ref.diagnosis.asking import ask_model
from softfloat_ref.diagnosis.hypotheses import expected_model
from softfloat_ref.diagnosis.kinds import confirming, examiner
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.operations.estimate import Estimate
from softfloat_ref.units import OperationUnit

TABLES = [row for row in OPERATIONS.values() if isinstance(row.estimate, Estimate)]
EXACT = {"recip": "rcp_h100", "exp2": "ex2_h100", "log2": "lg2_h100"} | {
    x: f"{x}_h100" for x in ("rsqrt", "sqrt", "sin", "cos", "tanh")
}
PAIRS = [*(("rsqrt" if row.family == "reciprocal root" else "recip", row.name) for row in TABLES), *EXACT.items()]
PAIRS += [("frecpe", "vfrec7"), ("rcp_h100", "vrcp14")]


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(("expected", "device"), PAIRS)
def test_check_names_it(expected: str, device: str) -> None:
    vectors = VectorSet.make(expected, "fp32", 300)
    d = diagnosis(vectors, expected_model(OperationUnit.make(device, "fp32")))
    assert names(d)[0] == f"operation {device}"


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("device", ["vrcp14", "rcpps_zen4"])
def test_identify_names_it_under_its_policy(device: str) -> None:
    vectors = VectorSet.make("recip", "fp32", 1)
    unit = OperationUnit.make(device, "fp32", policy="x86-sse")
    result = examiner(vectors).identify(ask_model(unit, expected_model(unit)), confirming(vectors, 60, 1))
    assert result.complete
    assert f"operation {device}" in result.name
