"""What is said of answers in extf80: explanations, kinds of mismatches, errors in ulp, and kappa."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan

import pytest

from softfloat_ref.explanation.scalar import PolicySearch, explain_operation
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluator, signature
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.testing.compare import Answer, ComparisonRule, classify
from softfloat_ref.testing.kappa import kappa_of
from softfloat_ref.testing.ulp import UlpJudge
from softfloat_ref.units import OperationUnit

F = get_format("extf80")
BIT = 1 << 63
ONE, THREE = 0x3FFF << 64 | BIT, 0x4000 << 64 | 3 << 62
UNNORMAL, PSEUDO_INFINITY, PSEUDO_DENORMAL = 0x3FFF << 64 | 1 << 62, 0x7FFF << 64, BIT
DIV = signature("div", "extf80")


def rows(policy: Policy, *operands: int) -> dict[str, str]:
    return dict(explain_operation(DIV, operands, policy, None).rows)


def test_explanations() -> None:
    shown = rows(Policy(rounding_precision=32), ONE, THREE)
    assert shown["precision"] == "24 bits: rounding_precision = 32"
    assert shown["kept"] == "101010101010101010101010 in units of 2^-25"
    assert shown["error"].endswith("= +0.3333 ulp")
    assert "precision" not in rows(Policy(), ONE, THREE)
    unsupported = rows(get_policy("x87"), UNNORMAL, THREE)
    assert "unnormal, not supported by x87: 0.5" in unsupported["a"]
    assert unsupported["div"] == "invalid operation, invalid"
    assert "pseudo-denormal: 0x1p-16382 [0 000000000000000 1 0000" in rows(Policy(), PSEUDO_DENORMAL, ONE)["a"]


@pytest.mark.parametrize(
    ("policy", "operands", "change"),
    [
        (Policy(), (ONE, THREE), {"rounding_precision": "64"}),
        (Policy(), (UNNORMAL, THREE), {"unnormals": "value"}),
    ],
)
def test_policies_near_one(policy: Policy, operands: tuple[int, int], change: dict[str, str]) -> None:
    def run(near: Policy) -> tuple[int, int]:
        return evaluator(DIV, near)(operands, 0)

    field, value = next(iter(change.items()))
    code, flags = run(policy.replace(**{field: int(value) if value.isdigit() else value}))
    assert change in PolicySearch(run, policy, (F,)).matching(code, flags)
    assert change not in PolicySearch(run, policy).matching(code, flags)  # of other formats


def test_kinds_of_mismatches() -> None:
    rule = ComparisonRule(F)
    assert classify((ONE, 0), Answer((ONE | 1,)), rule) == "off by one ulp"
    assert classify((ONE, 0), Answer((ONE ^ BIT,)), rule) == "pseudo-zero, which is not canonical"
    assert classify((F.inf_code, 0), Answer((PSEUDO_INFINITY,)), rule) == "pseudo-infinity, which is not canonical"
    assert classify((F.canonical_nan, 0), Answer((ONE,)), rule) == "no NaN"


@pytest.mark.parametrize(
    ("expected", "got", "kappa"),
    [(ONE, ONE + 3, 3), (ONE, 0x3FFE << 64 | (1 << 64) - 1, 1), (1 << 64 | BIT, BIT - 1, 1), (F.inf_code, ONE, inf),
     (F.canonical_nan, ONE, nan), (1, 1 << 79 | 1, 2)],
)  # fmt: skip
def test_kappa(expected: int, got: int, kappa: float) -> None:
    """Codes are counted across binades, and to the subnormals."""
    assert kappa_of(expected, got, F) == pytest.approx(kappa, abs=0, nan_ok=True)


def test_errors_in_ulp() -> None:
    """In those of the precision that is rounded to; an overflow is counted from what it is."""
    for precision, steps in ((80, 1), (32, 1 << 40)):
        policy = Policy(rounding_precision=precision)
        judge = UlpJudge(OperationUnit.make("div", "extf80", policy=policy), Fraction(1, 2), 1)
        (x,) = judge.exact_results((ONE, THREE))
        right = evaluator(DIV, policy)((ONE, THREE), 0)[0]
        errors = [judge.judge(right, right + by * steps, x, ComparisonRule(F)) for by in (0, -1)]
        assert [e.wrong for e in errors] == [False, True]
        assert [round(float(e.error), 3) for e in errors] == [0.333, 0.667]
    judge = UlpJudge(OperationUnit.make("div", "extf80"), Fraction(2), 1)
    (x,) = judge.exact_results((F.max_code, 0x3FFE << 64 | (1 << 64) - 1))  # the next number, if there were one
    assert judge.judge(F.inf_code, F.max_code, x, ComparisonRule(F)).error == pytest.approx(1, abs=0.01)
