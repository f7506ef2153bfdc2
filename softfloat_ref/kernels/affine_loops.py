"""The compiled loop of affine integers: float32 values to the values of their integers, one rounding each."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from softfloat_ref.kernels.convert import rounds_up
from softfloat_ref.kernels.jit import compiled
from softfloat_ref.rounding import RNE

FRACTION: Final = 18  # bits of a quotient below the point, before the one that says whether anything follows
MAX_RANDOM: Final = FRACTION - 1


@compiled(forceinline=True)
def _fixed(magnitude: Any, scale: Any, limit: Any) -> Any:
    """magnitude / scale, held within limit, in units of 2^-(FRACTION + 1) and rounded to odd.

    Both are float32's, the quotient cut has at most 28 bits: its product with the scale is exact in float64, and tells
    whether the division rounded it up, and whether it is exact.
    """
    quotient = min(magnitude / scale, limit)
    units = np.int64(quotient * (1 << FRACTION))
    product = np.float64(units) * (scale / (1 << FRACTION))
    units -= 1 if product > magnitude else 0
    return units << 1 | (1 if product != magnitude else 0)


@compiled(forceinline=True)
def _values(x: Any, words: Any, scale: Any, numbers: Any, table: Any, out: Any, mode: int, n: int) -> None:
    zero_point, lowest, highest = numbers[0], numbers[1], numbers[2]
    limit, shift = np.float64(4 * (highest - lowest + 1)), FRACTION + 1
    offset, mask, below = zero_point << shift, (np.int64(1) << shift) - 1, shift - n - 1
    for i in range(x.size):
        value = np.float64(x[i])
        fixed = _fixed(abs(value), scale, limit)
        total = (-fixed if value < 0 else fixed) + offset
        negative = 1 if total < 0 else 0
        magnitude = abs(total)
        kept, rest = magnitude >> shift, magnitude & mask
        discarded, sticky = rest >> below, 1 if rest & ((np.int64(1) << below) - 1) else 0
        word = np.int64(words[i]) if n else np.int64(0)
        kept += 1 if rounds_up(mode, negative, kept & 1, discarded, sticky, n, word) else 0
        q = min(max(-kept if negative else kept, lowest), highest)
        out[i] = table[q - lowest]


@compiled(nogil=True)
def affine_values(x: Any, words: Any, scale: Any, numbers: Any, table: Any, out: Any, mode: int, n: int) -> None:
    """Finite float32 values to table[q - lowest], q = clamp(round(x / scale + zero point)).

    numbers: zero point, lowest, highest. words: random ones of n bits, of a stochastic rounding.
    """
    if mode == RNE:  # the same loop, compiled for the commonest
        _values(x, words, scale, numbers, table, out, RNE, 0)
    else:
        _values(x, words, scale, numbers, table, out, mode, n)
