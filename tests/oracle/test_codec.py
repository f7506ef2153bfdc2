"""decode and encode: round trips, the overflow rules, NaN rules, and what is refused."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import check_code, decode, encode, encoder, tf32_from_register
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format, p3109
from softfloat_ref.oracle.policies import POLICIES, ROUNDINGS, Overflow, Policy, get_policy

ODD_ONES = ["s1e1m2", "s1e3m0", "s0e4m3", "s1e6m1b46", "s1e4m0fn", "s0e3m2finite", "i5", "u12", "s1e5m2b-9", "s1e2m12"]
UP_TO_16 = (
    [f for f in CATALOGUE.values() if f.width <= 16]
    + [get_format(n) for n in ODD_ONES]
    + [
        p3109(k, p, signed=s, extended=e)
        for k, s, e in itertools.product((3, 5, 8, 11, 16), (True, False), (True, False))
        for p in {1, 2, k // 2, k - 1}
    ]
)


@pytest.mark.full(keep=9)
@pytest.mark.parametrize("fmt", UP_TO_16, ids=lambda f: f.name)
def test_every_code_survives(fmt: Format) -> None:
    """Every non-NaN code decodes and re-encodes to itself, quietly; up to 8 bits under every policy."""
    policies = [Policy()]
    if fmt.width <= 8:
        policies = [
            Policy(mode, overflow, tininess=tininess, sr_bits=4 if mode.startswith("sr") else None)
            for mode in ROUNDINGS
            for overflow in (None, *Overflow)
            for tininess in ("after", "before")
        ] + list(POLICIES.values())
    values = [(code, decode(code, fmt)) for code in range(1 << fmt.width) if not fmt.is_nan(code)]
    for policy in policies:
        encode_value = encoder(fmt, policy)
        for code, value in values:
            if value.is_inf and policy.overflow_for(fmt) == Overflow.SAT_FINITE:
                assert encode_value(value, 0)[0] == (fmt.max_code | (fmt.sign_bit if value.sign else 0))
            elif value.is_zero and policy.specials == "p3109":  # which has one zero
                assert encode_value(value, 0) == (0, 0)
            elif value.is_finite and policy.flush_outputs and 0 < abs(value.as_fraction()) < Fraction(2) ** fmt.emin:
                continue  # a subnormal, flushed
            elif code == 0 and not fmt.zero and policy.e8m0_rule.field:
                continue  # which counts as half a step there
            else:
                assert encode_value(value, 15 if policy.sr_bits else 0) == (code, 0), policy


def test_every_nan_decodes_to_nan() -> None:
    for name, expected in {
        "fp8_e4m3": {0x7F, 0xFF},
        "fp8_e5m2": {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF},
        "fp8_e4m3fnuz": {0x80},
        "e8m0": {0xFF},
        "fp4_e2m1": set(),
        "ue4m3": {0x7F},
    }.items():
        fmt = get_format(name)
        assert {c for c in range(1 << fmt.width) if decode(c, fmt).is_nan} == expected


INF, NAN = math.inf, math.nan
# format, rounding, overflow, value, code, flags
OVERFLOWS = [
    # E4M3 has no Inf; 464 is the tie between 448 and where 480 would be
    ("fp8_e4m3", "rne", None, 464, 0x7E, 1),
    ("fp8_e4m3", "rne", None, 465, 0x7E, 5),
    ("fp8_e4m3", "rne", "sat-none", 465, 0x7F, 5),
    ("fp8_e4m3", "rne", "sat-none", -465, 0x7F, 5),
    ("fp8_e4m3", "rtz", "sat-none", 465, 0x7E, 1),
    ("fp8_e4m3", "rtz", "sat-none", 480, 0x7E, 5),
    ("fp8_e4m3", "rup", "sat-none", 449, 0x7F, 5),
    ("fp8_e4m3", "rdn", "sat-none", 449, 0x7E, 1),
    ("fp8_e4m3", "rdn", "sat-none", -449, 0x7F, 5),
    ("fp8_e4m3", "rto", "sat-none", 449, 0x7E, 5),
    ("fp8_e4m3", "rne", None, INF, 0x7E, 0),
    ("fp8_e4m3", "rne", "sat-none", INF, 0x7F, 0),
    ("fp8_e4m3", "rne", "sat-propagate", INF, 0x7F, 0),
    ("fp8_e4m3", "rne", "sat-propagate", 500, 0x7E, 5),
    ("fp8_e4m3", "rna", "sat-none", 464, 0x7F, 5),
    ("fp8_e4m3", "rhz", "sat-none", 464, 0x7E, 1),
    # E5M2 has
    ("fp8_e5m2", "rne", None, 61440, 0x7C, 5),
    ("fp8_e5m2", "rne", "sat-finite", 61440, 0x7B, 5),
    ("fp8_e5m2", "rtz", None, 1e9, 0x7B, 5),
    ("fp8_e5m2", "rup", None, -1e9, 0xFB, 5),
    ("fp8_e5m2", "rne", "sat-propagate", -INF, 0xFC, 0),
    ("fp8_e5m2", "rne", "sat-finite", -INF, 0xFB, 0),
    ("fp8_e5m2", "rne", "sat-narrow", INF, 0x7B, 0),
    ("fp16", "rne", "sat-narrow", INF, 0x7C00, 0),
    # finite ones
    ("fp4_e2m1", "rne", "sat-none", 100, 0x7, 5),
    ("fp4_e2m1", "rne", "sat-none", -INF, 0xF, 0),
    ("int8", "rne", None, -2.5, 0x80, 5),
    ("int8", "rne", None, 1.99, 0x7F, 1),
    ("int8", "rne", None, 2, 0x7F, 5),
    # unsigned: a negative value has no place (P3109 4.7.5)
    ("ue4m3", "rne", None, -3, 0x00, 5),
    ("ue4m3", "rne", "sat-none", -3, 0x7F, 5),
    ("ue4m3", "rtz", "sat-none", -3, 0x00, 5),
    ("ue4m3", "rup", "sat-none", -3, 0x00, 5),
    ("ue4m3", "rdn", "sat-none", -3, 0x7F, 5),
    ("ue4m3", "rto", "sat-none", -3, 0x7F, 5),
    ("binary5p3ue", "rto", None, -0.5, 0x1F, 5),
    ("ue4m3", "rne", "sat-none", -1e-9, 0x00, 3),
    ("binary8p4ue", "rne", None, -1, 0xFF, 5),
    ("binary8p4ue", "rne", None, -INF, 0xFF, 0),
    ("binary8p4ue", "rne", "sat-propagate", -INF, 0x00, 0),
    ("binary8p4ue", "rne", "sat-finite", -INF, 0x00, 0),
    ("binary8p4uf", "rne", "sat-none", -1, 0xFF, 5),
    # P3109: finite formats give the largest; round to odd goes to Inf where that is the odd code
    ("binary8p4sf", "rne", "sat-none", 1e9, 0x7F, 5),
    ("binary8p4sf", "rne", "sat-none", INF, 0x7F, 0),
    ("binary8p4se", "rto", "sat-none", 1e9, 0x7F, 5),
    ("binary8p4ue", "rto", "sat-none", 1e9, 0xFD, 5),
    ("fp16", "rto", None, 1e9, 0x7BFF, 5),
    # E8M0 has neither zero nor sign
    ("e8m0", "rne", None, 0, 0x00, 3),
    ("e8m0", "rne", "sat-none", 0, 0xFF, 3),
    ("e8m0", "rne", None, -8, 0x82, 0),
    ("e8m0", "rne", "sat-none", -8, 0xFF, 5),
    ("e8m0", "rne", None, 2.0**128, 0xFE, 5),
    ("e8m0", "rne", "sat-none", 2.0**128, 0xFF, 5),
    ("e8m0", "rtz", "sat-none", 2.0**128, 0xFF, 5),
    ("e8m0", "rne", None, INF, 0xFE, 0),
    ("e8m0", "rne", "sat-none", INF, 0xFF, 0),
    ("e8m0", "rne", None, NAN, 0xFF, 0),
    ("e8m0", "rne", None, 2.0**-130, 0x00, 3),
    ("e8m0", "rdn", None, 2.0**-130, 0x00, 3),
    ("e8m0", "rne", None, 1.5, 0x80, 1),
    ("e8m0", "rne", None, -INF, 0xFE, 0),
]


@pytest.mark.parametrize(("fmt", "rounding", "overflow", "value", "code", "flags"), OVERFLOWS)
def test_overflow(fmt: str, rounding: str, overflow: str | None, value: float, code: int, flags: int) -> None:
    assert encode(value, fmt, Policy(rounding, overflow)) == (code, flags)


# integers: value, target, riscv, x86, arm, flags
INTEGERS = [
    (3e9, "i32", 0x7FFFFFFF, 0x80000000, 0x7FFFFFFF, 0x10),
    (-3e9, "i32", 0x80000000, 0x80000000, 0x80000000, 0x10),
    (NAN, "i32", 0x7FFFFFFF, 0x80000000, 0, 0x10),
    (NAN, "u32", 0xFFFFFFFF, 0xFFFFFFFF, 0, 0x10),
    (-1, "u32", 0, 0xFFFFFFFF, 0, 0x10),
    (-0.5, "u32", 0, 0, 0, 1),
    (5e9, "u32", 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 16),
    (-INF, "u64", 0, (1 << 64) - 1, 0, 0x10),
    (INF, "i64", (1 << 63) - 1, 1 << 63, (1 << 63) - 1, 0x10),
    (7, "i3", 3, 4, 3, 0x10),
    (-4, "i3", 4, 4, 4, 0),
    (2.5, "u8", 2, 2, 2, 1),
]


@pytest.mark.parametrize(("value", "fmt", "riscv", "x86", "arm", "flags"), INTEGERS)
def test_integers(value: float, fmt: str, riscv: int, x86: int, arm: int, flags: int) -> None:
    for rule, code in (("riscv", riscv), ("x86", x86), ("arm", arm)):
        assert encode(value, fmt, Policy(integers=rule)) == (code, flags)


def test_nan_to_integers_ptx() -> None:
    """PTX ISA, cvt: zero, but the top bit alone from fp64 or to 64 bits."""
    nan32, nan64 = decode(0x7FC00000, "fp32"), decode(0x7FF8 << 48, "fp64")
    policy = get_policy("ptx")
    assert encode(nan32, "i32", policy).bits == 0
    assert encode(nan64, "i32", policy).bits == 1 << 31
    assert encode(nan32, "i64", policy).bits == 1 << 63


NANS = [  # rule, source format, code, target, result, flags
    ("canonical", "fp32", 0xFFC12345, "fp16", 0x7E00, 0),
    ("canonical", "fp32", 0x7F800001, "fp16", 0x7E00, 0x10),
    ("propagate", "fp32", 0xFFC12345, "fp16", 0xFE09, 0),
    ("propagate", "fp32", 0x7F800001, "fp16", 0x7E00, 0x10),
    ("propagate", "fp16", 0x7C01, "fp32", 0x7FC02000, 0x10),
    ("propagate", "fp16", 0xFE01, "fp8_e4m3", 0xFF, 0),
    ("propagate", "fp16", 0xFE01, "fp8_e4m3fnuz", 0x80, 0),
    ("ones", "fp32", 0xFFC12345, "bf16", 0x7FFF, 0),
    ("negative", "fp32", 0x7FC12345, "fp16", 0xFE00, 0),
    ("ones", "fp32", 0x7FC00000, "fp8_e5m2", 0x7F, 0),
    ("canonical,fp8_e5m2=7f", "fp32", 0x7FC00000, "fp8_e5m2", 0x7F, 0),
    ("7e01", "fp32", 0x7FC00000, "fp16", 0x7E01, 0),
    ("canonical", "fp16", 0x7E00, "fp4_e2m1", 0x7, 0x10),
    ("canonical", "fp16", 0x7E00, "int8", 0x7F, 0x10),
]


@pytest.mark.parametrize(("rule", "source", "code", "target", "result", "flags"), NANS)
def test_nan_rules(rule: str, source: str, code: int, target: str, result: int, flags: int) -> None:
    assert encode(decode(code, source), target, Policy(nan=rule)) == (result, flags)


def test_nan_missing() -> None:
    assert encode(NAN, "fp4_e2m1", Policy(nan_missing="zero")) == (0, 0x10)
    with pytest.raises(Error, match="no NaN to encode"):
        encode(NAN, "fp4_e2m1", Policy(nan_missing="error"))


def test_flushing_outputs() -> None:
    """x86: judged after rounding, underflow and inexact; Arm: before, underflow only."""
    # Both are stored as fp16's smallest normal; at 11 bits and unbounded exponent the first one, a tie, rounds to it,
    # the second one does not: so it is tiny.
    reaches = Fraction(2) ** -14 * (1 - Fraction(1, 2**12))
    tiny = reaches - Fraction(1, 2**40)
    assert encode(reaches, "fp16") == (0x0400, 1)
    assert encode(tiny, "fp16") == (0x0400, 3)
    assert encode(reaches, "fp16", Policy(flush_outputs=True)) == (0x0400, 1)
    assert encode(tiny, "fp16", Policy(flush_outputs=True)) == (0, 3)
    assert encode(reaches, "fp16", Policy(flush_outputs=True, flush_rule="before")) == (0, 2)
    assert encode(-(Fraction(2) ** -15), "fp16", Policy("rup", flush_outputs=True)) == (0x8000, 3)
    assert encode(Fraction(2) ** -15, "fp16", Policy(flush_outputs=True, flush_rule="before")) == (0, 2)


def test_dlfloat_policy() -> None:
    """IBM's conversion: ties away, nothing below the smallest number ever rounds up to it, overflow to NaN-Infinity."""
    policy = get_policy("dlfloat")
    least = Fraction(2) ** -31 * (1 + Fraction(1, 512))
    assert encode(Fraction(2) ** -31, "dlfloat16", policy).bits == 0
    assert encode(Fraction(2) ** -31 * (1 + Fraction(1, 1024)), "dlfloat16", policy).bits == 1
    assert encode(least * Fraction(3, 4), "dlfloat16", policy).bits == 0
    assert encode(1 + Fraction(1, 1024), "dlfloat16", policy).bits == 0x3E01
    assert encode(10**10, "dlfloat16", policy).bits == 0x7FFF


@pytest.mark.parametrize(
    "x",
    [
        1,
        1.0,
        Fraction(1),
        Decimal(1),
        gmpy2.mpq(1),
        gmpy2.mpz(1),
        np.float32(1),
        np.int8(1),
        np.longdouble(1),
        decode(0x38, "fp8_e4m3"),
        True,
    ],
)
def test_kinds_of_number(x: object) -> None:
    assert encode(x, "fp8_e4m3") == (0x38, 0)


@pytest.mark.parametrize("x", [-0.0, Decimal("-0"), np.float16(-0.0), np.longdouble(-0.0)])
def test_negative_zero(x: object) -> None:
    assert encode(x, "fp16") == (0x8000, 0)


def test_infinities_of_other_types() -> None:
    for x in (Decimal("inf"), np.longdouble("inf"), np.float32("inf"), gmpy2.mpfr("inf")):
        assert encode(x, "fp16") == (0x7C00, 0)
    assert encode(Decimal("nan"), "fp16") == (0x7E00, 0)
    assert encode(Decimal("sNaN"), "fp16") == (0x7E00, 0x10)


def test_tf32_from_a_register() -> None:
    assert tf32_from_register(0x3F800000 | 0x1FFF) == encode(1, "tf32").bits


def test_rationals_are_rounded_once() -> None:
    """A third more than a midpoint, however close: float64 would lose it."""
    midpoint = Fraction(1) + Fraction(1, 2**11)
    assert encode(midpoint + Fraction(1, 3 * 2**200), "fp16") == (0x3C01, 1)
    assert encode(midpoint - Fraction(1, 3 * 2**200), "fp16") == (0x3C00, 1)


@pytest.mark.parametrize(
    ("bits", "message"), [(256, "does not fit"), (-1, "does not fit"), ("7e", "must be an integer")]
)
def test_bad_codes(bits: object, message: str) -> None:
    with pytest.raises(Error, match=message):
        check_code(bits, get_format("fp8_e4m3"))  # type: ignore[arg-type]


@pytest.mark.parametrize("x", ["1", None, b"1", [1], 1j])
def test_not_numbers(x: object) -> None:
    with pytest.raises(Error, match="is not a number"):
        encode(x, "fp16")


def test_random_bits_are_never_drawn() -> None:
    sr = Policy("sr", sr_bits=4)
    with pytest.raises(Error, match="none were given"):
        encode(1, "fp16", sr)
    with pytest.raises(Error, match="an unsigned integer of 4 bits"):
        encode(1, "fp16", sr, 16)
    with pytest.raises(Error, match="an unsigned integer of 4 bits"):
        encode(1, "fp16", sr, 1.5)  # type: ignore[arg-type]
    with pytest.raises(Error, match="takes no random bits"):
        encode(1, "fp16", None, 3)
    with pytest.raises(Error, match="sr_bits"):
        encode(1, "fp16", Policy("sr"), 3)


def test_policies_are_checked() -> None:
    for field, value in {
        "rounding": "nearest",
        "overflow": "wrap",
        "flush_outputs": "maybe",
        "flush_rule": "x",
        "bare_widening": 2,
        "tininess": "never",
        "nan": "quiet!",
        "nan_missing": "x",
        "integers": "mips",
        "specials": "x",
        "sr_bits": 0,
    }.items():
        with pytest.raises(Error):
            Policy(**{field: value})  # type: ignore[arg-type]
    with pytest.raises(Error, match="did you mean riscv"):
        get_policy("risc")
    with pytest.raises(Error, match="is not a NaN of fp16"):
        encode(NAN, "fp16", Policy(nan="7c00"))


def test_values_read_back() -> None:
    value = decode(0x7E, "fp8_e4m3")
    assert (value.as_fraction(), float(value), value.is_nan, value.is_inf, value.sign) == (448, 448.0, False, False, 0)
    assert math.isnan(float(decode(0x7F, "fp8_e4m3")))
    assert float(decode(0x8000, "fp16")) == 0
    assert math.copysign(1, float(decode(0x8000, "fp16"))) == -1
    assert float(decode(get_format("fp128").max_code, "fp128")) == INF
    with pytest.raises(Error, match="no exact rational value"):
        decode(0x7C00, "fp16").as_fraction()
    assert encode(0.3, "fp8_e4m3").flags is Flags.INEXACT
