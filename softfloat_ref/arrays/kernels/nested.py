"""The compiled loop of dot products on units that add in two levels and round twice: AMD's CDNA3.

A step adds its products in one or two aligned sums (groups), the two groups in a sum of their own, and then that sum
and the running result in another, whose value is rounded down first and then as the format asks:

    inner[group] = sum of the group's products       `_add`: 32-bit integers, cut at the group's largest product
    total = inner[0] + inner[1]                      `_of_products`
    total = total + running result                   `_with_running`
    running result = round(round down(total))        `_round`, then `_negative_zeros`

Numbers are pairs of an integer and the exponent of its unit, as in kernels/fused.py, for LANES columns side by side.
The inner sums have 32 bits so that a vector register of the processor has twice as many of them. Integers have no -0:
it is found from the operands' signs, where a running result was -0 and the sum is 0.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels import convert, plans
from softfloat_ref.arrays.kernels.convert import U32, U64, left, right
from softfloat_ref.arrays.kernels.fused import EMPTY, FP64, I32, LANES, add_product, load_running, padded
from softfloat_ref.arrays.kernels.jit import compiled, double, double_bits
from softfloat_ref.arrays.kernels.loops import align
from softfloat_ref.arrays.kernels.program import Nested, Program

Array = NDArray[Any]

_EMPTY: Final = EMPTY // 2  # an exponent below is that of an empty term
_NO_EXPONENT: Final = 4 * EMPTY  # of a sum without terms
_GROUPS: Final = 2
# The places in `setting`, an int64 array that Numba reads (Nested.numbers, then what `multiply` adds):
(
    INNER,  # bits below the largest product of a group, at which its products are cut
    BOTH,  # bits below the larger of the two groups, at which both are rounded down
    SUM,  # bits below the larger of the products' sum and the running result, at which the former is rounded down
    OWN,  # the same for the running result; not more than SUM
    DROP,  # binades below the larger one, from which on the running result counts as 0
    FLOOR,  # the least exponent of that alignment
    ALWAYS,  # whether the floor holds where both have an exponent, too
    SHIFT,  # what turns the unit of a product into its exponent
    SIGN,  # the result's sign bit
    NAN_CODE,  # the code of NaN; negative: the oracle is asked
    POSITIVE,  # whether the format has no -0
    SPARE,  # bits of float64's mantissa below the last place of the first rounding
    LEAST,  # float64's exponent field of the smallest normal number of the first rounding
) = range(13)


@compiled(forceinline=True)
def _add(products: Any, units: Any, cuts: Any, totals: Any) -> None:
    """Add one product of each lane, cut toward zero at the unit of its sum, in 32 bits. All of shape (LANES,)."""
    for lane in range(LANES):
        value, shift = products[lane], I32(cuts[lane] - units[lane])
        up, down = U32(min(max(I32(-shift), I32(0)), I32(31))), U32(min(max(shift, I32(0)), I32(31)))
        aligned = I32(right(left(U32(abs(value)), up), down))
        totals[lane] = I32(totals[lane] + (I32(-aligned) if value < 0 else aligned))


@compiled()
def _of_products(largest: Any, totals: Any, groups: int, setting: Any, sums: Any, tops: Any) -> None:
    """The sum of all products of each lane, and its exponent: that of the largest product; _NO_EXPONENT without one.

    largest, totals: (groups, LANES), the largest unit of each group's products and their sum. sums, tops: (LANES,), set
    here; the unit of a sum is its exponent less INNER, or less BOTH for two groups.
    """
    shift, bits, both = setting[SHIFT], setting[INNER], setting[BOTH]
    for lane in range(LANES):
        top = np.int64(largest[0, lane]) + shift if largest[0, lane] > _EMPTY else np.int64(_NO_EXPONENT)
        sums[lane], tops[lane] = np.int64(totals[0, lane]), top
    if groups == 1:
        return
    for lane in range(LANES):
        first, other = tops[lane], np.int64(_NO_EXPONENT)
        if largest[1, lane] > _EMPTY:
            other = np.int64(largest[1, lane]) + shift
        top = max(first, other)
        x, y = sums[lane], np.int64(totals[1, lane])
        x_aligned, _ = align(1 if x < 0 else 0, abs(x), first - bits, 62, top - both, 1)
        y_aligned, _ = align(1 if y < 0 else 0, abs(y), other - bits, 62, top - both, 1)
        sums[lane], tops[lane] = x_aligned + y_aligned, top


@compiled()
def _with_running(sums: Any, tops: Any, bits: int, values: Any, units: Any, m: int, setting: Any, cuts: Any) -> None:
    """Add the running results to the sums of the products, in place.

    sums, tops: of `_of_products`; bits: from a top down to a sum's unit. values, units: of the running results, 0 where
    they are not finite; m: bits from a unit up to the exponent. cuts: set to the units of the new sums. All (LANES,).
    """
    floor, always, most, own = setting[FLOOR], setting[ALWAYS], setting[SUM], setting[OWN]
    for lane in range(LANES):
        exponent = units[lane] + m if values[lane] else np.int64(_NO_EXPONENT)
        top = max(tops[lane], exponent)
        has_floor = always != 0 or tops[lane] == _NO_EXPONENT or exponent == _NO_EXPONENT
        top = max(top, floor) if has_floor else top
        top = np.int64(0) if top == _NO_EXPONENT else top
        x, y = sums[lane], values[lane] if exponent >= top - setting[DROP] else np.int64(0)
        x_aligned, _ = align(1 if x < 0 else 0, abs(x), tops[lane] - bits, 62, top - most, 1)
        y_aligned, _ = align(1 if y < 0 else 0, abs(y), units[lane], 62, top - own, 1)
        sums[lane], cuts[lane] = x_aligned + (y_aligned << (most - own)), top - most


@compiled()
def _round(
    totals: Any, cuts: Any, target: Any, setting: Any, inf_code: Any, wide: Any, codes: Any, running: Any
) -> None:
    """Round the sums down, and then to the target, in place of the running results that are finite.

    totals, cuts: integers and their units, which float64 holds exactly, so that the first rounding clears low bits of
    its code. wide, codes: (LANES,), overwritten. running: (LANES,), codes.
    """
    sign, positive, spare, least = setting[SIGN], setting[POSITIVE], setting[SPARE], setting[LEAST]
    for lane in range(LANES):
        exactly = np.float64(abs(totals[lane])) * double(U64(cuts[lane] + 1023) << U64(52))
        bits = double_bits(exactly)
        field = np.int64(bits >> U64(52))
        below = spare + max(least - field, np.int64(0))
        low = (U64(1) << U64(min(below, np.int64(52)))) - U64(1)
        bits = (bits + (low if totals[lane] < 0 else U64(0))) & ~low
        wide[lane] = bits if below <= 52 else U64(0)  # half a unit of the target is larger
    convert.plain_codes64(wide, codes, convert.plain(target))
    for lane in range(LANES):
        code = np.int64(codes[lane])
        negative = totals[lane] < 0 and not (positive and code == 0)
        finite = running[lane] & (sign - 1) < inf_code
        running[lane] = (code | sign if negative else code) if finite else running[lane]


@compiled()
def _negative_zeros(
    totals: Any, before: Any, a_signs: Any, b_signs: Any, start: int, step: int, j: int, sign: int, running: Any
) -> None:
    """Sums of zeros that are all negative are -0. before: the running results before the step, of which one is -0.
    start, j: the first product of the step and the first column."""
    for lane in range(LANES):
        if totals[lane] == 0 and before[lane] == sign:
            every = True
            for k in range(start, start + step):
                every &= a_signs[k] != b_signs[k, j + lane]
            running[lane] = sign if every else running[lane]


@compiled(nogil=True)
def nested_matrix(
    a: Any, a_units: Any, a_signs: Any, b: Any, b_units: Any, b_signs: Any, c: Any, group: Any, setting: Any,
    target: Any, result: Any, out: Any, special: Any,
) -> None:  # fmt: skip
    """out[i, j]: the code of c[i, j] + the products of a[i] and b[:, j], a step at a time.

    The matrices, `result` and `special` are as for `fused.fused_matrix`; a_signs, b_signs: in the shapes of a and b, 1
    where an operand is negative, zeros too. group: (products of a step,), 0 or 1, the inner sum that each is added to.
    setting: the numbers named above. target: of the second rounding, from float64.
    """
    step, groups, m = group.size, group.max() + 1, result[0]
    products, units = np.empty((step, LANES), np.int32), np.empty((step, LANES), np.int32)
    largest, inner = np.empty((_GROUPS, LANES), np.int32), np.empty((_GROUPS, LANES), np.int32)
    cuts32, cuts, tops = np.empty((_GROUPS, LANES), np.int32), np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    totals, running, before = np.empty(LANES, np.int64), np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    values, value_units = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    wide, codes = np.empty(LANES, np.uint64), np.empty(LANES, np.uint32)
    sign, nan, positive = setting[SIGN], setting[NAN_CODE], setting[POSITIVE]
    bits = setting[INNER] if groups == 1 else setting[BOTH]
    for j in range(0, b.shape[1], LANES):
        for i in range(a.shape[0]):
            running[:] = c[i, j : j + LANES]
            for start in range(0, a.shape[1], step):
                largest[:] = _NO_EXPONENT
                inner[:] = 0
                for p in range(step):
                    k = start + p
                    others, exponents = b[k, j : j + LANES], b_units[k, j : j + LANES]
                    add_product(a[i, k], a_units[i, k], others, exponents, products[p], units[p], largest[group[p]])
                for g in range(groups):
                    for lane in range(LANES):
                        cuts32[g, lane] = I32(largest[g, lane] + setting[SHIFT] - setting[INNER])
                for p in range(step):
                    _add(products[p], units[p], cuts32[group[p]], inner[group[p]])
                _of_products(largest, inner, groups, setting, totals, tops)
                load_running(running, result, sign, values, value_units)
                _with_running(totals, tops, bits, values, value_units, m, setting, cuts)
                some_negative_zero = False
                for lane in range(LANES):
                    before[lane] = running[lane]
                    some_negative_zero |= running[lane] == sign
                _round(totals, cuts, target, setting, result[2], wide, codes, running)
                if some_negative_zero and not positive:
                    _negative_zeros(totals, before, a_signs[i], b_signs, start, step, j, sign, running)
            for lane in range(LANES):
                is_nan = running[lane] & (sign - 1) > result[2]
                out[i, j + lane] = nan if is_nan else running[lane]
                special[i, j + lane] = is_nan and nan < 0


# -- its operands and results -----------------------------------------------------------------------------------------


def multiply(
    program: Program,
    nested: Nested,
    operands: tuple[Array, Array, Array],
    shift: int,
    fixed: int,
    sign: int,
    nan: int,
    positive: bool,
    result: Array,
) -> tuple[Array, Array]:
    """The codes of left @ right + c, and which are left to the oracle. operands: these. The others are as for
    `fused.multiply`; positive: there is no -0."""
    a, b, c = operands
    (_, rows, k), columns = a.shape, b.shape[1]
    steps, wide = -(-k // program.step) * program.step, -(-columns // LANES) * LANES
    lines, others = padded(a, rows, steps, EMPTY), padded(b, wide, steps, EMPTY)
    others = np.ascontiguousarray(others.swapaxes(1, 2))
    others[1][others[1] != EMPTY] += fixed
    a_signs, b_signs = _signs(a, rows, steps), np.ascontiguousarray(_signs(b, wide, steps).T)
    start = np.zeros((rows, wide), np.int64)
    start[:, :columns] = c
    out, special = np.empty((rows, wide), np.int64), np.empty((rows, wide), np.uint8)
    first = nested.first
    rounding = FP64.mantissa_bits - first.mantissa_bits, first.emin - FP64.emin + 1
    setting = np.array([*nested.numbers, shift, sign, nan, positive, *rounding], np.int64)
    target = np.array(plans.target_numbers(nested.second, FP64), np.uint64)
    nested_matrix(
        lines[0], lines[1], a_signs, others[0], others[1], b_signs, start, nested.group, setting, target, result, out,
        special,
    )  # fmt: skip
    return out[:, :columns], special[:, :columns]


def _signs(x: Array, rows: int, k: int) -> Array:
    """1 where a number is negative, with zeros added up to that shape."""
    signs = np.zeros((rows, k), np.int8)
    signs[: x.shape[1], : x.shape[2]] = x[1]
    return signs
