"""How the result of a function is explained: enough bits to see why, also of the hardest cases."""

from __future__ import annotations

import pytest

from softfloat_ref.explanation.scalar import describe, explain_operation
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import signature
from softfloat_ref.oracle.policies import Policy


@pytest.mark.parametrize(
    ("op", "fmt", "code", "bit", "run"),
    [
        ("exp", "fp32", 0x3F800000, "1", 1),
        ("log1p", "fp32", 0x3EFD81AD, "1", 32),
        ("log", "fp64", 0x6A562A88613629B6, "0", 64),
    ],
)
def test_the_run_after_the_guard_bit_is_shown_with_its_end(op: str, fmt: str, code: int, bit: str, run: int) -> None:
    rows = dict(explain_operation(signature(op, fmt), (code,), Policy(), None).rows)
    shown = rows["discarded"].partition("...")[0]
    rest = shown[1:]
    assert len(rest) - len(rest.lstrip(bit)) == run
    assert len(shown) > run + 8


def test_a_result_just_above_one() -> None:
    """1 + 2^-126 + ..., rounded up."""
    rows = dict(explain_operation(signature("exp", "fp32"), (0x00800000,), Policy("rup"), None).rows)
    assert rows["discarded"].startswith("0" * 102 + "1")
    assert rows["rule"].endswith("rounded away from zero")


def test_a_number_too_small_for_a_decimal_is_shown_once() -> None:
    assert describe(1, get_format("fp64")) == "0000000000000001 = 0x1p-1074"
