"""The loops of the most common conversions: roundings to nearest and toward zero that treat both signs alike.

For these, a significand that loses its last n bits is rounded up exactly when adding a constant to those bits carries
(the constant is one larger if the last kept bit is set, for ties to even). `plans.nearest_numbers` derives the
constants from the truth table of `rounding.rounds_up`; other roundings use the loops of kernels/convert.py.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from softfloat_ref.arrays.kernels.convert import I32, U32, left, right
from softfloat_ref.arrays.kernels.jit import compiled, half_code

SIGN: Final = U32(0x80000000)
MAGNITUDE: Final = U32(0x7FFFFFFF)
INF: Final = U32(0x7F800000)
HIDDEN: Final = U32(0x800000)
FRACTION: Final = U32(0x7FFFFF)
PART: Final = 1024  # values
WIDE: Final = 28  # binades
ALL: Final = U32(26)  # a significand of 24 bits that loses this many becomes zero, to nearest and toward zero


class Nearest(NamedTuple):
    """The numbers of the loops, of type uint32.

    spare: mantissa bits that the target lacks. least: float32's exponent field for the target's lowest normal binade,
    above ALL, so that float32 subnormals become zero. The addend for n discarded bits is half << (n - 1), plus extra,
    plus the last kept bit if odd is 1. limit: the largest finite; beyond: the result above it; inf: the result for Inf;
    nan: a complete code. sign_shift: distance from float32's sign bit to the target's. smallest: for values, the
    smallest subnormal. span: the bits of the largest finite value minus those of the smallest normal.
    """

    spare: Any
    mantissa_bits: Any
    least: Any
    half: Any
    extra: Any
    odd: Any
    limit: Any
    beyond: Any
    inf: Any
    nan: Any
    sign_shift: Any
    smallest: Any
    span: Any


NAN: Final = Nearest._fields.index("nan")


@compiled(forceinline=True)
def unpacked(n: Any) -> Any:
    """The fields from an array, as convert.plain."""
    return Nearest(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12])


@compiled(forceinline=True)
def _addend(significand: Any, shift: Any, p: Any) -> Any:
    """The addend for a significand that loses its last `shift` bits; shift is at least 1."""
    odd = U32(right(significand, shift) & p.odd)
    return U32(U32(left(p.half, U32(shift - U32(1))) + p.extra) + odd)


@compiled(forceinline=True)
def magnitude_code(bits: Any, least: Any, p: Any) -> Any:
    """The code of a finite float32's magnitude, before any overflow check.

    least: as p.least, but for a block's own scale. It is at most plans.FAR, so that exponents fit a signed integer.
    """
    magnitude = U32(bits & MAGNITUDE)
    significand = U32(U32(magnitude & FRACTION) | HIDDEN)
    lost = I32(I32(least + I32(p.spare)) - I32(magnitude >> U32(23)))
    shift = U32(min(max(lost, I32(p.spare)), I32(ALL)))
    # For a normal result, exponent bits precede the significand; otherwise `normal` is less than that.
    normal = I32(magnitude - U32(U32(I32(least - I32(1))) << U32(23)))
    whole = U32(max(normal, I32(significand)))
    # The parity is the significand's: without mantissa bits, `whole` has an exponent bit in that position.
    return right(U32(whole + _addend(significand, shift, p)), shift)


@compiled(forceinline=True)
def signed(code: Any, bits: Any, p: Any) -> Any:
    """The code with float32's sign."""
    return U32(code | U32(right(bits, p.sign_shift) & right(SIGN, p.sign_shift)))


@compiled(nogil=True)
def nearest_codes32(x: Any, out: Any, numbers: Any) -> None:
    """float32 bits to codes. numbers: the fields of a Nearest, here and below."""
    p = unpacked(numbers)
    least = I32(p.least)
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & MAGNITUDE)
        code = magnitude_code(bits, least, p)
        code = p.beyond if code > p.limit else code
        code = p.inf if magnitude == INF else code
        full = signed(code, bits, p)
        out[i] = p.nan if magnitude > INF else full


@compiled(nogil=True)
def half_codes32(x: Any, out: Any, numbers: Any) -> None:
    """As nearest_codes32, to FP16 by the processor's conversion."""
    nan = numbers[NAN]
    for i in range(x.size):
        out[i] = nan if U32(x[i] & MAGNITUDE) > INF else half_code(x[i])


@compiled()
def _all_normal(x: Any, out: Any, p: Any) -> bool:
    """Codes of values, assuming that each is zero or becomes a normal number; returns False if one is not."""
    low = U32(left(p.least, U32(23)))
    zero = U32(low - HIDDEN)  # replaces 0: the addend turns it into code 0
    added = U32(U32(left(p.half, U32(p.spare - U32(1))) + p.extra) - zero)
    smallest, largest = U32(0xFFFFFFFF), U32(0)
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & MAGNITUDE)
        smallest = min(smallest, U32(magnitude - U32(1)))  # wraps around for 0, which is skipped
        largest = max(largest, magnitude)
        whole = max(magnitude, zero)
        code = right(U32(U32(whole + added) + U32(right(whole, p.spare) & p.odd)), p.spare)
        out[i] = signed(code, bits, p)
    return bool(smallest >= U32(low - U32(1)) and largest <= U32(low + p.span))


@compiled(nogil=True)
def wide_codes32(x: Any, out: Any, numbers: Any) -> None:
    """As nearest_codes32, for targets with so many binades that most parts of an array contain only normal numbers."""
    p = unpacked(numbers)
    for start in range(0, x.size, PART):
        values, codes = x[start : start + PART], out[start : start + PART]
        if not _all_normal(values, codes, p):
            nearest_codes32(values, codes, numbers)


@compiled(nogil=True)
def nearest_values32(x: Any, out: Any, numbers: Any) -> None:
    """float32 bits to the float32 bits of the converted values; limits and specials are such bits too."""
    p = unpacked(numbers)
    least = I32(p.least)
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & MAGNITUDE)
        significand = U32(U32(magnitude & FRACTION) | HIDDEN)
        below = I32(max(I32(least - I32(magnitude >> U32(23))), I32(0)))
        shift = min(U32(I32(p.spare) + below), ALL)
        addend = _addend(significand, shift, p)
        # A carry out of the mantissa increments the exponent. Beyond the significand, the result is zero or `smallest`.
        near = U32(U32(magnitude + addend) & left(U32(0xFFFFFFFF), shift))
        far = p.smallest if right(U32(significand + addend), shift) else U32(0)
        value = near if shift < U32(24) else far
        value = p.beyond if value > p.limit else value
        value = p.inf if magnitude == INF else value
        full = U32(value | U32(bits & SIGN))
        out[i] = p.nan if magnitude > INF else full


@compiled(nogil=True)
def same_exponents_codes32(x: Any, out: Any, numbers: Any) -> None:
    """float32 bits to the codes of a format that differs only in its mantissa bits and overflows to Inf."""
    p = unpacked(numbers)
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & MAGNITUDE)
        full = right(U32(bits + _addend(magnitude, p.spare, p)), p.spare)  # keeps the sign, and Inf
        out[i] = p.nan if magnitude > INF else full


@compiled(nogil=True)
def same_exponents_values32(x: Any, out: Any, numbers: Any) -> None:
    """The same, to the bits of float32 values."""
    p = unpacked(numbers)
    mask = left(U32(0xFFFFFFFF), p.spare)
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & MAGNITUDE)
        full = U32(U32(bits + _addend(magnitude, p.spare, p)) & mask)
        out[i] = p.nan if magnitude > INF else full
