"""Stochastic rounding of float32 values with the words of a Philox source, in one call: calls are most of the work for
small arrays."""

from __future__ import annotations

from typing import Any

from softfloat_ref.arrays.kernels.convert import stochastic_codes32, table_values
from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.arrays.kernels.random_words import fill


@compiled(nogil=True)
def stochastic_values32(
    x: Any, seed: Any, stream: Any, drop: Any, words: Any, codes: Any, p: Any, mode: int, n: int, table: Any, out: Any
) -> None:
    """float32 bits to the values of their codes. words, codes: room for a part of them; table: values by code."""
    for start in range(0, x.size, words.size):
        end = min(start + words.size, x.size)
        drawn, made = words[: end - start], codes[: end - start]
        fill(seed, stream, start, drop, drawn)
        stochastic_codes32(x[start:end], drawn, made, p, mode, n)
        table_values(made, table, out[start:end])
