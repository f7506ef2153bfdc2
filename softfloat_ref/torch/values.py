"""Values of arrays after quantization to a format of any kind, and which of them were within its range.

These are the only calls to the array layer from this package.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import affine, blocks, convert
from softfloat_ref.arrays.exponents import AnyFormat
from softfloat_ref.arrays.kinds import check_options
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.formats import Format

Floats = NDArray[np.floating[Any]]
Inside = NDArray[np.bool_]


class Quantized(NamedTuple):
    """The values, float32 (float64 for formats that float32 does not hold), and, if asked for, which were inside."""

    values: Floats
    inside: Inside | None


def values_in(
    fmt: AnyFormat, x: Any, policy: Any, random_bits: Any, inside: bool, options: Mapping[str, Any]
) -> Quantized:
    """The values in a format of x, an array or a tensor of floats, after one rounding each.

    inside: also say which values were within the range; options: those of the kind that are given. Raises Error.
    """
    options = check_options(fmt, **options)
    if isinstance(fmt, Format):
        values = convert.quantize(x, fmt, policy, random_bits)
        limits = bounds(fmt)
    elif isinstance(fmt, BlockFormat):
        made = blocks.encode(x, fmt, policy, random_bits, **options)
        values, limits = made.decode(), _block_bounds(made) if inside else (0.0, 0.0)
    else:
        if not inside:
            return Quantized(affine.quantize(x, fmt, policy, random_bits, **options), None)
        integers = affine.encode(x, fmt, policy, random_bits, **options)
        values, limits = integers.decode(), _affine_bounds(integers)
    return Quantized(values, _within(x, values, *limits) if inside else None)


def _within(x: Any, values: Floats, low: Any, high: Any) -> Inside:
    """Which values are within the bounds, themselves and after quantization finite numbers."""
    exact = convert.to_float64(x)
    return np.asarray((exact >= low) & (exact <= high) & np.isfinite(exact) & np.isfinite(values))


def bounds(fmt: Format) -> tuple[float, float]:
    """The smallest and the largest finite value of a format that float64 holds; zero is an unsigned format's lowest."""
    low = math.ldexp(*fmt.magnitude(fmt.max_negative_code)) if fmt.signed else 0.0
    return -low, math.ldexp(*fmt.magnitude(fmt.max_code))


def _block_bounds(made: blocks.BlockArray) -> tuple[Any, Any]:
    """The smallest and the largest value that each element could have under its scales; exact in float64."""
    low, high = bounds(made.fmt.element)
    factor = float(made.factor)
    with np.errstate(over="ignore", invalid="ignore"):
        scales = convert.decode_float64(made.spread_scales(), made.fmt.scale) * factor
        return scales * low, scales * high


def _affine_bounds(made: affine.AffineArray) -> tuple[Any, Any]:
    """The values of the smallest and the largest integer; exact in float64."""
    shape = [1] * made.integers.ndim
    if made.axis is not None:
        shape[made.axis] = -1
    scale, zero = made.scales.astype(np.float64).reshape(shape), made.zero_points.astype(np.float64).reshape(shape)
    return (made.fmt.lowest - zero) * scale, (made.fmt.highest - zero) * scale
