"""Compares kernels/exponentials.py with the loops of all functions: every float32, or one in so many.

    python tests/peers/compare_exponentials.py [EVERY] [NAME...]

Prints how many operands were compared, how many of them are left to the other loops, and how many differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from softfloat_ref.arrays import functions
from softfloat_ref.arrays.kernels.dispatch import read_only
from softfloat_ref.arrays.kernels.exponentials import LOOPS
from softfloat_ref.oracle.operations import OPERATIONS

QUICK = {name: LOOPS[row.quick] for name, row in OPERATIONS.items() if row.quick}
OPERANDS = 1 << 32
_PART = 1 << 20


def compare(name: str, every: int) -> tuple[int, int, int]:
    """Of one function, over every so many-th operand: how many, how many are undecided, and how many differ."""
    count, left, wrong = 0, 0, 0
    for codes in _parts(every):
        found, known = np.empty(codes.size, np.float32), np.empty(codes.size, np.uint32)
        left += QUICK[name](read_only(codes.view(np.float32)), found)
        functions._settle(name, read_only(codes), known)
        count += codes.size
        wrong += int(((found.view(np.uint32) != known) & ~np.isnan(found)).sum())
    return count, left, wrong


def _parts(every: int) -> Iterator[np.ndarray]:
    for start in range(0, OPERANDS, every * _PART):
        yield np.arange(start, min(start + every * _PART, OPERANDS), every, dtype=np.uint64).astype(np.uint32)


def main(every: str = "1", *names: str) -> int:
    total = 0
    for name in names or QUICK:
        count, left, wrong = compare(name, int(every))
        print(f"{name}: {count:,} operands, {left:,} left to the other loops, {wrong:,} differ", flush=True)
        total += wrong
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
