"""Devices for operations on blocks: their policies and the defects of their scales are named."""

from __future__ import annotations

import dataclasses

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.diagnosis.hypotheses import expected_model
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.units import BlockOperationUnit

VECTORS = VectorSet.make("BlockAdd", "binary8p4se@binary8p3ue/2", 250)
DEFECTS = (
    "scale of operand a left out",
    "scale of operand b left out",
    "scale of the result left out",
    "multiplied by the scale",
    "rounded before the scale",
)


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_of_the_scales(name: str) -> None:
    assert names(diagnosis(VECTORS, defect(VECTORS, name))) == [name]


@pytest.mark.parametrize(("field", "value"), [("rounding", "rtz"), ("rounding", "rna"), ("overflow", "sat-finite")])
def test_another_policy(field: str, value: str) -> None:
    unit = VECTORS.unit
    assert isinstance(unit, BlockOperationUnit)
    other = dataclasses.replace(unit, policy=unit.policy.replace(**{field: value}))
    assert names(diagnosis(VECTORS, expected_model(other)))[0] == f"{field} = {value}"


def test_most_random_cases_have_results_of_every_kind() -> None:
    """Not only zeros and infinities, as independent scales would give."""
    vectors = VectorSet.make("BlockMultiply", "fp4_e2m1@e8m0/4", 200)
    first = len(vectors.directed())
    lanes = [x & 7 for inputs in list(vectors.inputs())[first:] for x in vectors.unit.answer(inputs)[1:]]
    assert sum(0 < x < 7 for x in lanes) > len(lanes) // 3
