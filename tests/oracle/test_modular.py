"""Conversions to an integer's lower bits: the operand in rationals, rounded by Python, modulo 2^n."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluate, evaluator, signature
from softfloat_ref.oracle.policies import get_policy

INVALID, INEXACT = 0x10, 0x01
ROUNDED: dict[str, Callable[[Fraction], int]] = {
    "rtz": math.trunc, "rdn": math.floor, "rup": math.ceil, "rne": round
}  # fmt: skip


@pytest.mark.parametrize("mode", ROUNDED)
@pytest.mark.parametrize("out", ["i3", "u3", "i8", "u8"])
@pytest.mark.parametrize("fmt", ["fp8_e5m2", "fp8_e4m3", "fp6_e2m3", "i6", "u6"])
def test_every_operand(fmt: str, out: str, mode: str) -> None:
    source, to = get_format(fmt), get_format(out)
    run = evaluator(signature("convert_modular", source, to), get_policy({"rounding": mode}))
    low, high = (-(1 << to.width - 1), 1 << to.width - 1) if to.signed else (0, 1 << to.width)
    for code in range(1 << source.width):
        x = decode(code, source)
        if x.is_finite:
            whole = ROUNDED[mode](x.as_fraction())
            wanted = whole % (1 << to.width)
            flags = INVALID if not low <= whole < high else INEXACT if whole != x.as_fraction() else 0
        else:
            wanted, flags = 0, INVALID
        assert run((code,), 0) == (wanted, flags), hex(code)


@pytest.mark.parametrize(
    ("number", "result", "flags"),
    [
        (2**31, -(2**31), INVALID),
        (-(2**31), -(2**31), 0),
        (-(2**31) - 1, 2**31 - 1, INVALID),
        (2**32 + 1, 1, INVALID),
        (-(2**32) - 1, -1, INVALID),
        (1e20, 1661992960, INVALID),
        (2.0**83, 0, INVALID),
        (2.0**83 + 2.0**31, -(2**31), INVALID),
        (1e308, 0, INVALID),
        (-0.5, 0, INEXACT),
        (2**31 - 0.5, 2**31 - 1, INEXACT),
        (-(2**31) - 0.5, -(2**31), INEXACT),
        (float("inf"), 0, INVALID),
        (float("nan"), 0, INVALID),
    ],
)
def test_to_int32(number: float, result: int, flags: int) -> None:
    """ECMA-262 7.1.6; the flags as RISC-V's Zfa and Arm's FPToFixedJS say."""
    got = evaluate("convert_modular", (encode(number, "fp64").bits,), "fp64", "i32", get_policy({"rounding": "rtz"}))
    assert got == (result % 2**32, flags)


def test_a_bit_beside_many() -> None:
    assert evaluate("convert_modular", (0xC1EE9B7E5FC9EBA4,), "fp64", "i32", get_policy({"rounding": "rtz"})) == (
        0x0B240D02,
        INVALID,
    )


def test_the_result_is_an_integer() -> None:
    with pytest.raises(Error, match="the result of convert_modular has an integer format, such as i32, not fp32"):
        evaluate("convert_modular", (0,), "fp64", "fp32")
    assert evaluate("convert_modular", (0xBFF0000000000000,), "fp64") == (0xFFFFFFFF, 0)
