"""The Hypothesis strategies: what they give is valid, hard enough, and shrinks to what is easily read."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis.strategies import SearchStrategy

from softfloat_ref import testing
from softfloat_ref.base.errors import Error
from softfloat_ref.coverage.classes import class_of
from softfloat_ref.oracle.codec import decode, decoder, encode
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import signature, unrounded
from softfloat_ref.oracle.policies import Policy

ALONE = settings(database=None, derandomize=True, deadline=None)
ODD = ("fp16", "fp8_e4m3", "fp4_e2m1", "e8m0", "int8", "i32", "ue4m3", "binary8p1ue", "fp8_e4m3fnuz", "s1e1m1", "u1")


def sample(strategy: SearchStrategy[Any], count: int) -> list[Any]:
    drawn: list[Any] = []

    @settings(
        max_examples=count, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def collect(x: Any) -> None:
        drawn.append(x)

    collect()
    return drawn


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("name", ODD)
def test_codes_and_values_are_of_the_format(name: str) -> None:
    fmt = get_format(name)
    assert all(0 <= code < 1 << fmt.width for code in sample(testing.bits(name), 60))
    assert all(decode(code, fmt).is_finite for code in sample(testing.bits(name, finite=True), 20))
    for x in sample(testing.values(name), 60):
        encode(x, fmt, Policy(nan_missing="zero"))  # type: ignore[arg-type]
    assert all(x.as_fraction() is not None for x in sample(testing.values(name, finite=True), 20))


def test_every_class_of_operand_comes() -> None:
    fmt = get_format("fp16")
    seen = Counter(class_of(fmt, code) for code in sample(testing.bits(fmt), 400))
    sizes = ("zero", "minsub", "sub", "maxsub", "minnorm", "norm", "one", "max", "inf")
    assert set(seen) >= {f"{sign}.{size}" for sign in ("pos", "neg") for size in sizes} | {"qnan", "snan"}
    assert seen["pos.norm"] + seen["neg.norm"] > 60


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("op", ["add", "mul", "fma", "convert", "sqrt", "div"])
def test_ties_near_ties_and_exact_results_come(op: str) -> None:
    """Of results that random operands reach once in a thousand, several in a thousand cases."""
    sig = signature(op, "fp32" if op == "convert" else "fp16", "fp16")
    compute, fmt = unrounded(sig, Policy(), 12), sig.out
    kinds: Counter[str] = Counter()
    for codes in sample(testing.operands(sig), 1000):
        x = compute(codes, 0)[0]
        if x.is_finite and x.significand:
            kinds[_position(abs(x.significand), x.exponent, x.sticky, fmt)] += 1
    assert kinds["exact"] >= 50
    assert kinds["tie"] >= (0 if op in ("div", "sqrt") else 10)
    assert kinds["near a tie"] >= 5


def _position(significand: int, exponent: int, sticky: int, fmt: Any) -> str:
    unit = fmt.ulp_exponent(significand.bit_length() + exponent - 1)
    shift = unit - exponent
    if shift <= 0:
        return "exact"
    rest, half = (significand & ((1 << shift) - 1)) << 1, 1 << shift
    if not rest and not sticky:
        return "exact"
    if rest == half and not sticky:
        return "tie"
    return "near a tie" if abs(rest - half) << 6 <= half else "other"


@pytest.mark.full
def test_they_shrink_to_simple_codes() -> None:
    for name in ("fp16", "int8"):
        assert find(testing.bits(name), lambda code: True, settings=ALONE) == 0
    fmt = get_format("fp16")
    read = decoder(fmt)
    simplest = find(testing.bits(fmt), lambda c: read(c).is_finite and 2 < abs(float(read(c))) < 30, settings=ALONE)
    assert simplest & 0x8000 == 0
    assert (simplest & 0x3FF).bit_count() <= 1
    assert find(testing.policies(), lambda p: True, settings=ALONE) == Policy()
    assert find(testing.blocks("mxfp8"), lambda x: True, settings=ALONE)[1:] == [0] * 31
    tie = find(testing.values("fp16"), lambda v: v.is_finite and encode(v, fmt).flags == 1, settings=ALONE)
    assert tie.sign == 0


def test_blocks_have_their_size_and_a_largest_value_near_a_threshold() -> None:
    for name, size in (("mxfp8", 32), ("nvfp4", 16), ("mxint8", 32)):
        blocks = sample(testing.blocks(name, finite=True), 30)
        assert {len(x) for x in blocks} == {size}
        assert all(decode(code, "fp32").is_finite for x in blocks for code in x)
    assert {len(x) for x in sample(testing.blocks("mxfp8", size=5), 5)} == {5}


def test_formats_and_policies_are_valid() -> None:
    for fmt in sample(testing.formats(max_width=16), 80):
        assert fmt.width <= 16
    stochastic = sample(testing.policies(stochastic=True), 80)
    assert any(p.random_count for p in stochastic)
    assert not any(p.random_count for p in sample(testing.policies(), 40))


@pytest.mark.parametrize("width", [3, 4, 5, 6, 9])
def test_narrow_formats(width: int) -> None:
    assert all(fmt.width <= width for fmt in sample(testing.formats(max_width=width), 20))


@pytest.mark.parametrize("source", ["e8m0", "s1e1m2", "fp4_e2m1"])
def test_blocks_of_odd_floats(source: str) -> None:
    assert all(len(x) == 32 for x in sample(testing.blocks("mxfp8", source), 20))


def test_what_is_no_strategy() -> None:
    with pytest.raises(
        Error, match=r"takes a signature, such as softfloat_ref.oracle.operations.signature\('fma', 'fp16'\), not 'fma'"
    ):
        testing.operands("fma")  # type: ignore[arg-type]
    with pytest.raises(Error, match="source: i8 has no exponent; blocks need a floating-point format, such as fp32"):
        testing.blocks("mxfp8", source="i8")
    with pytest.raises(Error, match="size = 0: a block has at least one value"):
        testing.blocks("mxfp8", size=0)
    with pytest.raises(Error, match="max_width = 2: the smallest format has 3 bits"):
        testing.formats(max_width=2)
    with pytest.raises(Error, match="'mxfp8' is a block format; a scalar format is needed"):
        testing.bits("mxfp8")


def test_without_hypothesis_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['hypothesis'] = None; import softfloat_ref.testing.check"
    code += "; import softfloat_ref.testing.cocotb; from softfloat_ref import testing; testing.bits"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert shown.stderr.splitlines()[-1].endswith(
        "softfloat_ref.testing needs Hypothesis: pip install 'softfloat-ref[testing]'"
    )


def test_no_such_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'bites'"):
        testing.bites  # noqa: B018
