"""The compiled loops of affine integers: float32 values to the values of their integers, each rounded once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels.convert import rounds_up
from softfloat_ref.arrays.kernels.jit import compiled

FRACTION: Final = 18  # fraction bits of a quotient, above its sticky bit
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
def affine_values(x: Any, scale: Any, numbers: Any, table: Any, out: Any) -> None:
    """out[i] = table[q - lowest] for finite float32 x[i], q = clamp(round(x / scale + zero point)).

    numbers: zero point, lowest, highest, and the rounding decision: the truth table of rounding.rounds_up, at bit
    8*negative + 4*odd + 2*guard + sticky.
    """
    lowest, highest, decisions = numbers[1], numbers[2], numbers[3]
    for i in range(x.size):
        total = _total(x[i], scale, numbers)
        negative = 1 if total < 0 else 0
        magnitude = abs(total)
        kept, sticky = magnitude >> (FRACTION + 1), 1 if magnitude & ((1 << FRACTION) - 1) else 0
        case = (negative * 2 + (kept & 1)) * 4 + (magnitude >> FRACTION & 1) * 2 + sticky
        kept += decisions >> case & 1
        out[i] = table[min(max(-kept if negative else kept, lowest), highest) - lowest]


@compiled(nogil=True)
def stochastic_affine_values(
    x: Any, words: Any, scale: Any, numbers: Any, table: Any, out: Any, mode: int, n: int
) -> None:
    """The same with stochastic rounding; each value has its own random word of n bits."""
    lowest, highest, below = numbers[1], numbers[2], FRACTION - n
    for i in range(x.size):
        total = _total(x[i], scale, numbers)
        negative = 1 if total < 0 else 0
        magnitude = abs(total)
        kept, rest = magnitude >> (FRACTION + 1), magnitude & ((1 << (FRACTION + 1)) - 1)
        sticky = 1 if rest & ((1 << below) - 1) else 0
        up = rounds_up(mode, negative, kept & 1, rest >> below, sticky, n, np.int64(words[i]))
        kept += 1 if up else 0
        out[i] = table[min(max(-kept if negative else kept, lowest), highest) - lowest]
