"""Faults of approximations, operations on blocks, functions of vectors and matrix products: one by one, and two in one
device."""

from __future__ import annotations

import dataclasses

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.oracle.accumulate import get_accumulator
from softfloat_ref.oracle.approximation import define_approximation
from softfloat_ref.units import ApproximationUnit, DotUnit, MatmulUnit, VectorUnit

ROWS = [[-3, 1010], [470, 420], [780, -100], [900, 3]]
PART = {"first": 0x3E00, "after": 0x4000, "small": "operand", "large": "3f80", "exponents": [-10], "rows": ROWS}
ADDRESS = {"fmt": "bf16", "out": "bf16", "symmetry": "odd", "address": "value", "unit": 9, "shift": 8}
CURVE = {"function": "tanh", **ADDRESS, "widths": [12, 11], "cuts": [8], "positive": PART}
TANH = of_unit(ApproximationUnit(define_approximation(CURVE, "t")), 400)
BLOCK_MULTIPLY = VectorSet.make("BlockMultiply", "binary8p4se@binary8p3ue/4", 250)
NORM = of_unit(VectorUnit.make("layer_norm", "bf16", length=4), 150)
MATMUL = of_unit(MatmulUnit(DotUnit.make("fp16", "fp32", "fp32-sequential", 4), 1, 2), 40)
LARGER = of_unit(MatmulUnit(DotUnit.make("fp16", "fp32", "fp32-sequential", 4), 2, 3), 24)


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(
    ("vectors", "name"),
    [
        *((TANH, name) for name in ("product below c0 rounded", "last bit of the address lost", "c1 missing")),
        *((TANH, name) for name in ("segments 0 and 1 swapped", "no saturation: zero", "rounding = rtz")),
        *((TANH, name) for name in ("one ulp too large in the table", "result's sign lost", "sticky dropped")),
        *((BLOCK_MULTIPLY, name) for name in ("sticky dropped", "carry lost", "exponent one high", "lanes one up")),
        *((NORM, name) for name in ("no epsilon", "lanes reversed", "sticky dropped", "subnormals flushed")),
        *((MATMUL, name) for name in ("lane 1 left out", "guard one bit low of its sums", "subnormals flushed of a")),
    ],
    ids=lambda x: x if isinstance(x, str) else x.unit.kind,
)
def test_a_fault_is_named(vectors: VectorSet, name: str) -> None:
    found = diagnosis(vectors, defect(vectors, name))
    assert found.complete
    assert name in names(found)


@pytest.mark.full
@pytest.mark.parametrize(
    ("vectors", "first", "second"),
    [
        (BLOCK_MULTIPLY, "sticky dropped", "lanes reversed"),
        (NORM, "no epsilon", "neighbours exchanged"),
        (TANH, "rounding = rtz", "no saturation: zero"),
        (MATMUL, "lane 1 left out", "subnormals flushed of a"),
        (LARGER, "guard one bit low of the last sum", "lane 1 left out"),
    ],
    ids=lambda x: x if isinstance(x, str) else x.unit.kind,
)
def test_two_faults_in_one_device(vectors: VectorSet, first: str, second: str) -> None:
    one, other = defect(vectors, first), defect(vectors, second)
    assert isinstance(one, Faulty)
    both = one.joined(other)
    assert both is not None
    found = diagnosis(vectors, both)
    assert found.several is not None
    assert {x.hypothesis.name for x in found.several.faults} == {first, second}


def test_another_accumulator_of_a_matrix_product() -> None:
    unit = MATMUL.unit
    assert isinstance(unit, MatmulUnit)
    dot = dataclasses.replace(unit.dot, accumulator=get_accumulator("fp32-pairwise"))
    found = diagnosis(MATMUL, Faulty(dataclasses.replace(unit, dot=dot)))
    assert names(found)[0] == "accumulator fp32-pairwise"
