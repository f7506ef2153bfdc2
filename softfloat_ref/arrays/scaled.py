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
    scale, factor, divisor, zero, minimum, in_steps = scales
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):  # invalid: 0 * Inf
        values = elements if zero is None else elements - zero
        if in_steps:
            scale = convert.through_fp32(_times(scale, factor, divisor))
            values = convert.through_fp32(values * scale)
        else:
            values = _times(values * scale, factor, divisor)
        if minimum is not None:
            values = values - minimum
    return np.where(np.isnan(values), np.nan, values)


def _times(values: Array, factor: Array | float | None, divisor: Array | float | None) -> Array:
    values = values if factor is None else values * factor
    return values if divisor is None else values / divisor
