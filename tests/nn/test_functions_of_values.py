"""Functions of float32 arrays: the oracle's bits, by the compiled loop of functions and by the oracle beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from softfloat_ref.arrays import functions as of_values
from softfloat_ref.arrays.kernels.function_plans import FunctionPlan, function_plan
from softfloat_ref.arrays.kernels.opcodes import PLAN_LOW, PLAN_SPAN
from softfloat_ref.arrays.kernels.segments import UNBOUNDED
from softfloat_ref.nn.operations import real_function
from softfloat_ref.oracle.operations import evaluate

NAMES = ["exp", "sigmoid", "tanh", "log1p"]
# zeros, infinities, NaN, subnormal operands and results, thresholds
SPECIALS = [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF, 0x7F800001, 1, 0x80000001, 0x807FFFFF]
EDGES = [0x42B17217, 0x42B17218, 0xC2AEAC50, 0xC2AEAC51, 0xC2CFF1B4, 0xC2CFF1B5, 0x41102CB3, 0x3B312C00, 0x3AB17218]
EDGES += [0x7F7FFFFF, 0xFF7FFFFF, 0xBF800000, 0xBF800001, 0xBF7FFFFF]
# results that are nearly ties: within 2^-46 of one
HARD = {"exp": 0x3F331A25, "tanh": 0x3F172BE6, "sigmoid": 0x3F283BF2, "log1p": 0x3F0AA6F2}


def operands(count: int) -> Any:
    random = np.random.default_rng(4)
    codes = random.integers(0, 1 << 32, count, dtype=np.uint32)
    near = (random.normal(0, 1, 2 * count) * 2.0 ** random.integers(-20, 6, 2 * count)).astype(np.float32)
    return np.concatenate([codes, near.view(np.uint32), np.array([*SPECIALS, *EDGES, *HARD.values()], np.uint32)])


def agree(op: str, codes: Any) -> None:
    results = real_function(op, codes.view(np.float32)).view(np.uint32)
    wanted = [evaluate(op, (code,), "fp32").bits for code in codes.tolist()]
    wrong = [f"{c:08x}" for c, x, y in zip(codes.tolist(), results.tolist(), wanted, strict=True) if x != y]
    assert not wrong, (op, wrong[:5])


@pytest.mark.parametrize("op", NAMES)
def test_the_bits_are_the_oracle_s(op: str) -> None:
    agree(op, operands(500))


Change = Callable[[FunctionPlan], FunctionPlan]


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Change], None]]:
    """Loops with a plan that is changed."""

    def change(by: Change) -> None:
        of_values._plan.cache_clear()
        monkeypatch.setattr(of_values, "function_plan", lambda *key: by(function_plan(*key)))  # type: ignore[arg-type]

    yield change
    of_values._plan.cache_clear()


def test_what_the_bounds_do_not_decide_is_left_to_the_oracle(changed: Any) -> None:
    def wide(plan: FunctionPlan) -> FunctionPlan:
        whole = plan.whole.copy()
        whole[::2, PLAN_LOW], whole[::2, PLAN_SPAN] = -UNBOUNDED, 2 * UNBOUNDED - 1
        return plan._replace(whole=whole)

    changed(wide)
    for op in NAMES:
        agree(op, operands(40))


def test_a_wrong_table_gives_wrong_bits(changed: Any) -> None:
    changed(lambda plan: plan._replace(parts=plan.parts * (1 + 2.0**-20)))
    with pytest.raises(AssertionError, match="log1p"):
        agree("log1p", operands(100))


def test_other_shapes_and_types() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert (real_function("exp", x.T) == real_function("exp", x).T).all()
    assert real_function("tanh", x[:, 1:3]).shape == (3, 2)
    assert real_function("log1p", x[:0]).shape == (0, 4)
    assert real_function("sigmoid", np.float32(0) * x[0, 0] + x[:1, :1]).shape == (1, 1)
    assert real_function("sigmoid", x.astype(np.float64))[0, 1] == 1 / (1 + math.exp(-1))
    assert all(real_function(name, x.astype(np.float64)).dtype == np.float64 for name in NAMES)
