"""The compiled loops of conversions: floats of 32 or 64 bits to codes, or to the values of those codes.

There are four kinds, and all their tables come from the scalar oracle: a table of codes indexed by the upper half of a
float32; branch-free integer arithmetic, which vectorises, with a truth table of `rounding.rounds_up`, or without any
rounding; and `rounding.round_pack` itself for the rest (stochastic roundings, flushing, flags).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.arrays.kernels.loops import length, make_target, round_pack
from softfloat_ref.oracle import rounding
from softfloat_ref.oracle.rounding import SR, SR_B, SR_C

U32: Final = np.uint32
U64: Final = np.uint64
I32: Final = np.int32
rounds_up: Any = rounding.rounds_up
_PART: Final = 1024  # values at a time that may have something in common
_SOME: Final = 256  # values between two looks at what they have in common


class Plain(NamedTuple):
    """The numbers of the branch-free loops, all of the input's unsigned type.

    spare: mantissa bits that the target lacks. least: the input's exponent field for the target's lowest normal binade.
    decisions: bit 8*negative + 4*odd + 2*guard + sticky is 1 if the magnitude is rounded up. Fields in pairs are for
    positive and negative: limits, results beyond them, Inf; they and nan are codes, or bits of values. A negative code
    is base + (magnitude ^ flip), cut to `mask`. zero: the code (or bits) of negative zero.
    """

    spare: Any
    mantissa_bits: Any
    least: Any
    flush: Any
    decisions: Any
    limit_positive: Any
    limit_negative: Any
    beyond_positive: Any
    beyond_negative: Any
    inf_positive: Any
    inf_negative: Any
    nan: Any
    base: Any
    flip: Any
    mask: Any
    zero: Any
    smallest: Any  # for values: the bits of the smallest subnormal


@compiled(forceinline=True)
def plain(n: Any) -> Any:
    """The fields from an array; passing an array costs far less per call than passing a tuple."""
    return Plain(
        n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12], n[13], n[14], n[15], n[16]
    )


@compiled(nogil=True)
def table_codes(x: Any, out: Any, table: Any) -> None:
    """Codes by the upper half of a float32, with the lower half or-ed into a sticky bit."""
    for i in range(x.size):
        bits = x[i]
        out[i] = table[(bits >> U32(16)) | U32((bits & U32(0xFFFF)) != U32(0))]


@compiled(forceinline=True)
def left(x: Any, n: Any) -> Any:
    """x << n in 32 bits, n below 32. Numba shifts in 64 bits, which the compiler narrows only if it can see that n is
    small; without narrowing, half as many values fit into a vector."""
    return U32(x << U32(n & U32(31)))


@compiled(forceinline=True)
def right(x: Any, n: Any) -> Any:
    """x >> n in 32 bits, as `left`."""
    return U32(x >> U32(n & U32(31)))


@compiled(forceinline=True)
def parts32(bits: Any, p: Any) -> Any:
    """Magnitude, exponent field (1 for subnormals) and significand of float32 bits; the significand is 0 if flushed."""
    magnitude = U32(bits & U32(0x7FFFFFFF))
    exponent = U32(max(U32(magnitude >> U32(23)), U32(1)))
    significand = U32(magnitude - U32(U32(exponent - U32(1)) << U32(23)))
    significand = U32(0) if p.flush and magnitude < U32(0x800000) else significand
    return magnitude, exponent, significand


@compiled(forceinline=True)
def grows32(significand: Any, shift: Any, negative: Any, p: Any) -> Any:
    """1 if a significand that loses its last `shift` bits is rounded up by the truth table, else 0."""
    rest = left(significand, U32(U32(32) - shift))  # the discarded bits, at the top; there is at least one
    sticky = U32(U32(rest << U32(1)) != U32(0))
    odd = U32(right(significand, shift) & U32(1))
    case = U32(U32(U32(U32(negative << U32(1)) | odd) << U32(2)) | U32(U32(rest >> U32(31)) << U32(1)) | sticky)
    return U32(right(p.decisions, case) & U32(1))


@compiled(forceinline=True)
def signed_code(code: Any, negative: Any, p: Any) -> Any:
    """The complete code for a magnitude code, or the overflow result if it is beyond the largest."""
    signed = ((code ^ p.flip) + p.base) & p.mask
    signed = p.zero if code == 0 else signed
    full = signed if negative else code
    limit = p.limit_negative if negative else p.limit_positive
    beyond = p.beyond_negative if negative else p.beyond_positive
    return beyond if code > limit else full


@compiled(forceinline=True)
def finite_code32(bits: Any, least: Any, p: Any) -> Any:
    """The code of a finite float32. least: the exponent field of the lowest normal binade, which may be negative."""
    negative = U32(bits >> U32(31))
    _, exponent, significand = parts32(bits, p)
    below = U32(max(I32(I32(least) - I32(exponent)), I32(0)))
    shift = U32(min(U32(p.spare + below), U32(25)))
    rounded = U32(right(significand, shift) + grows32(significand, shift, negative, p))
    code = U32(left(U32(U32(exponent + below) - U32(least)), p.mantissa_bits) + rounded)
    code = U32(0) if significand == U32(0) else code
    return U32(signed_code(code, negative, p))


@compiled(nogil=True)
def plain_codes32(x: Any, out: Any, p: Any) -> None:
    """float32 bits to codes."""
    least = I32(p.least)
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & U32(0x7FFFFFFF))
        full = finite_code32(bits, least, p)
        special = p.inf_negative if bits >= U32(0x80000000) else p.inf_positive
        full = special if magnitude == U32(0x7F800000) else full
        out[i] = p.nan if magnitude > U32(0x7F800000) else full


class Near(NamedTuple):
    """The numbers of the loops for targets with float32's exponent range. add_*: the addend that carries into the last
    kept bit exactly when the truth table rounds up."""

    spare: Any
    add_even: Any
    add_odd: Any
    add_even_negative: Any
    add_odd_negative: Any
    limit: Any
    beyond_positive: Any
    beyond_negative: Any
    inf_positive: Any
    inf_negative: Any
    nan: Any


@compiled(nogil=True)
def near_codes32(x: Any, out: Any, p: Any) -> None:
    """float32 bits to the codes of a format that differs from float32 only in its mantissa bits."""
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & U32(0x7FFFFFFF))
        negative = bits >= U32(0x80000000)
        odd = U32(right(magnitude, p.spare) & U32(1)) != U32(0)
        plus = p.add_odd if odd else p.add_even
        minus = p.add_odd_negative if odd else p.add_even_negative
        code = right(U32(magnitude + (minus if negative else plus)), p.spare)
        full = U32(code | right(U32(bits & U32(0x80000000)), p.spare))
        full = (p.beyond_negative if negative else p.beyond_positive) if code > p.limit else full
        full = (p.inf_negative if negative else p.inf_positive) if magnitude == U32(0x7F800000) else full
        out[i] = p.nan if magnitude > U32(0x7F800000) else full


@compiled(nogil=True)
def near_values32(x: Any, out: Any, p: Any) -> None:
    """The same, to the bits of float32 values; limits and specials are such bits too."""
    mask = left(U32(0xFFFFFFFF), p.spare)
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & U32(0x7FFFFFFF))
        negative = bits >= U32(0x80000000)
        odd = U32(right(magnitude, p.spare) & U32(1)) != U32(0)
        plus = p.add_odd if odd else p.add_even
        minus = p.add_odd_negative if odd else p.add_even_negative
        value = U32(U32(magnitude + (minus if negative else plus)) & mask)
        full = U32(value | U32(bits & U32(0x80000000)))
        full = (p.beyond_negative if negative else p.beyond_positive) if value > p.limit else full
        full = (p.inf_negative if negative else p.inf_positive) if magnitude == U32(0x7F800000) else full
        out[i] = p.nan if magnitude > U32(0x7F800000) else full


@compiled(nogil=True)
def plain_codes64(x: Any, out: Any, p: Any) -> None:
    """float64 bits to codes."""
    for i in range(x.size):
        bits = x[i]
        magnitude = bits & U64(0x7FFFFFFFFFFFFFFF)
        negative = bits >> U64(63)
        exponent = max(magnitude >> U64(52), U64(1))
        significand = magnitude - ((exponent - U64(1)) << U64(52))
        if p.flush and magnitude < U64(0x10000000000000):
            significand = U64(0)
        below = max(p.least, exponent) - exponent
        shift = min(p.spare + below, U64(54))
        truncated = significand >> shift
        rest = significand << (U64(64) - shift)
        sticky = U64((rest << U64(1)) != U64(0))
        case = (((negative << U64(1)) | (truncated & U64(1))) << U64(2)) | ((rest >> U64(63)) << U64(1)) | sticky
        up = (p.decisions >> case) & U64(1)
        code = ((exponent + below - p.least) << p.mantissa_bits) + truncated + up
        full = signed_code(code, negative, p)
        special = p.inf_negative if negative else p.inf_positive
        full = special if magnitude == U64(0x7FF0000000000000) else full
        out[i] = p.nan if magnitude > U64(0x7FF0000000000000) else full


@compiled(nogil=True)
def plain_values32(x: Any, out: Any, p: Any) -> None:
    """float32 bits to the float32 bits of the converted value: rounded in place."""
    for i in range(x.size):
        bits = x[i]
        negative = U32(bits >> U32(31))
        magnitude, exponent, significand = parts32(bits, p)
        shift = U32(min(U32(p.spare + U32(max(p.least, exponent) - exponent)), U32(25)))
        up = grows32(significand, shift, negative, p)
        # A carry out of the mantissa increments the exponent. Beyond the significand, the result is zero or `smallest`.
        start = U32(0) if significand == U32(0) else magnitude
        near = U32(U32(start + left(up, shift)) & left(U32(0xFFFFFFFF), shift))
        far = p.smallest if up else U32(0)
        value = near if shift < U32(24) else far
        signed = p.zero if value == U32(0) else U32(value | U32(0x80000000))
        full = signed if negative else value
        limit = p.limit_negative if negative else p.limit_positive
        beyond = p.beyond_negative if negative else p.beyond_positive
        special = p.inf_negative if negative else p.inf_positive
        full = beyond if value > limit else full
        full = special if magnitude == U32(0x7F800000) else full
        out[i] = p.nan if magnitude > U32(0x7F800000) else full


class Widening(NamedTuple):
    """The numbers of the loop of conversions that round nothing, of type uint64: from codes of floats with gradual
    subnormals, whose numbers are all in the target.

    magnitude: all bits but the sign. hidden: the lowest code that does not become subnormal as it is. Such a code is
    magnitude << shift, plus normal; a lower one's leading bit is moved to bit `place`, and subnormal, and its length in
    the field above that, added. largest: the largest finite magnitude; inf: that of Inf, if there is one. The others
    are complete codes of the target, or its sign bit.
    """

    magnitude: Any
    hidden: Any
    shift: Any
    normal: Any
    place: Any
    subnormal: Any
    flush: Any
    largest: Any
    inf: Any
    sign: Any
    zero_positive: Any
    zero_negative: Any
    inf_positive: Any
    inf_negative: Any
    nan: Any


@compiled(forceinline=True)
def _all_widened(x: Any, out: Any, p: Any) -> bool:
    """Codes to the codes of the same numbers; False if some are neither normal numbers nor zeros."""
    special = U64(0)
    for i in range(x.size):
        bits = U64(x[i])
        magnitude = bits & p.magnitude
        special |= U64((magnitude < p.hidden) & (magnitude != U64(0))) | U64(magnitude > p.largest)
        code = ((magnitude << p.shift) + p.normal) | (p.sign if bits > p.magnitude else U64(0))
        zero = p.zero_negative if bits > p.magnitude else p.zero_positive
        out[i] = zero if magnitude == U64(0) else code
    return bool(special == U64(0))


@compiled(nogil=True)
def widened_codes(x: Any, out: Any, n: Any) -> int:
    """Codes to the codes of the same numbers in a wider format; returns the number of NaNs."""
    nans = 0
    p = Widening(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12], n[13], n[14])
    for start in range(0, x.size, _PART):
        values, codes = x[start : start + _PART], out[start : start + _PART]
        if _all_widened(values, codes, p):
            continue
        for i in range(values.size):
            bits = U64(values[i])
            magnitude = bits & p.magnitude
            negative = bits > p.magnitude
            size = U64(length(np.int64(magnitude)))
            small = (magnitude << ((p.place + U64(1) - size) & U64(63))) + (size << p.place) + p.subnormal
            code = small if magnitude < p.hidden else (magnitude << p.shift) + p.normal
            code = code | (p.sign if negative else U64(0))
            zero = (magnitude == U64(0)) | ((p.flush != U64(0)) & (magnitude < p.hidden))
            code = (p.zero_negative if negative else p.zero_positive) if zero else code
            special = p.inf_negative if negative else p.inf_positive
            code = code if magnitude <= p.largest else (special if magnitude == p.inf else p.nan)
            codes[i] = code
            nans += 1 if magnitude > p.largest and magnitude != p.inf else 0
    return nans


@compiled(nogil=True)
def decoded_integers(x: Any, out: Any, drop: int, unit: float) -> None:
    """Codes of integers in two's complement to values. drop: the bits that 64 has more; unit: the value of 1."""
    for i in range(x.size):
        out[i] = np.float64(np.int64(U64(x[i]) << U64(drop)) >> drop) * unit


@compiled(forceinline=True)
def _stochastic(x: Any, words: Any, out: Any, p: Any, mode: int, n: int) -> None:
    for i in range(x.size):
        bits = x[i]
        negative = U32(bits >> U32(31))
        magnitude, exponent, significand = parts32(bits, p)
        below = U32(max(p.least, exponent) - exponent)
        shift = U64(min(U32(p.spare + below), U32(63)))
        longer = U64(significand) << U64(n + 1)
        wide = longer >> shift  # the kept bits and n + 1 discarded bits
        sticky, discarded = np.int64((wide << shift) != longer), np.int64(wide & U64((2 << n) - 1))
        up = rounds_up(mode, 0, 0, discarded, sticky, n, np.int64(words[i]))
        rounded = U32(U32(wide >> U64(n + 1)) + U32(up))
        code = U32(left(U32(U32(exponent + below) - p.least), p.mantissa_bits) + rounded)
        full = U32(signed_code(code, negative, p))
        special = p.inf_negative if negative else p.inf_positive
        full = special if magnitude == U32(0x7F800000) else full
        out[i] = p.nan if magnitude > U32(0x7F800000) else full


@compiled(nogil=True)
def stochastic_codes32(x: Any, words: Any, out: Any, p: Any, mode: int, n: int) -> None:
    """float32 bits to codes by stochastic rounding with n bits; each value has its own random word."""
    if mode == SR:  # the loop is compiled separately for each mode
        _stochastic(x, words, out, p, SR, n)
    elif mode == SR_B:
        _stochastic(x, words, out, p, SR_B, n)
    else:
        _stochastic(x, words, out, p, SR_C, n)


@compiled()
def are_exact(x: Any, p: Any) -> bool:
    """Whether float32 bits lose nothing to the target's precision, so that no rounding moves them."""
    for start in range(0, x.size, _SOME):
        lost = U32(0)
        for i in range(start, min(start + _SOME, x.size)):
            _, exponent, significand = parts32(x[i], p)
            shift = U32(min(U32(p.spare + U32(max(p.least, exponent) - exponent)), U32(31)))
            lost |= U32(significand & U32(left(U32(1), shift) - U32(1)))
        if lost:
            return False
    return True


@compiled(nogil=True)
def rounded_codes(
    x: Any, out: Any, flags: Any, words: Any, source: Any, targets: Any, zeros: Any, infinities: Any, nan: Any
) -> int:
    """Bits of an IEEE format to codes and flags by round_pack; returns the union of all flags.

    words, flags: empty if not used. source: mantissa bits, bias, width, whether subnormals are zero. zeros, infinities:
    (code, flags) for each sign. nan: the code of a NaN, the flags of a quiet NaN, the flags of a signalling NaN.
    """
    mantissa_bits, bias, flush = source[0], source[1], source[3]
    sign, hidden = np.int64(1) << (source[2] - 1), np.int64(1) << mantissa_bits
    top = (sign - 1) >> mantissa_bits
    target, raised = make_target(targets, 0), 0
    for i in range(x.size):
        bits = np.int64(x[i])
        negative, magnitude = 1 if bits & sign else 0, bits & (sign - 1)
        field, significand = magnitude >> mantissa_bits, magnitude & (hidden - 1)
        if field == top:
            quiet = significand >> (mantissa_bits - 1)
            code = infinities[negative, 0] if significand == 0 else nan[0]
            flag = infinities[negative, 1] if significand == 0 else (nan[1] if quiet else nan[2])
        else:
            if field:
                significand |= hidden
            elif flush:
                significand = 0
            if significand == 0:
                code, flag = zeros[negative, 0], zeros[negative, 1]
            else:
                word = np.int64(words[i]) if words.size else 0
                exponent = max(field, 1) - bias - mantissa_bits
                code, flag = round_pack(negative, significand, exponent, length(significand), 0, word, target)
        out[i] = code
        raised |= flag
        if flags.size:
            flags[i] = flag
    return raised


@compiled(nogil=True)
def table_values(codes: Any, out: Any, table: Any) -> None:
    """Values by code."""
    for i in range(codes.size):
        out[i] = table[codes[i]]
