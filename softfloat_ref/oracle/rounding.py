"""The rounding decision, the overflow rule and the packing: pure functions of plain integers.

Numbers are rounded nowhere else. Python runs these functions on unbounded integers; Numba compiles the same function
objects for arrays (hence no classes, no exceptions, no big-integer methods, and only int arguments).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from softfloat_ref.oracle.flags import INEXACT, UNDERFLOW


class Rounding(IntEnum):
    """Rounding directions. IEEE 754-2019 4.3, IEEE P3109 4.7.4; sr, sr-b, sr-c are P3109's stochastic A, B, C."""

    RNE = 0  # to nearest, ties to even
    RNA = 1  # to nearest, ties away from zero
    RTZ = 2  # toward zero
    RUP = 3  # toward positive
    RDN = 4  # toward negative
    RTO = 5  # to odd
    RNU = 6  # to nearest, ties up
    RHZ = 7  # to nearest, ties to zero
    SR = 8
    SR_B = 9
    SR_C = 10

    @property
    def stochastic(self) -> bool:
        return self >= Rounding.SR

    @property
    def opposite(self) -> Rounding | None:
        """The rounding that rounds -x to the opposite of what this one rounds x to; None of rnu, which has none."""
        others = {Rounding.RUP: Rounding.RDN, Rounding.RDN: Rounding.RUP, Rounding.RNU: None}
        return others.get(self, self)


# The same numbers as plain globals, which Numba compiles as constants.
RNE: Final = 0
RNA: Final = 1
RTZ: Final = 2
RUP: Final = 3
RDN: Final = 4
RTO: Final = 5
RNU: Final = 6
RHZ: Final = 7
SR: Final = 8
SR_B: Final = 9
SR_C: Final = 10

TININESS_AFTER: Final = 0
TININESS_BEFORE: Final = 1
FLUSH_OFF: Final = 0
FLUSH_ON: Final = 1  # as x86: round; if the result is tiny, return zero with underflow and inexact
FLUSH_BEFORE: Final = 2  # as Arm: if tiny before rounding, return zero with underflow only


class Target(NamedTuple):
    """Everything rounding needs to know about a format under a policy, as integers. Made by `codec.target`."""

    mode: int
    random_count: int  # number of random bits of a stochastic rounding (n); 0 for other roundings
    mantissa_bits: int
    emin: int
    emax: int  # any larger exponent overflows
    code_offset: int
    code_parity: int  # 1: "even" and "odd" refer to the code (P3109), not to the significand
    gap: int  # 1: no value between zero and the smallest normal
    least: int  # the smallest normal, in units of 2^(emin - mantissa_bits); 0: nothing is tiny
    min_code: int
    zero: int  # 0: the format has no zero; results that round to zero become min_code
    max_code: int
    max_negative_code: int
    drop_sign: int  # 1: the sign is ignored (E8M0)
    negate_from: int  # two's complement: the code of -x is this minus the code of x; else 0
    sign_bit: int
    negative_zero: int
    # Complete codes for overflow of each sign: beyond the largest finite, or limited to it.
    beyond_positive: int
    beyond_negative: int
    largest_positive: int
    largest_negative: int
    odd_beyond: int  # bit 0 for positive, bit 1 for negative: round to odd overflows beyond the largest finite
    overflow_flags: int
    tininess: int
    flush: int


def cut(significand: int, length: int, sticky: int, shift: int, n: int) -> tuple[int, int, int]:
    """Cut `shift` bits off an integer of `length` bits: the kept integer, the first n + 1 cut bits, and a sticky bit.

    The sticky bit is 1 if any bit below those is set, or if `sticky` already was.
    """
    drop = shift - n - 1
    if drop <= 0:
        wide = significand << -drop
        rest = sticky
    elif drop > length:
        wide = 0
        rest = 1
    else:
        wide = significand >> drop
        rest = 1 if sticky or wide << drop != significand else 0
    return wide >> (n + 1), wide & ((2 << n) - 1), rest


def rounds_up(mode: int, negative: int, odd: int, discarded: int, sticky: int, n: int, random_bits: int) -> bool:
    """The rounding decision: whether the magnitude is rounded up to the next larger one.

    discarded: the first n + 1 bits below the kept ones. sticky: whether any bit below those is set. odd: whether the
    kept value is odd. n: the number of random bits (0 if the rounding is not stochastic).
    """
    half = 1 << n
    inexact = discarded != 0 or sticky != 0
    if mode == RNE:
        return discarded > half or (discarded == half and (sticky != 0 or odd != 0))
    if mode == RTZ:
        return False
    if mode == RUP:
        return inexact and negative == 0
    if mode == RDN:
        return inexact and negative != 0
    if mode == RNA:
        return discarded >= half
    if mode == RNU:
        return discarded > half or (discarded == half and (sticky != 0 or negative == 0))
    if mode == RHZ:
        return discarded > half or (discarded == half and sticky != 0)
    if mode == RTO:
        return inexact and odd == 0
    floor = discarded >> 1  # floor(v * 2^n), v being the discarded fraction
    if mode == SR:
        return floor + random_bits >= half
    if mode == SR_B:
        return discarded + 2 * random_bits + 1 >= 2 * half
    nearest = floor + (1 if discarded & 1 and (sticky != 0 or floor & 1) else 0)  # SR_C: RNE(v * 2^n)
    return nearest + random_bits >= half


def goes_beyond(mode: int, negative: int, odd_beyond: int) -> bool:
    """Whether a finite overflow gives more than the largest finite magnitude (IEEE 754 7.4)."""
    if mode == RTZ:
        return False
    if mode == RTO:
        return odd_beyond >> negative & 1 != 0
    if mode == RUP:
        return negative == 0
    if mode == RDN:
        return negative != 0
    return True


def is_tiny(
    negative: int, significand: int, exponent: int, length: int, sticky: int, random_bits: int, tininess: int, t: Target
) -> bool:
    """Whether a nonzero number, exact or rounded with unbounded exponent, is below all normals (IEEE 754 7.5)."""
    top = exponent + length - 1
    if top > t.emin or t.least == 0:
        return False
    if top < t.emin - 1:
        return True
    n = t.random_count
    kept, discarded, rest = cut(significand, length, sticky, top - t.mantissa_bits - exponent, n)
    if tininess == TININESS_AFTER:
        code = ((top - t.emin) << t.mantissa_bits) + kept - t.code_offset
        odd = (code if t.code_parity else kept) & 1
        if rounds_up(t.mode, negative, odd, discarded, rest, n, random_bits):
            kept += 1
    return kept << (top - t.emin + 1) < t.least << 1


def cut_in_gap(significand: int, exponent: int, length: int, sticky: int, n: int, t: Target) -> tuple[int, int, int]:
    """As `cut`, in units of the smallest normal: for a magnitude between zero and that, with no value in between."""
    shift = exponent - (t.emin - t.mantissa_bits) + n + 1
    if shift >= 0:
        numerator, denominator = significand << shift, t.least
    elif -shift > length:
        return 0, 0, 1
    else:
        numerator, denominator = significand, t.least << -shift
    wide = numerator // denominator
    return wide >> (n + 1), wide & ((2 << n) - 1), 1 if sticky or wide * denominator != numerator else 0


def position(significand: int, exponent: int, length: int, sticky: int, n: int, t: Target) -> tuple[int, int, int, int]:
    """The position of a magnitude among the target's: the code at or below it, and (kept, discarded, sticky) of `cut`.

    The code exceeds max_code + 1 if the exponent alone is too large, and is negative below a format without zero.
    """
    e = max(exponent + length - 1, t.emin)
    kept, discarded, rest = cut(significand, length, sticky, e - t.mantissa_bits - exponent, n)
    if t.gap and e == t.emin and kept < t.least:
        kept, discarded, rest = cut_in_gap(significand, exponent, length, sticky, n, t)
        return 0, kept, discarded, rest
    if e > t.emax:
        return t.max_code + 2, kept, discarded, rest  # the shift below could be huge
    return ((e - t.emin) << t.mantissa_bits) + kept - t.code_offset, kept, discarded, rest


def with_sign(negative: int, code: int, t: Target) -> int:
    """The complete code for a magnitude code and a sign."""
    if negative == 0:
        return code
    if t.negate_from:
        return t.negate_from - code if code else 0
    return code | t.sign_bit if code or t.negative_zero else 0


def round_pack(
    negative: int, significand: int, exponent: int, length: int, sticky: int, random_bits: int, t: Target
) -> tuple[int, int]:
    """Round (-1)^negative * significand * 2^exponent to the target: its code and the flags raised.

    significand: nonzero, of `length` bits. sticky: 1 if the true magnitude is larger, by less than one unit of the
    significand; the significand must then extend at least random_count + 2 bits below the target's precision.
    """
    if t.drop_sign:
        negative = 0
    if t.flush == FLUSH_BEFORE and is_tiny(
        negative, significand, exponent, length, sticky, random_bits, TININESS_BEFORE, t
    ):
        return with_sign(negative, 0, t), UNDERFLOW
    code, kept, discarded, rest = position(significand, exponent, length, sticky, t.random_count, t)
    odd = (code if t.code_parity else kept) & 1
    if rounds_up(t.mode, negative, odd, discarded, rest, t.random_count, random_bits):
        code += t.min_code if t.gap and code == 0 else 1
    if code > (t.max_negative_code if negative else t.max_code):
        if goes_beyond(t.mode, negative, t.odd_beyond):
            return t.beyond_negative if negative else t.beyond_positive, t.overflow_flags
        return t.largest_negative if negative else t.largest_positive, t.overflow_flags
    below_all = t.zero == 0 and code < t.min_code
    if below_all:
        code = t.min_code
    inexact = discarded != 0 or rest != 0 or below_all
    flags = INEXACT if inexact else 0
    if (
        exponent + length - 1 <= t.emin
        and (inexact or t.flush)
        and is_tiny(negative, significand, exponent, length, sticky, random_bits, t.tininess, t)
    ):
        if t.flush == FLUSH_ON:
            return with_sign(negative, 0, t), UNDERFLOW | INEXACT
        if inexact:
            flags = UNDERFLOW | INEXACT
    return with_sign(negative, code, t), flags


def round_to_unit(
    negative: int, significand: int, exponent: int, length: int, mode: int, n: int, random_bits: int
) -> tuple[int, bool]:
    """Round a magnitude to an integer: that integer, and whether the result is inexact."""
    kept, discarded, rest = cut(significand, length, 0, -exponent, n)
    if rounds_up(mode, negative, kept & 1, discarded, rest, n, random_bits):
        kept += 1
    return kept, discarded != 0 or rest != 0


def align(negative: int, significand: int, exponent: int, length: int, unit: int, down: int) -> tuple[int, int]:
    """(-1)^negative * significand * 2^exponent as a signed multiple of 2^unit, and whether bits were lost.

    Bits below the unit are dropped (toward zero) or, if down is 1, floored (toward minus infinity), as in the alignment
    of a fused adder. significand: of `length` bits.
    """
    shift = unit - exponent
    if shift <= 0:
        kept = significand << -shift
        lost = 0
    elif shift > length:
        kept = 0
        lost = 1 if significand else 0
    else:
        kept = significand >> shift
        lost = 1 if kept << shift != significand else 0
    if negative:
        return -(kept + (lost & down)), lost
    return kept, lost


def round_shift(x: int, shift: int, mode: int) -> int:
    """Round x / 2^shift to an integer, as two's complement: the bits above, and one more where the bits below round up.

    A negative shift is an exact multiplication. mode: not stochastic.
    """
    if shift <= 0:
        return x << -shift
    kept, guard = x >> shift, x >> (shift - 1) & 1
    sticky = 1 if x & ((1 << (shift - 1)) - 1) else 0
    toward = mode  # of a negative number, up is toward zero
    if x < 0:
        toward = RUP if mode == RTZ else RHZ if mode == RNA else RNA if mode == RHZ else mode
    return kept + 1 if rounds_up(toward, 0, kept & 1, guard, sticky, 0, 0) else kept
