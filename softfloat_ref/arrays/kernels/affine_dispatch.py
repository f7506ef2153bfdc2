"""Affine integers of float32 arrays in the compiled loops of kernels/affine_loops.py."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels import plans
from softfloat_ref.arrays.kernels.dispatch import as_word_type, in_three
from softfloat_ref.oracle.affine import AffineFormat, Rule, nan_result
from softfloat_ref.oracle.codec import target
from softfloat_ref.oracle.policies import Policy

BITS: Final = 8  # widest integers that the loops support
_ARITHMETIC_CODES: Final = {"exact": 0, "fp32": 1, "fp32-fma": 2}
Array = NDArray[Any]


def can_quantize(fmt: AffineFormat, rule: Rule, policy: Policy) -> bool:
    """Whether the loops convert float32 values that are all finite, or finite and not if no random bits are needed."""
    from softfloat_ref.arrays.kernels.affine_loops import MAX_RANDOM

    plain = policy.random_count == 0 or (rule.arithmetic == "exact" and rule.order == "inside")
    plain = plain and rule.arithmetic in _ARITHMETIC_CODES
    return fmt.bits <= BITS and plain and policy.random_count <= MAX_RANDOM and not policy.flush_inputs


def ranges(x: Array, axis: int | None) -> tuple[Array, Array]:
    """The ends of each channel's range (its finite values and 0), as float32 with one entry per channel."""
    from softfloat_ref.arrays.kernels.affine_loops import ranges

    values = in_three(x, axis)
    low, high = np.zeros((2, values.shape[1]), np.float32)
    ranges(values, low, high)
    return low, high


def parameters(low: Array, high: Array, fmt: AffineFormat) -> tuple[Array, Array, Array]:
    """Exact scales (float32) and zero points (int32) of asymmetric ranges, and which of them the oracle must choose."""
    from softfloat_ref.arrays.kernels.affine_loops import parameters

    scales, zeros = np.empty(low.size, np.float32), np.empty(low.size, np.int32)
    left = np.empty(low.size, np.bool_)
    numbers = np.array([0, fmt.lowest, fmt.highest], np.int64)
    parameters(low, high, float(fmt.highest - fmt.lowest), numbers, scales, zeros, left)
    return scales, zeros, left


def integers(
    x: Array, axis: int | None, scales: Array, zeros: Array, fmt: AffineFormat, rule: Rule, policy: Policy, words: Any
) -> tuple[Array, int]:
    """The integers (int32), and 1 if there was a NaN plus 2 if there was an Inf. scales (float32), zeros: one entry per
    channel. words: random words in x's shape, or None."""
    from softfloat_ref.arrays.kernels.affine_loops import affine_integers, stochastic_integers

    result = np.empty(x.shape, np.int32)
    values, out, n = in_three(x, axis), in_three(result, axis), policy.random_count
    numbers = _numbers(fmt, rule, policy)
    if words is not None:
        drawn, wide = in_three(as_word_type(np.ascontiguousarray(words), n), axis), scales.astype(np.float64)
        stochastic_integers(values, drawn, wide, zeros, numbers, out, int(policy.rounding), n)
        return result, 0
    specials = affine_integers(values, inverse_of(scales, rule).astype(np.float64), zeros, numbers, out)
    return result, int(specials)


@lru_cache(maxsize=64)
def _numbers(fmt: AffineFormat, rule: Rule, policy: Policy) -> Array:
    """The numbers of the loops."""
    from softfloat_ref.arrays.kernels.affine_loops import ZERO_POINT

    nan = {"zero-point": ZERO_POINT, "error": 0}.get(rule.nan)
    nan = nan_result(fmt, rule, 0) if nan is None else nan
    decisions = 0 if policy.random_count else plans.decisions(target(fmt.wide, policy))
    inside = rule.order == "inside"
    return np.array([0, fmt.lowest, fmt.highest, decisions, _ARITHMETIC_CODES[rule.arithmetic], inside, nan], np.int64)


def inverse_of(scales: Array, rule: Rule) -> Array:
    """The reciprocals of scales, in FP32 unless the arithmetic is exact; Inf where FP32 has none."""
    if rule.arithmetic == "exact":
        return 1 / scales.astype(np.float64)
    with np.errstate(over="ignore"):
        return 1 / scales


def dequantize(q: Array, axis: int | None, scales: Array, zeros: Array, out: Array | None = None) -> Array:
    """(q - zero point) * scale, rounded to float32; in `out`, a contiguous array, if given."""
    from softfloat_ref.arrays.kernels.affine_loops import values_of_integers

    values = np.empty(q.shape, np.float32) if out is None else out
    values_of_integers(in_three(q, axis), scales.astype(np.float64), zeros, in_three(values, axis))
    return values
