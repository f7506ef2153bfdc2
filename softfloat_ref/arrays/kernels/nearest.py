"""The loops of the commonest conversions: roundings that treat both signs alike and add the same to what they cut.

To the nearest, and towards zero, a significand that loses its last n bits grows just where adding a constant (one more
or less where the last kept bit is set) to those bits carries. `plans.nearest_numbers` reads the constants off the truth
table of `rounding.rounds_up`; where there are none, the loops of kernels/convert.py do the work.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from softfloat_ref.arrays.kernels.convert import I32, U32, left, right
from softfloat_ref.arrays.kernels.jit import compiled

SIGN: Final = U32(0x80000000)
MAGNITUDE: Final = U32(0x7FFFFFFF)
INF: Final = U32(0x7F800000)
HIDDEN: Final = U32(0x800000)
FRACTION: Final = U32(0x7FFFFF)
PART: Final = 1024  # values
WIDE: Final = 28  # binades
ALL: Final = U32(26)  # a significand of 24 bits that loses so many is zero, rounded to the nearest or towards zero


class Nearest(NamedTuple):
    """What the loops need, of the type uint32.

    spare: mantissa bits the target lacks. least: float32's exponent field of the target's lowest normal binade, above
    ALL, so that a float32 subnormal is zero. What is added to n discarded bits: half << (n - 1), extra, and the last
    kept bit where odd is 1. limit: the largest finite; beyond, inf: what stands for more, and for Inf; nan: complete.
    sign_shift: places from float32's sign to the target's. smallest: of values, the smallest subnormal. span: from the
    bits of the smallest normal to those of the largest finite.
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


@compiled(forceinline=True)
def unpacked(n: Any) -> Any:
    """As convert.plain."""
    return Nearest(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12])


@compiled(forceinline=True)
def _addend(significand: Any, shift: Any, p: Any) -> Any:
    """What is added to a significand that loses its last `shift` bits, of which there is at least one."""
    odd = U32(right(significand, shift) & p.odd)
    return U32(U32(left(p.half, U32(shift - U32(1))) + p.extra) + odd)


@compiled(forceinline=True)
def magnitude_code(bits: Any, least: Any, p: Any) -> Any:
    """The code of a finite float32's magnitude, not limited.

    least: as p.least, of a block's own scale, at most plans.FAR, so that one less fits a signed number's exponent.
    """
    magnitude = U32(bits & MAGNITUDE)
    significand = U32(U32(magnitude & FRACTION) | HIDDEN)
    lost = I32(I32(least + I32(p.spare)) - I32(magnitude >> U32(23)))
    shift = U32(min(max(lost, I32(p.spare)), I32(ALL)))
    # A normal number's exponent above the lowest goes before its significand; else this is less than that.
    normal = I32(magnitude - U32(U32(I32(least - I32(1))) << U32(23)))
    whole = U32(max(normal, I32(significand)))
    # The parity is the significand's: without mantissa bits, `whole` has the exponent's in that place.
    return right(U32(whole + _addend(significand, shift, p)), shift)


@compiled(forceinline=True)
def signed(code: Any, bits: Any, p: Any) -> Any:
    """The code with float32's sign."""
    return U32(code | U32(right(bits, p.sign_shift) & right(SIGN, p.sign_shift)))


@compiled(nogil=True)
def nearest_codes32(x: Any, out: Any, numbers: Any) -> None:
    """float32 bits to codes; numbers: an array of a Nearest's fields, here and below."""
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


@compiled()
def _all_normal(x: Any, out: Any, p: Any) -> bool:
    """Codes of values of which each is zero or becomes a normal number; False where one is something else."""
    low = U32(left(p.least, U32(23)))
    zero = U32(low - HIDDEN)  # in place of 0, as what is added makes it the code 0
    added = U32(U32(left(p.half, U32(p.spare - U32(1))) + p.extra) - zero)
    smallest, largest = U32(0xFFFFFFFF), U32(0)
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & MAGNITUDE)
        smallest = min(smallest, U32(magnitude - U32(1)))  # 0 is none
        largest = max(largest, magnitude)
        whole = max(magnitude, zero)
        code = right(U32(U32(whole + added) + U32(right(whole, p.spare) & p.odd)), p.spare)
        out[i] = signed(code, bits, p)
    return bool(smallest >= U32(low - U32(1)) and largest <= U32(low + p.span))


@compiled(nogil=True)
def wide_codes32(x: Any, out: Any, numbers: Any) -> None:
    """As nearest_codes32, for targets of so many binades that most parts of an array have normal numbers only."""
    p = unpacked(numbers)
    for start in range(0, x.size, PART):
        values, codes = x[start : start + PART], out[start : start + PART]
        if not _all_normal(values, codes, p):
            nearest_codes32(values, codes, numbers)


@compiled(nogil=True)
def nearest_values32(x: Any, out: Any, numbers: Any) -> None:
    """float32 bits to the float32 bits of the values after conversion; limits and specials are such bits too."""
    p = unpacked(numbers)
    least = I32(p.least)
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & MAGNITUDE)
        significand = U32(U32(magnitude & FRACTION) | HIDDEN)
        below = I32(max(I32(least - I32(magnitude >> U32(23))), I32(0)))
        shift = min(U32(I32(p.spare) + below), ALL)
        addend = _addend(significand, shift, p)
        # The carry of the last kept bit runs into the exponent, as it must. Beyond the significand, all or nothing.
        near = U32(U32(magnitude + addend) & left(U32(0xFFFFFFFF), shift))
        far = p.smallest if right(U32(significand + addend), shift) else U32(0)
        value = near if shift < U32(24) else far
        value = p.beyond if value > p.limit else value
        value = p.inf if magnitude == INF else value
        full = U32(value | U32(bits & SIGN))
        out[i] = p.nan if magnitude > INF else full


@compiled(nogil=True)
def same_exponents_codes32(x: Any, out: Any, numbers: Any) -> None:
    """float32 bits to the codes of a format that differs in its mantissa bits only, and whose Inf is what overflows."""
    p = unpacked(numbers)
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & MAGNITUDE)
        full = right(U32(bits + _addend(magnitude, p.spare, p)), p.spare)  # Inf stays, and the sign
        out[i] = p.nan if magnitude > INF else full


@compiled(nogil=True)
def same_exponents_values32(x: Any, out: Any, numbers: Any) -> None:
    """The same to the bits of the values."""
    p = unpacked(numbers)
    mask = left(U32(0xFFFFFFFF), p.spare)
    for i in range(x.size):
        bits = x[i]
        magnitude = U32(bits & MAGNITUDE)
        full = U32(U32(bits + _addend(magnitude, p.spare, p)) & mask)
        out[i] = p.nan if magnitude > INF else full
