"""Multiply-adds with other signs: the exact sum of the signed terms in rationals, by the definition of rounding; their
special cases are those of fma, of operands negated before. A processor's own are in peers/test_cpu.py."""

from __future__ import annotations

from itertools import product

import definition
import pytest
from gmpy2 import mpq

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluate, evaluator, get_operation, signature
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.units import make_unit

FMT = get_format("s1e2m1")  # 16 codes: all operands are tried
SIGNS = {"fma": (0, 0), "fmsub": (0, 1), "fnmadd": (1, 1), "fnmsub": (1, 0)}  # of product and addend
ARM = {"arm_fmsub": (1, 0), "arm_fnmadd": (1, 1), "arm_fnmsub": (0, 1)}
ONE, MINUS_ONE, NEG = 0x3F800000, 0xBF800000, 0x80000000


@pytest.mark.parametrize("mode", ["rne", "rdn", "rup"])
@pytest.mark.parametrize("op", SIGNS)
def test_every_sum_is_that_of_the_signed_terms(op: str, mode: str) -> None:
    run = evaluator(signature(op, FMT), get_policy({"rounding": mode}))
    lines = [definition.Line.of(FMT, negative) for negative in (False, True)]
    numbers = [(x, decode(x, FMT)) for x in range(1 << FMT.width) if decode(x, FMT).is_finite]
    values = [(code, x.sign, mpq(x.as_fraction())) for code, x in numbers]
    minus, subtracted = SIGNS[op]
    for (a, sa, x), (b, sb, y), (c, sc, z) in product(values, repeat=3):
        total = (-1) ** minus * x * y + (-1) ** subtracted * z
        if total:
            code, flags = definition.expected(abs(total), total < 0, lines[total < 0], FMT, mode)
            if code == definition.UNBOUNDED:
                code = definition.past_the_end(FMT, "sat-none", mode, total < 0)
            code |= FMT.sign_bit * (total < 0)
        else:  # IEEE 754 6.3
            signs = {sa ^ sb ^ minus, sc ^ subtracted}
            code, flags = FMT.sign_bit * (signs.pop() if len(signs) == 1 else mode == "rdn"), 0
        assert run((a, b, c), 0) == (code, flags), (a, b, c)


@pytest.mark.parametrize("policy", ["ieee", "x86-sse", "arm"])
@pytest.mark.parametrize("op", [op for op in (*SIGNS, *ARM) if op != "fma"])
def test_operands_are_negated_before(op: str, policy: str) -> None:
    """Of all codes. A NaN is negated by Arm's alone."""
    fma, run = (evaluator(signature(x, FMT), get_policy(policy)) for x in ("fma", op))
    signs = {**SIGNS, **ARM}[op]

    def negated(code: int, minus: int) -> int:
        return code ^ FMT.sign_bit if minus and (op in ARM or not FMT.is_nan(code)) else code

    for a, b, c in product(range(1 << FMT.width), repeat=3):
        assert run((a, b, c), 0) == fma((negated(a, signs[0]), b, negated(c, signs[1])), 0), (a, b, c)


def test_a_negated_fma_is_another_operation() -> None:
    """It has other zeros, and rounds to the other side."""
    small = 0x0D800000
    for op, case, rne, rup in (
        ("fnmadd", (ONE, ONE, MINUS_ONE), 0, 0),
        ("fnmsub", (ONE, ONE, ONE), 0, 0),
        ("fmsub", (ONE, ONE, ONE), 0, 0),
        ("fnmadd", (ONE, ONE, small), MINUS_ONE, MINUS_ONE),
        ("fma", (ONE, ONE, small), ONE, ONE + 1),
    ):
        assert evaluate(op, case, "fp32").bits == rne
        assert evaluate(op, case, "fp32", policy=get_policy({"rounding": "rup"})).bits == rup


def test_names_of_processors() -> None:
    names = {"x86_fmsub": "fmsub", "x86_fnmadd": "fnmsub", "X86_FNMSUB": "fnmadd", "x86_fmadd": "fma", "fmadd": "fma"}
    assert {name: get_operation(name).name for name in names} == names


def test_the_sign_of_a_nan() -> None:
    """The sign of a NaN operand changes under Arm's negation alone, where NaNs are propagated."""
    nan = 0x7FC00ABC
    for policy in ("arm", "x86-sse"):
        assert evaluate("fnmsub", (nan, ONE, ONE), "fp32", policy=policy).bits == nan
        assert evaluate("arm_fmsub", (nan, ONE, ONE), "fp32", policy=policy).bits == nan | NEG
        assert evaluate("arm_fnmsub", (ONE, ONE, nan), "fp32", policy=policy).bits == nan | NEG
        assert evaluate("arm_fmsub", (ONE, ONE, nan), "fp32", policy=policy).bits == nan
    assert evaluate("arm_fmsub", (nan, ONE, ONE), "fp32").bits == 0x7FC00000


@pytest.mark.parametrize("policy", ["ieee", "x86-sse"])
@pytest.mark.parametrize("mode", ["rne", "rdn", "rup"])
@pytest.mark.parametrize(("op", "opposite"), [("power_fnmadd", "fma"), ("power_fnmsub", "fmsub")])
def test_power_negates_what_is_rounded(op: str, opposite: str, mode: str, policy: str) -> None:
    """Of all codes, but of no NaN."""
    run, other = (evaluator(signature(x, FMT), get_policy({"like": policy, "rounding": mode})) for x in (op, opposite))
    for case in product(range(1 << FMT.width), repeat=3):
        code, flags = other(case, 0)
        assert run(case, 0) == (code if FMT.is_nan(code) else code ^ FMT.sign_bit, flags), case


def test_a_rounding_without_an_opposite_is_refused() -> None:
    with pytest.raises(Error, match="power_fnmadd negates what is rounded; no rounding is the opposite of rnu"):
        evaluate("power_fnmadd", (ONE, ONE, ONE), "fp32", policy=get_policy({"rounding": "rnu"}))
    with pytest.raises(Error, match="power_fnmsub negates what is rounded"):
        make_unit("power_fnmsub", "fp16", policy={"rounding": "rnu"})
