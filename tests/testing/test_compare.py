"""Comparison of one answer: rules for NaNs and flags, and the kinds of mismatch."""

from __future__ import annotations

import pytest

from softfloat_ref.oracle.formats import get_format
from softfloat_ref.rtl.tolerance import CompareNan
from softfloat_ref.testing.compare import Answer, ComparisonRule, agrees, classify

RULES = [  # expected, got, nan rule, agrees
    ((0x7E00, 0), Answer((0x7E01,), 0), "exact", False),
    ((0x7E00, 0), Answer((0xFE01,), 0), "quiet", True),
    ((0x7E00, 0), Answer((0x7C01,), 0), "quiet", False),
    ((0x7E00, 0), Answer((0x7C01,), 0), "any", True),
    ((0x7E00, 0), Answer((0x7C00,), 0), "any", False),
    ((0x3C00, 0), Answer((0x7E00,), 0), "any", False),
    ((0x3C00, 1), Answer((0x3C00,), 0), "exact", False),
    ((0x3C00, 1), Answer((0x3C00,), None), "exact", True),
    ((0x7E00, 0), Answer((1 << 20 | 0x7E00,), 0), "any", False),
]


@pytest.mark.parametrize(("expected", "got", "nan", "right"), RULES)
def test_comparison(expected: tuple[int, int], got: Answer, nan: str, right: bool) -> None:
    fp16 = get_format("fp16")
    assert agrees(expected, got, ComparisonRule(fp16, CompareNan(nan))) == right


def test_flags_may_be_ignored() -> None:
    fp16 = get_format("fp16")
    assert agrees((0x3C00, 1), Answer((0x3C00,), 0), ComparisonRule(fp16, CompareNan.EXACT, flags=False))


KINDS = [
    (0x3C00, 0x3C01, "off by one ulp"),
    (0x3C00, 0x3C05, "another value"),
    (0x0000, 0x8000, "sign of zero"),
    (0x3C00, 0xBC00, "sign"),
    (0x7C00, 0x7BFF, "no infinity"),
    (0x7BFF, 0x7C00, "infinity"),
    (0x7E00, 0x7C00, "no NaN"),
    (0x3C00, 0x7E00, "NaN"),
    (0x7E00, 0x7E01, "another NaN"),
    (0x0000, 0x0005, "no zero"),
    (0x0005, 0x0000, "zero"),
    (0x3C00, 0x13C00, "result too wide"),
    (0x3C00, 0x3C00, "flags only"),
]


@pytest.mark.parametrize(("expected", "got", "kind"), KINDS)
def test_kinds(expected: int, got: int, kind: str) -> None:
    fp16 = get_format("fp16")
    assert classify((expected, 0), Answer((got,), 1), ComparisonRule(fp16)) == kind
