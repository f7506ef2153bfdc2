"""Four over six: of two scales, the one with the smaller error of the block.

The first scale is the rule's, under which the largest element becomes 6, E2M1's largest number. The second one is 6/4
times as large, so that it becomes 4: the numbers below it are closer together. The block is quantized under both;
errors are measured in FP32 steps, in the lanes' order, as the GPU kernels do.

Sources: Cook et al., Four Over Six, arXiv 2512.02010, and mit-han-lab/fouroversix; NVIDIA's Transformer Engine,
quantize_4over6_nvfp4.cuh and custom_recipes/reference_nvfp4.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.elements import divided, division
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.fp32_steps import fp32, fp32_divided, fp32_product
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.scale_rules import WantedScale
from softfloat_ref.oracle.blocks.scales import flush, largest_magnitude, limited_scale, rounded_scale, wanted_scale
from softfloat_ref.oracle.blocks.tensor_scales import block_factor, reach
from softfloat_ref.oracle.codec import decoder, needed_bits
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding_steps import destination, rounded
from softfloat_ref.oracle.steps import PLAIN, Do, step

EXPANSION: Final = exact.finite(0, 3, -1)  # 6 / 4
_NO_ERROR: Final = exact.zero(0)
_BEYOND: Final = exact.inf(0)  # an error, or a step of it, that FP32 does not hold


def expanded(wanted: Value, profile: Profile) -> Value:
    """The scale that is wanted if the largest element is to be 4 and not 6."""
    if wanted.kind != FINITE:
        return wanted
    product = exact.multiply(wanted, EXPANSION)._replace(sticky=wanted.sticky)
    return product if profile.arithmetic == "exact" else fp32(product)


def value_back(x: Value, scale: Value, fmt: BlockFormat, profile: Profile, tensor_scale: Value) -> Value:
    """The value of an element from which its error is measured, in FP32; Inf where a step is beyond FP32, or is not a
    number. x, scale: the values of the element's and the block scale's codes."""
    if profile.arithmetic == "fp32-amax":
        steps = fp32_product(x, scale) if x.kind == scale.kind == FINITE else _BEYOND
        steps = fp32_product(steps, tensor_scale) if steps.kind == FINITE else _BEYOND
        return fp32_divided(steps, reach(fmt, profile)) if steps.kind == FINITE else _BEYOND
    factor = block_factor(scale, fmt, profile, tensor_scale)
    return fp32(exact.multiply(x, factor)) if x.kind == factor.kind == FINITE else _BEYOND


def block_error(
    values: Sequence[Value], codes: Sequence[int], scale: int, fmt: BlockFormat, profile: Profile, tensor_scale: Value
) -> Value:
    """The error of a block by the profile's `scale_search`: the sum of the squares (mse) or magnitudes of the errors,
    or the largest magnitude (max), each step rounded to FP32; Inf where a step is beyond it. values: of the lanes,
    flushed; codes: of the elements; scale: the block's code."""
    total, factor, decode = _NO_ERROR, decoder(fmt.scale)(scale), decoder(fmt.element)
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


@step("expanded scale", "scale")
def expanded_scale(wanted: WantedScale, profile: Profile) -> WantedScale:
    """The number that is wanted as a scale if the largest element is to be 4."""
    return wanted._replace(value=expanded(wanted.value, profile))


def second_scale(do: Do, amax: Value, fmt: BlockFormat, profile: Profile, tensor_scale: Value) -> int:
    """The code of the other scale of a search: that of the rule times 3/2."""
    wanted = do(expanded_scale, do(wanted_scale, amax, fmt, profile, tensor_scale), profile)
    return rounded_scale(do, wanted, fmt.scale, profile)


@step("error", "value")
def error(
    values: Sequence[Value], code: int, fmt: BlockFormat, profile: Profile, policy: Policy, words: Sequence[int],
    tensor_scale: Value,
) -> Value:  # fmt: skip
    """The error of a block under the scale with that code. values: flushed; words: random, one a lane."""
    by = division(code, fmt, profile, tensor_scale, needed_bits(fmt.element, policy))
    to = destination(fmt.element, policy)
    codes = [rounded(divided(x, by), r, to)[0] for x, r in zip(values, words, strict=True)]
    return block_error(values, codes, code, fmt, profile, tensor_scale)


@step("better scale", "scale code")
def better_scale(first: int, second: int, first_error: Value, second_error: Value) -> int:
    """The scale with the smaller error; the first one if they are equal."""
    return second if is_less(second_error, first_error) else first


def searched_in_steps(
    do: Do, scale: int, values: Sequence[Value], fmt: BlockFormat, profile: Profile, policy: Policy,
    words: Sequence[int], tensor_scale: Value,
) -> int:  # fmt: skip
    """`searched_scale`, step by step."""
    flushed = flush(values, profile)
    amax = largest_magnitude([x for x in flushed if x.kind == FINITE and x.significand])
    if amax is None or any(x.kind != FINITE for x in values):
        return scale
    other = second_scale(do.at("second"), amax, fmt, profile, tensor_scale)
    errors = [do.at(name)(error, flushed, code, fmt, profile, policy, words, tensor_scale)
              for name, code in (("first", scale), ("second", other))]  # fmt: skip
    return do(better_scale, scale, other, *errors)


@step("searched scale", "scale code", searched_in_steps, (wanted_scale, expanded_scale, rounded, limited_scale, error,
                                                          better_scale))  # fmt: skip
def searched_scale(
    scale: int, values: Sequence[Value], fmt: BlockFormat, profile: Profile, policy: Policy, words: Sequence[int],
    tensor_scale: Value,
) -> int:  # fmt: skip
    """The code of the scale with the smaller error: the rule's, or that of the largest element 4. The rule's for blocks
    with a NaN or Inf, and of zeros."""
    return searched_in_steps(PLAIN, scale, values, fmt, profile, policy, words, tensor_scale)
