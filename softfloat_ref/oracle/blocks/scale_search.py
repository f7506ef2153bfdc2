"""The errors of a block under a scale, by which four over six chooses one of two: FP32 steps, in the lanes' order.

Sources: Cook et al., Four Over Six, arXiv 2512.02010, and mit-han-lab/fouroversix; NVIDIA's Transformer Engine,
quantize_4over6_nvfp4.cuh and custom_recipes/reference_nvfp4.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.fp32_steps import fp32, fp32_divided, fp32_product
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.tensor_scales import block_factor, reach
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, Value

EXPANSION: Final = exact.finite(0, 3, -1)  # 6 / 4: the scale under which the largest element of a block is 4
_NONE: Final = exact.zero(0)
_BEYOND: Final = exact.inf(0)


def expanded(wanted: Value, profile: Profile) -> Value:
    """The scale that is wanted if the largest element is to be 4 and not 6."""
    if wanted.kind != FINITE:
        return wanted
    product = exact.multiply(wanted, EXPANSION)._replace(sticky=wanted.sticky)
    return product if profile.arithmetic == "exact" else fp32(product)


def value_back(x: Value, scale: Value, fmt: BlockFormat, profile: Profile, tensor_scale: Value) -> Value:
    """The value of an element as its error is measured: in FP32. Inf where a step is beyond it, or is not a number."""
    if profile.arithmetic == "fp32-amax":
        steps = fp32_product(x, scale) if x.kind == scale.kind == FINITE else _BEYOND
        steps = fp32_product(steps, tensor_scale) if steps.kind == FINITE else _BEYOND
        return fp32_divided(steps, reach(fmt, profile)) if steps.kind == FINITE else _BEYOND
    factor = block_factor(scale, fmt, profile, tensor_scale)
    return fp32(exact.multiply(x, factor)) if x.kind == factor.kind == FINITE else _BEYOND


def block_error(
    values: Sequence[Value], codes: Sequence[int], scale: int, fmt: BlockFormat, profile: Profile, tensor_scale: Value
) -> Value:
    """The sum of the squares or magnitudes of the errors, or the largest magnitude: each step is rounded to FP32. Inf
    where a step is beyond FP32."""
    total, factor, decode = _NONE, decoder(fmt.scale)(scale), decoder(fmt.element)
    for x, code in zip(values, codes, strict=True):
        back = value_back(decode(code), factor, fmt, profile, tensor_scale)
        off = exact.magnitude(fp32(exact.add(back, exact.negate(x)))) if back.kind == FINITE else _BEYOND
        if profile.scale_search == "mse" and off.kind == FINITE:
            off = fp32_product(off, off)
        if profile.scale_search == "max":
            total = off if exact.compare(off, total) > 0 else total
        else:
            total = fp32(exact.add(total, off)) if off.kind == total.kind == FINITE else _BEYOND
    return total


def is_less(a: Value, b: Value) -> bool:
    """Whether one error is less than another."""
    return exact.compare(a, b) < 0
