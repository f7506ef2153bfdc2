"""Faults of conversions to an integer's lower bits are named."""

from __future__ import annotations

from functools import cache

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.golden.sets import VectorSet


@cache
def vectors(fmt: str, out: str) -> VectorSet:
    return VectorSet.make("convert_modular", fmt, 600, out=out, policy={"rounding": "rtz"})


@pytest.mark.parametrize(
    ("name", "fmt", "out"),
    [
        ("saturates as riscv", "fp64", "i32"),
        ("saturates as x86", "fp64", "u32"),
        ("NaN and Inf as arm", "fp32", "i16"),
        ("NaN and Inf as x86", "fp64", "i32"),
        ("wraps within 64 bits", "fp64", "i32"),
        ("wraps within 64 bits", "fp64", "u16"),
        ("inexact beside invalid", "fp32", "u16"),
        ("invalid for NaN and Inf only", "fp64", "i32"),
        ("no inexact", "fp64", "i32"),
        ("bit 31 is 0", "fp64", "i32"),
    ],
)
def test_it_is_named(name: str, fmt: str, out: str) -> None:
    found = diagnosis(vectors(fmt, out), defect(vectors(fmt, out), name))
    assert found.complete
    assert name in names(found)


def test_another_rounding() -> None:
    other = VectorSet.make("convert_modular", "fp64", 1, out="i32", policy={"rounding": "rne"})
    found = diagnosis(vectors("fp64", "i32"), other.unit.answer)
    assert found.complete
    assert "rounding = rne" in names(found), names(found)
