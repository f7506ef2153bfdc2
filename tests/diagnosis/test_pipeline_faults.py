"""Faults of a step of a pipeline, and of all of them, are named with the step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.kinds.pipeline import with_format
from softfloat_ref.golden.sets import of_unit
from softfloat_ref.oracle.accumulate import get_accumulator
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.units import DotUnit, OperationUnit, PipelineUnit, make_unit

SOFTMAX: Any = make_unit("stepwise_softmax", "fp16", length=4)
ROW: Any = make_unit("stepwise_attention", "q=fp8_e4m3,k=fp8_e4m3,v=bf16,steps=fp32", length=5, depth=1)
VECTORS = of_unit(SOFTMAX, 150, seed=1)


def changed(unit: PipelineUnit, name: str, **fields: Any) -> PipelineUnit:
    """The unit with other fields of a step; policy: that of its operation."""
    stage = next(s for s in unit.stages if s.name == name)
    part: Any = stage.unit
    if "policy" in fields:
        part = replace(part, policy=get_policy(fields.pop("policy")))
    return unit.with_stage(name, replace(stage, unit=part, **fields))


def everywhere(unit: PipelineUnit, **policy: Any) -> PipelineUnit:
    for stage in unit.stages:
        if isinstance(stage.unit, OperationUnit):
            unit = changed(unit, stage.name, policy=policy)
    return unit


DEVICES = {
    "flush_outputs = on in step power": changed(SOFTMAX, "power", policy={"flush_outputs": True}),
    "order pairs in step total": changed(SOFTMAX, "total", order="pairs"),
    "rounding = rtz in every step": everywhere(SOFTMAX, rounding="rtz"),
    "rounding = rtz in step y": changed(SOFTMAX, "y", policy={"rounding": "rtz"}),
    "step difference in bf16": with_format(SOFTMAX, "difference", get_format("bf16")),
}


@pytest.mark.full(gate=2)
@pytest.mark.parametrize("name", DEVICES)
def test_another_choice_in_a_step_is_named(name: str) -> None:
    result = diagnosis(VECTORS, Faulty(DEVICES[name]))
    assert result.complete
    assert name in names(result)


@pytest.mark.full(keep=1, gate=2)
@pytest.mark.parametrize(
    "name",
    [
        "step difference left out",
        "sticky dropped in step total",
        "a * (1 / b) in step y",
        "lanes reversed",
        "sticky dropped in every step",
    ],
)
def test_a_defect_of_a_step_is_named(name: str) -> None:
    result = diagnosis(VECTORS, defect(VECTORS, name))
    assert result.complete
    assert name in names(result)


@pytest.mark.full
def test_another_accumulator_in_a_step_is_named() -> None:
    stage = next(s for s in ROW.stages if s.name == "y")
    assert isinstance(stage.unit, DotUnit)
    other = replace(stage.unit, accumulator=get_accumulator("fp32-pairwise"))
    vectors = of_unit(ROW, 40, seed=2)
    result = diagnosis(vectors, Faulty(ROW.with_stage("y", replace(stage, unit=other))))
    assert any("fp32-pairwise in step y" in name for name in names(result))
