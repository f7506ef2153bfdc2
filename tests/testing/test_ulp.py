"""Errors in ulp: against the definition in rationals, at the ends of the range, and as `check --ulp` reports them."""

from __future__ import annotations

import json
import random
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command import refused, run

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluate, signature
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.rtl.tolerance import CompareNan, Tolerance
from softfloat_ref.testing import report as reports
from softfloat_ref.testing.check import check_arrays
from softfloat_ref.testing.compare import ComparisonRule
from softfloat_ref.testing.ulp import Exact, Judged, UlpJudge, exact_result, ulp_of, ulp_text
from softfloat_ref.units import OperationUnit

HALF = Fraction(1, 2)


def tolerance(op: str, fmt: str, limit: Fraction, out: str | None = None, **policy: object) -> UlpJudge:
    return UlpJudge(OperationUnit.make(op, fmt, out, Policy(**policy)), limit, 3)  # type: ignore[arg-type]


def judge(t: UlpJudge, got: int, *operands: int) -> Judged:
    expected, _ = evaluate(t.sig.operation.name, operands, t.sig.formats, t.sig.out, t.policy)
    x = exact_result(t.sig, t.policy)(operands, 0)
    return t.judge(expected, got, x, ComparisonRule(t.sig.out, CompareNan.ANY))


def test_roots_and_quotients_are_compared_exactly() -> None:
    source = random.Random(1)
    for _ in range(300):
        q = Fraction(source.randrange(1, 1 << 30), source.randrange(1, 1 << 30))
        root = Exact(FINITE, 0, q, root=True)
        assert Fraction(2) ** root.top() <= root.near(90) < Fraction(2) ** (root.top() + 1)
        near = root.near(90)
        assert root.compare(near) >= 0 > root.compare(near + Fraction(2) ** (root.top() - 80))
        plain = Exact(FINITE, 0, q)
        assert Fraction(2) ** plain.top() <= q < Fraction(2) ** (plain.top() + 1)
    assert Exact(FINITE, 0, Fraction(9, 4), root=True).compare(Fraction(3, 2)) == 0
    assert Exact(FINITE, 0, Fraction(1, 9), root=True).compare(Fraction(1, 3)) == 0


def test_the_unit_is_that_of_the_exact_result() -> None:
    """Handbook of Floating-Point Arithmetic, 2.3.2: at a power of two the unit is the one above it."""
    fp16 = get_format("fp16")
    for x, exponent in ((1, -10), (Fraction(4095, 4096), -11), (2, -9), (Fraction(1, 1 << 20), -24), (0, -24)):
        assert ulp_of(fp16, Exact(FINITE, 0, Fraction(x))) == Fraction(2) ** exponent
    assert ulp_of(get_format("i8"), Exact(FINITE, 0, Fraction(100))) == 1


@pytest.mark.parametrize("op", ["sqrt", "recip", "rsqrt", "div", "mul"])
def test_the_error_of_correct_rounding_is_at_most_a_half(op: str) -> None:
    source = random.Random(2)
    sig = signature(op, "fp16")
    t = tolerance(op, "fp16", HALF)
    for _ in range(200):
        codes = tuple(source.randrange(0x0400, 0x7BFF) for _ in sig.formats)
        right, _ = evaluate(op, codes, "fp16")
        mine = judge(t, right, *codes)
        assert not mine.wrong
        if 0x0400 < right < 0x7BFF:
            assert mine.error is not None
            assert mine.error <= HALF
            wrong = judge(t, right + 1, *codes)
            assert wrong.error is not None
            assert wrong.wrong == (wrong.error > HALF)
            total = [judge(t, right + by, *codes).error for by in (-1, 1)]
            if (right & 0x3FF) not in (0, 0x3FF) and None not in total:
                assert abs(sum(total) - 2) < Fraction(1, 1 << 60)  # type: ignore[arg-type]


def test_a_limit_is_kept_to_the_last_bit() -> None:
    """1/3 in fp16 lies 1/3 ulp above 3555: errors are thirds, which no decimal meets."""
    for limit, wrong in ((Fraction(2, 3), False), (Fraction(2, 3) - Fraction(1, 10**40), True)):
        assert judge(tolerance("recip", "fp16", limit), 0x3556, 0x4200) == Judged(Fraction(2, 3), wrong)
        judged = judge(tolerance("rsqrt", "fp16", limit), 0x3556, 0x4880)  # 1/sqrt(9)
        assert judged.wrong == wrong


@pytest.mark.parametrize(
    ("case", "error", "wrong"),
    [
        ((0x7E00, 0xFC00, 0x7C00), 0, False),  # NaN for Inf - Inf, of any pattern
        ((0x7C00, 0xFC00, 0x7C00), None, True),
        ((0x7BFF, 0x7C00, 0x3C00), None, True),  # the largest number is no Inf
        ((0x7C00, 0x7BFF, 0x0000), 1, False),  # Inf, one ulp past it
        ((0x7E00, 0x3C00, 0x3C00), None, True),
        ((0x7C00, 0x7800, 0x3C00), 31.0, True),
        ((0x8000, 0x3C00, 0xBC00), None, True),  # 1 - 1 is +0
        ((0x0001, 0x3C00, 0xBC00), 1, False),  # one smallest subnormal off
        ((0x7BFF, 0x7BFF, 0x5000), HALF * 2, False),  # 65504 + 32: Inf is due; the largest is one ulp off
        ((0xFBFF, 0x7BFF, 0x7BFF), None, True),
        ((1 << 16, 0x3C00, 0x3C00), None, True),
    ],
)
def test_the_ends_of_the_range(case: tuple[int, int, int], error: float | None, wrong: bool) -> None:
    got, a, b = case
    judged = judge(tolerance("add", "fp16", Fraction(1)), got, a, b)
    if case[0] in (0xFBFF,) or (case[1], case[0]) == (0x7800, 0x7C00):
        assert judged.wrong  # far off: how far is beside the point
    else:
        assert judged.error == error
    assert judged.wrong == wrong


def test_saturated_and_flushed_results_are_measured_from_the_policys_own() -> None:
    t = tolerance("mul", "fp8_e4m3", Fraction(1))
    assert judge(t, 0x7E, 0x7E, 0x7E) == Judged(Fraction(0), False)  # 448 * 448 saturates
    far = judge(t, 0x7C, 0x7E, 0x7E)
    assert far.wrong
    flushing = tolerance("mul", "fp16", Fraction(1), flush_outputs=True)
    assert judge(flushing, 0, 0x0400, 0x3800) == Judged(Fraction(0), False)
    assert not judge(flushing, 1, 0x0400, 0x3800).wrong
    assert judge(flushing, 0x0200, 0x0400, 0x3800).wrong  # the exact one, but the policy says zero
    integer = tolerance("convert", "fp16", Fraction(1), "i8")
    assert judge(integer, 0x7F, 0x7BFF) == Judged(Fraction(0), False)
    assert judge(integer, 0x7D, 0x7BFF).wrong
    nan = tolerance("mul", "fp8_e4m3", Fraction(1), overflow="sat-none")
    assert judge(nan, 0x7F, 0x7E, 0x38) == Judged(Fraction(1), False)  # 448 * 1: what an overflow gives, one ulp off
    assert judge(nan, 0x7F, 0x7E, 0x30).wrong


def test_zero_of_the_other_sign_where_it_was_rounded() -> None:
    t = tolerance("mul", "fp16", HALF)
    assert not judge(t, 0x0000, 0x8001, 0x3400).wrong  # -2^-26 is -0 or +0
    assert judge(t, 0x0000, 0x8000, 0x3400).wrong


def test_histogram_and_worst_cases() -> None:
    vectors = VectorSet.make("sqrt", "fp32", 2000)

    def device(a: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            right = np.sqrt(a.view(np.float32)).view(np.uint32)
        return np.where((a & 7) == 3, right ^ 1, right)

    report = check_arrays(vectors, device, nan=CompareNan.ANY, limit=HALF, shown=4)
    errors = report.errors
    assert errors is not None
    assert sum(errors.ranges.values()) + errors.infinite == report.compared == 2000
    assert report.mismatched == sum(n for k, n in errors.ranges.items() if k > 0) + errors.infinite > 50
    worst = [case.error for case in errors.worst]
    assert len(worst) == 4
    assert worst[0] is None or worst == sorted(worst, reverse=True)  # type: ignore[type-var]
    text = "\n".join(reports.report_lines(report))
    assert "error up to 0.5 ulp" in text
    assert "ulp: sqrt " in text
    assert "ulp, 0.5 allowed" in reports.summary(report)
    table = json.loads(reports.to_json(report))["ulp"]
    assert sum(row["cases"] for row in table["histogram"]) + table["infinite"] == 2000
    assert len(table["worst"]) == 4


def test_in_a_histogram_bounds_belong_to_the_range_below() -> None:
    t = tolerance("add", "fp16", Fraction(4))
    for got, k in ((0x3C00, -1), (0x3C01, 1), (0x3C02, 2), (0x3C03, 3), (0x3C04, 3)):
        t.kind((0x3C00, 0x0000, 0x3C00, 0), _answer(got), Tolerance())
        assert t.errors.ranges[k] >= 1
    assert decode(0x3C01, "fp16").as_fraction() == 1 + Fraction(1, 1024)


def _answer(code: int) -> object:
    from softfloat_ref.testing.compare import Answer

    return Answer((code,))


APPROXIMATE = """
import struct, sys
for line in sys.stdin:
    bits = int(line, 16)
    x = struct.unpack("<e", struct.pack("<H", bits))[0]
    if x != x or x < 0:
        r = 0x7E00
    elif x == 0:
        r = 0x7C00 | bits & 0x8000
    else:
        r = struct.unpack("<H", struct.pack("<e", x ** -0.5))[0] ^ (bits & 1)
    print(f"{r:04x}")
"""


@pytest.mark.full
def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "rsqrt.py").write_text(APPROXIMATE)
    words = ("check", "rsqrt", "--fmt", "fp16", "-n", "300", "--compare-nan", "any", "--show", "2")
    device = f"{sys.executable} {tmp_path / 'rsqrt.py'}"
    done = run(*words, "--dut", device, "--ulp", "3/4", "--timeout", "60")
    assert done.returncode == 1
    assert "error above 0.75 ulp, " in done.stdout
    assert done.stdout.count("worst ") == 2
    assert ", 0.75 allowed" in done.stderr


def test_errors_beyond_float64() -> None:
    t = tolerance("mul", "fp128", Fraction(1))
    largest, one = 0x7FFEFFFF << 96 | (1 << 96) - 1, 0x3FFF << 112
    t.kind((one, one, one, 0), _answer(largest), Tolerance())  # type: ignore[arg-type]
    assert ulp_text(t.errors.largest) == "1.79769e+308"
    assert json.dumps(t.errors.to_dict())


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("limit", ["-1", "x", "inf", "nan", "1/0"])
def test_limits_that_are_none(limit: str) -> None:
    assert "--ulp" in refused("check", "add", "--fmt", "fp16", "--dut", "true", "--ulp", limit)


def test_operations_without_an_error() -> None:
    for op in ("lt", "neg", "class"):
        with pytest.raises(Error, match="no error in ulp"):
            UlpJudge(OperationUnit.make(op, "fp16"), HALF, 1)
    assert encode(1, "fp16").bits == 0x3C00
