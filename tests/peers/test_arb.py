"""Functions against Arb, on samples; compare_arb.py compares every operand of small formats."""

from __future__ import annotations

import itertools
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from softfloat_ref.golden.cases import cases
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import OPERATIONS, signature, unrounded
from softfloat_ref.oracle.policies import Policy

pytestmark = pytest.mark.extra("flint")

FUNCTIONS = [name for name, row in OPERATIONS.items() if row.curve]
# each function with two of these, so that each format is met by many functions
SMALL = (
    "fp8_e4m3",
    "binary8p3se",
    "fp8_e5m2",
    "binary6p4uf",
    "fp6_e2m3",
    "binary8p1se",
    "ue4m3",
    "int8",
    "binary7p5sf",
)


@pytest.mark.parametrize(("turn", "op"), list(enumerate(FUNCTIONS)))
def test_small_formats(turn: int, op: str) -> None:
    """Every fourth operand, or 64 pairs, in every rounding and saturation."""
    from compare_arb import NEAREST, STOCHASTIC, compare, every, policies

    tried = policies((*NEAREST, *STOCHASTIC))
    for number in range(2):
        fmt = get_format(SMALL[(turn + 4 * number) % len(SMALL)])
        sig = signature(op, fmt)
        step = 4 if len(sig.formats) == 1 else (1 << 2 * fmt.width) // 64 | 1
        few = itertools.islice(every(sig.formats), turn % 4, None, step)
        found = compare(sig, few, tried)
        assert found.wrong == 0
        assert found.operands >= 16


@pytest.mark.parametrize("formats", [("fp16",), ("fp32",), ("fp64",), ("bf16", "fp32"), ("fp32", "fp16"), ("fp128",)])
@pytest.mark.parametrize("op", FUNCTIONS)
def test_samples(op: str, formats: tuple[str, ...]) -> None:
    from compare_arb import FIVE, compare

    sig = signature(op, [formats[0]] * OPERATIONS[op].arity, formats[-1])
    found = compare(sig, cases(sig.formats, 5, 60), [Policy(mode) for mode in FIVE])
    assert found.wrong == 0
    assert found.operands >= 50


# Operands of binary32 from 2^-7 to 2^4 whose exact results come closest to a rounding boundary, found by a search with
# binary64; the last two are the worst cases of binary64 that V. Lefèvre and J.-M. Muller found (Worst cases for correct
# rounding of the elementary functions in double precision, ARITH 15, 2001). The number: equal bits after the guard bit.
HARD = [
    ("exp", "fp32", 0x40315B33, 25),
    ("exp2", "fp32", 0x3C02A9AD, 26),
    ("expm1", "fp32", 0x3DC252DD, 28),
    ("log", "fp32", 0x41178FEB, 30),
    ("log2", "fp32", 0x40207AB9, 26),
    ("log10", "fp32", 0x3F5FDE1B, 25),
    ("log1p", "fp32", 0x3EFD81AD, 32),
    ("sin", "fp32", 0x4096CBE4, 28),
    ("cos", "fp32", 0x3C107FE6, 28),
    ("tan", "fp32", 0x408174DD, 27),
    ("asin", "fp32", 0x3F083A1A, 29),
    ("acos", "fp32", 0x3CA68279, 27),
    ("atan", "fp32", 0x3D8D6B23, 30),
    ("sinh", "fp32", 0x3DF67F5B, 26),
    ("cosh", "fp32", 0x3D609528, 28),
    ("tanh", "fp32", 0x4058E0A3, 26),
    ("asinh", "fp32", 0x4041409B, 26),
    ("acosh", "fp32", 0x40D1D695, 25),
    ("atanh", "fp32", 0x3E94F69D, 25),
    ("cbrt", "fp32", 0x400353B5, 24),
    ("sigmoid", "fp32", 0x3D21BC81, 29),
    ("log", "fp64", 0x6A562A88613629B6, 64),
    ("exp", "fp64", 0x3E09E9CBBFD6080B, 57),
]


@pytest.mark.parametrize(("op", "fmt", "code", "run"), HARD)
def test_hard_cases(op: str, fmt: str, code: int, run: int) -> None:
    from compare_arb import FIVE, compare

    sig = signature(op, fmt)
    assert compare(sig, [(code,)], [Policy(mode) for mode in FIVE]) == (1, 5, 0)
    value, _ = unrounded(sig, Policy(), 80)((code,), 0)
    tail = f"{value.significand:b}"[sig.out.precision + 1 :]
    assert max(len(tail) - len(tail.lstrip(bit)) for bit in "01") == run


def test_a_wrong_result_is_found() -> None:
    """One unit off in the last bit of a prefix, or said to be exact: neither passes."""
    import balls

    from softfloat_ref.oracle.exact import finite
    from softfloat_ref.oracle.reals import function

    x = finite(0, 3, -2)
    right = function("exp", 40, x)
    assert balls.is_right("exp", [x], right)
    for wrong in (1, -1):
        assert not balls.is_right("exp", [x], right._replace(significand=right.significand + wrong))
    assert not balls.is_right("exp", [x], right._replace(sticky=0))
    assert not balls.is_right("exp", [x], right._replace(sign=1))


# -- the shapes of curves ----------------------------------------------------------------------------------------------

CURVES = [name for name, row in OPERATIONS.items() if row.curve and row.arity == 1]
DIGITS = Fraction(1, 10**38)  # a little more than the last digit of the ends, periods and doublings that rows state


def values(op: str, *points: Fraction) -> list[Any]:
    from balls import FUNCTIONS
    from flint import arb, ctx, fmpq

    ctx.prec = 800
    return [FUNCTIONS[op](arb(fmpq(x.numerator, x.denominator))) for x in points]


@pytest.mark.parametrize("op", CURVES)
def test_curves_turn_where_their_rows_say(op: str) -> None:
    """At an end inside of the domain the function is least or largest, or has a pole; between ends it is monotone."""
    curve = OPERATIONS[op].curve
    assert curve is not None
    inner = {piece.low for piece in curve.pieces[1:]}
    inner |= set() if curve.whole else {curve.pieces[0].low, curve.pieces[-1].high}
    for x in inner:
        assert x is not None
        before, at, after = values(op, x - DIGITS, x, x + DIGITS)
        extreme = (before - at) * (after - at) > 0
        pole = before * after < 0 and abs(before) > 10**30 and abs(after) > 10**30
        assert extreme or pole, x
    for piece in curve.pieces:
        low = Fraction(-12) if piece.low is None else piece.low
        high = Fraction(12) if piece.high is None else piece.high
        found = values(op, *(low + (high - low) * k / 60 for k in range(1, 60)))
        steps = [b - a for a, b in pairwise(found)]
        assert all(d > 0 for d in steps) or all(d < 0 for d in steps), piece
        assert curve.most is None or all(abs(y) <= curve.most for y in found)
        assert curve.negative or not any(y < 0 for y in found)


@pytest.mark.parametrize("op", [op for op in CURVES if (c := OPERATIONS[op].curve) and (c.period or c.doubling)])
def test_periods_and_doublings(op: str) -> None:
    curve = OPERATIONS[op].curve
    assert curve is not None
    for x in (Fraction(1, 3), Fraction(-5, 7), Fraction(11, 13)):
        known, moved = values(op, x, x + Fraction(curve.period or curve.doubling))
        assert abs(moved - known * (1 if curve.period else 2)) < abs(known) / 10**37
