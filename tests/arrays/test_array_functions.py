"""The compiled loop of functions: the scalar oracle bit for bit, in every rounding, for every kind of format.

Its bounds are proved in tests/peers/test_segments.py; compare_functions.py compares millions of operands.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from softfloat_ref.arrays.kernels import segments
from softfloat_ref.arrays.kernels.function_plans import function_plan
from softfloat_ref.arrays.kernels.opcodes import PLAN_LOW, PLAN_SPAN, UNKNOWN
from softfloat_ref.arrays.operations import by_oracle, evaluate, loop_for
from softfloat_ref.base import disk_cache
from softfloat_ref.golden.cases import boundaries, random_cases
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import OPERATIONS, signature
from softfloat_ref.oracle.operations.table import Loop
from softfloat_ref.oracle.policies import ROUNDINGS, Policy

FUNCTIONS = [name for name, row in OPERATIONS.items() if row.loop is Loop.SEGMENTS]
# The functions that the tests of every run compare; compare_functions.py compares all.
SOME = ("exp", "tanh", "sigmoid", "rsqrt", "log", "asinpi")
RESULTS = ("fp32", "bf16", "fp8_e4m3", "fp16", "tf32", "fp8_e5m2", "ue5m3", "e8m0", "i8", "fp6_e2m3", "binary8p4se")
POLICIES = [
    *(Policy(m, sr_bits=8 if m.startswith("sr") else None) for m in ROUNDINGS),
    Policy("rtz", "sat-none", tininess="before"),
    Policy("rup", "sat-finite", flush_inputs=True, flush_outputs=True),
    Policy(flush_outputs=True, flush_rule="before", tininess="before"),
    Policy(nan="propagate"),
]


def operands(fmt: str, seed: int, count: int) -> np.ndarray:  # type: ignore[type-arg]
    """Special codes and their neighbours, random codes, and numbers of ordinary size."""
    f = get_format(fmt)
    listed = [c for (c,) in (*boundaries(f, get_format("fp16")), *random_cases([f], seed, count))]
    if fmt == "fp32":
        drawn = np.random.default_rng(seed).standard_normal(count).astype(np.float32) * 4
        listed += [*drawn.view(np.uint32).tolist(), *(0x3F800000 + i for i in range(-3, 4)), 0xBF800000, 0xBF7FFFFF]
    return np.array(listed, np.int64)


def agree(op: str, fmt: str, out: str, policy: Policy, codes: np.ndarray) -> int:  # type: ignore[type-arg]
    """Compare with the oracle; returns how many elements the loop left to it."""
    sig = signature(op, fmt, out)
    run = loop_for(sig, policy)
    assert run is not None
    n = policy.random_count
    words = np.random.default_rng(3).integers(0, 1 << n, codes.size) if n else np.empty(0, np.int64)
    results, flags = np.empty(codes.size, np.int64), np.empty(codes.size, np.uint8)
    run([codes], words, results, flags)
    wanted, raised = by_oracle(sig, policy, [codes], words if n else None)
    known = flags != UNKNOWN
    wrong = np.flatnonzero(known & ((results != wanted) | (flags != raised)))
    assert not wrong.size, (op, fmt, out, policy, [hex(codes[i]) for i in wrong[:3]])
    return int((~known).sum())


@pytest.mark.full
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_every_rounding(policy: Policy) -> None:
    """To one format after the other; few elements are left to the oracle."""
    number = POLICIES.index(policy)
    for turn, op in enumerate(SOME):
        for k in range(2):
            out = RESULTS[(number + 3 * turn + 5 * k) % len(RESULTS)]
            codes = operands("fp32", number + turn, 100)
            left = agree(op, "fp32", out, policy, codes)  # most of asinpi's are from 1 to 2, where 1 is in its domain
            assert left < codes.size / (3 if op == "asinpi" else 4)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("fmt", ["tf32", "bf16", "dlfloat16", "i32", "u16", "s1e7m30", "s1e5m20"])
def test_other_operands(fmt: str) -> None:
    for op in SOME[:3]:
        agree(op, fmt, "fp32", Policy(), operands(fmt, 5, 150))


def test_formats_without_a_loop() -> None:
    """A range or a precision beyond the tables: the oracle alone."""
    for formats in (("fp64", "fp32"), ("fp32", "fp64"), ("s1e9m10", "fp32"), ("s1e8m30", "fp32"), ("fp32", "s1e9m10")):
        assert loop_for(signature("exp", formats[:1], formats[1]), Policy()) is None
    assert loop_for(signature("exp", "fp32"), Policy("sr", sr_bits=20)) is None
    assert function_plan(signature("add", "fp32"), Policy()) is None


@pytest.mark.full
def test_hard_cases_are_left_to_the_oracle_or_right() -> None:
    """Operands whose results come closest to a rounding boundary (tests/peers/test_arb.py), and exact results."""
    hard = {"exp": [0x40315B33, 0], "tanh": [0x4058E0A3], "sigmoid": [0x3D21BC81], "log": [0x41178FEB, 0x3F800000]}
    for op, codes in hard.items():
        agree(op, "fp32", "fp32", Policy(), np.array(codes, np.int64))
    assert agree("rsqrt", "fp32", "fp32", Policy(), np.array([0x3F800000, 0x40800000], np.int64)) == 2


def test_bounds_that_are_too_narrow_give_wrong_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: a polynomial that is off by more than its bounds say."""
    sig = signature("exp", "fp32")
    plan = function_plan(sig, Policy())
    assert plan is not None
    moved = plan._replace(whole=plan.whole + np.array([1 << 40, 0, 0, 0]))
    monkeypatch.setattr("softfloat_ref.arrays.operations.function_plan", lambda *_: moved)
    with pytest.raises(AssertionError, match="exp"):
        agree("exp", "fp32", "fp32", Policy(), operands("fp32", 1, 2000))


def test_plans_have_the_proved_bounds() -> None:
    """Those of segments.py, as the least integer and a span; the last row decides nothing."""
    proved = segments.segments(OPERATIONS["tanh"]).whole
    plan = function_plan(signature("tanh", "fp32"), Policy())
    assert plan is not None
    low, high = plan.whole[:, PLAN_LOW], plan.whole[:, PLAN_LOW] + plan.whole[:, PLAN_SPAN] + 1
    assert (low[:-1] == proved[:, segments.BASE] - proved[:, segments.BELOW]).all()
    assert (high[:-1] == proved[:, segments.BASE] + proved[:, segments.ABOVE]).all()
    assert low[-1] < 0 < high[-1] - 1


def test_large_arrays_take_the_loop() -> None:
    x = np.random.default_rng(2).integers(0, 1 << 32, 1 << 16, np.uint32)
    codes, flags = evaluate("tanh", [x], "fp32", "fp8_e4m3", flags="each")
    wanted = by_oracle(signature("tanh", "fp32", "fp8_e4m3"), Policy(), [x[:500].astype(np.int64)])
    assert codes[:500].tolist() == wanted[0].tolist()
    assert flags[:500].tolist() == wanted[1].tolist()


def test_tables_are_the_same_everywhere() -> None:
    """They are made of integers: a change is a new claim, which compare_segments.py must prove."""
    known = segments.segments(OPERATIONS["tanh"])
    assert known.whole.shape == (395, 5)
    assert known.binades[1, :, segments.FLIP].all()
    assert known.parts.shape == (395, segments.DEGREE + 1)


def test_tables_are_kept_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the same bits; of a function of that name that is another, they are not taken."""
    monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(disk_cache, "WORTH_S", 0)
    row, make = OPERATIONS["tanh"], segments.segments.__wrapped__
    first = make(row)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(segments, "_made", lambda operation: pytest.fail("made again"))
    second = make(row)
    assert all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))
    with pytest.raises(pytest.fail.Exception, match="made again"):
        make(replace(row, function=OPERATIONS["erf"].function))
