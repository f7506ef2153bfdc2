"""The compiled loops of affine integers: float32 values to integers or their values, each rounded once, and back."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import intrinsic

from softfloat_ref.arrays.kernels.convert import I32, U32, U64, right, rounds_up
from softfloat_ref.arrays.kernels.jit import compiled, double, double_bits

FRACTION: Final = 18  # fraction bits of a quotient, above its sticky bit
LARGEST: Final = np.float32(np.finfo(np.float32).max)
TINY: Final = 2.0**-126  # smallest normal
DROPPED: Final = 9  # as divided_loops.DROPPED
MAX_RANDOM: Final = FRACTION - 1


@compiled(forceinline=True)
def _fixed(magnitude: Any, scale: Any, limit: Any) -> Any:
    """magnitude / scale, limited to `limit`, in units of 2^-(FRACTION + 1) and rounded to odd.

    Both are float32 values, and the truncated quotient has at most 28 bits, so its product with the scale is exact in
    float64. The product shows whether the division rounded up and whether it was exact.
    """
    quotient = min(magnitude / scale, limit)
    units = np.int64(quotient * (1 << FRACTION))
    product = np.float64(units) * (scale / (1 << FRACTION))
    units -= 1 if product > magnitude else 0
    return units << 1 | (1 if product != magnitude else 0)


@compiled(forceinline=True)
def _total(x: Any, scale: Any, numbers: Any) -> Any:
    """x / scale + zero point in the units of `_fixed`."""
    value = np.float64(x)
    fixed = _fixed(abs(value), scale, np.float64(4 * (numbers[2] - numbers[1] + 1)))
    return (-fixed if value < 0 else fixed) + (numbers[0] << (FRACTION + 1))


@compiled(nogil=True)
def stochastic_affine_values(
    x: Any, words: Any, scale: Any, numbers: Any, table: Any, out: Any, mode: int, n: int
) -> None:
    """out[i] = table[q - lowest] for finite float32 x[i], q = clamp(round(x / scale + zero point)), by stochastic
    rounding; each value has its own random word of n bits. numbers: zero point, lowest, highest."""
    lowest, highest, below = numbers[1], numbers[2], FRACTION - n
    for i in range(x.size):
        total = _total(x[i], scale, numbers)
        negative = 1 if total < 0 else 0
        magnitude = abs(total)
        whole, rest = magnitude >> (FRACTION + 1), magnitude & ((1 << (FRACTION + 1)) - 1)
        sticky = 1 if rest & ((1 << below) - 1) else 0
        up = rounds_up(mode, negative, whole & 1, rest >> below, sticky, n, np.int64(words[i]))
        whole += 1 if up else 0
        out[i] = table[min(max(-whole if negative else whole, lowest), highest) - lowest]


# -- integers --------------------------------------------------------------------------------------------------------

EXACT, STEPS, FUSED = 0, 1, 2  # arithmetic: the exact quotient; two roundings to FP32; one
ZERO, LOWEST, HIGHEST, DECISIONS, ARITHMETIC, INSIDE, NAN_CODE = range(7)  # fields of `numbers`; ZERO is not used
ZERO_POINT: Final = 1 << 20  # as NAN_CODE: a NaN becomes the zero point
PART: Final = 1024
_GUARD: Final = U32(1 << FRACTION)
_STICKY: Final = U32((1 << FRACTION) - 1)
_HALF: Final = U64(1 << (DROPPED - 1))
_KEPT: Final = U64((1 << 64) - (1 << DROPPED))


@intrinsic
def _fused(context: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c of float32, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), generate


fused: Any = _fused


@compiled()
def _unrounded(x: Any, inverse: Any, zeros: Any, arithmetic: int, inside: int, wide: Any) -> None:
    """What is rounded, but for the zero point of exact arithmetic. inverse: of the scales; in FP32 unless exact.

    The product with a float64 reciprocal is on the same side of every half integer as the quotient: they differ from
    each other by far more than the bits that are dropped. Dropping them restores an exact quotient.
    """
    if arithmetic == EXACT:
        for i in range(x.size):
            wide[i] = double(U64(double_bits(np.float64(x[i]) * inverse[i]) + _HALF) & _KEPT)
    elif arithmetic == FUSED:
        for i in range(x.size):
            wide[i] = fused(x[i], np.float32(inverse[i]), np.float32(zeros[i]))
    elif inside:
        for i in range(x.size):
            wide[i] = np.float32(np.float32(x[i] * np.float32(inverse[i])) + np.float32(zeros[i]))
    else:
        for i in range(x.size):
            wide[i] = np.float32(x[i] * np.float32(inverse[i]))


@compiled()
def _rounded(wide: Any, zeros: Any, numbers: Any, out: Any) -> None:
    """Integers by the truth table of the rounding, in units of 2^-(FRACTION + 1) with a sticky bit; then clamped."""
    lowest, highest, decisions = I32(numbers[LOWEST]), I32(numbers[HIGHEST]), U32(numbers[DECISIONS])
    limit, one = np.float64(4 * (highest - lowest + 1)), np.float64(1 << FRACTION)
    before = I32(numbers[INSIDE] != 0 and numbers[ARITHMETIC] == EXACT)
    after = I32(numbers[INSIDE] == 0)
    for i in range(out.size):
        value = wide[i]
        scaled = min(abs(value), limit) * one
        units = I32(scaled)
        fixed = I32(I32(units * I32(2)) + I32(np.float64(units) != scaled))
        signed = -fixed if value < 0.0 else fixed
        total = I32(I32(signed) + I32(I32(zeros[i] * before) * I32(1 << (FRACTION + 1))))
        negative = total < I32(0)
        magnitude = U32(abs(total))
        whole = right(magnitude, U32(FRACTION + 1))
        case = U32(U32(8) if negative else U32(0)) | U32(U32(whole & U32(1)) << U32(2))
        case = U32(case | U32(U32((magnitude & _GUARD) != U32(0)) << U32(1)) | U32((magnitude & _STICKY) != U32(0)))
        whole = U32(whole + U32(right(decisions, case) & U32(1)))
        integer = I32(I32(-I32(whole) if negative else I32(whole)) + I32(zeros[i] * after))
        out[i] = min(max(integer, lowest), highest)


@compiled()
def _patched(x: Any, zeros: Any, numbers: Any, out: Any) -> Any:
    """Set the integers of Inf and NaN; returns 1 if there was a NaN, plus 2 if there was an Inf."""
    specials = 0
    for i in range(x.size):
        if np.isnan(x[i]):
            out[i] = zeros[i] if numbers[NAN_CODE] == ZERO_POINT else numbers[NAN_CODE]
            specials |= 1
        elif np.isinf(x[i]):
            out[i] = numbers[HIGHEST] if x[i] > 0 else numbers[LOWEST]
            specials |= 2
    return specials


@compiled()
def _part(x: Any, inverse: Any, zeros: Any, numbers: Any, wide: Any, out: Any) -> Any:
    _unrounded(x, inverse, zeros, numbers[ARITHMETIC], numbers[INSIDE], wide)
    _rounded(wide, zeros, numbers, out)
    finite = True
    for i in range(x.size):
        finite &= abs(x[i]) <= LARGEST
    return 0 if finite else _patched(x, zeros, numbers, out)


@compiled(nogil=True)
def affine_integers(x: Any, inverse: Any, zeros: Any, numbers: Any, out: Any) -> Any:
    """out = clamp(round(x / scale + zero point)) for float32 x (outer, channels, inner); one inverse and one zero point
    (int32) per channel. Returns 1 if there was a NaN, plus 2 if there was an Inf."""
    wide, specials = np.empty(PART, np.float64), 0
    factors, middles = np.empty(PART, np.float64), np.empty(PART, np.int32)
    for outer in range(x.shape[0]):
        if x.shape[2] == 1:
            values, integers = x[outer, :, 0], out[outer, :, 0]
            for left in range(0, x.shape[1], PART):
                part = slice(left, min(left + PART, x.shape[1]))
                specials |= _part(values[part], inverse[part], zeros[part], numbers, wide, integers[part])
            continue
        for c in range(x.shape[1]):
            factors[:], middles[:] = inverse[c], zeros[c]
            for left in range(0, x.shape[2], PART):
                part = slice(left, min(left + PART, x.shape[2]))
                specials |= _part(x[outer, c, part], factors, middles, numbers, wide, out[outer, c, part])
    return specials


@compiled(nogil=True)
def stochastic_integers(x: Any, words: Any, scales: Any, zeros: Any, numbers: Any, out: Any, mode: int, n: int) -> None:
    """The same by stochastic rounding, exact and inside, for finite values; words: (outer, channels, inner) of n bits;
    one scale (float64) per channel."""
    lowest, highest, below = numbers[LOWEST], numbers[HIGHEST], FRACTION - n
    for outer in range(x.shape[0]):
        for c in range(x.shape[1]):
            scale, own = scales[c], np.array([zeros[c], lowest, highest, 0])
            for i in range(x.shape[2]):
                total = _total(x[outer, c, i], scale, own)
                negative, magnitude = 1 if total < 0 else 0, abs(total)
                whole, rest = magnitude >> (FRACTION + 1), magnitude & ((1 << (FRACTION + 1)) - 1)
                sticky = 1 if rest & ((1 << below) - 1) else 0
                word = np.int64(words[outer, c, i])
                whole += 1 if rounds_up(mode, negative, whole & 1, rest >> below, sticky, n, word) else 0
                out[outer, c, i] = min(max(-whole if negative else whole, lowest), highest)


@compiled()
def _ends(x: Any) -> Any:
    low, high = np.float32(0), np.float32(0)
    for i in range(x.size):
        value = x[i] if abs(x[i]) <= LARGEST else np.float32(0)
        low, high = min(low, value), max(high, value)
    return low, high


@compiled(nogil=True)
def ranges(x: Any, low: Any, high: Any) -> None:
    """Extend the range of each channel of x (outer, channels, inner) to its finite values."""
    for outer in range(x.shape[0]):
        if x.shape[2] == 1:
            for c in range(x.shape[1]):
                value = x[outer, c, 0] if abs(x[outer, c, 0]) <= LARGEST else np.float32(0)
                low[c], high[c] = min(low[c], value), max(high[c], value)
            continue
        for c in range(x.shape[1]):
            first, last = _ends(x[outer, c])
            low[c], high[c] = min(low[c], first), max(high[c], last)


@compiled(nogil=True)
def values_of_integers(q: Any, scales: Any, zeros: Any, out: Any) -> None:
    """(q - zero point) * scale for q (outer, channels, inner) and one scale (float64) per channel: the product is exact
    in float64, so the conversion to float32 rounds it once."""
    for outer in range(q.shape[0]):
        if q.shape[2] == 1:
            for c in range(q.shape[1]):
                out[outer, c, 0] = np.float32(np.float64(I32(q[outer, c, 0] - zeros[c])) * scales[c])
            continue
        for c in range(q.shape[1]):
            _scaled(q[outer, c], scales[c], zeros[c], out[outer, c])


@compiled()
def _scaled(q: Any, scale: Any, zero: Any, out: Any) -> None:
    for i in range(q.size):
        out[i] = np.float32(np.float64(I32(q[i] - zero)) * scale)


# -- parameters ------------------------------------------------------------------------------------------------------

_NEAR: Final = 2.0**-40


@compiled(error_model="numpy")
def _single(quotient: Any) -> Any:
    """A float64 quotient as float32, and whether the exact quotient is too near a midpoint, or subnormal, to tell."""
    bits = U64(double_bits(quotient) & U64((1 << 29) - 1))
    doubtful = U64(bits - U64((1 << 28) - 2)) <= U64(4) or not TINY <= quotient <= LARGEST
    return np.float32(quotient), doubtful


@compiled(nogil=True, error_model="numpy")
def parameters(low: Any, high: Any, parts: Any, numbers: Any, scales: Any, zeros: Any, left: Any) -> None:
    """Exact scales (range / parts, in FP32) and zero points of asymmetric ranges that are not empty; `left` is set for
    those that rounding in float64 does not decide."""
    for c in range(low.size):
        a, b = np.float64(low[c]), np.float64(high[c])
        span = b - a
        part = span - b
        error = (b - (span - part)) + (-a - part)  # of the sum (Knuth)
        scale, doubtful = _single(span / parts)
        steps = -a / np.float64(scale)
        whole = np.int64(min(steps + 0.5, 1e6))
        near = abs(steps + 0.5 - np.float64(whole)) < _NEAR or abs(steps - 0.5 - np.float64(whole)) < _NEAR
        left[c] = doubtful or near or error != 0.0
        scales[c] = scale
        zeros[c] = min(max(numbers[LOWEST] + whole, numbers[LOWEST]), numbers[HIGHEST])
