"""Matrix products of affine integers: exact sums of products less the zero points, scaled or requantized once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.affine_array import AffineArray, check_out, checked_parameters, store_affine
from softfloat_ref.arrays.kernels.op_plans import signed_word
from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import changes
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.affine import (
    FP32,
    AffineFormat,
    Parameters,
    Rule,
    element_policy,
    get_affine_format,
    get_rule,
    is_affine,
    quantize_value,
)
from softfloat_ref.oracle.codec import decode, encoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import Policy

_LEAST_I32, _LARGEST_I32 = -(1 << 31), (1 << 31) - 1
_I32: Final = get_format("i32")
_BISECTION_STEPS: Final = 32  # of a bisection over sums

Sums = NDArray[np.int64]
Code = Callable[[int], int]


def accumulate(a: AffineArray, b: AffineArray, c: ArrayLike | None = None) -> NDArray[np.int32]:
    """sum over k of (a - its zero point) (b - its zero point), plus c: the 32-bit accumulators of a product.

    a: (..., m, k), its parameters for the tensor or for each of the m rows; b: (..., k, n), for the tensor or for each
    of the n columns; leading dimensions broadcast. c: integers, broadcast to the result. Raises Error for shapes and
    axes that do not fit, and for a sum beyond 32 bits.
    """
    left, right = _centred(a, -2, "a"), _centred(b, -1, "b")
    if left.shape[-1] != right.shape[-2]:
        raise Error(f"a has {left.shape[-1]} columns, b has {right.shape[-2]} rows; a product needs the same number")
    added = np.zeros((), np.int64) if c is None else np.asarray(c)
    if added.dtype.kind not in "iu":
        raise Error(f"c is integers, in units of the product of both scales, not {added.dtype}")
    try:
        sums = _product(left, right)
        sums = sums + np.broadcast_to(added, sums.shape).astype(np.int64)
    except ValueError:
        shapes = f"{a.shape}, {b.shape}" + ("" if c is None else f" and {np.shape(c)} of c")
        raise Error(f"shapes {shapes} cannot be broadcast to a product") from None
    beyond = (sums < _LEAST_I32) | (sums > _LARGEST_I32)
    if beyond.any():
        raise Error(f"a sum of {int(sums[beyond][0])} is beyond 32 bits")
    return np.asarray(sums, np.int32)


def _product(left: Sums, right: Sums) -> Sums:
    """The matrix product of integers: in float64 if that is exact, since BLAS is faster than numpy's integers."""
    largest = [int(np.abs(x).max(initial=0)) for x in (left, right)]
    if largest[0] * largest[1] * left.shape[-1] < 1 << 53:
        return np.asarray(np.matmul(left.astype(np.float64), right.astype(np.float64)), np.int64)
    return np.asarray(np.matmul(left, right))


def matmul(
    a: AffineArray,
    b: AffineArray,
    *,
    c: ArrayLike | None = None,
    to: Any = "fp32",
    scale: ArrayLike | None = None,
    zero_point: ArrayLike | None = None,
    profile: str | Rule = "exact",
    out: Any = None,
) -> Any:
    """a @ b + c of affine integers: the accumulators of `accumulate`, times both scales, rounded once to a format.

    to: a scalar format: returns values; "i32": the accumulators themselves; an affine format: returns an AffineArray,
    requantized with scale and zero_point, one number each, by the rule `profile`, whose arithmetic is exact. c:
    integers in units of the product of both scales. out: the buffer for the result, of its kind. Raises Error if the
    arguments do not fit together.
    """
    sums = accumulate(a, b, c)
    affine = is_affine(to)
    if not affine and (scale is not None or zero_point is not None or profile != "exact"):
        raise Error("scale, zero_point and profile have no effect unless `to` is an affine format; leave them out")
    if not affine and get_format(to) == _I32:
        convert.check_buffer(out, sums.shape, sums.dtype)
        return convert.store(sums, out)
    pairs = _pairs(a, b, sums.shape)
    if affine:
        check_out(out, sums.shape, None)
        result = _requantized(sums, pairs, get_affine_format(to), scale, zero_point, get_rule(profile))
        return store_affine(result, out)
    fmt = get_format(to)
    convert.check_buffer(out, sums.shape, convert.value_dtype(fmt))
    codes = _by_pairs(sums, pairs, lambda factor: _to_scalar(fmt, factor), 0)
    return convert.decode(codes.view(np.uint64), fmt, out=out)


def _centred(x: AffineArray, channels: int, name: str) -> Sums:
    """The integers less their zero points. Raises Error for parameters along another axis than the channels."""
    if not isinstance(x, AffineArray):
        raise Error(f"{name}: {type(x).__name__} is not an AffineArray; affine.encode or affine.from_codes makes one")
    if x.ndim < 2:
        raise Error(f"{name}: {x.ndim} dimensions; a product of affine integers needs 2 or more")
    if x.axis not in (None, x.ndim + channels):
        kind = "rows" if channels == -2 else "columns"
        raise Error(
            f"{name}: its scales run along axis {x.axis}; a product takes one scale, or one for each of the {kind}"
        )
    zeros = x.zero_points if x.axis is None or channels == -1 else x.zero_points[:, np.newaxis]
    return x.integers.astype(np.int64) - zeros


def _pairs(a: AffineArray, b: AffineArray, shape: tuple[int, ...]) -> NDArray[np.uint32]:
    """The FP32 codes of both scales of each result, (..., 2)."""
    rows = a.scales.view(np.uint32) if a.axis is None else a.scales.view(np.uint32)[:, np.newaxis]
    columns = b.scales.view(np.uint32)
    return np.stack([np.broadcast_to(rows, shape), np.broadcast_to(columns, shape)], axis=-1)


def _by_pairs(sums: NDArray[np.int32], pairs: NDArray[np.uint32], code: Callable[[Value], Code], levels: int) -> Sums:
    """The code of each sum: `code` gives for a product of scales a function of the sum. levels: the number of codes if
    it is small, for then the sums at which the code changes are found instead."""
    flat, keys = sums.reshape(-1), pairs.reshape(-1, 2)
    codes = np.zeros(flat.size, np.int64)
    distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    ends = np.searchsorted(inverse.reshape(-1)[order], np.arange(len(distinct) + 1))
    for i, scales in enumerate(distinct.tolist()):
        at = order[ends[i] : ends[i + 1]]
        factor = exact.multiply(*(decode(s, FP32) for s in scales))
        codes[at] = _codes_of(flat[at], code(factor), levels)
    return codes.reshape(sums.shape)


def _codes_of(sums: NDArray[np.int32], code: Code, levels: int) -> Sums:
    patterns, inverse = np.unique(sums, return_inverse=True)
    if levels and patterns.size > _BISECTION_STEPS * levels:  # codes grow with the sum
        low, high = int(patterns[0]), int(patterns[-1])
        starts, codes = zip(*changes(lambda s: code(s + low), 0, high - low), strict=True)
        return np.array(codes, np.int64)[np.searchsorted(np.array(starts) + low, sums, "right") - 1]
    return np.array([code(s) for s in patterns.tolist()], np.int64)[inverse.reshape(sums.shape)]


def _value(sum_: int, factor: Value) -> Value:
    return exact.multiply(exact.finite(int(sum_ < 0), abs(sum_), 0), factor)


def _to_scalar(out: Format, factor: Value) -> Code:
    encode = encoder(out, Policy())
    return lambda s: signed_word(encode(_value(s, factor), 0)[0])


def _requantized(
    sums: NDArray[np.int32], pairs: NDArray[np.uint32], fmt: AffineFormat, scale: Any, zero_point: Any, rule: Rule
) -> AffineArray:
    if scale is None or zero_point is None:
        raise Error(f"requantization to {fmt.name} needs scale= and zero_point=")
    if rule.arithmetic != "exact":
        raise Error(f"affine rule {rule.name}: steps in {rule.arithmetic} take FP32 values; products are rounded once")
    codes, zeros = checked_parameters(scale, zero_point, fmt, ())
    own, policy = Parameters(int(codes), int(zeros)), element_policy(None, rule)
    if policy.random_count:
        raise Error(f"affine rule {rule.name}: products are not rounded stochastically")
    integers = _by_pairs(
        sums,
        pairs,
        lambda factor: lambda s: quantize_value(_value(s, factor), own, fmt, rule, policy),
        1 << fmt.bits,
    )
    return AffineArray(integers.astype(np.int32), codes.view(np.float32), zeros, fmt, None, rule)
