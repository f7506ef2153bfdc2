"""Operations that SoftFloat and MPFR do not have, and the special cases of each family."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import OPERATIONS, evaluate, evaluator, signature
from softfloat_ref.oracle.policies import Policy, get_policy

ONE, TWO, INF, NAN, SNAN, MAX = 0x3C00, 0x4000, 0x7C00, 0x7E00, 0x7C01, 0x7BFF
NEG = 0x8000


def fp16(op: str, *operands: int, policy: Policy | str | None = None) -> tuple[int, int]:
    return tuple(evaluate(op, operands, "fp16", policy=policy))  # type: ignore[return-value]


CASES = [
    # signs of zero (IEEE 754 6.3)
    ("add", (0, NEG), (0, 0)),
    ("add", (NEG, NEG), (NEG, 0)),
    ("sub", (ONE, ONE), (0, 0)),
    ("fma", (ONE, ONE, ONE | NEG), (0, 0)),
    ("fma", (NEG, ONE, NEG), (NEG, 0)),
    ("fmsub", (ONE, ONE, ONE), (0, 0)),
    ("fmsub", (NEG, ONE, 0), (NEG, 0)),
    ("fnmadd", (ONE, ONE, ONE | NEG), (0, 0)),
    ("fnmadd", (ONE, 0, 0), (NEG, 0)),
    ("fnmsub", (ONE, ONE, ONE), (0, 0)),
    ("fnmsub", (INF, 0, NAN), (NAN, 0x10)),
    ("power_fnmadd", (ONE, ONE, ONE | NEG), (NEG, 0)),
    ("power_fnmsub", (ONE, 0, 0), (NEG, 0)),
    ("arm_fmsub", (INF, ONE, INF), (NAN, 0x10)),
    ("arm_fnmadd", (TWO, ONE, ONE), (0xC200, 0)),
    ("arm_fnmsub", (TWO, ONE, ONE), (ONE, 0)),
    ("faa", (NEG, NEG, NEG), (NEG, 0)),
    ("faa", (NEG, 0, NEG), (0, 0)),
    ("sqrt", (NEG,), (NEG, 0)),
    ("faa", (ONE, NEG, ONE | NEG), (0, 0)),
    ("dot2", (NEG, ONE, 0, NEG, NEG), (NEG, 0)),
    ("dot2", (ONE, ONE, ONE, ONE | NEG, NEG), (0, 0)),
    # one rounding: MAX + MAX - MAX does not overflow on the way
    ("faa", (MAX, MAX, MAX | NEG), (MAX, 0)),
    ("dot2", (MAX, TWO, MAX, TWO | NEG, ONE), (ONE, 0)),
    ("dot4", (ONE, ONE, ONE, ONE, ONE, ONE, ONE, ONE, ONE), (0x4500, 0)),
    # infinities and invalid operations
    ("faa", (INF, ONE, INF | NEG), (NAN, 0x10)),
    ("dot2", (INF, ONE, INF, ONE | NEG, ONE), (NAN, 0x10)),
    ("dot2", (INF, 0, ONE, ONE, NAN), (NAN, 0x10)),
    ("fma", (INF, 0, NAN), (NAN, 0x10)),
    ("div", (0, 0), (NAN, 0x10)),
    ("div", (ONE, NEG), (INF | NEG, 0x08)),
    ("recip", (NEG,), (INF | NEG, 0x08)),
    ("rsqrt", (NEG,), (INF | NEG, 8)),
    ("rsqrt", (INF,), (0, 0)),
    ("rsqrt", (ONE | NEG,), (NAN, 0x10)),
    ("recip", (INF | NEG,), (NEG, 0)),
    ("recip", (TWO,), (0x3800, 0)),
    ("rsqrt", (0x4400,), (0x3800, 0)),
    # minimum, maximum (IEEE 754 9.6)
    ("minimum", (0, NEG), (NEG, 0)),
    ("maximum", (NEG, 0), (0, 0)),
    ("minimum", (ONE, NAN), (NAN, 0)),
    ("minimum_number", (ONE, NAN), (ONE, 0)),
    ("minimum_number", (SNAN, ONE), (ONE, 0x10)),
    ("minimum_number", (SNAN, NAN), (NAN, 0x10)),
    ("min", (NAN, NAN), (NAN, 0)),
    ("max", (NAN, TWO), (TWO, 0)),
    ("maximum_magnitude", (ONE, TWO | NEG), (TWO | NEG, 0)),
    ("maximum_magnitude", (ONE, ONE | NEG), (ONE, 0)),
    ("minimum_magnitude", (ONE, ONE | NEG), (ONE | NEG, 0)),
    ("minimum_magnitude_number", (NAN, ONE), (ONE, 0)),
    ("minimum_magnitude", (INF, TWO), (TWO, 0)),
    ("clamp", (TWO, 0, ONE), (ONE, 0)),
    ("clamp", (NAN, 0, ONE), (NAN, 0)),
    ("clamp", (ONE, TWO, 0), (NAN, 0x10)),
    ("clamp", (ONE | NEG, 0, ONE), (0, 0)),
    # comparisons
    ("eq", (0, NEG), (1, 0)),
    ("lt", (NEG, 0), (0, 0)),
    ("le", (ONE, NAN), (0, 0x10)),
    ("lt_quiet", (ONE, NAN), (0, 0)),
    ("eq", (SNAN, ONE), (0, 0x10)),
    ("eq_signaling", (NAN, NAN), (0, 0x10)),
    ("unordered", (ONE, NAN), (1, 0)),
    ("unordered", (SNAN, ONE), (1, 0x10)),
    ("total_order", (NEG, 0), (1, 0)),
    ("total_order", (0, NEG), (0, 0)),
    ("total_order", (SNAN, NAN), (1, 0)),
    ("total_order", (NAN | NEG, SNAN | NEG), (1, 0)),
    ("total_order", (NAN, INF), (0, 0)),
    ("total_order", (NAN | NEG, INF | NEG), (1, 0)),
    # on codes
    ("abs", (SNAN | NEG,), (SNAN, 0)),
    ("neg", (SNAN,), (SNAN | NEG, 0)),
    ("copysign", (ONE, NEG), (ONE | NEG, 0)),
    ("next_up", (MAX,), (INF, 0)),
    ("next_up", (INF,), (INF, 0)),
    ("next_up", (INF | NEG,), (MAX | NEG, 0)),
    ("next_up", (NEG | 1,), (NEG, 0)),
    ("next_up", (NEG,), (1, 0)),
    ("next_down", (0,), (NEG | 1, 0)),
    ("next_down", (1,), (0, 0)),
    ("next_up", (SNAN,), (NAN, 0x10)),
    ("next_up", (NAN,), (NAN, 0)),
    ("class", (INF | NEG,), (1 << 0, 0)),
    ("class", (ONE | NEG,), (1 << 1, 0)),
    ("class", (NEG | 1,), (1 << 2, 0)),
    ("class", (NEG,), (1 << 3, 0)),
    ("class", (0,), (1 << 4, 0)),
    ("class", (1,), (1 << 5, 0)),
    ("class", (ONE,), (1 << 6, 0)),
    ("class", (INF,), (1 << 7, 0)),
    ("class", (SNAN,), (1 << 8, 0)),
    ("class", (NAN,), (1 << 9, 0)),
    # a number beats a NaN, a finite number an infinity (P3109 4.11.3)
    ("minimum_finite", (NAN, ONE), (ONE, 0)),
    ("minimum_finite", (INF | NEG, ONE), (ONE, 0)),
    ("minimum_finite", (INF | NEG, INF), (INF | NEG, 0)),
    ("minimum_finite", (NAN, INF), (INF, 0)),
    ("minimum_finite", (TWO, ONE), (ONE, 0)),
    ("maximum_finite", (INF, ONE), (ONE, 0)),
    ("maximum_finite", (INF | NEG, INF), (INF, 0)),
    ("maximum_finite", (ONE, SNAN), (ONE, 0x10)),
    ("maximum_finite", (NAN, NAN), (NAN, 0)),
    ("gt_quiet", (ONE, NAN), (0, 0)),
    ("gt_quiet", (TWO, ONE), (1, 0)),
    ("gt_quiet", (0, NEG), (0, 0)),
    ("ge_quiet", (0, NEG), (1, 0)),
    ("ge_quiet", (ONE, TWO), (0, 0)),
    # signs, rounded to another format
    ("abs_rounded", (ONE | NEG,), (ONE, 0)),
    ("abs_rounded", (SNAN,), (NAN, 0x10)),
    ("neg_rounded", (INF,), (INF | NEG, 0)),
    ("copysign_rounded", (ONE, NEG), (ONE | NEG, 0)),
    # predicates
    ("is_zero", (NEG,), (1, 0)),
    ("is_zero", (1,), (0, 0)),
    ("is_one", (ONE,), (1, 0)),
    ("is_one", (ONE | NEG,), (0, 0)),
    ("is_nan", (SNAN,), (1, 0)),
    ("is_nan", (INF,), (0, 0)),
    ("is_infinite", (INF | NEG,), (1, 0)),
    ("is_infinite", (NAN,), (0, 0)),
    ("is_finite", (MAX,), (1, 0)),
    ("is_finite", (INF,), (0, 0)),
    ("is_sign_minus", (NEG,), (1, 0)),
    ("is_sign_minus", (NAN | NEG,), (1, 0)),
    ("is_sign_minus", (ONE,), (0, 0)),
    ("is_normal", (0x0400,), (1, 0)),
    ("is_normal", (0x03FF,), (0, 0)),
    ("is_normal", (0,), (0, 0)),
    ("is_normal", (INF,), (0, 0)),
    ("is_subnormal", (0x83FF,), (1, 0)),
    ("is_subnormal", (0x0400,), (0, 0)),
    ("is_subnormal", (NAN,), (0, 0)),
    # exponents
    ("logb", (0,), (INF | NEG, 0x08)),
    ("logb", (INF | NEG,), (INF, 0)),
    ("logb", (1,), (0xCE00, 0)),
    ("scaleb", (ONE, 4), (0x4C00, 0)),
    ("scaleb", (ONE, 0xFFFFFFFF), (0x3800, 0)),
    ("scaleb", (ONE, 1 << 30), (INF, 5)),
    ("scaleb", (ONE, 1 << 31), (0, 3)),
    ("scaleb", (NEG, 5), (NEG, 0)),
    ("round_to_integral", (0x3E00,), (TWO, 0)),
    ("round_to_integral_exact", (0x3E00,), (TWO, 1)),
    ("round_to_integral", (0xB800,), (NEG, 0)),
    ("rem", (INF, ONE), (NAN, 0x10)),
    ("rem", (ONE, INF), (ONE, 0)),
    ("rem", (0xC000, ONE), (NEG, 0)),
]


@pytest.mark.parametrize(("op", "operands", "result"), CASES)
def test_special_cases(op: str, operands: tuple[int, ...], result: tuple[int, int]) -> None:
    assert fp16(op, *operands) == result


def test_every_operation_has_a_case_or_another_arbiter() -> None:
    """A new row in the table needs an expectation: here, in test_functions, test_estimates, test_modular, or in the
    tests against SoftFloat and MPFR."""
    elsewhere = {
        "convert",
        "convert_modular",
        "mul",
        "lt",
        "le_quiet",
        "maximum_number",
        "maximum_magnitude_number",
        "next_down",
    }
    elsewhere |= {name for name, row in OPERATIONS.items() if row.curve or row.standing}
    assert set(OPERATIONS) == {op for op, *_ in CASES} | elsewhere | {"sub"}


def test_exact_zero_sums_under_rdn() -> None:
    rdn = Policy("rdn")
    assert fp16("sub", ONE, ONE, policy=rdn) == (NEG, 0)
    assert fp16("add", 0, 0, policy=rdn) == (0, 0)
    assert fp16("fma", ONE, ONE, ONE | NEG, policy=rdn) == (NEG, 0)
    assert fp16("faa", 0, 0, 0, policy=rdn) == (0, 0)
    assert fp16("dot2", ONE, ONE, ONE, ONE | NEG, 0, policy=rdn) == (NEG, 0)
    for rounding in ("rto", "rtz", "rup", "rna", "rnu", "rhz"):
        assert fp16("sub", ONE, ONE, policy=Policy(rounding)) == (0, 0)


def test_fma_of_zero_times_infinity() -> None:
    """IEEE 754 7.2 c leaves the flag open; the named policies say what each architecture does."""
    quiet, signaling = 0xFE33, 0xFC33
    assert fp16("fma", 0, INF, quiet, policy="ieee") == (NAN, 0x10)
    assert fp16("fma", 0, INF, quiet, policy="riscv") == (NAN, 0x10)
    assert fp16("fma", 0, INF, quiet, policy="x86-sse") == (quiet, 0)
    assert fp16("fma", 0, INF, quiet, policy="arm") == (NAN, 0x10)
    assert fp16("fma", 0, INF, signaling, policy="x86-sse") == (quiet, 0x10)
    assert fp16("fma", 0, INF, signaling, policy="arm") == (quiet, 0x10)
    assert fp16("fma", 0, INF, quiet, policy="ptx") == (0x7FFF, 0x10)


def test_nan_priorities() -> None:
    q1, q2, q3, s2 = 0x7E01, 0x7E02, 0x7E03, 0x7C02
    assert fp16("add", q1, s2, policy="x86-sse") == (q1, 0x10)
    assert fp16("add", q1, s2, policy="arm") == (q2, 0x10)
    assert fp16("fma", q1, q2, q3, policy="x86-sse") == (q1, 0)
    assert fp16("fma", q1, q2, q3, policy="arm") == (q3, 0)
    assert fp16("fma", q1, s2, q3, policy="arm") == (q2, 0x10)
    assert fp16("sub", INF, INF, policy="x86-sse") == (0xFE00, 0x10)
    assert fp16("sub", INF, INF, policy="ptx") == (0x7FFF, 0x10)


def test_daz_applies_to_arithmetic_but_not_to_signs() -> None:
    daz = Policy(flush_inputs=True)
    assert fp16("add", NEG | 1, NEG, policy=daz) == (NEG, 0)
    assert fp16("mul", INF, 1, policy=daz) == (NAN, 0x10)
    assert fp16("lt", 1, 2, policy=daz) == (0, 0)
    assert fp16("maximum", 1, 0, policy=daz) == (0, 0)
    assert evaluate("convert", (0x8001,), "fp16", to="fp32", policy=daz) == (0x80000000, 0)
    for op, result in (("abs", 1), ("class", 1 << 5), ("next_up", 2)):
        assert fp16(op, 1, policy=daz) == (result, 0)
    assert fp16("total_order", 2, 1, policy=daz) == (0, 0)
    assert fp16("copysign", 1, NEG, policy=daz) == (NEG | 1, 0)


P3109 = [  # binary8p4se: 1 is 40, Inf 7f, NaN 80, largest 7e
    ("div", (0x40, 0x00), 0x80),
    ("div", (0x7F, 0x00), 0x80),
    ("recip", (0x00,), 0x80),
    ("rsqrt", (0x00,), 0x80),
    ("next_up", (0x7F,), 0x80),
    ("next_up", (0x7E,), 0x7F),
    ("next_down", (0xFF,), 0x80),
    ("next_up", (0x81,), 0x00),
    ("next_down", (0x00,), 0x81),
    ("total_order", (0x80, 0xFF), 1),
    ("total_order", (0xFF, 0x80), 0),
    ("total_order", (0x80, 0x80), 1),
    ("minimum", (0x80, 0x40), 0x80),
    ("minimum_number", (0x80, 0x40), 0x40),
    ("clamp", (0x40, 0x41, 0x3F), 0x80),
    ("neg", (0x80,), 0x80),
    ("neg", (0x00,), 0x00),
    ("abs", (0x80,), 0x80),
    ("copysign", (0x40, 0x80), 0x80),
    ("copysign", (0x40, 0xC0), 0xC0),
    ("class", (0x80,), 1 << 9),
    ("faa", (0x7F, 0x40, 0xFF), 0x80),
    ("sqrt", (0xC0,), 0x80),
    ("sqrt", (0x00,), 0x00),
]


@pytest.mark.parametrize(("op", "operands", "result"), P3109)
def test_p3109_specials(op: str, operands: tuple[int, ...], result: int) -> None:
    for policy in (None, "p3109"):
        assert evaluate(op, operands, "binary8p4se", policy=policy).bits == result


def test_p3109_next_at_the_ends() -> None:
    assert evaluate("next_up", (0x7F,), "binary8p4sf").bits == 0x80  # finite: nothing above the largest
    assert evaluate("next_down", (0x00,), "binary8p4ue").bits == 0xFF  # unsigned: nothing below zero
    assert evaluate("div", (0x40, 0x00), "binary8p4se", policy=Policy(specials="ieee")) == (0x7F, 0x08)


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(
    "name",
    [
        "fp8_e5m2",
        "fp8_e4m3",
        "fp8_e4m3fnuz",
        "fp4_e2m1",
        "e8m0",
        "int8",
        "dlfloat16",
        "ue4m3",
        "binary6p3se",
        "binary5p2uf",
        "s1e3m0",
    ],
)
def test_next_is_the_next_value(name: str) -> None:
    """next_up and next_down against the sorted list of all values."""
    fmt = get_format(name)
    codes = [c for c in range(1 << fmt.width) if not decode(c, fmt).is_nan]
    order = sorted({float(decode(c, fmt)) for c in codes})
    place = {x: i for i, x in enumerate(order)}
    for code in codes:
        i = place[float(decode(code, fmt))]
        for op, j in (("next_up", i + 1), ("next_down", i - 1)):
            result = decode(evaluate(op, (code,), fmt).bits, fmt)
            if 0 <= j < len(order):
                assert float(result) == order[j], (op, hex(code))
            else:
                assert result.is_nan if fmt.p3109 else float(result) == order[i]


def test_total_order_is_total() -> None:
    codes = range(256)
    before = {(a, b): evaluate("total_order", (a, b), "fp8_e5m2").bits for a, b in itertools.product(codes, codes)}
    for a, b in itertools.combinations(codes, 2):
        assert before[a, b] + before[b, a] == 1
    ranks = sorted(codes, key=lambda a: sum(before[b, a] for b in codes))
    # Magnitudes with the sign folded in: exactly the order of sign-magnitude integers.
    assert ranks == sorted(codes, key=lambda c: c if c < 128 else 127 - c)


def test_total_order_aligns_payloads() -> None:
    """A payload bit next to the quiet bit weighs the same in every format."""
    assert evaluate("total_order", (0x7F00, 0x7FE00000), ("fp16", "fp32")).bits == 1
    assert evaluate("total_order", (0x7E01, 0x7FC00002), ("fp16", "fp32")).bits == 0


def test_copysign_between_formats() -> None:
    assert evaluate("copysign", (0x40, 0x80), "fp8_e4m3fnuz").bits == 0x40  # that NaN has no sign
    assert evaluate("copysign", (1, 0x7F), ("fp4_e2m1", "fp8_e4m3"), policy="p3109") == (0x7, 0x10)
    assert evaluate("copysign", (0x3C00, 0xFF), ("fp16", "fp8_e4m3")).bits == 0xBC00


def test_arm_flushes_before_rounding() -> None:
    """Arm ARM, FPRoundBase: judged before rounding, underflow only; x86: after, with inexact."""
    operands = (0x00800000, 0x3F7FFFFF)
    assert evaluate("mul", operands, "fp32", policy=get_policy("arm", flush_outputs=True)) == (0, 0x02)
    assert evaluate("mul", operands, "fp32", policy=get_policy("x86-sse", flush_outputs=True)) == (0, 0x03)
    assert evaluate("convert", (0xFFC00001,), "fp32", "fp8_e5m2", "arm").bits == 0x7E
    assert evaluate("convert", (0xFFC00001,), "fp32", "fp8_e4m3", "arm").bits == 0x7F
    assert evaluate("convert", (0xFFC00001,), "fp32", "fp16", "arm").bits == 0xFE00


def test_tpu_widening_appends_zeros() -> None:
    """bfloat16 to float32: 16 zero bits, whatever the code; the other way flushes."""
    for code in (0x0001, 0x7F81, 0x8000, 0x3F80, 0xFF80):
        assert evaluate("convert", (code,), "bf16", "fp32", "tpu-bf16") == (code << 16, 0)
    assert evaluate("convert", (0x007FFFFF,), "fp32", "bf16", "tpu-bf16") == (0, 0)
    assert evaluate("convert", (0x80000001,), "fp32", "bf16", "tpu-bf16").bits == 0x8000


def test_mixed_formats() -> None:
    """fp8 x fp8 + fp32 -> fp32, exactly, on all pairs of codes."""
    fmt, addend = get_format("fp8_e4m3"), encode(Fraction(1, 3), "fp32").bits
    run = evaluator(signature("fma", ("fp8_e4m3", "fp8_e4m3", "fp32"), "fp32"), Policy())
    c = decode(addend, "fp32").as_fraction()
    for a, b in itertools.product(range(0, 256, 7), range(256)):
        x, y = decode(a, fmt), decode(b, fmt)
        if not x.is_nan and not y.is_nan:
            assert run((a, b, addend), 0) == encode(x.as_fraction() * y.as_fraction() + c, "fp32")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate("ad", (0, 0), "fp16"), "did you mean add"),
        (lambda: evaluate("add", (0,), "fp16"), "takes 2 operands"),
        (lambda: evaluate("add", (0, 0), ("fp16", "fp32")), "the result format is ambiguous"),
        (lambda: evaluate("add", (0, 0), ("fp16",)), "takes 2 operands, but 1 formats"),
        (lambda: evaluate("add", (0, 1 << 16), "fp16"), "does not fit"),
        (lambda: evaluate("lt", (0, 0), "fp16", to="fp16"), "result of lt is u1"),
        (lambda: evaluate("neg", (0,), "fp16", to="fp32"), "has its operand's format"),
        (lambda: evaluate("scaleb", (0x3C00, 0x3E00), ("fp16", "fp16")), "needs an integer format"),
        (lambda: evaluate("add", 5, "fp16"), "a sequence of codes"),
        (lambda: evaluate("add", (1, 2), 5), "one format, or one for each"),
        (lambda: encode(1, "fp16", 5), "a policy must be a name"),
    ],
)
def test_bad_calls(call: object, message: str) -> None:
    with pytest.raises(Error, match=message):
        call()  # type: ignore[operator]


def test_named_policies() -> None:
    assert get_policy("riscv").overflow == "sat-none"
    assert encode(1e9, "fp8_e4m3", "riscv").bits == 0x7F
    assert encode(1e9, "fp8_e4m3", "ptx").bits == 0x7E
    assert encode(1e9, "fp8_e5m2", "ptx").bits == 0x7B
    assert encode(1e9, "fp16", "ptx").bits == INF
    assert encode(float("nan"), "fp8_e5m2", "riscv").bits == 0x7F
    assert evaluate("convert", (1,), "fp32", to="bf16", policy="tpu-bf16") == (0, 0)
    assert evaluate("convert", (0x7F800001,), "fp32", to="bf16", policy="tpu-bf16").bits == 0x7FC0
