"""The kernels of fake quantization on a device, in Triton: integers only, as the scalar model computes.

Formats, limits and the rounding decision are constants of a kernel, from device_plans.py. A number is a significand
times a power of two, in 64 bits; bits are those of FP32. This module needs triton: devices.py imports it where it is
used.
"""

from __future__ import annotations

from typing import Final

import triton
import triton.language as tl

INF: Final = tl.constexpr(0x7F800000)
LARGEST: Final = tl.constexpr(0x7F7FFFFF)
NAN: Final = tl.constexpr(0x7FC00000)
EXACT: Final = tl.constexpr(0)  # kinds of arithmetic, as device_plans.ARITHMETIC
RECIPROCAL: Final = tl.constexpr(1)
DIVISION: Final = tl.constexpr(2)
INVERSE: Final = tl.constexpr(3)
QUOTIENT_BITS: Final = tl.constexpr(37)  # by which a dividend of 24 bits is made longer: 61 bits, see `rounded`
DROP_GIVEN: Final = tl.constexpr(1)  # signs of zeros, as device_plans.SIGNS
SET_GIVEN: Final = tl.constexpr(2)


@triton.jit
def length(x: tl.tensor) -> tl.tensor:
    """The number of bits of an integer that is not negative."""
    count = tl.zeros_like(x)
    for i in tl.static_range(6):
        high = x >> (32 >> i)
        count = tl.where(high > 0, count + (32 >> i), count)
        x = tl.where(high > 0, high, x)
    return count + x


@triton.jit
def number(code: tl.tensor, fmt: tl.constexpr) -> tl.tensor:
    """The significand and the exponent of a magnitude's code, in a format with subnormals."""
    field = code >> fmt.mantissa_bits
    fraction = code & ((1 << fmt.mantissa_bits) - 1)
    significand = tl.where(field > 0, fraction + (1 << fmt.mantissa_bits), fraction)
    return significand, tl.maximum(field, 1) - 1 + (fmt.emin - fmt.mantissa_bits)


@triton.jit
def rounded(
    negative: tl.tensor, significand: tl.tensor, exponent: tl.tensor, sticky: tl.tensor, fmt: tl.constexpr
) -> tl.tensor:
    """The magnitude's code of a number, as if the exponent had no upper limit. The significand has 61 bits at most, so
    that a shift by 62 stands for longer ones. sticky: 1 if the true number is a little larger; the significand then has
    at least two bits more than the format."""
    shift = tl.maximum(length(significand) - 1, fmt.emin - exponent) - fmt.mantissa_bits
    right = tl.minimum(tl.maximum(shift, 0), 62)
    truncated = (significand >> right) << tl.maximum(-shift, 0)
    rest = significand & ((1 << right) - 1)
    half = (1 << right) >> 1
    guard = ((rest >= half) & (right > 0)).to(tl.int64)
    low = ((rest - guard * half) | sticky) != 0
    case = negative * 8 + (truncated & 1) * 4 + guard * 2 + low.to(tl.int64)
    up = ((tl.zeros_like(case) + fmt.decisions) >> case) & 1
    code = ((exponent + shift + (fmt.mantissa_bits - fmt.emin)) << fmt.mantissa_bits) + truncated + up
    return tl.where(significand > 0, code, 0)


@triton.jit
def single(significand: tl.tensor, exponent: tl.tensor, sticky: tl.tensor, fp32: tl.constexpr) -> tl.tensor:
    """The bits of a positive number as FP32 rounds it; Inf beyond its largest."""
    bits = rounded(tl.zeros_like(significand), significand, exponent, sticky, fp32)
    return tl.minimum(bits, INF)


@triton.jit
def quotient(significand: tl.tensor, exponent: tl.tensor, divisor: tl.tensor, divisor_exponent: tl.tensor) -> tl.tensor:
    """A quotient cut off, and whether it is inexact. The dividend has at most 24 bits, the divisor at most 48."""
    more = 24 - length(significand) + QUOTIENT_BITS
    wide = significand << more
    by = tl.maximum(divisor, 1)
    result = wide // by
    return result, exponent - more - divisor_exponent, (wide - result * by != 0).to(tl.int64)


@triton.jit
def instead(code: tl.tensor, word: tl.tensor, where: tl.tensor, result: tl.constexpr) -> tl.tensor:
    """The code and the bits, replaced by a device_plans.Result somewhere."""
    none = tl.zeros_like(code)
    return tl.where(where, none + result.code, code), tl.where(where, none + result.bits, word)


@triton.jit
def limited(negative: tl.tensor, code: tl.tensor, is_inf: tl.tensor, is_nan: tl.tensor, to: tl.constexpr) -> tl.tensor:
    """The code of a magnitude and the sign after overflow and specials, and the bits of results that are no numbers
    (-1: the result is one). to: a device_plans.Elements."""
    minus, none = negative != 0, tl.zeros_like(code)
    over, word = code > tl.where(minus, none + to.limit_negative, none + to.limit_positive), none - 1
    code, word = instead(code, word, over & minus, to.beyond_negative)
    code, word = instead(code, word, over & (negative == 0), to.beyond_positive)
    code, word = instead(code, word, is_inf & minus, to.inf_negative)
    code, word = instead(code, word, is_inf & (negative == 0), to.inf_positive)
    code, word = instead(code, word, is_nan, to.nan)
    negative = tl.where(is_nan, 0, negative)
    return code, (negative if to.negative_zero else tl.where(code > 0, negative, 0)), word


@triton.jit
def stored(bits: tl.tensor, out: tl.constexpr, fp32: tl.constexpr) -> tl.tensor:
    """FP32's bits as those of the result's type, to nearest even."""
    result = bits
    if out.mantissa_bits < fp32.mantissa_bits:
        negative, magnitude = bits >> 31, bits & 0x7FFFFFFF
        significand, exponent = number(magnitude, fp32)
        code = rounded(negative, significand, exponent, tl.zeros_like(bits), out)
        code = tl.where(magnitude >= INF, out.inf, tl.minimum(code, out.inf)) | (negative << out.sign)
        result = tl.where(magnitude > INF, out.nan, code)
    return result


@triton.jit(do_not_specialize=["count"])
def quantize_values(x: tl.tensor, y: tl.tensor, count: tl.tensor, plan: tl.constexpr, SPAN: tl.constexpr) -> None:  # noqa: N803
    """Bits of floats to the bits of their values in a scalar format. plan: a device_plans.ScalarPlan."""
    at = tl.program_id(0).to(tl.int64) * SPAN + tl.arange(0, SPAN)
    bits = tl.load(x + at, mask=at < count, other=0).to(tl.int64)
    negative, magnitude = (bits >> plan.source.sign) & 1, bits & plan.source.magnitude
    significand, exponent = number(magnitude, plan.source)
    if plan.flush:
        significand = tl.where(magnitude >> plan.source.mantissa_bits > 0, significand, 0)
    code = rounded(negative, significand, exponent, tl.zeros_like(bits), plan.element)
    inf = plan.source.inf
    code, negative, word = limited(negative, code, magnitude == inf, magnitude > inf, plan.element)
    significand, exponent = number(code, plan.element)
    value = single(significand, exponent, tl.zeros_like(code), plan.fp32) | negative << 31
    result = stored(tl.where(word >= 0, word, value), plan.source, plan.fp32)
    tl.store(y + at, result.to(y.dtype.element_ty), mask=at < count)


# -- blocks ------------------------------------------------------------------------------------------------------------


@triton.jit
def wanted(
    significand: tl.tensor, exponent: tl.tensor, second: tl.tensor, second_exponent: tl.tensor, plan: tl.constexpr
) -> tl.tensor:
    """The number that is rounded to the scale: the largest magnitude over that of the elements and the tensor's scale,
    exact (cut off, with a sticky bit) or in steps of FP32."""
    none, top = tl.zeros_like(significand), (tl.zeros_like(significand) + plan.top)
    if plan.arithmetic == EXACT:
        return quotient(significand, exponent, top * second, plan.top_exponent + second_exponent)
    if plan.arithmetic == DIVISION:
        by = single(top * second, none + plan.top_exponent + second_exponent, none, plan.fp32)
        divisor, divisor_exponent = number(by, plan.fp32)
        result, low, sticky = quotient(significand, exponent, divisor, divisor_exponent)
        bits = tl.where(by < INF, single(result, low, sticky, plan.fp32), 0)
    else:
        result, low, sticky = quotient(significand, exponent, top, plan.top_exponent)
        first, first_exponent = number(single(result, low, sticky, plan.fp32), plan.fp32)
        if plan.arithmetic == RECIPROCAL:
            result, low, sticky = quotient(first, first_exponent, none + second, second_exponent)
            bits = single(result, low, sticky, plan.fp32)
        else:
            bits = single(first * second, first_exponent + second_exponent, none, plan.fp32)
    significand, exponent = number(bits, plan.fp32)
    return significand, exponent, none


@triton.jit
def scale_codes(
    largest: tl.tensor, table: tl.tensor, second: tl.tensor, second_exponent: tl.tensor, plan: tl.constexpr
) -> tl.tensor:
    """The codes of scales for the largest finite magnitudes of blocks (codes of the source)."""
    significand, exponent = number(largest, plan.source)
    if plan.by_table:
        bits = single(significand, exponent, tl.zeros_like(largest), plan.fp32)
        entry = tl.load(table + (bits >> plan.fp32.mantissa_bits)).to(tl.int64) & 0xFFFFFFFF
        fraction = bits & ((1 << plan.fp32.mantissa_bits) - 1)
        turns = fraction >= (entry & ((1 << plan.table_bits) - 1))
        code = (entry >> plan.table_bits) + turns.to(tl.int64)
    else:
        significand, exponent, sticky = wanted(significand, exponent, second, second_exponent, plan)
        code = rounded(tl.zeros_like(largest), significand, exponent, sticky, plan.scale)
        code = tl.minimum(code, plan.scale_limit)
        code = tl.where(code == 0, plan.instead_of_zero, tl.maximum(code, plan.lowest))
        if plan.arithmetic >= DIVISION:
            code = tl.where(significand == 0, plan.zero_scale, code)
    return tl.where(largest == 0, plan.zero_scale, code)


@triton.jit
def factors(code: tl.tensor, second: tl.tensor, second_exponent: tl.tensor, plan: tl.constexpr) -> tl.tensor:
    """What elements are multiplied by: a number, and whether it is Inf."""
    none, is_inf = tl.zeros_like(code), code < 0
    if plan.by_table:  # powers of two, without a tensor's scale
        significand, exponent = none + 1, code + plan.scale.emin
    else:
        significand, exponent = number(code, plan.scale)
        result, low, sticky = significand * second, exponent + second_exponent, none
        if plan.arithmetic == INVERSE:
            result, low, sticky = quotient(significand, exponent, none + second, second_exponent)
        if plan.arithmetic >= DIVISION:
            bits = single(result, low, sticky, plan.fp32)
            result, low = number(bits, plan.fp32)
            is_inf = bits >= INF
        significand, exponent = result, low
    return significand, exponent, is_inf


@triton.jit
def reciprocal(code: tl.tensor, second: tl.tensor, second_exponent: tl.tensor, plan: tl.constexpr) -> tl.tensor:
    """1 over the tensor's scale, over a block's, each as FP32 rounds it: a number, and whether it is Inf."""
    one = tl.zeros_like(code) + 1
    result, low, sticky = quotient(one, one - 1, one * second, second_exponent)
    first = single(result, low, sticky, plan.fp32)
    significand, exponent = number(first, plan.fp32)
    scale, scale_exponent = number(code, plan.scale)
    result, low, sticky = quotient(significand, exponent, scale, scale_exponent)
    bits = single(result, low, sticky, plan.fp32)
    significand, exponent = number(bits, plan.fp32)
    return significand, exponent, (bits >= INF) | (first >= INF)


@triton.jit
def divided(
    significand: tl.tensor,
    exponent: tl.tensor,
    code: tl.tensor,
    factor: tl.tensor,
    factor_exponent: tl.tensor,
    second: tl.tensor,
    second_exponent: tl.tensor,
    plan: tl.constexpr,
) -> tl.tensor:
    """Finite values over their blocks' factors, exact (cut off, with a sticky bit) or as FP32 rounds it: the number,
    and the bits of FP32's result (of exact quotients, 0)."""
    none = tl.zeros_like(significand)
    result, low, sticky, bits = significand, exponent - factor_exponent, none, none
    if plan.arithmetic == RECIPROCAL:
        by, by_exponent, is_inf = reciprocal(code, second, second_exponent, plan)
        bits = single(significand * by, exponent + by_exponent, none, plan.fp32)
        bits = tl.where(is_inf, tl.where(significand > 0, none + INF, none + NAN), bits)
        result, low = number(bits, plan.fp32)
    elif plan.arithmetic != EXACT:
        result, low, sticky = quotient(significand, exponent, factor + none, factor_exponent + none)
        bits = single(result, low, sticky, plan.fp32)
        bits = tl.where(factor > 0, bits, tl.where(significand > 0, none + INF, none + NAN))
        result, low = number(bits, plan.fp32)
        sticky = none
    elif not plan.by_table:
        result, low, sticky = quotient(significand, exponent, factor + none, factor_exponent + none)
        result, sticky = tl.where(factor > 0, result, 0), tl.where(factor > 0, sticky, 0)
    return result, low, sticky, bits


@triton.jit(do_not_specialize=["blocks", "second", "second_exponent"])
def quantize_blocks(
    x: tl.tensor,
    y: tl.tensor,
    table: tl.tensor,
    blocks: tl.tensor,
    second: tl.tensor,
    second_exponent: tl.tensor,
    plan: tl.constexpr,
    TOGETHER: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
) -> None:
    """Bits of floats (blocks, size) to the bits of their values in a block format. plan: a device_plans.BlockPlan;
    table: the scales of power-of-two rules; second: the tensor's scale. WIDTH: a power of two, at least the size."""
    row = tl.program_id(0).to(tl.int64) * TOGETHER + tl.arange(0, TOGETHER)
    column = tl.arange(0, WIDTH)
    at = row[:, None] * plan.size + column[None, :]
    own = (row < blocks)[:, None] & (column < plan.size)[None, :]
    bits = tl.load(x + at, mask=own, other=0).to(tl.int64)
    negative, magnitude = (bits >> plan.source.sign) & 1, bits & plan.source.magnitude
    none, inf = tl.zeros_like(bits), plan.source.inf
    if plan.flush:
        magnitude = tl.where(magnitude >> plan.source.mantissa_bits > 0, magnitude, 0)
    # the scales
    has_nan = tl.max((magnitude > inf).to(tl.int64), axis=1)[:, None] > 0
    has_inf = tl.max((magnitude == inf).to(tl.int64), axis=1)[:, None] > 0
    largest = tl.max(tl.where(magnitude < inf, magnitude, 0), axis=1)[:, None]
    second, second_exponent = tl.zeros_like(largest) + second, tl.zeros_like(largest) + second_exponent
    code = scale_codes(largest, table, second, second_exponent, plan)
    if plan.inf_is_largest:
        code = tl.where(has_inf, plan.scale_limit, code)
    else:
        has_nan = has_nan | has_inf
    has_nan = has_nan | (code == plan.scale_nan)
    code = tl.where(has_nan, plan.zero_scale, code)
    factor, factor_exponent, factor_is_inf = factors(code, second, second_exponent, plan)
    # the elements
    significand, exponent = number(tl.where(magnitude < inf, magnitude, 0), plan.source)
    result, low, sticky, word = divided(
        significand, exponent, code, factor, factor_exponent, second, second_exponent, plan
    )
    is_inf = magnitude == inf
    is_nan = (word > INF) | (is_inf & factor_is_inf)
    is_inf = is_inf | (word == INF)
    result = tl.where(factor_is_inf, 0, result)
    zero = (significand == 0) & (magnitude != inf)
    if plan.arithmetic >= DIVISION:
        zero = zero | ((result == 0) & (is_inf == 0))
    if plan.scale_has_zero:
        nothing = (code == 0) + none > 0
        is_inf, is_nan = is_inf & (nothing == 0), is_nan & (nothing == 0)
        result = tl.where(nothing, 0, result)
        zero = tl.where(nothing, significand == 0, zero)
    if plan.signs == DROP_GIVEN:
        negative = tl.where(zero, 0, negative)
    if plan.signs == SET_GIVEN:
        negative = tl.where(zero, 1, negative)
    element = rounded(negative, result, low, sticky, plan.element)
    element, negative, word = limited(negative, element, is_inf, is_nan, plan.element)
    # the values
    significand, exponent = number(element, plan.element)
    value = rounded(none, significand * factor, exponent + factor_exponent, none, plan.fp32)
    value = tl.where(value > LARGEST, plan.overflow, value)
    value = tl.where(factor_is_inf, tl.where(element == 0, NAN, INF), value) | negative << 31
    value = tl.where(word >= 0, word, value)
    value = tl.where(has_nan, NAN, value)
    tl.store(y + at, stored(value, plan.source, plan.fp32).to(y.dtype.element_ty), mask=own)
