"""Real functions of arrays of float32, correctly rounded to nearest even: the bits of the operations of these names.

So training has the same bits on every machine here, and a trace recomputes them. Of float64, in which gradients are
checked numerically, the results are numpy's.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import operations
from softfloat_ref.oracle.formats import CATALOGUE
from softfloat_ref.oracle.operations import evaluate, signature
from softfloat_ref.oracle.policies import Policy

Array = NDArray[Any]

_FP32: Final = CATALOGUE["fp32"]
_WIDE: Final = 192  # bits from which the table is rounded


def exp(x: Array) -> Array:
    """e^x."""
    return _rounded("exp", x)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    if x.dtype == np.float32:
        return _rounded("sigmoid", x)
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def tanh(x: Array) -> Array:
    """Hyperbolic tangent."""
    return _rounded("tanh", x)


def log1p(x: Array) -> Array:
    """The logarithm of 1 + x, for x from 0 on."""
    return _rounded("log1p", x)


def erf(x: Array) -> Array:
    """The error function."""
    return _evaluated("erf", x) if x.dtype == np.float32 else np.vectorize(math.erf, otypes=[x.dtype])(x)


def gelu(x: Array) -> Array:
    """x/2 (1 + erf(x / sqrt 2))."""
    return _evaluated("gelu", x) if x.dtype == np.float32 else x / 2 * (1 + erf(x * math.sqrt(0.5)))


def gelu_tanh(x: Array) -> Array:
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    if x.dtype == np.float32:
        return _evaluated("gelu_tanh", x)
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))  # type: ignore[no-any-return]


def silu(x: Array) -> Array:
    """x / (1 + e^-x)."""
    return _evaluated("silu", x) if x.dtype == np.float32 else x * sigmoid(x)


def _evaluated(op: str, x: Array) -> Array:
    """The results of the operation."""
    codes, _ = _loop(op)([np.ascontiguousarray(x).reshape(-1).view(np.uint32).astype(np.int64)])
    return codes.astype(np.uint32).view(np.float32).reshape(x.shape)


@lru_cache(maxsize=8)
def _loop(op: str) -> operations.Bulk:
    """The compiled loop, whatever the size of an array: training calls it again and again."""
    return operations.Bulk(signature(op, _FP32), Policy(), operations.COMPILED_FROM)


def _rounded(op: str, x: Array) -> Array:
    if x.dtype != np.float32:
        return getattr(np, op)(x)  # type: ignore[no-any-return]
    from softfloat_ref.arrays.kernels import real_loops

    given = np.ascontiguousarray(x)
    made, sure = np.empty(x.shape, np.float32), np.empty(x.size, np.bool_)
    if getattr(real_loops, op)(given.reshape(-1), _table(), made.reshape(-1), sure) < x.size:
        codes, results = given.reshape(-1).view(np.uint32), made.reshape(-1).view(np.uint32)
        for i in np.flatnonzero(~sure).tolist():
            results[i] = _one(op, int(codes[i]))
    return made


@lru_cache(maxsize=1 << 16)
def _one(op: str, code: int) -> int:
    """The oracle's result."""
    return int(evaluate(op, (code,), _FP32).bits)


@lru_cache(maxsize=1)
def _table() -> Array:
    """The nearest float64 to each power of two from 1 to 2, by integer square roots, and what it lacks."""
    from softfloat_ref.arrays.kernels.real_loops import PARTS

    root, parts = 2 << _WIDE, PARTS
    while parts > 1:
        root, parts = math.isqrt(root << _WIDE), parts // 2
    powers = [1 << _WIDE]
    for _ in range(PARTS - 1):
        powers.append(powers[-1] * root >> _WIDE)
    first = [x / (1 << _WIDE) for x in powers]
    rest = [float(Fraction(x, 1 << _WIDE) - Fraction(y)) for x, y in zip(powers, first, strict=True)]
    return np.array([first, rest])
