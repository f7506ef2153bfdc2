"""The compiled loop of element-wise operations: codes in, codes and flags out, for any formats and policy.

An operand's code is decoded into a class (zero, finite, Inf, NaN, with signs) and an integer significand. A table by
classes, computed by the scalar oracle, handles the special cases; the rest is one exact integer computation followed by
the oracle's own rounding. Everything that depends on formats, policy or operation is passed in small integer arrays
(made by `op_plans.py`), so that the loop is compiled only once.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba.extending import register_jitable

from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.arrays.kernels.loops import length, make_target, plain_target, round_pack
from softfloat_ref.arrays.kernels.opcodes import (
    ACTION,
    ADD,
    BASE,
    BITS,
    CLASS,
    CLASSES,
    CODE,
    CONSTANT,
    DIV,
    EXPONENT,
    FAA,
    FACTOR,
    FIRST_SPECIAL,
    FLAGS,
    FMA,
    INTEGRAL,
    INTEGRAL_EXACT,
    KIND,
    LOGB,
    LONGEST,
    MINUS_ADDEND,
    MINUS_PRODUCT,
    MODE,
    MUL,
    ORACLE,
    PLAIN,
    RANDOM,
    RECIP,
    SCALEB,
    SECOND,
    SELECT,
    SQRT,
    SUB,
    UNKNOWN,
    ZERO_CODE,
    ZERO_FLAGS,
    ZERO_SIGN,
)
from softfloat_ref.oracle import rounding
from softfloat_ref.oracle.flags import INEXACT

register_jitable(forceinline=True)(rounding.round_to_unit)
_round_to_unit: Any = rounding.round_to_unit

_ROOM: Final = 62  # bits of an aligned sum: one more for the carry, one for the sign
_SPARE: Final = 4  # of these bits, how many the first sum of three leaves free
_NO_TOP: Final = -(1 << 40)  # where the highest bit of a zero is: below all others
_FAR: Final = 1 << 24  # a power beyond which every format has overflowed or reached zero


@compiled(forceinline=True)
def decoded(code: int, fields: Any, first: int, shift: int, mask: int, quiet: int) -> tuple[int, int, int]:
    """Class, significand and exponent of a code. first: index of the format's first field. shift: to the field; mask:
    the bits below it; quiet: the quiet bit among those."""
    low = code & mask
    field = np.uint64(first) + (np.uint64(code) >> np.uint64(shift))
    kind = fields[field, CLASS]
    significand = fields[field, BASE] + fields[field, FACTOR] * low
    if kind >= FIRST_SPECIAL:
        if low:
            kind = 7 - (1 if low & quiet else 0)
        significand = 0
    elif significand == 0:
        kind -= 2
    return kind, significand, fields[field, EXPONENT]


@compiled(forceinline=True)
def _sum(n1: int, m1: int, e1: int, n2: int, m2: int, e2: int, sticky: int) -> tuple[int, int, int, int]:
    """The sum of two numbers: sign, significand, exponent, sticky. sticky: of the second one, then far smaller.

    The sum is exact, or a prefix of at least 60 bits and a sticky bit. Bits of the smaller number are only cut if it is
    so small that the difference is at most one bit shorter than the larger number. The signs and the order of the
    operands are random, so nothing branches on them.
    """
    l1, l2 = length(m1), length(m2)
    t1, t2 = e1 + l1 if m1 else _NO_TOP, e2 + l2 if m2 else _NO_TOP
    large, small = m1 << (_ROOM - l1), m2 << (_ROOM - l2)
    swap = (t1 - t2) >> 63  # all ones if the second is larger
    either, n = (large ^ small) & swap, n1 ^ (n1 ^ n2) & swap
    large, small = large ^ either, small ^ either
    shift = min(abs(t1 - t2), _ROOM)
    shifted = small >> shift
    if shifted << shift != small:
        sticky = 1
    total = large - shifted - sticky if n1 != n2 else large + shifted
    if total < 0:
        total, n = -total, n ^ 1
    return n, total, max(t1, t2) - _ROOM, sticky


@compiled(forceinline=True)
def _sum_of_three(n1: int, m1: int, e1: int, n2: int, m2: int, e2: int, n3: int, m3: int, e3: int) -> Any:
    """As `_sum`, for three numbers: adds the two larger ones first if their sum is exact, else the two smaller ones."""
    t1 = e1 + length(m1) if m1 else _NO_TOP
    t2 = e2 + length(m2) if m2 else _NO_TOP
    t3 = e3 + length(m3) if m3 else _NO_TOP
    if t2 > t1:
        n1, m1, e1, t1, n2, m2, e2, t2 = n2, m2, e2, t2, n1, m1, e1, t1
    if t3 > t1:
        n1, m1, e1, t1, n3, m3, e3, t3 = n3, m3, e3, t3, n1, m1, e1, t1
    if t3 > t2:
        n2, m2, e2, t2, n3, m3, e3, t3 = n3, m3, e3, t3, n2, m2, e2, t2
    if m2 == 0 or t1 - e2 <= _ROOM - _SPARE:
        n1, m1, e1, _ = _sum(n1, m1, e1, n2, m2, e2, 0)
        if m2:  # the sum's unit is that much finer than the unit of its terms
            m1 >>= _SPARE
            e1 += _SPARE
        return _sum(n1, m1, e1, n3, m3, e3, 0)
    n2, m2, e2, sticky = _sum(n2, m2, e2, n3, m3, e3, 0)
    return _sum(n1, m1, e1, n2, m2 >> 1, e2 + 1, sticky | m2 & 1)  # without the bit of the carry


@compiled(forceinline=True)
def _quotient(a: int, b: int, bits: int) -> tuple[int, int, int]:
    """a / b: a quotient of at least `bits` bits, the exponent of its unit, and a sticky bit."""
    step = _ROOM - length(b)
    quotient = a // b
    rest = a - quotient * b
    exponent = 0
    while length(quotient) < bits:
        shift = min(step, _ROOM - length(quotient))
        part = (rest << shift) // b
        rest = (rest << shift) - part * b
        quotient = quotient << shift | part
        exponent -= shift
    return quotient, exponent, 1 if rest else 0


@compiled(forceinline=True)
def _root(a: int, exponent: int, bits: int) -> tuple[int, int, int]:
    """The square root of a * 2^exponent: `bits` bits, the exponent of its unit, and a sticky bit."""
    size = length(a)
    size += (size ^ exponent) & 1  # the radicand's bits are taken in pairs, counted from the binary point
    root, rest = 0, 0
    at = size
    for _ in range(bits):
        at -= 2
        if at >= 0:
            pair = a >> at & 3
        elif at == -1:
            pair = (a & 1) << 1
        else:
            pair = 0
        rest = rest << 2 | pair
        trial = root << 2 | 1
        root <<= 1
        if rest >= trial:
            rest -= trial
            root |= 1
    left = at > 0 and a & ((1 << max(at, 0)) - 1) != 0
    return root, (exponent + at) >> 1, 1 if rest or left else 0


@compiled(forceinline=True)
def _magnitude_order(m1: int, e1: int, m2: int, e2: int) -> int:
    """0, 1 or 2 if the first magnitude is smaller, equal or larger."""
    if m1 == 0 or m2 == 0:
        return 1 + (1 if m1 else 0) - (1 if m2 else 0)
    l1, l2 = length(m1), length(m2)
    first, second = e1 + l1, e2 + l2
    if first == second:
        first, second = m1 << (_ROOM - l1), m2 << (_ROOM - l2)
    return 1 + (1 if first > second else 0) - (1 if first < second else 0)


@compiled(forceinline=True)
def _whole(n: int, m: int, e: int, numbers: Any, random_bits: int) -> tuple[int, int, int]:
    """A number rounded to an integer: significand, exponent, and 1 if inexact."""
    if e >= 0:
        return m, e, 0
    whole, inexact = _round_to_unit(n, m, e, length(m), numbers[MODE], numbers[RANDOM], random_bits)
    return whole, 0, 1 if inexact else 0


@compiled(forceinline=True)
def _exact(
    kind: int, numbers: Any, random_bits: int,
    n1: int, m1: int, e1: int, n2: int, m2: int, e2: int, n3: int, m3: int, e3: int,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """The exact computation of an operation on finite numbers: sign, significand, exponent, sticky, flags."""
    sticky, flags = 0, 0
    if kind == ADD:
        n1, m1, e1, sticky = _sum(n1, m1, e1, n2, m2, e2, 0)
        n1 = n1 if m1 else numbers[ZERO_SIGN]
    elif kind == SUB:
        n1, m1, e1, sticky = _sum(n1, m1, e1, n2 ^ 1, m2, e2, 0)
        n1 = n1 if m1 else numbers[ZERO_SIGN]
    elif kind == FMA:
        n1, n3 = n1 ^ n2 ^ numbers[MINUS_PRODUCT], n3 ^ numbers[MINUS_ADDEND]
        n1, m1, e1, sticky = _sum(n1, m1 * m2, e1 + e2, n3, m3, e3, 0)
        n1 = n1 if m1 else numbers[ZERO_SIGN]
    elif kind == FAA:
        n1, m1, e1, sticky = _sum_of_three(n1, m1, e1, n2, m2, e2, n3, m3, e3)
        n1 = n1 if m1 else numbers[ZERO_SIGN]
    elif kind == MUL:
        n1, m1, e1 = n1 ^ n2, m1 * m2, e1 + e2
    elif kind == DIV:
        m1, shift, sticky = _quotient(m1, m2, numbers[BITS])
        n1, e1 = n1 ^ n2, e1 - e2 + shift
    elif kind == RECIP:
        m1, shift, sticky = _quotient(1, m1, numbers[BITS])
        e1 = shift - e1
    elif kind == SQRT:
        m1, e1, sticky = _root(m1, e1, numbers[BITS])
    elif kind == INTEGRAL:
        m1, e1, _ = _whole(n1, m1, e1, numbers, random_bits)
    elif kind == INTEGRAL_EXACT:
        m1, e1, lost = _whole(n1, m1, e1, numbers, random_bits)
        flags = INEXACT if lost else 0
    elif kind == SCALEB:
        e1 += max(-_FAR, min(-m2 if n2 else m2, _FAR))
    elif kind == LOGB:
        power = e1 + length(m1) - 1
        n1, m1, e1 = 1 if power < 0 else 0, abs(power), 0
    return n1, m1, e1, sticky, flags


@compiled(forceinline=True, error_model="numpy")
def _each(
    numbers: Any, fields: Any, layouts: Any, table: Any, target: Any,
    a: Any, b: Any, c: Any, words: Any, codes: Any, flags: Any,
) -> int:  # fmt: skip
    """As `operate`, for one target."""
    kind, longest = numbers[KIND], numbers[LONGEST]
    first1, shift1, mask1, quiet1 = layouts[0, 0], layouts[0, 1], layouts[0, 2], layouts[0, 3]
    first2, shift2, mask2, quiet2 = layouts[1, 0], layouts[1, 1], layouts[1, 2], layouts[1, 3]
    first3, shift3, mask3, quiet3 = layouts[2, 0], layouts[2, 1], layouts[2, 2], layouts[2, 3]
    two, three = b.size > 0, c.size > 0
    seen = 0
    for i in range(a.size):
        k1, m1, e1 = decoded(a[i], fields, first1, shift1, mask1, quiet1)
        at, k2, m2, e2, k3, m3, e3 = k1, 0, 0, 0, 0, 0, 0
        if two:
            k2, m2, e2 = decoded(b[i], fields, first2, shift2, mask2, quiet2)
            at = at * CLASSES + k2
        if three:
            k3, m3, e3 = decoded(c[i], fields, first3, shift3, mask3, quiet3)
            at = at * CLASSES + k3
        if kind == SELECT:
            at = 3 * at + _magnitude_order(m1, e1, m2, e2)
        action, raised = table[at, ACTION], table[at, FLAGS]
        if action == CONSTANT:
            codes[i], flags[i] = table[at, CODE], raised
            seen |= raised
            continue
        if action == ORACLE:
            codes[i], flags[i] = 0, UNKNOWN
            continue
        random_bits = words[i] if words.size else 0
        if action == SECOND:
            n, m, e, sticky = k2 & 1, m2, e2, 0
        else:
            n, m, e, sticky, more = _exact(kind, numbers, random_bits, k1 & 1, m1, e1, k2 & 1, m2, e2, k3 & 1, m3, e3)
            raised |= more
        if m == 0:
            code, more = numbers[ZERO_CODE + n], numbers[ZERO_FLAGS + n]
        else:
            size = length(m)
            if size > longest:  # the bits below go into the sticky bit
                cut = size - longest
                if m & ((1 << cut) - 1):
                    sticky = 1
                m >>= cut
                e += cut
                size = longest
            code, more = round_pack(n, m, e, size, sticky, random_bits, target)
        codes[i], flags[i] = code, raised | more
        seen |= raised | more
    return seen


@compiled(nogil=True, error_model="numpy")
def operate(
    numbers: Any, fields: Any, layouts: Any, table: Any, targets: Any,
    a: Any, b: Any, c: Any, words: Any, codes: Any, flags: Any,
) -> int:  # fmt: skip
    """codes[i], flags[i] = the operation on a[i], b[i], c[i] with random bits words[i]; unused operands are empty.

    flags[i] is UNKNOWN if the oracle must compute the element. Returns the union of all other flags.
    """
    seen: int
    if numbers[PLAIN]:
        seen = _each(numbers, fields, layouts, table, plain_target(targets, 0), a, b, c, words, codes, flags)
    else:
        seen = _each(numbers, fields, layouts, table, make_target(targets, 0), a, b, c, words, codes, flags)
    return seen
