"""Initial values of parameters: the same on every platform."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.oracle.sources import Philox, key

_STREAM = 4  # of Philox's keys: 0 rounds, others serve vectors
_BITS = 24  # of a uniform number: what float32 holds


def uniform(shape: tuple[int, ...], bound: float, seed: int, name: str) -> NDArray[Any]:
    """Float32 numbers evenly from -bound to bound, each from its own position of Philox, keyed by seed and name."""
    words = Philox(key(f"{seed}/{name}"), _STREAM).array(_BITS, 0, int(np.prod(shape)))
    half = 1 << (_BITS - 1)
    return ((words.astype(np.float32) - np.float32(half)) * np.float32(bound / half)).reshape(shape)
