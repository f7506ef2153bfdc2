"""Values of elements with scales of any kind, in float64: exact wherever the product has no more bits than that."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert

Array = NDArray[Any]


class Scales(NamedTuple):
    """What elements are scaled by, as float64 arrays that broadcast to their shape: value = (element - zero) * scale *
    factor / divisor - minimum, without those that are None. The quotient is rounded to float64, and so is what the
    minimum is subtracted from, where it does not have the difference; all else is exact.
    in_steps: the scale times the factor, or over the divisor, is rounded to FP32 first, then its product with the
    element."""

    scale: Array
    factor: Array | float | None = None
    divisor: Array | float | None = None
    zero: Array | float | None = None
    minimum: Array | float | None = None
    in_steps: bool = False


def scaled_values(elements: Array, scales: Scales, to_odd: bool = False) -> NDArray[np.float64]:
    """The values of elements, given as float64; every NaN becomes the same one. to_odd: a difference is rounded to odd,
    so that rounding it again to FP32 is rounding once."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):  # invalid: 0 * Inf
        values = elements if scales.zero is None else elements - scales.zero
        if scales.in_steps:
            values = convert.through_fp32(values * convert.through_fp32(product_of(scales)))
        else:
            values = product_of(scales._replace(scale=values * scales.scale))
        if scales.minimum is not None:
            values = odd_difference(values, scales.minimum) if to_odd else values - scales.minimum
    return np.where(np.isnan(values), np.nan, values)


def odd_difference(a: Array, b: Array | float) -> NDArray[np.float64]:
    """a - b, rounded to odd: to the neighbour with an odd significand, where float64 does not have it."""
    total = np.asarray(a - b, np.float64)
    back = total - a
    rest = (a - (total - back)) + (-b - back)  # what is lost, exactly (Knuth's TwoSum)
    even = (total.view(np.int64) & 1) == 0
    off = np.isfinite(total) & (rest != 0) & even
    return np.where(off, np.nextafter(total, np.where(rest > 0, np.inf, -np.inf)), total)


def product_of(scales: Scales) -> NDArray[np.float64]:
    """The scale times the factor, over the divisor."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
        product = scales.scale if scales.factor is None else scales.scale * scales.factor
        return product if scales.divisor is None else product / scales.divisor
