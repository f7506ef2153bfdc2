"""exp, sigmoid and tanh by float64 against the loops of all functions; compare_exponentials.py has all operands."""

from __future__ import annotations

import numpy as np
import pytest
from compare_exponentials import OPERANDS, QUICK, compare

from softfloat_ref.arrays import functions
from softfloat_ref.arrays.kernels.exponentials import LOOPS
from softfloat_ref.arrays.operations import by_oracle
from softfloat_ref.oracle.operations import signature
from softfloat_ref.oracle.policies import Policy

EVERY = 5003
# Next to a rounding boundary (test_arb.py), operands whose sigmoid's nearest float64 is a tie, ends, zeros, Inf, NaN.
HARD = [0x34C00000, 0x36180000, 0xB7570000, 0xBA928601,
        0x40315B33, 0x4058E0A3, 0x3D21BC81, 0x42B17218, 0xC2CFF1B5, 0xC2D00000, 0xC2DC0001, 0x42DC0001,
        0x3F800000, 0, 1, 0x80000000, 0x80000001, 0x807FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000]  # fmt: skip


@pytest.mark.parametrize("op", QUICK)
def test_one_in_so_many_of_all_operands(op: str) -> None:
    count, left, wrong = compare(op, EVERY)
    assert count == -(-OPERANDS // EVERY)
    assert wrong == 0
    assert left < count / 2  # NaN, subnormals, and what is beyond 110


@pytest.mark.parametrize("op", QUICK)
def test_hard_operands_and_ordinary_ones_by_the_oracle(op: str) -> None:
    drawn = np.random.default_rng(4).standard_normal(500).astype(np.float32).view(np.uint32)
    codes = np.concatenate([np.array(HARD, np.uint32), drawn])
    wanted, _ = by_oracle(signature(op, "fp32"), Policy(), [codes.astype(np.int64)])
    found = functions.correctly_rounded(op, codes.view(np.float32)).view(np.uint32)
    assert found.tolist() == wanted.tolist()


def test_few_ordinary_operands_are_left() -> None:
    x = np.random.default_rng(5).standard_normal(1 << 16).astype(np.float32)
    for loop in LOOPS.values():
        assert loop(x, np.empty_like(x)) < 10
