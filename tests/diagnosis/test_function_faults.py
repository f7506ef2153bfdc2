"""Faults of devices that compute functions are named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.operations import evaluate, evaluator, signature
from softfloat_ref.oracle.policies import Policy

EXP = VectorSet.make("exp", "bf16", 600)
TANH = VectorSet.make("tanh", "bf16", 600)
SIN = VectorSet.make("sin", "fp32", 600)
ALL = {"exp": EXP, "tanh": TANH, "sin": SIN}


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("exp", "reduction by 11 bits"),
        ("sin", "reduction by 24 bits"),
        ("sin", "reduction by 33 bits"),
        ("sin", "one ulp low"),
        ("tanh", "one ulp high"),
        ("tanh", "double rounding via fp16"),
        ("exp", "FTZ, flags kept"),
    ],
)
def test_a_listed_fault_is_named(op: str, name: str) -> None:
    vectors = ALL[op]
    d = diagnosis(vectors, defect(vectors, name))
    assert d.complete
    assert name in names(d)


def other(op: str, fmt: str, policy: Policy | None = None) -> Callable[[Inputs], Output]:
    return lambda inputs: tuple(evaluate(op, inputs, fmt, policy=policy))


@pytest.mark.full
def test_another_function_and_another_rounding() -> None:
    assert "operation sin" in names(diagnosis(VectorSet.make("tan", "bf16", 400), other("sin", "bf16")))
    assert "rounding = rtz" in names(diagnosis(TANH, other("tanh", "bf16", Policy("rtz"))))


def faithful(inputs: Inputs) -> Output:
    """Now down, now up, as an estimate may be."""
    mode = ("rdn", "rup", "rne")[inputs[0] * 2654435761 >> 7 & 1 or (inputs[0] >> 3) % 3]
    code, _ = evaluate("tanh", inputs, "bf16", policy=Policy(mode))
    return code, evaluate("tanh", inputs, "bf16").flags


def test_faithful_rounding_is_named() -> None:
    assert "faithful rounding" in names(diagnosis(TANH, faithful))


def saturated(limit: int) -> Callable[[Inputs], Output]:
    """tanh is 1 from a limit on, exactly."""
    run = evaluator(signature("tanh", "bf16"), Policy())
    return lambda inputs: run([inputs[0] & 0x8000 | 0x7F80 if limit <= inputs[0] & 0x7FFF < 0x7F80 else inputs[0]], 0)


def clamped(inputs: Inputs) -> Output:
    """The operand of the exponential is at most 8."""
    run = evaluator(signature("exp", "bf16"), Policy())
    a = inputs[0]
    return run([0x4100 if 0x4100 < a < 0x7F80 else 0xC100 if 0xC100 < a < 0xFF80 else a], 0)


def test_limits_are_found_in_the_mismatches() -> None:
    d = diagnosis(TANH, saturated(0x4020))
    assert d.complete
    assert names(d)[0].startswith("limit where |a| >= 2.5")
    assert "clamped where |a| >= 8.0" in names(diagnosis(EXP, clamped))
