"""The compiled loops of blocks with scales of any format: float32 bits to scales, and quotients to elements.

A quotient is a float64 on the same side of every value and midpoint of the target as the exact quotient: a and b of few
bits differ from each other by more than the rounding error of a float64 (`divided.plan` counts the bits). It is then
rounded to odd in float32, and the conversions of kernels/convert.py and kernels/nearest.py make the codes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels import convert, nearest
from softfloat_ref.arrays.kernels.block_loops import larger, largest_of_blocks, repeat, rows_together
from softfloat_ref.arrays.kernels.convert import I32, U32, U64
from softfloat_ref.arrays.kernels.jit import compiled, double, double_bits, single, single_bits
from softfloat_ref.arrays.kernels.nearest import FRACTION, HIDDEN, INF, MAGNITUDE, SIGN
from softfloat_ref.arrays.kernels.plans import (
    BY_QUOTIENT,
    BY_RECIPROCAL,
    DIVIDE,
    DIVISION,
    DROP,
    DROP_ALL,
    DROP_GIVEN,
    FLUSH,
    IN_FP32,
    INSTEAD,
    INVERSE,
    KIND,
    LOWEST,
    NAN_CODE,
    NAN_SCALE,
    NEGATE,
    POWER,
    RANGE,
    RECIPROCAL,
    SET_GIVEN,
    SHIFT,
    ZERO_SCALE,
)

F32: Final = np.float32
F64: Final = np.float64
PART: Final = 1024  # values, or blocks, at a time: the temporaries stay in the first cache
MANY: Final = 1 << 14  # values whose scales are found together
DROPPED: Final = 9  # bits of a float64 that rounding to 44 bits drops: the error of a product with a reciprocal
_HALF: Final = U64(1 << (DROPPED - 1))
_LOWER: Final = U64((1 << 29) - 1)  # the bits that float64 has and float32 lacks
_BELOW: Final = U64((1 << 29) - (1 << DROPPED))
_ABOVE: Final = U64((1 << 64) - (1 << 29))
_ODD: Final = U64(1 << 29)
_EXPANSION: Final = F32(1.5)  # of a scale under which the largest element is 4, and not 6
_LARGEST: Final = F32(np.finfo(np.float32).max)
LOW: Final = F64(2.0**-RANGE)  # nonzero quotients below it round like it, those beyond 1 / LOW like that
SUBNORMAL: Final = I32(1023 - 149)  # float64's exponent field of the smallest float32
DIVISOR, SECOND, FIRST, DECODE, AMAX, REACH = range(6)  # fields of a divided.DividedPlan's `factors`
NEGATIVE_ZERO: Final = convert.Plain._fields.index("zero")
MASK: Final = convert.Plain._fields.index("mask")


@compiled(forceinline=True)
def _odd(quotient: Any) -> Any:
    """A float64 as the bits of float32, rounded to odd: truncated, and the last bit set if inexact. The
    lowest bits, in which the quotient may be wrong, are rounded away first; this restores exact quotients."""
    bits = U64(double_bits(quotient) + _HALF)
    return single_bits(F32(double((bits & _ABOVE) | (_ODD if (bits & _BELOW) != U64(0) else U64(0)))))


@compiled(forceinline=True)
def _limited(quotient: Any) -> Any:
    """A quotient within float32's normal range, but for zeros."""
    magnitude = abs(quotient)
    within = min(max(magnitude, LOW), 1.0 / LOW) if magnitude > 0.0 else magnitude
    return -within if quotient < 0.0 else (within if magnitude > 0.0 else quotient)


@compiled(error_model="numpy")
def _steps(largest: Any, count: int, factors: Any, rules: Any, wide: Any) -> None:
    """What rounds to the scales: the largest magnitudes over the divisor, in one step, or in one or two of FP32."""
    values = largest.view(np.float32)
    if rules[KIND] == RECIPROCAL:
        for b in range(count):
            first = F32(F64(values[b]) / factors[FIRST])
            wide[b] = F64(F32(F64(first) / factors[SECOND]))
    elif rules[KIND] == DIVISION:
        for b in range(count):
            wide[b] = F64(F32(values[b] / F32(factors[DIVISOR])))
    elif rules[KIND] == INVERSE:
        for b in range(count):
            wide[b] = F64(F32(F32(values[b] / F32(factors[FIRST])) * F32(factors[SECOND])))
    else:
        for b in range(count):
            wide[b] = F64(values[b]) / factors[DIVISOR]


@compiled()
def _powers(largest: Any, count: int, powers: Any, codes: Any) -> None:
    """Scales by the exponent of the largest magnitude, and on which side of a threshold its fraction is. As a float64,
    a subnormal has an exponent of its own."""
    for b in range(count):
        bits = double_bits(F64(single(largest[b])))
        row = max(I32(bits >> U64(52)) - SUBNORMAL, I32(0))  # zeros, too, which have another scale in the end
        fraction = U32((bits >> U64(29)) & U64(FRACTION))
        codes[b] = powers[row, 1] if fraction < powers[row, 0] else powers[row, 2]


@compiled(forceinline=True, error_model="numpy")
def _inverse(scale: Any, factors: Any, rules: Any) -> Any:
    """What elements are multiplied by, or divided by if the rules say so; Inf or NaN if the oracle has to see to it."""
    if rules[KIND] == RECIPROCAL:
        factor, inverse = scale, F64(F32(factors[DIVISOR] / scale))
    else:
        factor = scale * factors[SECOND]
        inverse = factor if rules[DIVIDE] else 1.0 / factor
    inverse = inverse if np.isfinite(factor) else factor
    return 0.0 if factor == 0.0 else inverse


@compiled(forceinline=True, error_model="numpy")
def _divisor(scale: Any, factors: Any, rules: Any) -> Any:
    """What elements are divided by in FP32; Inf if that is zero but the scale is not, or is Inf. By amax: what they are
    multiplied by."""
    if rules[IN_FP32] == BY_RECIPROCAL:
        return F64(min(F32(1) / F32(F32(scale) * F32(factors[DECODE])), _LARGEST))
    second = F32(factors[SECOND])
    divisor = F32(F32(scale) / second) if rules[IN_FP32] == BY_QUOTIENT else F32(F32(scale) * second)
    return F64(divisor) if divisor != F32(0) or scale == 0.0 else F64(np.inf)


@compiled(error_model="numpy")
def find_scales(
    largest: Any, count: int, rules: Any, factors: Any, rounded: Any, powers: Any, values: Any, expanded: bool,
    codes: Any, wide: Any, inverse: Any, redo: Any,
) -> None:  # fmt: skip
    """Scale codes of blocks from their largest magnitudes, and what to multiply (or divide) their elements by.
    expanded: the other scale of a search.

    inverse: NaN for blocks that become NaN, 0 under a scale of zero. redo: set for blocks that are left to the oracle.
    codes (uint32), wide (float64): room for `count` numbers; the scale codes end up in `codes`.
    """
    flush, nan_scale = rules[FLUSH] != 0, rules[NAN_SCALE]
    for b in range(count):
        redo[b] = U32(largest[b]) >= INF
        largest[b] = U32(0) if redo[b] or (flush and largest[b] < HIDDEN) else largest[b]
    if rules[KIND] == POWER:
        _powers(largest, count, powers, codes)
    else:
        _steps(largest, count, factors, rules, wide)
        for b in range(count if expanded else 0):
            wide[b] = F64(F32(F32(wide[b]) * _EXPANSION))
        convert.plain_codes64(wide[:count].view(np.uint64), codes[:count], convert.plain(rounded))
    lowest, zero_scale, instead = U32(rules[LOWEST]), U32(rules[ZERO_SCALE]), U32(rules[INSTEAD])
    steps = rules[KIND] == DIVISION or rules[KIND] == INVERSE
    for b in range(count):
        scale = instead if codes[b] == U32(0) else max(codes[b], lowest)
        codes[b] = zero_scale if largest[b] == U32(0) or (steps and wide[b] == 0.0) else scale
        largest[b] = U32(codes[b] << U32(rules[SHIFT]))
    bits = largest.view(np.float32)
    for b in range(count):
        wide[b] = values[codes[b]] if values.size else F64(bits[b])
    for b in range(count):
        inverse[b] = _divisor(wide[b], factors, rules) if rules[IN_FP32] else _inverse(wide[b], factors, rules)
        odd = redo[b] != 0
        redo[b] = odd or not np.isfinite(inverse[b])
        if odd and nan_scale >= 0:
            codes[b], inverse[b], redo[b] = U32(nan_scale), np.nan, 0


@compiled(nogil=True)
def scales_of_rows(
    x: Any, size: int, rules: Any, factors: Any, rounded: Any, powers: Any, values: Any, scales: Any,
    inverse: Any, redo: Any,
) -> None:  # fmt: skip
    """The scales of x (rows, length) in blocks of `size`; scales, inverse, redo: (rows, blocks), see `find_scales`."""
    step = max(min(PART, MANY // size), 1)  # blocks at a time
    largest, codes, wide = np.empty(step, np.uint32), np.empty(step, np.uint32), np.empty(step, np.float64)
    for row in range(x.shape[0]):
        for early in range(0, scales.shape[1], step):
            late = min(early + step, scales.shape[1])
            largest_of_blocks(x[row, early * size : min(late * size, x.shape[1])], size, largest)
            own, marks = inverse[row, early:late], redo[row, early:late]
            find_scales(largest, late - early, rules, factors, rounded, powers, values, False, codes, wide, own, marks)
            for b in range(late - early):
                scales[row, early + b] = codes[b]


@compiled(nogil=True)
def scales_of_columns(
    x: Any, size: int, rules: Any, factors: Any, rounded: Any, powers: Any, values: Any, scales: Any,
    inverse: Any, redo: Any,
) -> None:  # fmt: skip
    """As scales_of_rows, for x (outer, length, columns) in blocks along the middle axis; the others: (outer, blocks,
    columns). The blocks of narrow arrays are taken together."""
    blocks, columns = scales.shape[1], x.shape[2]
    together, cells = max(PART // max(columns, 1), 1), x.shape[0] * blocks
    codes, inverses, marks = scales.reshape(-1), inverse.reshape(-1), redo.reshape(-1)
    largest, block_codes, wide = np.empty(PART, np.uint32), np.empty(PART, np.uint32), np.empty(PART, np.float64)
    for first in range(0, cells, together):
        last = min(first + together, cells)
        for left in range(0, columns, PART):
            width = min(PART, columns - left)
            largest[: (last - first) * width] = 0
            for cell in range(first, last):
                own, block = largest[(cell - first) * width : (cell - first + 1) * width], cell % blocks
                for k in range(block * size, min((block + 1) * size, x.shape[1])):
                    larger(x[cell // blocks, k, left : left + width], own)
            begin, end = first * columns + left, (last - 1) * columns + left + width
            find_scales(
                largest, end - begin, rules, factors, rounded, powers, values, False, block_codes, wide,
                inverses[begin:end], marks[begin:end],
            )  # fmt: skip
            for i in range(end - begin):
                codes[begin + i] = block_codes[i]


@compiled(nogil=True)
def largest_finite(x: Any) -> Any:
    """The largest finite magnitude of float32 bits."""
    largest = U32(0)
    for i in range(x.size):
        magnitude = U32(x[i] & MAGNITUDE)
        largest = max(largest, U32(0) if magnitude >= INF else magnitude)
    return largest


# -- elements --------------------------------------------------------------------------------------------------------


@compiled()
def _multiplied(x: Any, inverse: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = _odd(F64(single(x[i])) * inverse[i])


@compiled()
def _multiplied_within(x: Any, inverse: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = _odd(_limited(F64(single(x[i])) * inverse[i]))


@compiled(error_model="numpy")
def _divided_within(x: Any, divisors: Any, out: Any) -> None:
    """Here nothing may be dropped; what _odd adds is taken away again."""
    for i in range(x.size):
        value, divisor = F64(single(x[i])), divisors[i]
        quotient = _limited(value / divisor if divisor != 0.0 else value * 0.0)
        bits = U64(double_bits(quotient))
        odd = _ODD if (bits & _LOWER) != U64(0) else U64(0)
        out[i] = single_bits(F32(double((bits & _ABOVE) | odd)))


@compiled()
def _steps_of_fp32(x: Any, reciprocals: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = single_bits(F32(single(x[i]) * F32(reciprocals[i])))


@compiled(error_model="numpy")
def _divided_in_fp32(x: Any, divisors: Any, drop: int, out: Any) -> None:
    """Quotients of FP32. Values that are zeros, and quotients that round to them, have the sign that `drop` says."""
    signs = U32(0) if drop == DROP_GIVEN else SIGN
    negative = SIGN if drop == SET_GIVEN else U32(0)
    for i in range(x.size):
        divisor = F32(divisors[i])
        quotient = single_bits(F32(single(x[i]) / divisor))
        none = divisor == F32(0)  # under a scale of zero, numbers keep their sign
        bits = U32(x[i] & SIGN) if none else quotient
        zero = U32((x[i] if none else quotient) & MAGNITUDE) == U32(0)
        out[i] = U32(U32(bits & signs) | negative) if zero else bits


@compiled()
def _multiplied_in_fp32(x: Any, reciprocals: Any, drop: int, out: Any) -> None:
    """The same for products with reciprocals, which are not zero where the scale is."""
    signs = U32(0) if drop == DROP_GIVEN else SIGN
    negative = SIGN if drop == SET_GIVEN else U32(0)
    for i in range(x.size):
        bits = single_bits(F32(single(x[i]) * F32(reciprocals[i])))
        out[i] = U32(U32(bits & signs) | negative) if U32(bits & MAGNITUDE) == U32(0) else bits


@compiled()
def _kept(x: Any, rules: Any, out: Any) -> None:
    """The values, without those that are flushed and without the signs that are dropped."""
    least = HIDDEN if rules[FLUSH] else U32(1)
    signs = U32(0) if rules[DROP] == DROP_GIVEN else SIGN
    for i in range(x.size):
        out[i] = U32(x[i] & signs) if U32(x[i] & MAGNITUDE) < least else x[i]


@compiled()
def _quotients(x: Any, inverse: Any, rules: Any, exact: bool, out: Any) -> None:
    """The quotients of float32 bits, as bits of float32 that round like them. exact: also those far below the target's
    subnormals, which round to nearest like zero."""
    if rules[KIND] == RECIPROCAL:
        _steps_of_fp32(x, inverse, out)
    elif rules[IN_FP32] == BY_RECIPROCAL:
        _multiplied_in_fp32(x, inverse, rules[DROP], out)
    elif rules[IN_FP32]:
        _divided_in_fp32(x, inverse, rules[DROP], out)
    elif rules[DIVIDE]:
        _divided_within(x, inverse, out)
    elif exact:
        _multiplied_within(x, inverse, out)
    else:
        _multiplied(x, inverse, out)


@compiled()
def _nearest(bits: Any, numbers: Any, negate: Any, mask: Any, out: Any) -> None:
    """Codes of finite float32 bits; negate: -x is ~x + 1, cut to `mask`."""
    p = nearest.unpacked(numbers)
    least = I32(p.least)
    if negate:
        for i in range(out.size):
            code = nearest.magnitude_code(bits[i], least, p)
            negative = U32(bits[i] >> U32(31))
            out[i] = U32(U32(U32((p.beyond if code > p.limit else code) ^ U32(U32(0) - negative)) + negative) & mask)
        return
    for i in range(out.size):
        code = nearest.magnitude_code(bits[i], least, p)
        out[i] = nearest.signed(p.beyond if code > p.limit else code, bits[i], p)


@compiled()
def _codes(bits: Any, plain: Any, near: Any, negate: Any, words: Any, mode: int, n: int, out: Any) -> None:
    if words.size:
        convert.stochastic_codes32(bits[: out.size], words, out, convert.plain(plain), mode, n)
    elif near.size:
        _nearest(bits, near, negate, U32(plain[MASK]), out)
    else:
        convert.plain_codes32(bits[: out.size], out, convert.plain(plain))


@compiled()
def part_codes(
    x: Any, inverse: Any, special: bool, rules: Any, plain: Any, near: Any, words: Any, mode: int, n: int, cleaned: Any,
    odd: Any, out: Any,
) -> None:  # fmt: skip
    """Codes of up to PART values, each with its own inverse. special: whether some inverse is NaN. kept, odd: room for
    as many uint32."""
    if rules[FLUSH] or rules[DROP] == DROP_GIVEN:
        _kept(x, rules, cleaned)
        _quotients(cleaned[: x.size], inverse, rules, words.size > 0 or near.size == 0, odd)
    else:
        _quotients(x, inverse, rules, words.size > 0 or near.size == 0, odd)
    _codes(odd, plain, near, rules[NEGATE], words, mode, n, out)
    if rules[DROP] == DROP_ALL:
        for i in range(out.size):
            out[i] = 0 if out[i] == plain[NEGATIVE_ZERO] else out[i]
    for i in range(x.size if special else 0):
        out[i] = rules[NAN_CODE] if inverse[i] != inverse[i] else out[i]


@compiled()
def spread_blocks(inverse: Any, size: int, begin: int, end: int, spread: Any) -> bool:
    """The inverse of each value from `begin` to `end`; returns whether one is NaN."""
    special, block = False, begin // size
    at = block * size - begin
    while at < end - begin:
        own = inverse[block]
        special |= own != own
        spread[max(at, 0) : at + size] = own  # may exceed `end`, but not the array
        block, at = block + 1, at + size
    return special


@compiled(nogil=True)
def elements_of_rows(
    x: Any, size: int, inverse: Any, rules: Any, plain: Any, near: Any, words: Any, mode: int, n: int, codes: Any
) -> None:
    """The codes of x (rows, length) in blocks of `size` along the rows. inverse: (rows, blocks), see `find_scales`.

    plain, near: the fields of convert.Plain and of nearest.Nearest, the latter empty if it does not apply. words:
    (rows, length) random words of n bits for the rounding `mode`, or empty.
    """
    cleaned, odd, spread = np.empty(PART, np.uint32), np.empty(PART, np.uint32), np.empty(PART, np.float64)
    for row in range(x.shape[0]):
        for begin in range(0, x.shape[1], PART):
            end = min(begin + PART, x.shape[1])
            special = spread_blocks(inverse[row], size, begin, end, spread)
            drawn = words[row, begin:end] if words.size else words[0]
            values, elements = x[row, begin:end], codes[row, begin:end]
            part_codes(values, spread, special, rules, plain, near, drawn, mode, n, cleaned, odd, elements)


@compiled(nogil=True)
def elements_of_columns(
    x: Any, size: int, inverse: Any, rules: Any, plain: Any, near: Any, words: Any, mode: int, n: int, codes: Any
) -> None:
    """As elements_of_rows, for (outer, length, columns) with blocks along the middle axis; inverse: (outer, blocks,
    columns). As many rows of a block as fit are taken together."""
    cleaned, odd, spread = np.empty(PART, np.uint32), np.empty(PART, np.uint32), np.empty(PART, np.float64)
    columns = x.shape[2]
    together = rows_together(columns, size)
    for outer in range(x.shape[0]):
        values, out = x[outer].reshape(-1), codes[outer].reshape(-1)
        drawn = words[outer if words.size else 0].reshape(-1)
        for block in range(inverse.shape[1]):
            first, last = block * size, min((block + 1) * size, x.shape[1])
            for left in range(0, columns, PART):
                width = min(PART, columns - left)
                own, special = inverse[outer, block, left : left + width], False
                for c in range(width):
                    special |= own[c] != own[c]
                spread[:width] = own
                repeat(spread, width, min(together, last - first))
                for k in range(first, last, together):
                    part = slice(k * columns + left, (min(k + together, last) - 1) * columns + left + width)
                    some, coded = drawn[part] if words.size else drawn, out[part]
                    part_codes(values[part], spread, special, rules, plain, near, some, mode, n, cleaned, odd, coded)
