"""The compiled loop of functions of one operand: a bounded estimate, which the oracle's own rounding takes as a prefix.

`segments.py` says what the tables mean and what is proved of them. The function's value lies strictly between two
integers, in some unit. If the numbers between these have one prefix of the bits that the rounding needs, the value is
that prefix and something more, so every rounding is determined; no prefix may be exact, since the ends are excluded.
Otherwise the oracle must answer.

The operands pass several short loops, a block at a time, not one long loop: the processor then works at many of them
together, and the compiler vectorises the loops that look nothing up.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels.jit import compiled, double, double_bits
from softfloat_ref.arrays.kernels.loops import length, make_target, plain_target, round_pack
from softfloat_ref.arrays.kernels.opcodes import (
    ACTION,
    BITS,
    CODE,
    COMPUTE,
    CONSTANT,
    FLAGS,
    OUTSIDE_CODE,
    OUTSIDE_FLAGS,
    PLAIN,
    PLAN_LOW,
    PLAN_MULTIPLE,
    PLAN_SPAN,
    PLAN_UNIT,
    START_FIRST,
    START_LEFT,
    START_SIGNIFICAND,
    UNKNOWN,
)
from softfloat_ref.arrays.kernels.operations import decoded
from softfloat_ref.arrays.kernels.segments import ASK, FIRST, FLIP, LEAST, LEFT, OUTSIDE, STEPS, WIDTH

BLOCK: Final = 256  # operands at a time: their numbers stay in the nearest cache
_TWO: Final = 1024 << 52  # binary64's code of 2
# Rows of the numbers of a block, some of which later take the place of others.
_FIRST, _SIGNIFICAND, _LEFT, _PLACE, _LOW, _SPAN, _UNIT = range(7)
_LINE, _ESTIMATE, _PREFIX, _NEGATIVE = _FIRST, _PLACE, _SIGNIFICAND, _LEFT
_ROWS: Final = 7


@compiled(forceinline=True)
def polynomial(parts: Any, row: Any, u: Any) -> Any:
    """A polynomial of degree 7, in an order in which many steps go on at once.

    Each term passes at most 9 roundings: that with u^7 a product and a sum; u^2, rounded once, and a product; a sum;
    u^4, rounded, with twice u^2's error, and a product; and a sum.
    """
    square = u * u
    low = (parts[row, 0] + parts[row, 1] * u) + (parts[row, 2] + parts[row, 3] * u) * square
    high = (parts[row, 4] + parts[row, 5] * u) + (parts[row, 6] + parts[row, 7] * u) * square
    return low + high * (square * square)


@compiled()
def _found(
    code: int, numbers: Any, fields: Any, layouts: Any, table: Any, binades: Any, nowhere: int, codes: Any, flags: Any,
    i: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Of an operand whose field does not say it all: what `_look_up` finds; nowhere if the result is known already, in
    codes[i] and flags[i], or the oracle must answer."""
    kind, m, e = decoded(code, fields, layouts[0, 0], layouts[0, 1], layouts[0, 2], layouts[0, 3])
    if table[kind, ACTION] == CONSTANT:
        codes[i], flags[i] = table[kind, CODE], table[kind, FLAGS]
    if table[kind, ACTION] != COMPUTE:
        return nowhere, 0, LEFT
    size = length(m)
    sign, at = np.uint64(kind & 1), np.uint64(e + size - 1 - LEAST)
    row = binades[sign, at, FIRST]
    if row == OUTSIDE:
        codes[i], flags[i] = numbers[OUTSIDE_CODE], numbers[OUTSIDE_FLAGS]
    if row <= ASK:
        return nowhere, 0, LEFT
    return row, m << (WIDTH - size), LEFT + binades[sign, at, STEPS] | binades[sign, at, FLIP] << 6


@compiled(forceinline=True)
def _look_up(
    numbers: Any, fields: Any, layouts: Any, table: Any, starts: Any, binades: Any, nowhere: int, start: int,
    a: Any, codes: Any, flags: Any, work: Any, count: int,
) -> None:  # fmt: skip
    """Of each operand: its significand, and the row of `starts`."""
    firsts, significands, lefts = starts[START_FIRST], starts[START_SIGNIFICAND], starts[START_LEFT]
    shift, mask, up = np.uint64(layouts[0, 1]), layouts[0, 2], WIDTH - 1 - layouts[0, 1]
    for j in range(count):
        code = np.int64(a[start + j])
        field = np.uint64(code) >> shift
        first, significand, left = firsts[field], significands[field] + ((code & mask) << up), lefts[field]
        if first <= ASK:
            first, significand, left = _found(
                code, numbers, fields, layouts, table, binades, nowhere, codes, flags, start + j
            )
        work[_FIRST, j], work[_SIGNIFICAND, j], work[_LEFT, j] = first, significand, left


@compiled(forceinline=True)
def _estimate(whole: Any, parts: Any, work: Any, count: int) -> None:
    """Of each operand: its segment and its place there, from -1 to 1; the polynomial; and what to add to that."""
    for j in range(count):
        significand, left = work[_SIGNIFICAND, j], work[_LEFT, j] & 63
        rest = np.uint64(significand) << np.uint64(left) >> np.uint64(12)
        work[_PLACE, j] = double_bits(double(rest | np.uint64(_TWO)) - 3.0)
        work[_LINE, j] += significand >> (64 - left)
    for j in range(count):
        line = np.uint64(work[_LINE, j])
        work[_ESTIMATE, j] = np.int64(polynomial(parts, line, double(np.uint64(work[_PLACE, j]))))
    for j in range(count):
        line = np.uint64(work[_LINE, j])
        work[_LOW, j] = whole[line, PLAN_LOW] + whole[line, PLAN_MULTIPLE] * work[_SIGNIFICAND, j]
        work[_SPAN, j], work[_UNIT, j] = whole[line, PLAN_SPAN], whole[line, PLAN_UNIT]


@compiled(forceinline=True)
def _decide(bits: int, work: Any, count: int) -> None:
    """Of each result: its sign, its prefix, which is 0 if the bounds do not decide it, and the unit of that."""
    for j in range(count):
        low = work[_LOW, j] + work[_ESTIMATE, j]
        last = low + work[_SPAN, j]
        negative = last >> 63  # all ones if the result is negative: ~x is then the integer below that of its magnitude
        either = (low ^ last) & negative
        low, last = low ^ either ^ negative, last ^ either ^ negative
        cut = length(max(low, 0)) - bits
        one = (cut >= 0) & ((low ^ last) >> (cut & 63) == 0) & (low > 0)
        work[_PREFIX, j] = low >> (cut & 63) if one else 0
        work[_UNIT, j] += cut
        work[_NEGATIVE, j] = (work[_LEFT, j] >> 6 ^ negative) & 1


@compiled(forceinline=True)
def _round(bits: int, words: Any, target: Any, start: int, codes: Any, flags: Any, work: Any, count: int) -> None:
    """The codes and flags of the results whose prefix is known."""
    for j in range(count):
        prefix, i = work[_PREFIX, j], start + j
        word = words[i] if words.size else 0
        if prefix:
            codes[i], flags[i] = round_pack(work[_NEGATIVE, j], prefix, work[_UNIT, j], bits, 1, word, target)


@compiled(forceinline=True)
def _each(
    numbers: Any, fields: Any, layouts: Any, table: Any, target: Any, starts: Any, binades: Any, whole: Any,
    parts: Any, a: Any, words: Any, codes: Any, flags: Any,
) -> int:  # fmt: skip
    """As `evaluate`, for one target."""
    work = np.empty((_ROWS, BLOCK), np.int64)
    bits, nowhere, union = numbers[BITS], whole.shape[0] - 1, 0
    for start in range(0, a.size, BLOCK):
        count = min(BLOCK, a.size - start)
        flags[start : start + count] = UNKNOWN
        _look_up(
            numbers, fields, layouts, table, starts, binades, nowhere, start, a, codes, flags, work, count,
        )  # fmt: skip
        _estimate(whole, parts, work, count)
        _decide(bits, work, count)
        _round(bits, words, target, start, codes, flags, work, count)
        for i in range(start, start + count):
            union |= flags[i]
    return union


@compiled(nogil=True, error_model="numpy")
def evaluate(
    numbers: Any, fields: Any, layouts: Any, table: Any, targets: Any, starts: Any, binades: Any, whole: Any,
    parts: Any, a: Any, words: Any, codes: Any, flags: Any,
) -> Any:  # fmt: skip
    """codes[i], flags[i] = the function of a[i] with random bits words[i]; flags[i] is UNKNOWN if the oracle must
    answer. Returns the union of the flags."""
    if numbers[PLAIN]:
        t = plain_target(targets, 0)
        return _each(numbers, fields, layouts, table, t, starts, binades, whole, parts, a, words, codes, flags)
    t = make_target(targets, 0)
    return _each(numbers, fields, layouts, table, t, starts, binades, whole, parts, a, words, codes, flags)
