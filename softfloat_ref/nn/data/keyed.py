"""Random numbers for data: Philox words by position, each purpose with a stream of its own.

Everything is made of integers, so that the same seed gives the same bits whatever libm or numpy's generators do.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.sources import WORD_BITS, Philox

_FIRST: Final = int.from_bytes(b"data") << 32  # streams 0 and on serve roundings and vectors
SHUFFLE: Final = _FIRST
SPLIT: Final = _FIRST + 1
EXAMPLES: Final = _FIRST + 2
CENTRES: Final = _FIRST + 3
LINES: Final = _FIRST + 4
_EPOCHS: Final = 1 << 40  # words that an epoch may use: no two share one


def words(seed: int, stream: int, start: int, count: int) -> NDArray[np.uint64]:
    """Words of 64 bits from a position on. Raises Error for a seed that is no unsigned integer of 64 bits."""
    return Philox(seed, stream).array(WORD_BITS, start, count)


def permutation(seed: int, stream: int, turn: int, count: int) -> NDArray[np.int64]:
    """The order of so many things, another one each turn: they are sorted by a random word each."""
    order: NDArray[np.int64] = np.argsort(words(seed, stream, turn * _EPOCHS, count), kind="stable").astype(np.int64)
    return order


def fields(drawn: NDArray[np.uint64], width: int) -> NDArray[np.int64]:
    """Words cut into fields of so many bits, the lowest first: one more axis."""
    shifts = np.arange(0, WORD_BITS, width, dtype=np.uint64)
    mask = np.uint64((1 << width) - 1)
    found: NDArray[np.int64] = ((drawn[..., np.newaxis] >> shifts) & mask).astype(np.int64)
    return found
