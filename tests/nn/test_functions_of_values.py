"""Functions of float32 arrays: the oracle's bits, by compiled loops with a margin and by the oracle beside it."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from softfloat_ref.arrays.kernels import real_loops
from softfloat_ref.nn import functions
from softfloat_ref.oracle.operations import evaluate

# zeros, infinities, NaN, subnormal operands and results, thresholds, and operands for which the interval is too wide
SPECIALS = [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x80000001, 0x7F7FFFFF, 0xFF7FFFFF]
EDGES = [0x42B17217, 0x42B17218, 0xC2AEAC50, 0xC2AEAC51, 0xC2CFF1B4, 0xC2CFF1B5, 0x41102CB3, 0x3B312C00, 0x3AB17218]


@pytest.mark.parametrize("op", ["exp", "sigmoid", "tanh", "log1p"])
def test_the_bits_are_the_oracle_s(op: str) -> None:
    random = np.random.default_rng(4)
    codes = random.integers(0, 1 << 32, 400, dtype=np.uint32)
    near = (random.normal(0, 1, 800) * 2.0 ** random.integers(-20, 6, 800)).astype(np.float32).view(np.uint32)
    codes = np.concatenate([codes, near, np.array(SPECIALS + EDGES, np.uint32)])
    if op == "log1p":
        codes &= 0x7FFFFFFF
    made = getattr(functions, op)(codes.view(np.float32)).view(np.uint32)
    for code, found in zip(codes.tolist(), made.tolist(), strict=True):
        wanted = evaluate(op, (code,), "fp32").bits
        assert found == wanted or (np.isnan(np.uint32(found).view(np.float32)) and wanted == 0x7FC00000), f"{code:x}"


@pytest.mark.parametrize("op", ["exp", "sigmoid", "tanh", "log1p"])
def test_the_error_is_within_the_bound(op: str) -> None:
    """Of the float64 numbers before they are rounded: 2^-48, where the margin has 2^-46."""
    random = np.random.default_rng(6)
    x = (random.normal(0, 1, 1500) * 2.0 ** random.integers(-12, 5, 1500)).astype(np.float32)
    x = np.abs(x) if op == "log1p" else x[np.abs(x) < (9 if op == "tanh" else 80)]
    made, sure = np.empty(x.size), np.empty(x.size, np.bool_)
    assert getattr(real_loops, op)(x, functions._table(), made, sure) > 0.99 * x.size
    with gmpy2.context(precision=120):
        exact = {"sigmoid": lambda v: 1 / (1 + gmpy2.exp(-v))}.get(op) or getattr(gmpy2, op)
        errors = [
            abs(gmpy2.mpfr(y) / exact(gmpy2.mpfr(v)) - 1) for v, y in zip(x.tolist(), made.tolist(), strict=True) if v
        ]
    assert max(errors) < 2.0**-48
    assert max(errors) > 2.0**-56  # and is measured


def test_constants_and_table() -> None:
    with gmpy2.context(precision=200):
        step = gmpy2.log(2) / real_loops.PARTS
        rest = step - gmpy2.mpfr(real_loops._FIRST)
        powers = [gmpy2.exp2(gmpy2.mpfr(i) / real_loops.PARTS) for i in range(real_loops.PARTS)]
        first, lacking = functions._table()
        assert float(rest) == real_loops._SECOND
        assert first.tolist() == list(map(float, powers))
        assert lacking.tolist() == [float(p - gmpy2.mpfr(t)) for p, t in zip(powers, first.tolist(), strict=True)]
    assert Fraction(real_loops._FIRST).numerator.bit_length() <= 36


def test_other_shapes_and_types() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert (functions.exp(x.T) == functions.exp(x).T).all()
    assert functions.tanh(x[:, 1:3]).shape == (3, 2)
    assert functions.sigmoid(x.astype(np.float64))[0, 1] == 1 / (1 + math.exp(-1))


@pytest.mark.parametrize(
    ("op", "code"), [("exp", 0x3F331A25), ("tanh", 0x3F172BE6), ("sigmoid", 0x3F283BF2), ("log1p", 0x3F0AA6F2)]
)
def test_a_result_beside_a_boundary_is_left_to_the_oracle(op: str, code: int) -> None:
    """Operands whose results lie within 2^-46 of a tie, found by trying all between 1/2 and 2."""
    x = np.array([code, code ^ 1], np.uint32).view(np.float32)
    made, sure = np.empty(2, np.float32), np.empty(2, np.bool_)
    assert getattr(real_loops, op)(x, functions._table(), made, sure) == 1
    assert sure.tolist() == [False, True]
