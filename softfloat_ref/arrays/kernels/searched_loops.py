"""The compiled loop that searches the scales of blocks: of two, the one with the smaller error, as in
oracle/blocks/scale_search.py, in FP32 steps, in the lanes' order."""

from __future__ import annotations

from typing import Any

import numpy as np

from softfloat_ref.arrays.kernels.block_loops import largest_of_blocks
from softfloat_ref.arrays.kernels.convert import U32
from softfloat_ref.arrays.kernels.divided_loops import (
    AMAX,
    F32,
    F64,
    MANY,
    PART,
    REACH,
    SECOND,
    find_scales,
    part_codes,
    spread_blocks,
)
from softfloat_ref.arrays.kernels.jit import compiled, single
from softfloat_ref.arrays.kernels.nearest import HIDDEN, MAGNITUDE
from softfloat_ref.arrays.kernels.plans import BY_QUOTIENT, BY_RECIPROCAL, FLUSH, IN_FP32, MAX, MSE


@compiled(nogil=True)
def searched_scales_of_rows(
    x: Any, size: int, rules: Any, factors: Any, rounded: Any, powers: Any, values: Any, plain: Any, near: Any,
    words: Any, mode: int, n: int, search: int, elements: Any, scales: Any, inverse: Any, redo: Any,
) -> None:  # fmt: skip
    """As divided_loops.scales_of_rows. plain, near, words, mode, n: as for divided_loops.elements_of_rows. search: the
    kind of error; elements: the values of elements' codes."""
    step = max(min(PART, MANY // size), 1)  # blocks at a time
    largest, others = np.empty(step, np.uint32), np.empty(step, np.uint32)
    codes, second_codes = np.empty(step, np.uint32), np.empty(step, np.uint32)
    factor, second_factor, second = np.empty(step), np.empty(step), np.empty(step)
    unsure, errors, second_errors = np.empty(step, np.uint8), np.empty(step, np.float32), np.empty(step, np.float32)
    for row in range(x.shape[0]):
        for early in range(0, scales.shape[1], step):
            count = min(early + step, scales.shape[1]) - early
            own, marks = inverse[row, early : early + count], redo[row, early : early + count]
            part = slice(early * size, min((early + count) * size, x.shape[1]))
            block_values, drawn = x[row, part], words[row, part] if words.size else words[0]
            largest_of_blocks(block_values, size, largest)
            others[:count] = largest[:count]
            find_scales(largest, count, rules, factors, rounded, powers, values, False, codes, factor, own, marks)
            find_scales(
                others, count, rules, factors, rounded, powers, values, True, second_codes, second_factor, second,
                unsure,
            )  # fmt: skip
            common = rules, factors, plain, near, drawn, mode, n, search, elements
            _errors(block_values, size, own, factor, *common, errors[:count])
            _errors(block_values, size, second, second_factor, *common, second_errors[:count])
            for b in range(count):
                usual = marks[b] == 0 and own[b] == own[b]
                better = usual and second_errors[b] < errors[b]
                marks[b] = marks[b] or (usual and unsure[b])
                scales[row, early + b] = second_codes[b] if better else codes[b]
                own[b] = second[b] if better else own[b]


@compiled(error_model="numpy")
def _errors(
    x: Any, size: int, inverse: Any, scales: Any, rules: Any, factors: Any, plain: Any, near: Any, words: Any,
    mode: int, n: int, search: int, elements: Any, errors: Any,
) -> None:  # fmt: skip
    """The errors of blocks, the last of which may be short, under scales. Inf where a step is beyond FP32."""
    cleaned, odd, codes = np.empty(PART, np.uint32), np.empty(PART, np.uint32), np.empty(PART, np.uint16)
    spread, factor, off = np.empty(PART), np.empty(PART), np.empty(PART, np.float32)
    errors[:] = F32(0)
    for begin in range(0, x.size, PART):
        end = min(begin + PART, x.size)
        length, values = end - begin, x[begin:end]
        spread_blocks(inverse, size, begin, end, spread)
        spread_blocks(scales, size, begin, end, factor)
        drawn = words[begin:end] if words.size else words
        part_codes(values, spread, False, rules, plain, near, drawn, mode, n, cleaned, odd, codes[:length])
        _distances(values, codes, factor, rules, factors, elements, search == MSE, off)
        at = begin
        while at < end:
            block, last = at // size, min((at // size + 1) * size, end)
            errors[block] = _total(errors[block], off[at - begin : last - begin], search == MAX)
            at = last
    for b in range(errors.size):
        errors[b] = errors[b] if errors[b] == errors[b] else F32(np.inf)


@compiled(error_model="numpy")
def _distances(
    x: Any, codes: Any, factor: Any, rules: Any, factors: Any, elements: Any, squared: bool, off: Any
) -> None:
    """The differences of values and what their codes stand for, or their squares; Inf for those that are no numbers."""
    second, reach, by = F32(factors[SECOND]), F32(factors[REACH]), rules[IN_FP32]
    amax, least = F32(factors[AMAX]), HIDDEN if rules[FLUSH] else U32(0)
    for i in range(x.size):
        value, element = single(x[i] if U32(x[i] & MAGNITUDE) >= least else U32(0)), elements[codes[i]]
        if by == BY_RECIPROCAL:
            back = F32(F32(F32(element * factor[i]) * amax) / reach)
        else:
            scale = F32(factor[i])
            product = F32(scale / second) if by == BY_QUOTIENT else F32(scale * second)
            back = F32(element * F64(product))
        distance = F32(abs(F32(back - value)))
        distance = F32(distance * distance) if squared else distance
        off[i] = distance if distance == distance else F32(np.inf)


@compiled()
def _total(start: Any, off: Any, largest: bool) -> Any:
    """One number after the other added to a start, each sum rounded to FP32; or the largest."""
    total = start
    for i in range(off.size):
        total = max(total, off[i]) if largest else F32(total + off[i])
    return total
