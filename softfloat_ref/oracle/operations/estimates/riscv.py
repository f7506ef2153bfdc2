"""RISC-V's vfrec7 and vfrsqrt7 (unprivileged ISA manual, vector extension).

The manual's two tables of 128 entries follow from one rule, by which they are computed here: an entry stands for an
interval of operands, and is the estimate whose largest relative error at the interval's ends is least.
"""

from __future__ import annotations

from itertools import pairwise
from math import isqrt
from typing import Final

from softfloat_ref.oracle.operations.estimate import Estimate
from softfloat_ref.oracle.operations.estimates.rows import estimate
from softfloat_ref.oracle.operations.table import Standing

BITS: Final = 7
_ENTRIES: Final = 1 << BITS
_SCALE: Final = 96  # fraction bits of the intervals' ends and their square roots: no two errors agree in so many


def reciprocals() -> list[int]:
    """The entries of vfrec7, by the seven leading bits of the fraction."""
    ends = [x << _SCALE - BITS for x in range(_ENTRIES, 2 * _ENTRIES + 1)]
    return [_best(low, high) for low, high in pairwise(ends)]


def roots() -> list[int]:
    """The entries of vfrsqrt7, by the parity of the exponent and the six leading bits of the fraction."""
    half = _ENTRIES // 2
    entries = []
    for odd in (0, 1):
        ends = [isqrt(x << 2 * _SCALE - BITS + 1 + odd) for x in range(half, 2 * half + 1)]
        entries += [_best(low, high) for low, high in pairwise(ends)]
    return entries


def _best(low: int, high: int) -> int:
    """The entry y for which low * y and high * y are nearest to one, y being at least a half."""
    one = 2 * _ENTRIES << _SCALE
    return min(range(_ENTRIES), key=lambda y: max(abs(low * (_ENTRIES + y) - one), abs(high * (_ENTRIES + y) - one)))


_MANUAL: Final = "RISC-V unprivileged ISA manual, vector extension"
_CHECKED: Final = "QEMU: fp16 every code, fp32 and fp64 samples; five roundings, flags; tables: manual's"

estimate(
    "vfrec7",
    "RISC-V: 1 / a to 7 bits",
    Standing(_CHECKED, _MANUAL),
    Estimate(root=False, index_bits=BITS, bits=BITS, make=reciprocals),
)
estimate(
    "vfrsqrt7",
    "RISC-V: 1 / sqrt(a) to 7 bits",
    Standing(_CHECKED, _MANUAL),
    Estimate(root=True, index_bits=BITS - 1, bits=BITS, make=roots),
)
