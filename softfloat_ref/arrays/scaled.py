"""Values of elements with scales of any kind, in float64: exact wherever the product has no more bits than that."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert

Array = NDArray[Any]


class Scales(NamedTuple):
    """What elements are scaled by, as float64 arrays that broadcast to their shape: value = (element - zero) * scale *
    factor / divisor - minimum, without those that are None. The quotient is rounded to float64; all else is exact.
    in_steps: the scale times the factor, or over the divisor, is rounded to FP32 first, then its product with the
    element."""

    scale: Array
    factor: Array | float | None = None
    divisor: Array | float | None = None
    zero: Array | float | None = None
    minimum: Array | float | None = None
    in_steps: bool = False


def scaled_values(elements: Array, scales: Scales) -> NDArray[np.float64]:
    """The values of elements, given as float64; every NaN becomes the same one."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):  # invalid: 0 * Inf
        values = elements if scales.zero is None else elements - scales.zero
        if scales.in_steps:
            values = convert.through_fp32(values * convert.through_fp32(product_of(scales)))
        else:
            values = product_of(scales._replace(scale=values * scales.scale))
        if scales.minimum is not None:
            values = values - scales.minimum
    return np.where(np.isnan(values), np.nan, values)


def product_of(scales: Scales) -> NDArray[np.float64]:
    """The scale times the factor, over the divisor."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
        product = scales.scale if scales.factor is None else scales.scale * scales.factor
        return product if scales.divisor is None else product / scales.divisor
