"""exp, sigmoid and tanh of float32 values in float64, rounded where float64's errors cannot matter; the loops of
`functions.py`, which take several times as long, have the rest.

e^x is 2^k e^r, with k an integer and |r| at most ln(2) / 2. e^r - 1 is Taylor's polynomial of degree 12, whose
remainder is below 2^-50 of it, and every function here is a few float64 operations away, none of which cancels more
than a bit: the relative error is below 2^-48. So a result is taken if all numbers within 2^-46 of it have one float32.
`tests/peers/compare_exponentials.py` compares all 2^32 operands with those loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels.jit import compiled, double, double_bits
from softfloat_ref.oracle.operations.table import Quick

F32: Final = np.float32
F64: Final = np.float64
U64: Final = np.uint64
UNDECIDED: Final = F32(np.nan)
_INTEGER: Final = F64(1.5 * 2.0**52)  # added to a small number, it leaves an integer
_PER_LN2: Final = F64(float.fromhex("0x1.71547652b82fep+0"))
_LN2: Final = F64(float.fromhex("0x1.62e42ffp-1"))  # 32 bits, so that products with k are exact
_LN2_REST: Final = F64(float.fromhex("-0x1.718432a1b0e26p-35"))
_BOUND: Final = F64(2.0**-46)
_FAR: Final = F64(110.0)  # e^-110 is below half of float32's smallest subnormal
_SMALLEST: Final = F32(2.0**-126)
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12 = (F64(1 / math.factorial(n)) for n in range(2, 13))


@compiled(forceinline=True)
def _power(x: Any) -> Any:
    """2^k, and e^r - 1, for |x| below 700."""
    moved = x * _PER_LN2 + _INTEGER
    k = moved - _INTEGER
    r = (x - k * _LN2) - k * _LN2_REST
    square = r * r
    fourth = square * square
    low = (_C2 + _C3 * r) + (_C4 + _C5 * r) * square
    high = (_C6 + _C7 * r) + (_C8 + _C9 * r) * square
    rest = low + fourth * (high + fourth * ((_C10 + _C11 * r) + _C12 * square))
    return double(U64(U64(double_bits(moved) + U64(1023)) << U64(52))), r + square * rest


@compiled(forceinline=True)
def bounded_exp(x: Any) -> Any:
    """e^x, for |x| below 700, with a relative error below 2^-48."""
    power, rest = _power(x)
    return power + power * rest


@compiled(forceinline=True)
def _decided(x: Any, y: Any) -> Any:
    """y as float32, or UNDECIDED."""
    low, high = F32(y - y * _BOUND), F32(y + y * _BOUND)
    size = abs(high)
    return high if (low == high) & (abs(x) <= _FAR) & (size >= _SMALLEST) & (size < np.inf) else UNDECIDED


@compiled(forceinline=True)
def quick_exp(value: Any) -> Any:
    """e^x, or UNDECIDED, as for the other functions here."""
    x = F64(value)
    return F32(0.0) if x < -_FAR else _decided(x, bounded_exp(x))


@compiled(forceinline=True)
def quick_sigmoid(value: Any) -> Any:
    """1 / (1 + e^-x)."""
    x = F64(value)
    return _decided(x, 1.0 / (1.0 + bounded_exp(-x)))


@compiled(forceinline=True)
def quick_tanh(value: Any) -> Any:
    """Hyperbolic tangent: (e^2x - 1) / (e^2x + 1)."""
    x = F64(value)
    power, rest = _power(x + x)
    less = power * rest + (power - 1.0)
    return _decided(x, less / (less + 2.0))


@compiled(nogil=True, error_model="numpy")
def _exps(x: Any, out: Any) -> int:
    left = 0
    for i in range(x.size):
        out[i] = quick_exp(x[i])
        left += out[i] != out[i]
    return left


@compiled(nogil=True, error_model="numpy")
def _sigmoids(x: Any, out: Any) -> int:
    left = 0
    for i in range(x.size):
        out[i] = quick_sigmoid(x[i])
        left += out[i] != out[i]
    return left


@compiled(nogil=True, error_model="numpy")
def _tanhs(x: Any, out: Any) -> int:
    left = 0
    for i in range(x.size):
        out[i] = quick_tanh(x[i])
        left += out[i] != out[i]
    return left


# from float32 values to results; returns how many are UNDECIDED
LOOPS: Final[dict[Quick, Callable[[Any, Any], int]]] = {Quick.EXP: _exps, Quick.SIGMOID: _sigmoids, Quick.TANH: _tanhs}
