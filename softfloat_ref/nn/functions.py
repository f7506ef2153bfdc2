"""Real functions of arrays of float32, correctly rounded to nearest even: the bits of the operations of these names.

So training has the same bits on every machine here, and a trace recomputes them. Of float64, in which gradients are
checked numerically, the results are numpy's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import functions

Array = NDArray[Any]


def exp(x: Array) -> Array:
    """e^x."""
    return functions.correctly_rounded("exp", x) if x.dtype == np.float32 else np.exp(x)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    if x.dtype == np.float32:
        return functions.correctly_rounded("sigmoid", x)
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def tanh(x: Array) -> Array:
    """Hyperbolic tangent."""
    return functions.correctly_rounded("tanh", x) if x.dtype == np.float32 else np.tanh(x)


def log1p(x: Array) -> Array:
    """The logarithm of 1 + x."""
    return functions.correctly_rounded("log1p", x) if x.dtype == np.float32 else np.log1p(x)


def erf(x: Array) -> Array:
    """The error function."""
    return (
        functions.correctly_rounded("erf", x) if x.dtype == np.float32 else np.vectorize(math.erf, otypes=[x.dtype])(x)
    )


def gelu(x: Array) -> Array:
    """x/2 (1 + erf(x / sqrt 2))."""
    return functions.correctly_rounded("gelu", x) if x.dtype == np.float32 else x / 2 * (1 + erf(x * math.sqrt(0.5)))


def gelu_tanh(x: Array) -> Array:
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    if x.dtype == np.float32:
        return functions.correctly_rounded("gelu_tanh", x)
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))  # type: ignore[no-any-return]


def silu(x: Array) -> Array:
    """x / (1 + e^-x)."""
    return functions.correctly_rounded("silu", x) if x.dtype == np.float32 else x * sigmoid(x)
