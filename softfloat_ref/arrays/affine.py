"""Affine integers (Qint) over numpy arrays, per tensor or per channel, bit-identical to the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.affine_array import (
    AffineArray,
    channel_shape,
    check_out,
    checked_parameters,
    from_codes,
    from_torch,
    is_compiled,
    spread_along,
    store_affine,
    unpack,
)
from softfloat_ref.arrays.affine_products import accumulate, matmul
from softfloat_ref.arrays.block_layout import check_axis
from softfloat_ref.arrays.files import load_kind, save
from softfloat_ref.arrays.kernels import affine_dispatch, dispatch
from softfloat_ref.arrays.odd import odd_quotient, odd_sum
from softfloat_ref.arrays.random_bits import RandomBits, random_words, resolve_bits
from softfloat_ref.arrays.requantize import requantize
from softfloat_ref.arrays.slabs import SLAB_SIZE
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.affine import (
    FP32,
    RULES,
    AffineFormat,
    Parameters,
    Rule,
    check_scale,
    choose,
    element_policy,
    get_affine_format,
    get_rule,
    nan_result,
    quantize_value,
    reciprocal,
)
from softfloat_ref.oracle.codec import decode, to_value
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import RandomSource, is_source

__all__ = [
    "AffineArray",
    "accumulate",
    "encode",
    "from_codes",
    "from_torch",
    "load",
    "matmul",
    "parameters",
    "quantize",
    "requantize",
    "save",
    "unpack",
]

_FRACTION: Final = 30  # fraction bits of the fixed-point value that is rounded; integers have at most 16 bits


def encode(
    x: ArrayLike,
    fmt: str | AffineFormat,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    *,
    seed: int | None = None,
    key: str | None = None,
    axis: int | None = None,
    profile: str | Rule = "exact",
    scale: ArrayLike | None = None,
    zero_point: ArrayLike | None = None,
    out: AffineArray | None = None,
) -> AffineArray:
    """Quantize an array per tensor or, if an axis is given, per channel along it.

    profile: the rule. scale, zero_point: both or neither; one number, or one per channel. By default they follow from
    the range of the values. random_bits, seed, key: for stochastic rounding, as for `arrays.encode`. out: an earlier
    result, whose integers, scales and zero points are overwritten and become those of the new one. Raises Error for an
    axis that is out of range, for parameters, dtypes or an `out` that do not fit, and for values that the rule refuses.
    """
    fmt, rule = get_affine_format(fmt), get_rule(profile)
    policy = element_policy(policy, rule)
    source = convert.as_source(x)
    if rule.arithmetic != "exact" and source.fmt.width > FP32.width:
        raise Error(f"affine rule {rule.name}: steps in FP32 take arrays of FP32 or narrower, not {source.fmt.name}")
    axis = None if axis is None else check_axis(source.codes, axis)
    check_out(out, source.codes.shape, axis)
    random_bits = resolve_bits(random_bits, policy, x, seed, key)
    words = random_words(policy, random_bits, source.codes.shape)
    if (scale is None) != (zero_point is None):
        raise Error("give both scale and zero_point, or neither")
    if source.fmt is FP32 and source.codes.ndim and is_compiled(source.codes.size):
        quick = _quick_array(source.codes.view(np.float32), fmt, axis, rule, policy, words, scale, zero_point)
        if quick is not None:
            return store_affine(quick, out)
    values = convert.to_float64(source, flush=policy.flush_inputs)
    if scale is None:
        scales, zeros = _observed(values, fmt, axis, rule)
    else:
        scales, zeros = checked_parameters(scale, zero_point, fmt, channel_shape(values.shape, axis))
    for code in np.unique(scales).tolist():
        check_scale(decode(code, FP32), rule)
    spread = spread_along(values.ndim, axis)
    q = _integers(values, spread(scales), spread(zeros), fmt, rule, policy, words)
    return store_affine(AffineArray(q, scales.view(np.float32), zeros, fmt, axis, rule), out)


def load(path: str | Path) -> AffineArray:
    """Read an affine array that `save` wrote; nothing is unpickled. Raises Error for any other file."""
    array: AffineArray = load_kind(path, "affine")
    return array


def _quick_array(
    x: NDArray[np.float32], fmt: AffineFormat, axis: int | None, rule: Rule, policy: Policy, words: NDArray[Any] | None,
    scale: ArrayLike | None, zero_point: ArrayLike | None,
) -> AffineArray | None:  # fmt: skip
    """`quantize` in the compiled loops; None if they do not support this case."""
    if not affine_dispatch.can_quantize(fmt, rule, policy):
        return None
    finite = (words is None and rule.range != "error") or bool(np.isfinite(x).all())
    if not finite:
        return None  # stochastic rounding of specials, or an error
    if scale is None:
        parameters = _quick_parameters(*affine_dispatch.ranges(x, axis), fmt, rule)
    else:
        parameters = checked_parameters(scale, zero_point, fmt, channel_shape(x.shape, axis))
    scales, zeros = (part.reshape(-1) for part in parameters)
    if rule.arithmetic != "exact":
        for code in scales[np.isinf(affine_dispatch.inverse_of(scales.view(np.float32), rule))].tolist():
            check_scale(decode(code, FP32), rule)
    q, specials = affine_dispatch.integers(x, axis, scales.view(np.float32), zeros, fmt, rule, policy, words)
    if specials & 1 and rule.nan == "error":
        nan_result(fmt, rule, 0)
    if specials & 2 and rule.inf == "error":
        raise Error(f"an Inf, which affine rule {rule.name} refuses")
    shape = channel_shape(x.shape, axis)
    return AffineArray(q, scales.view(np.float32).reshape(shape), zeros.reshape(shape), fmt, axis, rule)


def _quick_parameters(low: NDArray[np.float32], high: NDArray[np.float32], fmt: AffineFormat, rule: Rule) -> Any:
    """`_chosen`, where rounding in float64 decides most ranges."""
    if rule.parameters != "exact" or rule.small_scale != "one" or fmt.symmetric:
        return _chosen(low, high, fmt, rule)
    scales, zeros, left = affine_dispatch.parameters(low, high, fmt)
    codes = scales.view(np.uint32)
    if np.count_nonzero(left):  # faster than any() for few channels
        codes[left], zeros[left] = _chosen(low[left], high[left], fmt, rule)
    return codes, zeros


ParameterArrays = tuple[NDArray[np.uint32], NDArray[np.int32]]


def _observed(values: NDArray[np.float64], fmt: AffineFormat, axis: int | None, rule: Rule) -> ParameterArrays:
    """Scales (FP32 codes) and zero points computed from the range of the tensor or of each channel."""
    finite = np.isfinite(values)
    if rule.range == "error" and not finite.all():
        raise Error(f"a NaN or Inf, which affine rule {rule.name} refuses")
    others = None if axis is None else tuple(i for i in range(values.ndim) if i != axis)
    low = np.where(finite, values, 0.0).min(axis=others, initial=0.0)
    high = np.where(finite, values, 0.0).max(axis=others, initial=0.0)
    return _chosen(low, high, fmt, rule)


def parameters(
    low: ArrayLike, high: ArrayLike, fmt: str | AffineFormat, rule: str | Rule = "exact"
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """The scale and zero point of each range low to high that an observer saw; low and high have one shape.

    `quantize` accepts the result. Raises Error for a range that is not finite, and if an FP32 step overflows.
    """
    ends = [convert.to_float64(x) for x in (low, high)]
    if ends[0].shape != ends[1].shape or not all(np.isfinite(x).all() for x in ends):
        raise Error("a range needs finite ends, and as many lower ends as upper ends")
    scales, zeros = _chosen(ends[0], ends[1], get_affine_format(fmt), get_rule(rule))
    return scales.view(np.float32), zeros


def _chosen(low: NDArray[Any], high: NDArray[Any], fmt: AffineFormat, rule: Rule) -> ParameterArrays:
    chosen = [
        choose(to_value(a, 0), to_value(b, 0), fmt, rule)
        for a, b in zip(low.reshape(-1).tolist(), high.reshape(-1).tolist(), strict=True)
    ]
    scales = np.array([p.scale for p in chosen], np.uint32).reshape(low.shape)
    return scales, np.array([p.zero_point for p in chosen], np.int32).reshape(low.shape)


def _integers(
    values: NDArray[np.float64],
    scales: NDArray[np.uint32],
    zeros: NDArray[np.int32],
    fmt: AffineFormat,
    rule: Rule,
    policy: Policy,
    words: NDArray[Any] | None,
) -> NDArray[np.int32]:
    if values.ndim == 0:
        one = None if words is None else words.reshape(1)
        return _integers(values.reshape(1), scales, zeros, fmt, rule, policy, one).reshape(())
    zeros = np.broadcast_to(zeros, values.shape)
    nans, infinite = np.isnan(values), np.isinf(values)
    if rule.inf == "error" and infinite.any():
        raise Error(f"an Inf, which affine rule {rule.name} refuses")
    if words is not None:
        return _by_oracle(values, np.broadcast_to(scales, values.shape), zeros, fmt, rule, policy, words)
    inside = zeros.astype(np.float64) if rule.order == "inside" else np.zeros(values.shape)
    clean = np.where(nans | infinite, 0.0, values)
    rounded = convert.encode(_quotients(clean, scales, inside, fmt, rule), fmt.wide, policy).astype(np.int32)
    sign = np.int32(fmt.wide.sign_bit)
    q = (rounded ^ sign) - sign
    q += zeros if rule.order == "outside" else np.int32(0)
    q = np.clip(q, fmt.lowest, fmt.highest)
    q[infinite] = np.where(values[infinite] > 0, fmt.highest, fmt.lowest)
    if nans.any():
        q[nans] = zeros[nans] if rule.nan == "zero-point" else nan_result(fmt, rule, 0)
    integers: NDArray[np.int32] = q.astype(np.int32)
    return integers


def _by_oracle(
    values: NDArray[np.float64],
    scales: NDArray[np.uint32],
    zeros: NDArray[np.int32],
    fmt: AffineFormat,
    rule: Rule,
    policy: Policy,
    words: NDArray[Any],
) -> NDArray[np.int32]:
    parts = (x.reshape(-1).tolist() for x in (values, scales, zeros, words))
    integers = [
        quantize_value(to_value(v, 0), Parameters(s, z), fmt, rule, policy, w)
        for v, s, z, w in zip(*parts, strict=True)
    ]
    return np.array(integers, np.int32).reshape(values.shape)


def _quotients(
    x: NDArray[np.float64], scales: NDArray[np.uint32], offset: NDArray[np.float64], fmt: AffineFormat, rule: Rule
) -> NDArray[np.float64]:
    """x / scale + offset, accurate enough that rounding it to an integer gives the correctly rounded result."""
    if rule.arithmetic == "exact":
        quotients = odd_quotient(x, np.broadcast_to(convert.decode_float64(scales, FP32), x.shape))
        return _fixed(quotients, fmt) + offset  # exact: 30 bits below the point, at most 18 above
    if rule.arithmetic == "fp32-division":
        with np.errstate(all="ignore"):
            divided = x.astype(np.float32) / scales.view(np.float32)
        return convert.through_fp32(odd_sum(divided.astype(np.float64), offset))
    patterns, inverse = np.unique(scales, return_inverse=True)
    table = np.array([float(reciprocal(decode(s, FP32))) for s in patterns.tolist()])
    products = x * table[inverse].reshape(scales.shape)  # products of two FP32 numbers: exact
    if rule.arithmetic == "fp32":
        products = convert.through_fp32(products)
    return convert.through_fp32(odd_sum(products, offset))  # not as float32: FP32's subnormals are no inputs to flush


def _fixed(x: NDArray[np.float64], fmt: AffineFormat) -> NDArray[np.float64]:
    """x with 30 bits below the point, rounded to odd, and limited to +-2^(bits + 2), beyond any clamp."""
    limit = float(1 << (fmt.bits + 2))
    scaled = np.ldexp(np.clip(np.abs(x), None, limit), _FRACTION)
    units = scaled.astype(np.int64)
    units |= units != scaled
    fixed: NDArray[np.float64] = np.copysign(np.ldexp(units.astype(np.float64), -_FRACTION), x)
    return fixed


# -- the values at once ----------------------------------------------------------------------------------------------


def quantize(
    x: ArrayLike,
    fmt: str | AffineFormat,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    *,
    seed: int | None = None,
    key: str | None = None,
    axis: int | None = None,
    profile: str | Rule = "exact",
    scale: ArrayLike | None = None,
    zero_point: ArrayLike | None = None,
    out: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """The values of an array after quantization, `encode(...).decode(out)`; float32 arrays, formats of up to 8 bits and
    exact arithmetic in a compiled loop. out: the buffer for the result, float32 in x's shape. Raises Error as `encode`
    does."""
    fmt, rule = get_affine_format(fmt), get_rule(profile)
    chosen = element_policy(policy, rule)
    random_bits = resolve_bits(random_bits, chosen, x, seed, key)
    quick = _quick_rows(x, fmt, axis, rule, chosen)
    if quick is None or (scale is None) != (zero_point is None):
        quantized = encode(x, fmt, policy, random_bits, axis=axis, profile=rule, scale=scale, zero_point=zero_point)
        return quantized.decode(out)
    array = np.asarray(x)
    buffer = convert.output_buffer(out, array.shape, np.dtype(np.float32))
    words = _words(chosen, random_bits, array.shape)
    if scale is None:
        codes, zeros = _quick_parameters(quick.min(axis=1, initial=0), quick.max(axis=1, initial=0), fmt, rule)
    else:
        codes, zeros = checked_parameters(scale, zero_point, fmt, channel_shape(array.shape, axis))
    count = len(quick)
    spread = [np.broadcast_to(part, count).tolist() for part in (codes, zeros)]
    drawn = words.reshape(count, -1) if words.size else [words] * count
    for row, word, *pair, place in zip(quick, drawn, *spread, buffer.reshape(count, -1), strict=True):
        _quick_values(row, word, Parameters(*pair), fmt, chosen, place)
    return convert.store(buffer, out)


def _quick_rows(
    x: ArrayLike, fmt: AffineFormat, axis: int | None, rule: Rule, policy: Policy
) -> NDArray[np.float32] | None:
    """The channels as rows, or None if the compiled loop does not support this case."""
    if not isinstance(x, np.ndarray) or isinstance(x, np.ma.MaskedArray):
        return None
    if x.dtype != np.float32 or not x.flags.c_contiguous or not x.size:
        return None
    if convert.flushes_subnormals():
        return None
    plain = rule.arithmetic == "exact" and rule.order == "inside"
    if not (plain and axis in (None, 0) and affine_dispatch.can_quantize(fmt, rule, policy)):
        return None
    rows = x.reshape(1 if axis is None else len(x), -1)
    return rows if bool(np.isfinite(rows.min()) and np.isfinite(rows.max())) else None


def _words(policy: Policy, random_bits: ArrayLike | RandomSource | None, shape: tuple[int, ...]) -> NDArray[Any]:
    # of a protocol, isinstance is slow
    if policy.random_count and is_source(random_bits):
        return dispatch.draw_words(random_bits, policy.random_count, 0, int(np.prod(shape)), True)
    words = random_words(policy, random_bits, shape)
    return np.zeros(0, np.uint32) if words is None else words.reshape(-1)


def _quick_values(
    row: NDArray[np.float32],
    words: NDArray[Any],
    parameters: Parameters,
    fmt: AffineFormat,
    policy: Policy,
    out: NDArray[np.float32],
) -> None:
    from softfloat_ref.arrays.kernels.affine_loops import stochastic_affine_values

    scale, zero = np.array([parameters.scale], np.uint32).view(np.float32), np.array([parameters.zero_point], np.int32)
    n = policy.random_count
    if n == 0:
        for start in range(0, row.size, SLAB_SIZE):
            part = slice(start, start + SLAB_SIZE)
            q, _ = affine_dispatch.integers(row[part], None, scale, zero, fmt, RULES["exact"], policy, None)
            affine_dispatch.dequantize(q, None, scale, zero, out[part])
        return
    integers = np.arange(fmt.lowest, fmt.highest + 1, dtype=np.int32)
    table = AffineArray(integers, scale[0], zero[0], fmt).decode()
    numbers = np.array([parameters.zero_point, fmt.lowest, fmt.highest], np.int64)
    stochastic_affine_values(row, words, float(scale[0]), numbers, table, out, int(policy.rounding), n)


def __dir__() -> list[str]:
    return sorted(__all__)
