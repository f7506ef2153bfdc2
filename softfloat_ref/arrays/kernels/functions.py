"""The compiled loop of functions of one operand: a bounded estimate, which the oracle's own rounding takes as a prefix.

`segments.py` says what the tables mean and what is proved of them. The function's value lies strictly between two
integers, in some unit. If the numbers between these have one prefix of the bits that the rounding needs, the value is
that prefix and something more, so every rounding is determined; no prefix may be exact, since the ends are excluded.
Otherwise the oracle must answer.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels.casts import double
from softfloat_ref.arrays.kernels.jit import compiled
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
    UNKNOWN,
)
from softfloat_ref.arrays.kernels.operations import decoded
from softfloat_ref.arrays.kernels.segments import (
    ABOVE,
    ASK,
    BASE,
    BELOW,
    FIRST,
    FLIP,
    LEAST,
    MULTIPLE,
    OUTSIDE,
    STEPS,
    UNIT,
    WIDTH,
)

_ONE: Final = 1023 << 52  # binary64's code of 1


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


@compiled(forceinline=True)
def _each(
    numbers: Any, fields: Any, layouts: Any, table: Any, target: Any, binades: Any, whole: Any, parts: Any,
    a: Any, words: Any, codes: Any, flags: Any,
) -> None:  # fmt: skip
    """As `evaluate`, for one target."""
    bits = numbers[BITS]
    first, shift, mask, quiet = layouts[0, 0], layouts[0, 1], layouts[0, 2], layouts[0, 3]
    for i in range(a.size):
        kind, m, e = decoded(a[i], fields, first, shift, mask, quiet)
        flags[i] = UNKNOWN
        if table[kind, ACTION] != COMPUTE:
            if table[kind, ACTION] == CONSTANT:
                codes[i], flags[i] = table[kind, CODE], table[kind, FLAGS]
            continue
        size = length(m)
        significand = m << (WIDTH - size)
        sign, at = np.uint64(kind & 1), np.uint64(e + size - 1 - LEAST)
        row = binades[sign, at, FIRST]
        if row <= ASK:
            if row == OUTSIDE:
                codes[i], flags[i] = numbers[OUTSIDE_CODE], numbers[OUTSIDE_FLAGS]
            continue
        half = WIDTH - 2 - binades[sign, at, STEPS]
        line = np.uint64(row + (significand >> (half + 1)))
        place = (significand & ((2 << half) - 1)) - (1 << half)
        u = np.float64(place) * double(np.uint64(_ONE - (half << 52)))
        middle = whole[line, BASE] + whole[line, MULTIPLE] * significand + np.int64(polynomial(parts, line, u))
        low, high = middle - whole[line, BELOW], middle + whole[line, ABOVE]
        negative = binades[sign, at, FLIP]
        if high <= 0:
            low, high, negative = -high, -low, negative ^ 1
        size = length(max(low, 0))
        cut = size - bits
        if low <= 0 or cut < 0 or low >> cut != (high - 1) >> cut:
            continue
        codes[i], flags[i] = round_pack(
            negative, low >> cut, whole[line, UNIT] + cut, bits, 1, words[i] if words.size else 0, target
        )


@compiled(nogil=True, error_model="numpy")
def evaluate(
    numbers: Any, fields: Any, layouts: Any, table: Any, targets: Any, binades: Any, whole: Any, parts: Any,
    a: Any, words: Any, codes: Any, flags: Any,
) -> None:  # fmt: skip
    """codes[i], flags[i] = the function of a[i] with random bits words[i]; flags[i] is UNKNOWN if the oracle must
    answer."""
    if numbers[PLAIN]:
        t = plain_target(targets, 0)
        _each(numbers, fields, layouts, table, t, binades, whole, parts, a, words, codes, flags)
    else:
        t = make_target(targets, 0)
        _each(numbers, fields, layouts, table, t, binades, whole, parts, a, words, codes, flags)
