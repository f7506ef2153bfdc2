"""Elementary functions: special cases, exact results, flags; what no standard defines, by its limits.

That every other result is right is tested against Arb (tests/peers/test_arb.py).
"""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import gmpy2
import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import reals
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.exact import Value, finite
from softfloat_ref.oracle.operations import OPERATIONS, evaluate, get_operation, signature, unrounded
from softfloat_ref.oracle.operations.p3109 import NAMES
from softfloat_ref.oracle.policies import Policy

ONE, TWO, HALF, INF, NAN, SNAN, MAX, LEAST = 0x3C00, 0x4000, 0x3800, 0x7C00, 0x7E00, 0x7C01, 0x7BFF, 1
NEG = 0x8000
INEXACT, UNDERFLOW, OVERFLOW, POLE, INVALID = 1, 2, 4, 8, 0x10
NOTHING = (NAN, INVALID)


def fp16(op: str, *operands: int, policy: Policy | str | None = None) -> tuple[int, int]:
    return tuple(evaluate(op, operands, "fp16", policy=policy))  # type: ignore[return-value]


def rounded(x: float) -> tuple[int, int]:
    """An inexact result, near a float."""
    return encode(x, "fp16").bits, INEXACT


CASES = [
    # exponentials (IEEE 754-2019 9.2.1)
    *((op, (z,), (ONE, 0)) for op in ("exp", "exp2", "exp10") for z in (0, NEG)),
    *((op, (INF,), (INF, 0)) for op in ("exp", "exp2", "exp10", "expm1")),
    *((op, (INF | NEG,), (0, 0)) for op in ("exp", "exp2", "exp10")),
    ("expm1", (INF | NEG,), (ONE | NEG, 0)),
    ("exp", (MAX,), (INF, OVERFLOW | INEXACT)),
    ("exp", (MAX | NEG,), (0, UNDERFLOW | INEXACT)),
    ("exp2", (0xC600,), (0x2400, 0)),  # 2^-6
    ("exp2", (0xCE00,), (1, 0)),  # 2^-24, exact and tiny
    ("exp10", (TWO,), (0x5640, 0)),  # 100
    ("exp10", (ONE | NEG,), rounded(0.1)),
    ("expm1", (LEAST,), (LEAST, UNDERFLOW | INEXACT)),
    # logarithms
    *((op, (z,), (INF | NEG, POLE)) for op in ("log", "log2", "log10") for z in (0, NEG)),
    *((op, (ONE,), (0, 0)) for op in ("log", "log2", "log10")),
    *((op, (ONE | NEG,), NOTHING) for op in ("log", "log2", "log10")),
    *((op, (INF | NEG,), NOTHING) for op in ("log", "log2", "log10", "log1p", "acosh")),
    *((op, (INF,), (INF, 0)) for op in ("log", "log2", "log10", "log1p")),
    ("log2", (1,), (0xCE00, 0)),  # -24
    ("log10", (0x63D0,), (0x4200, 0)),  # of 1000
    ("log1p", (ONE | NEG,), (INF | NEG, POLE)),
    ("log1p", (0xBC01,), NOTHING),
    # zeros keep their signs, where the function is odd or nearly so
    *(
        (op, (z,), (z, 0))
        for op in ("expm1", "log1p", "sin", "tan", "sinpi", "tanpi", "asin", "atan", "asinpi", "atanpi")
        for z in (0, NEG)
    ),
    *(
        (op, (z,), (z, 0))
        for op in ("sinh", "tanh", "asinh", "atanh", "cbrt", "erf", "silu", "gelu", "gelu_tanh", "mish")
        for z in (0, NEG)
    ),
    *((op, (z,), (ONE, 0)) for op in ("cos", "cospi", "cosh") for z in (0, NEG)),
    # infinities
    *((op, (x,), NOTHING) for op in ("sin", "cos", "tan", "sinpi", "cospi", "tanpi") for x in (INF, INF | NEG)),
    *((op, (x,), NOTHING) for op in ("asin", "acos", "asinpi", "acospi", "atanh") for x in (INF, 0xBC01)),
    ("atan", (INF | NEG,), (0xBE48, INEXACT)),
    ("atanpi", (INF | NEG,), (HALF | NEG, 0)),
    *((op, (x,), (x, 0)) for op in ("sinh", "asinh", "cbrt") for x in (INF, INF | NEG)),
    *((op, (x,), (ONE | x & NEG, 0)) for op in ("tanh", "erf") for x in (INF, INF | NEG)),
    ("cosh", (INF | NEG,), (INF, 0)),
    ("acosh", (INF,), (INF, 0)),
    *((op, (INF,), (INF, 0)) for op in ("softplus", "silu", "gelu", "gelu_tanh", "mish")),
    *((op, (INF | NEG,), (NEG, 0)) for op in ("silu", "gelu", "gelu_tanh", "mish")),
    *((op, (MAX | NEG,), (NEG, UNDERFLOW | INEXACT)) for op in ("silu", "gelu", "gelu_tanh", "mish")),
    ("softplus", (INF | NEG,), (0, 0)),
    ("softplus", (0,), rounded(0.693147)),
    ("sigmoid", (INF,), (ONE, 0)),
    ("sigmoid", (INF | NEG,), (0, 0)),
    ("sigmoid", (NEG,), (HALF, 0)),
    # ends of domains, and exact results inside
    ("acos", (ONE,), (0, 0)),
    ("acos", (ONE | NEG,), (0x4248, INEXACT)),
    ("acospi", (ONE,), (0, 0)),
    ("acospi", (ONE | NEG,), (ONE, 0)),
    ("acospi", (NEG,), (HALF, 0)),
    ("acospi", (HALF,), rounded(1 / 3)),
    ("asinpi", (ONE | NEG,), (HALF | NEG, 0)),
    ("asinpi", (HALF,), rounded(1 / 6)),
    ("atanpi", (ONE | NEG,), (0x3400 | NEG, 0)),
    ("acosh", (ONE,), (0, 0)),
    ("acosh", (HALF,), NOTHING),
    ("atanh", (ONE | NEG,), (INF | NEG, POLE)),
    ("cbrt", (0xC800,), (TWO | NEG, 0)),  # of -8
    # half turns: zeros of integers, poles of halves
    *(("sinpi", (x,), (x & NEG, 0)) for x in (ONE, TWO, 0xC200, MAX)),
    *(("sinpi", (x,), y) for x, y in ((HALF, (ONE, 0)), (0x3E00, (ONE | NEG, 0)), (0xC100, (ONE | NEG, 0)))),
    *(("cospi", (x,), (0, 0)) for x in (HALF, 0x3E00, 0xB800, 0xC100)),
    *(("cospi", (x,), y) for x, y in ((ONE, (ONE | NEG, 0)), (TWO, (ONE, 0)), (MAX, (ONE, 0)))),
    *(("tanpi", (x,), y) for x, y in ((ONE, (NEG, 0)), (TWO, (0, 0)), (0xBC00, (0, 0)), (0xC000, (NEG, 0)))),
    *(("tanpi", (x,), (INF | s, POLE)) for x, s in ((HALF, 0), (0x3E00, NEG), (0xB800, NEG), (0xBE00, 0))),
    *(("tanpi", (x,), (ONE | s, 0)) for x, s in ((0x3400, 0), (0x3A00, NEG), (0xB400, NEG), (0x3D00, 0))),
    # two operands
    *(("hypot", (x, y), (INF, 0)) for x, y in ((INF, NAN), (NAN, INF | NEG), (INF | NEG, ONE))),
    ("hypot", (INF, SNAN), NOTHING),
    ("hypot", (NEG, NEG), (0, 0)),
    ("hypot", (0x4200, 0xC400), (0x4500, 0)),  # 3, -4
    ("hypot", (MAX, MAX), (INF, OVERFLOW | INEXACT)),
    *(("pow", (x, z), (ONE, 0)) for x in (NAN, INF, 0, TWO | NEG) for z in (0, NEG)),
    *(("pow", (ONE, y), (ONE, 0)) for y in (NAN, INF, INF | NEG, 0xC100)),
    *(("pow", case, NOTHING) for case in ((SNAN, 0), (ONE, SNAN), (TWO | NEG, HALF))),
    ("pow", (NAN, ONE), (NAN, 0)),
    ("pow", (ONE | NEG, INF), (ONE, 0)),
    *(("pow", (NEG, y), r) for y, r in ((0xC200, (INF | NEG, POLE)), (0xC000, (INF, POLE)), (0xC100, (INF, POLE)))),
    *(("pow", (NEG, y), (r, 0)) for y, r in ((INF | NEG, INF), (0x4200, NEG), (TWO, 0), (HALF, 0), (INF, 0))),
    *(("pow", (HALF | NEG, y), (r, 0)) for y, r in ((INF, 0), (INF | NEG, INF), (0xC200, 0xC800))),
    *(("pow", (TWO, y), (r, 0)) for y, r in ((INF, INF), (INF | NEG, 0), (0xCE00, 1))),
    *(("pow", (INF | NEG, y), (r, 0)) for y, r in ((0x4200, INF | NEG), (TWO, INF), (0xC200, NEG), (0xC000, 0))),
    *(("pow", (INF, y), (r, 0)) for y, r in ((HALF, INF), (HALF | NEG, 0), (INF, INF))),
    *(("atan2", (s, 0), (s, 0)) for s in (0, NEG)),
    *(("atan2", (s, x), (0x4248 | s, INEXACT)) for s in (0, NEG) for x in (NEG, ONE | NEG, INF | NEG)),
    *(("atan2", (y, x), (0x3E48 | y & NEG, INEXACT)) for y in (ONE, INF | NEG) for x in (0, NEG)),
    *(("atan2", (INF | s, INF), (0x3A48 | s, INEXACT)) for s in (0, NEG)),
    *(("atan2", (INF | s, INF | NEG), (0x40B6 | s, INEXACT)) for s in (0, NEG)),
    *(("atan2", (y, INF), (y & NEG, 0)) for y in (ONE, TWO | NEG)),
    *(("atan2pi", (s, x), (ONE | s, 0)) for s in (0, NEG) for x in (NEG, ONE | NEG, INF | NEG)),
    *(("atan2pi", (s, x), (s, 0)) for s in (0, NEG) for x in (0, ONE, INF)),
    *(("atan2pi", (y, x), (HALF | y & NEG, 0)) for y in (ONE, INF | NEG) for x in (0, NEG)),
    *(("atan2pi", (INF | NEG, x), (r | NEG, 0)) for x, r in ((INF, 0x3400), (INF | NEG, 0x3A00), (ONE, HALF))),
    *(("atan2pi", (x, x ^ NEG), (r, 0)) for x, r in ((TWO, 0x3A00), (TWO | NEG, 0x3400 | NEG))),
]


@pytest.mark.parametrize(("op", "operands", "result"), CASES)
def test_special_cases(op: str, operands: tuple[int, ...], result: tuple[int, int]) -> None:
    assert fp16(op, *operands) == result


def test_every_function_has_a_case() -> None:
    assert {op for op, *_ in CASES} == {name for name, row in OPERATIONS.items() if row.curve}


@pytest.mark.parametrize("op", [name for name, row in OPERATIONS.items() if row.curve])
def test_nan_operands(op: str) -> None:
    """NaN in, NaN out; a signalling one raises invalid."""
    others = (TWO,) * (get_operation(op).arity - 1)
    assert fp16(op, NAN, *others) == (NAN, 0)
    assert fp16(op, SNAN, *others) == (NAN, INVALID)
    assert fp16(op, 0xFE35, *others, policy=Policy(nan="propagate")) == (0xFE35, 0)


P3109 = [  # binary8p4se: 1 is 40, 1/2 is 38, Inf 7f, -Inf ff, NaN 80
    ("exp", (0xFF,), 0x00),
    ("expm1", (0xFF,), 0xC0),
    ("log", (0x00,), 0xFF),
    ("log2", (0xC0,), 0x80),
    ("log1p", (0xC0,), 0xFF),
    ("log1p", (0xC8,), 0x80),
    ("softplus", (0xFF,), 0x00),
    ("sinpi", (0x7F,), 0x80),
    ("tanpi", (0x38,), 0x80),
    ("tanpi", (0xB8,), 0x80),
    ("acos", (0x48,), 0x80),
    ("atanpi", (0xFF,), 0xB8),
    ("cosh", (0xFF,), 0x7F),
    ("acosh", (0xFF,), 0x80),
    ("atanh", (0xC0,), 0xFF),
    ("hypot", (0x7F, 0x80), 0x80),
    ("hypot", (0xFF, 0x40), 0x7F),
    ("atan2pi", (0x00, 0x00), 0x80),
    ("atan2pi", (0x7F, 0xFF), 0x80),
    ("atan2pi", (0xC0, 0x7F), 0x00),
    ("atan2pi", (0xC0, 0xFF), 0x40),
    ("atan2pi", (0x00, 0xC0), 0x40),
    ("atan2pi", (0xFF, 0x40), 0xB8),
    ("atan2pi", (0xC0, 0x00), 0xB8),
    ("atan2", (0x00, 0x00), 0x80),
    ("pow", (0x80, 0x00), 0x80),
    ("pow", (0x40, 0x80), 0x80),
    ("pow", (0x00, 0xC0), 0x80),
    ("pow", (0x00, 0xFF), 0x80),
    ("pow", (0x00, 0x00), 0x40),
]


@pytest.mark.parametrize(("op", "operands", "result"), P3109)
def test_p3109_specials(op: str, operands: tuple[int, ...], result: int) -> None:
    for policy in (None, "p3109"):
        assert evaluate(op, operands, "binary8p4se", policy=policy).bits == result


def test_p3109_rules_for_other_formats() -> None:
    """Signs of zero say nothing there."""
    assert fp16("atan2pi", NEG, ONE | NEG, policy="p3109") == (ONE, 0)
    assert fp16("atan2", ONE | NEG, INF | NEG, policy="p3109") == (0x4248, INEXACT)
    assert fp16("tanpi", HALF, policy="p3109") == NOTHING
    assert evaluate("tanpi", (0x38,), "binary8p4se", policy=Policy(specials="ieee")) == (0x7F, POLE)


def test_names_of_p3109() -> None:
    assert set(NAMES.values()) <= OPERATIONS.keys()
    assert len(set(NAMES.values())) == len(NAMES)
    assert get_operation("ArcTan2Pi") is get_operation("atan2pi")
    assert evaluate("ExpMinusOne", (0x40,), "binary8p4se").bits == 0x46
    assert evaluate(" logoneplus ", (0x40,), "binary8p4se") == evaluate("log1p", (0x40,), "binary8p4se")


def test_directions() -> None:
    """A result beside a representable one goes to it, or past it."""
    assert fp16("tanh", MAX, policy=Policy("rtz")) == (0x3BFF, INEXACT)
    assert fp16("tanh", MAX, policy=Policy("rup")) == (ONE, INEXACT)
    assert fp16("sigmoid", MAX | NEG, policy=Policy("rup")) == (LEAST, UNDERFLOW | INEXACT)
    assert fp16("gelu", MAX | NEG, policy=Policy("rdn")) == (LEAST | NEG, UNDERFLOW | INEXACT)
    assert fp16("softplus", MAX, policy=Policy("rup")) == (INF, OVERFLOW | INEXACT)
    assert fp16("exp", LEAST, policy=Policy("rup")) == (0x3C01, INEXACT)
    assert fp16("cosh", LEAST, policy=Policy("rdn")) == (ONE, INEXACT)
    assert fp16("sin", LEAST, policy=Policy("rtz")) == (0, UNDERFLOW | INEXACT)
    assert fp16("exp", LEAST, policy=Policy(flush_inputs=True)) == (ONE, 0)


@pytest.mark.parametrize("op", [name for name, row in OPERATIONS.items() if row.curve])
@pytest.mark.parametrize(
    "formats", [("fp8_e4m3", "bf16"), ("i8", "fp16"), ("u8", "fp32"), ("fp16", "i8"), ("e8m0", "fp16")]
)
def test_mixed_formats(op: str, formats: tuple[str, str]) -> None:
    """Of operands in one format, in the format of the result: rounding the exact value is all there is."""
    operands = [formats[0]] * get_operation(op).arity
    sig = signature(op, operands, formats[1])
    for code in range(0, 256, 5):
        codes = (code, 255 - code)[: len(operands)]
        value, flags = unrounded(sig, Policy(), 30)(codes, 0)
        if value.is_finite:
            bits, more = encode(value, sig.out)
            assert evaluate(op, codes, operands, formats[1]) == (bits, flags | more)


def test_results_beyond_every_format() -> None:
    """Overflow and underflow need no number of their size."""
    fmt = "s1e20m3"
    biggest = (1 << 23) - 9
    assert evaluate("exp", (biggest,), fmt) == (biggest + 1, OVERFLOW | INEXACT)
    assert evaluate("exp", (biggest | 1 << 23,), fmt) == (0, UNDERFLOW | INEXACT)
    for op in ("sigmoid", "softplus"):
        assert evaluate(op, (biggest | 1 << 23,), fmt) == (0, UNDERFLOW | INEXACT)
    for op in ("gelu", "gelu_tanh", "silu", "mish"):
        assert evaluate(op, (biggest | 1 << 23,), fmt) == (1 << 23, UNDERFLOW | INEXACT)
        assert evaluate(op, (biggest,), fmt) == (biggest, INEXACT)
    for op in ("tanh", "erf", "sigmoid"):
        assert decode(evaluate(op, (biggest,), fmt).bits, fmt).as_fraction() == 1


def test_bounds_that_never_part_raise() -> None:
    """A number with a finite expansion given as bounds that hold it, however narrow: no result is invented."""

    def one(o: reals.Outward) -> reals.Bounds:
        third = o.divided(o.exactly(finite(0, 1, 0)), o.exactly(finite(0, 3, 0)))
        return o.rising("add", third, o.rising("add", third, third))

    with pytest.raises(Error, match="closer to a number of 8 bits"):
        reals.enclosed(one, 8)


def test_a_third_is_cut() -> None:
    third = reals.enclosed(lambda o: o.divided(o.exactly(finite(0, 1, 0)), o.exactly(finite(0, 3, 0))), 8)
    assert third == Value(0, 0, 0xAA, -9, 1)
    assert Fraction(0xAA, 512) < Fraction(1, 3) < Fraction(0xAB, 512)


def test_the_context_of_gmpy2_in_force_does_not_matter() -> None:
    before = gmpy2.get_context().copy()
    expected = [fp16(op, 0x4123) for op in ("exp", "gelu", "sinpi")]
    try:
        gmpy2.set_context(gmpy2.context(precision=3, emin=-4, emax=4, round=gmpy2.RoundUp))
        assert [fp16(op, 0x4123) for op in ("exp", "gelu", "sinpi")] == expected
    finally:
        gmpy2.set_context(before)


def test_gmpy2_is_loaded_when_it_is_needed() -> None:
    code = (
        "import sys, softfloat_ref as sf; sf.evaluate('add', (1, 2), 'fp16'); print('gmpy2' in sys.modules);"
        "sf.evaluate('exp', (1,), 'fp16'); print('gmpy2' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "True"]
