"""Faults of multiply-adds with other signs: signs taken for one another, and the faults of fma, of the signed terms."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.golden.sets import VectorSet

OPS = ("fma", "fmsub", "fnmadd", "fnmsub", "power_fnmadd", "power_fnmsub")


@cache
def vectors(op: str) -> VectorSet:
    return VectorSet.make(op, "fp16", 400)


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(("op", "other"), [*permutations(OPS, 2)])
def test_one_taken_for_another(op: str, other: str) -> None:
    found = diagnosis(vectors(op), vectors(other).unit.answer)
    assert found.complete
    assert f"operation {other}" in names(found)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("op", OPS[1:])
@pytest.mark.parametrize(
    "name",
    [
        "not fused, product in fp16",
        "addend cut 1 place below the product",
        "product cut to p+1 bits",
        "normalised by at most 9 places",
        "zero for c",
        "sticky dropped",
    ],
)
def test_faults_of_the_sum(op: str, name: str) -> None:
    found = diagnosis(vectors(op), defect(vectors(op), name))
    assert found.complete
    assert name in names(found)
