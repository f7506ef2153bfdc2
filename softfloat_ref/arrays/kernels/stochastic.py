"""Stochastic rounding of float32 values with the words of a Philox source, in one call: calls are most of the work for
small arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels.convert import are_exact, plain, stochastic_codes32, table_values
from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.arrays.kernels.random_words import fill

PART: Final = 1 << 13  # values at a time


@compiled(nogil=True)
def stochastic_values32(
    x: Any, seed: Any, stream: Any, drop: Any, numbers: Any, mode: int, n: int, table: Any, out: Any
) -> None:
    """float32 bits to the values of their codes. numbers: the fields of a Plain; table: values by code."""
    size, p = min(PART, x.size), plain(numbers)
    words, codes = np.empty(size, np.uint32), np.empty(size, np.uint32)
    for start in range(0, x.size, PART):
        end = min(start + PART, x.size)
        drawn, chunk_codes = words[: end - start], codes[: end - start]
        if are_exact(x[start:end], p):  # which costs less than the words
            drawn[:] = 0
        else:
            fill(seed, stream, start, drop, drawn)
        stochastic_codes32(x[start:end], drawn, chunk_codes, p, mode, n)
        table_values(chunk_codes, out[start:end], table)
