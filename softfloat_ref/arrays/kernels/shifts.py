"""The compiled loop of rounded shifts, by the oracle's function."""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable

from softfloat_ref.arrays.kernels import loops  # noqa: F401  (registers rounds_up)
from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.oracle import rounding

register_jitable(forceinline=True)(rounding.round_shift)
_round_shift: Any = rounding.round_shift


@compiled(nogil=True)
def round_shifts(x: Any, shift: Any, mode: int, out: Any) -> None:
    """out[i] = x[i] / 2^shift[i], rounded; shifts are at most 63 bits, and results fit 64."""
    for i in range(x.size):
        out[i] = _round_shift(x[i], shift[i], mode)
