"""Initial values of parameters, and noise: the same on every platform."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.oracle.sources import Philox, key

_PARAMETERS: Final = 4  # a stream of Philox's keys: 0 rounds, others serve vectors
NOISE: Final = 5
UNIFORM_BITS: Final = 24  # of a uniform number: what float32 holds


def uniform(shape: tuple[int, ...], bound: float, seed: int, name: str) -> NDArray[Any]:
    """Float32 numbers evenly from -bound to bound, each from its own position of Philox, keyed by seed and name."""
    words = uniform_words(f"{seed}/{name}", _PARAMETERS, 0, prod(shape))
    return (from_words(words, UNIFORM_BITS) * np.float32(bound)).reshape(shape)


def uniform_words(name: str, stream: int, start: int, count: int) -> NDArray[Any]:
    """Words of UNIFORM_BITS bits from a position on, keyed by a name."""
    return Philox(key(name), stream).array(UNIFORM_BITS, start, count)


def from_words(words: NDArray[Any], bits: int) -> NDArray[Any]:
    """(w - 2^(bits - 1)) / 2^(bits - 1) of each word of so many bits, up to 24: exact float32 numbers from -1 to below
    1."""
    half = np.float32(1 << (bits - 1))
    return (words.astype(np.float32) - half) * (1 / half)
