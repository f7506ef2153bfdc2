"""The random Hadamard transform of the operands of a product, which spreads outliers over their blocks.

Source: NVIDIA, Pretraining Large Language Models with NVFP4, arXiv 2509.25149, appendix C.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error

Array = NDArray[Any]
SIZES: Final = (4, 16, 64, 256)  # whose roots are powers of two, so that scaling is exact


def check_hadamard(size: object, where: str) -> None:
    """Raise Error for anything but a size of the transform, or 0."""
    if isinstance(size, bool) or size not in (0, *SIZES):
        raise Error(f"{where}: hadamard = {size!r} is not a size: use {', '.join(map(str, SIZES))}, or 0 for none")


def pad_rows(x: Array, size: int) -> Array:
    """A matrix with rows of zeros after its own, up to a multiple of so many."""
    rest = -len(x) % size
    return np.concatenate([x, np.zeros((rest, x.shape[1]), x.dtype)]) if rest else x


def sign_factors(words: Array) -> Array:
    """What each of n rows is multiplied by before the sums: 1 / sqrt(n), negative where its word of one bit is one."""
    scale = np.float32(1 / math.isqrt(len(words)))
    return np.where(words, -scale, scale)


def sums(x: Array, size: int, add: Callable[..., object], sub: Callable[..., object]) -> Array:
    """Each `size` rows of a matrix times the Hadamard matrix, whose entry (i, j) is -1 to the number of bits that i
    and j have in common: row i is a sum of neighbours, level by level, where level b subtracts if i has bit b.

    add, sub: of two arrays, into a third, `out`.
    """
    step = 1
    while step < size:
        pairs = x.reshape(-1, 2, step, x.shape[1])
        level = np.empty_like(pairs)
        add(pairs[:, 0], pairs[:, 1], out=level[:, 0])
        sub(pairs[:, 0], pairs[:, 1], out=level[:, 1])
        x, step = level.reshape(x.shape), 2 * step
    return x


def transform(x: Array, words: Array) -> Array:
    """Each n rows of a matrix, n words of one bit: each row times its factor, then the sums, in x's type. If the number
    of rows is not a multiple of n, rows of zeros follow."""
    n, rows = len(words), pad_rows(x, len(words))
    scaled = rows.reshape(-1, n, x.shape[1]) * sign_factors(words).astype(x.dtype)[:, np.newaxis]
    return sums(scaled.reshape(rows.shape), n, np.add, np.subtract)
