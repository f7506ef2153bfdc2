"""What differs in IEEE P3109: one zero and one NaN, also where the result's format has more; signs that are rounded."""

from __future__ import annotations

import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.formats import CATALOGUE, get_format
from softfloat_ref.oracle.formats.meta import standard_name
from softfloat_ref.oracle.operations import OPERATIONS, get_operation
from softfloat_ref.oracle.operations.on_codes import rank_of
from softfloat_ref.oracle.operations.p3109 import NAMES, SCALED, own_name

SMALL = [f for f in CATALOGUE.values() if f.width <= 8 and f.exponent_bits]
SMALL += [get_format(f) for f in ("binary8p1se", "binary6p3ue", "binary5p5uf", "s1e3m2fnuz", "binary4p2sf", "s1e4m3")]
MINUS = 0x8000  # of fp16


def p3109(op: str, *operands: int, fmt: str = "fp16", **policy: str) -> int:
    return sf.evaluate(op, operands, fmt, policy=sf.Policy(specials="p3109", **policy)).bits  # type: ignore[arg-type]


def test_names() -> None:
    assert {own_name(name) for name in NAMES} <= set(OPERATIONS)
    assert get_operation("Abs").name == "abs_rounded"
    assert get_operation("abs").name == get_operation("ABS").name == "abs"
    assert get_operation("CopySign").name == "copysign_rounded"
    assert get_operation("copysign").name == "copysign"
    assert get_operation("comparegreaterequal").name == "ge_quiet"
    assert own_name("ScaledFMA") == SCALED["ScaledFMA"] == "scaled_fma"
    assert [standard_name(f) for f in ("binary8p4se", "bf16", "fp64", "fp8_e4m3")] == [
        "Binary8p4se",
        "BFloat16",
        "binary64",
        "fp8_e4m3",
    ]


# -- one zero ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("mul", (MINUS, 0x3C00)),
        ("mul", (MINUS | 1, 1)),  # rounded to zero
        ("convert", (MINUS,)),
        ("add", (MINUS, MINUS)),
        ("neg_rounded", (0,)),
        ("sqrt", (MINUS,)),
        ("minimum", (0, MINUS)),
        ("sinh", (MINUS,)),
        ("next_up", (MINUS | 1,)),
        ("rem", (0xC000, 0x3C00)),
    ],
)
def test_a_zero_result_has_no_sign(op: str, operands: tuple[int, ...]) -> None:
    assert p3109(op, *operands) == 0
    assert sf.evaluate(op, operands, "fp16", policy="ieee").bits == MINUS


def test_a_difference_under_rdn() -> None:
    assert p3109("sub", 0x3C00, 0x3C00, rounding="rdn") == 0


def test_a_zero_operand_has_no_sign() -> None:
    assert p3109("copysign_rounded", 0x3C00, MINUS) == 0x3C00
    assert p3109("is_sign_minus", MINUS) == p3109("is_sign_minus", 0xFE00) == 0
    assert p3109("total_order", 0, MINUS) == p3109("total_order", MINUS, 0) == 1
    assert p3109("class", MINUS) == p3109("class", 0) == 1 << 4
    assert p3109("class", 0x7D00) == p3109("class", 0x7E00) == 1 << 9


@pytest.mark.parametrize("name", ["fp8_e4m3", "bf16", "tf32"])
@pytest.mark.parametrize("rounding", ["rne", "rup"])
def test_arrays_have_one_zero(name: str, rounding: str) -> None:
    policy = sf.Policy(rounding=rounding, specials="p3109")
    x = np.array([-0.0, -1e-45, -3e-41, 1e-45, -1.0, 0.0, -1e-8] * 10_000, np.float32)
    codes = sf.arrays.encode(x, name, policy)
    assert codes.tolist() == [sf.encode(float(v), name, policy).bits for v in x[:7]] * 10_000
    found = np.asarray(sf.quantize(x, name, policy))
    assert not (np.signbit(found) & (found == 0)).any()


# -- signs, rounded ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "operands", "out", "overflow", "result"),
    [
        ("Abs", (0xFF,), "binary8p4se", "sat-none", 0x7F),
        ("Abs", (0xFF,), "binary8p4se", "sat-finite", 0x7E),  # the largest finite number, as any projection of Inf
        ("Negate", (0x7F,), "binary8p4se", "sat-propagate", 0xFF),
        ("Negate", (0x7F,), "binary8p4se", "sat-finite", 0xFE),
        ("Negate", (0x40,), "binary8p4ue", "sat-none", 0xFF),  # NaN: no negative number
        ("Negate", (0x40,), "binary8p4ue", "sat-finite", 0x00),
        ("Negate", (0x80,), "binary8p3se", "sat-none", 0x80),
        ("CopySign", (0x41, 0x81), "binary8p3se", "sat-none", 0xC0),  # -1.125 to three bits: a tie, to even
        ("CopySign", (0x7F, 0xFF), "binary8p4se", "sat-none", 0xFF),
        ("CopySign", (0x41, 0x80), "binary8p4se", "sat-none", 0x80),
    ],
)
def test_signs_are_projected(op: str, operands: tuple[int, ...], out: str, overflow: str, result: int) -> None:
    policy = sf.Policy(overflow=overflow)  # type: ignore[arg-type]
    assert sf.evaluate(op, operands, "binary8p4se", to=out, policy=policy).bits == result


# -- predicates --------------------------------------------------------------------------------------------------------


@pytest.mark.full(keep=9)
@pytest.mark.parametrize("fmt", SMALL, ids=lambda f: f.name)
def test_predicates_agree_with_the_class_and_the_value(fmt: sf.Format) -> None:
    for code in range(1 << fmt.width):
        x, is_ = decode(code, fmt), {k: sf.evaluate(k, (code,), fmt).bits for k in OPERATIONS if k.startswith("is_")}
        kind = sf.evaluate("class", (code,), fmt).bits.bit_length() - 1
        assert is_["is_infinite"] == (kind in (0, 7)) == x.is_inf
        assert is_["is_normal"] == (kind in (1, 6))
        assert is_["is_subnormal"] == (kind in (2, 5))
        assert is_["is_zero"] == (kind in (3, 4)) == x.is_zero
        assert is_["is_nan"] == (kind > 7) == x.is_nan
        assert is_["is_finite"] == (0 < kind < 7) == x.is_finite
        assert is_["is_one"] == (x.is_finite and x.as_fraction() == 1)
        assert is_["is_sign_minus"] == (x.sign and not (fmt.p3109 and x.is_nan))
        assert is_["is_subnormal"] == (x.is_finite and 0 < abs(x.as_fraction()) < smallest_normal(fmt))


@pytest.mark.parametrize("fmt", [*SMALL, get_format("int8"), get_format("i8")], ids=lambda f: f.name)
def test_ranks_number_the_values(fmt: sf.Format) -> None:
    known = {code: x for code in range(1 << fmt.width) if not (x := decode(code, fmt)).is_nan}
    values = {x.as_fraction() if x.is_finite else (-1) ** x.sign * 10**99 for x in known.values()}
    ranks = {code: rank_of(fmt, code) for code in known}
    assert sorted(set(ranks.values())) == list(range(min(ranks.values()), max(ranks.values()) + 1))
    assert len(set(ranks.values())) == len(values)
    assert all((ranks[c] > 0) - (ranks[c] < 0) == (0 if x.is_zero else 1 - 2 * x.sign) for c, x in known.items())
    order = sorted(known, key=lambda c: float(known[c]))
    assert [ranks[c] for c in order] == sorted(ranks.values())
    assert rank_of(fmt, np.array(order, np.int64)).tolist() == [ranks[c] for c in order]


def smallest_normal(fmt: sf.Format) -> object:
    """The smallest number with a significand of full length."""
    found = [decode(c, fmt) for c in range(fmt.max_code + 1)]
    return min(x.as_fraction() for x in found if x.significand.bit_length() == fmt.precision)
