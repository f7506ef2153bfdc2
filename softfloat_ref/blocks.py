"""Block formats over numpy arrays, bit for bit the scalar oracle of block_formats.py."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref import arrays
from softfloat_ref.arrays import Codes, Floats
from softfloat_ref.block_formats import (
    BlockFormat,
    Profile,
    any_format,
    element_policy,
    exponent_of,
    get_block_format,
    get_profile,
    special_element,
)
from softfloat_ref.errors import Error
from softfloat_ref.formats import Format
from softfloat_ref.policies import Policy, get_policy
from softfloat_ref.sources import RandomSource

_FP64_MANTISSA: Final = 52
_FP64_BIAS: Final = 1023
_FP32_SMALLEST_NORMAL: Final = 2.0**-126
_FP32_UNITS: Final = 149  # an FP32 subnormal is so many times 2^-149


@dataclass(frozen=True)
class BlockArray:
    """A quantized array. codes: one unsigned code an element, in the array's shape; scales: the array's shape with
    the number of blocks in place of the axis."""

    codes: Codes
    scales: Codes
    fmt: BlockFormat
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.codes.shape

    def dequantize(self) -> NDArray[np.float32]:
        """The values, each the exact product of scale and element rounded to FP32."""
        scales = np.repeat(self.scales, self.fmt.size, axis=self.axis)
        scales = np.take(scales, range(self.codes.shape[self.axis]), axis=self.axis)
        # Both factors are short: the float64 product is exact, and so is all but an overflow of its conversion.
        product = arrays.decode_float64(self.codes, self.fmt.element) * arrays.decode_float64(scales, self.fmt.scale)
        product = np.where(np.isnan(product), np.nan, product)  # one NaN, whatever the product's
        with np.errstate(over="ignore"):
            values = product.astype(np.float32)
        # FP32 subnormals by integers: a process that flushes them (as -ffast-math libraries make it) changes nothing.
        small = np.abs(product) < _FP32_SMALLEST_NORMAL
        units = np.abs(product[small]) * 2.0**_FP32_UNITS
        values.view(np.uint32)[small] = units.astype(np.uint32) | (np.signbit(product[small]).astype(np.uint32) << 31)
        return values


def quantize(
    x: ArrayLike,
    fmt: str | BlockFormat,
    axis: int = -1,
    profile: str | Profile = "ocp",
    policy: Policy | str | None = None,
    random_bits: ArrayLike | RandomSource | None = None,
) -> BlockArray:
    """Quantize an array in blocks along an axis; an axis that is no multiple of the block size ends in a short block.

    policy: how elements are rounded. random_bits: for a stochastic rounding, integers in x's shape, or a source of
    them by position. Raises Error for a 0-dimensional array, an axis it lacks, and dtypes that do not fit.
    """
    fmt, profile, policy = get_block_format(fmt), get_profile(profile), element_policy(get_policy(policy))
    values = arrays.to_float64(x, flush=policy.flush_inputs)
    axis = check_axis(values, axis)
    blocks = _to_blocks(_flush(values, profile), axis, fmt.size)
    exponents, special = _scale_exponents(blocks, fmt, profile)
    with np.errstate(invalid="ignore"):  # a signalling NaN, in a block that is all NaN anyway
        scaled = np.ldexp(blocks, -exponents[..., np.newaxis])
    words = arrays.random_words(policy, random_bits, values.shape)
    if words is not None:
        spread = _to_blocks(words, axis, fmt.size)
        codes = arrays.encode(np.where(special[..., np.newaxis], 0.0, scaled), fmt.element, policy, spread)
    else:
        codes = arrays.encode(np.where(special[..., np.newaxis], 0.0, scaled), fmt.element, policy)
    codes[special] = special_element(fmt, policy)
    scales = arrays.encode(np.ldexp(1.0, exponents), fmt.scale)
    scales[special] = fmt.scale.canonical_nan
    return BlockArray(_from_blocks(codes, axis, values.shape), np.moveaxis(scales, -1, axis), fmt, axis)


def check_axis(values: Floats, axis: int) -> int:
    """The axis, counted from 0. Raises Error where the array lacks it."""
    if values.ndim == 0:
        raise Error("a 0-dimensional array has no axis to take blocks along; reshape it to (1,)")
    if not isinstance(axis, int) or not -values.ndim <= axis < values.ndim:
        raise Error(f"axis {axis} is out of range for an array of {values.ndim} dimensions")
    return axis % values.ndim


def _flush(values: NDArray[np.float64], profile: Profile) -> NDArray[np.float64]:
    tiny = np.abs(values) < math.ldexp(1.0, profile.flush_below)
    return np.where(tiny, np.copysign(0.0, values), values)


def _to_blocks(values: NDArray[Any], axis: int, size: int) -> NDArray[Any]:
    """(..., axis, ...) to (..., blocks, size), padded with zeros."""
    moved = np.moveaxis(values, axis, -1)
    count = -(-moved.shape[-1] // size)
    padded = np.zeros((*moved.shape[:-1], count * size), values.dtype)
    padded[..., : moved.shape[-1]] = moved
    return padded.reshape(*moved.shape[:-1], count, size)


def _from_blocks(codes: Codes, axis: int, shape: tuple[int, ...]) -> Codes:
    flat = codes.reshape(*codes.shape[:-2], codes.shape[-2] * codes.shape[-1])
    return np.ascontiguousarray(np.moveaxis(flat[..., : shape[axis]], -1, axis))


def _scale_exponents(
    blocks: NDArray[np.float64], fmt: BlockFormat, profile: Profile
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The exponent of each block's scale, and which blocks hold a NaN or Inf."""
    magnitudes = blocks.view(np.int64) & np.int64((1 << 63) - 1)
    amax = magnitudes.max(axis=-1, initial=0)
    fields = amax >> _FP64_MANTISSA
    special = fields == 2 * _FP64_BIAS + 1
    used = np.unique(fields)
    table = [exponent_of(int(f) - _FP64_BIAS if f else None, fmt, profile) for f in used]
    exponents = np.array(table, np.int64)[np.searchsorted(used, fields)]
    return exponents, special


def saturated(x: ArrayLike, quantized: BlockArray) -> int:
    """How many finite values lie beyond scale times the largest element."""
    values = arrays.to_float64(x)
    element = quantized.fmt.element
    largest = arrays.decode_float64(np.array(element.max_code), element)
    scales = arrays.decode_float64(quantized.scales, quantized.fmt.scale)
    limits = np.repeat(scales * largest, quantized.fmt.size, axis=quantized.axis)
    limits = np.take(limits, range(values.shape[quantized.axis]), axis=quantized.axis)
    return int((np.isfinite(values) & (np.abs(values) > limits)).sum())


def scale_rows(codes: Codes, scales: Codes) -> list[list[int] | None]:
    """The scales of each row of the last axis, where the blocks run along it; else none."""
    if codes.shape[:-1] != scales.shape[:-1]:
        return [None] * (codes.size // codes.shape[-1])
    return [[int(s) for s in row] for row in scales.reshape(-1, scales.shape[-1])]


def quantize_values(
    x: ArrayLike,
    fmt: str | Format | BlockFormat,
    policy: Policy | str | None = None,
    random_bits: ArrayLike | RandomSource | None = None,
    *,
    axis: int = -1,
    profile: str | Profile = "ocp",
) -> Floats:
    """The values an array has after quantization to any scalar or block format (`softfloat_ref.quantize`)."""
    found = any_format(fmt)
    if isinstance(found, BlockFormat):
        return quantize(x, found, axis, profile, policy, random_bits).dequantize()
    return arrays.quantize(x, found, policy, random_bits)
