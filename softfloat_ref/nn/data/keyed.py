"""Random numbers for data: Philox words by position, each purpose with a stream of its own.

Everything is computed in integers, so that the same seed gives the same bits with any libm and numpy version.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.oracle.sources import WORD_BITS, Philox

_FIRST_STREAM: Final = int.from_bytes(b"data") << 32  # streams 0 and on serve roundings and vectors
SHUFFLE: Final = _FIRST_STREAM
SPLIT: Final = _FIRST_STREAM + 1
EXAMPLES: Final = _FIRST_STREAM + 2
CENTRES: Final = _FIRST_STREAM + 3
LINES: Final = _FIRST_STREAM + 4
_EPOCHS: Final = 1 << 40  # words that an epoch may use: no two share one


def random_words(seed: int, stream: int, start: int, count: int) -> NDArray[np.uint64]:
    """Words of 64 bits from a position on. Raises Error for a seed that is not an unsigned integer of 64 bits."""
    return Philox(seed, stream).array(WORD_BITS, start, count)


def permutation(seed: int, stream: int, turn: int, count: int) -> NDArray[np.int64]:
    """A random order of `count` things, different in each turn: each is sorted by a random word."""
    order: NDArray[np.int64] = np.argsort(random_words(seed, stream, turn * _EPOCHS, count), kind="stable").astype(
        np.int64
    )
    return order


def bit_fields(drawn: NDArray[np.uint64], width: int) -> NDArray[np.int64]:
    """Words cut into fields of `width` bits, the lowest first, along an additional axis."""
    shifts = np.arange(0, WORD_BITS, width, dtype=np.uint64)
    mask = np.uint64((1 << width) - 1)
    values: NDArray[np.int64] = ((drawn[..., np.newaxis] >> shifts) & mask).astype(np.int64)
    return values
