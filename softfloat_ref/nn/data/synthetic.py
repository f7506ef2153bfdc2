"""Synthetic vectors."""

from __future__ import annotations

import numpy as np

from softfloat_ref.nn.data.keyed import CENTRES, EXAMPLES, bit_fields, random_words
from softfloat_ref.nn.data.model import Dataset

_UNIT = np.float32(2.0**-15)


def blobs(
    *, seed: int, train: int = 2000, test: int = 500, classes: int = 10, features: int = 16, spread: int = 1
) -> Dataset:
    """Vectors around one centre per class, x (examples, features).

    Centres lie uniformly in the cube from -1 to 1. Around them, each coordinate has the sum of four uniform numbers,
    which is nearly normal, with a standard deviation of 0.58 times the spread.
    """
    centres = bit_fields(random_words(seed, CENTRES, 0, classes * features), 16)[:, 0].reshape(classes, features) - (
        1 << 15
    )
    count = train + test
    drawn = random_words(seed, EXAMPLES, 0, count * (features + 1)).reshape(count, features + 1)
    y = (drawn[:, 0] % np.uint64(classes)).astype(np.int64)
    noise = bit_fields(drawn[:, 1:], 16).sum(axis=-1) - 2 * (1 << 16)  # in units of 2^-16: half of the centres'
    x = (centres[y] + spread * noise // 2).astype(np.float32) * _UNIT
    return Dataset(x[:train], y[:train], x[train:], y[train:], "classes", classes, "synthetic blobs")
