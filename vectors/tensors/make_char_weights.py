# SPDX-License-Identifier: 0BSD
"""Train a small character model on text that every Python carries, and save its first weight matrix.

The model predicts a character from the 8 before it: one-hot inputs (8 x 128), 96 tanh units, softmax. The matrix saved
is the trained (1024, 96) input layer, float32: rows of rare characters stay near their small initial values, common
ones grow, so the blocks of a quantizer see real, uneven data.
"""

from __future__ import annotations

import pydoc_data.topics
from pathlib import Path

import numpy as np

CONTEXT, HIDDEN, BATCH, STEPS, RATE = 8, 96, 256, 1500, 0.5


def main() -> None:
    """Train, and save the matrix beside this file."""
    text = "".join(str(v) for v in pydoc_data.topics.topics.values())
    codes = np.frombuffer(text.encode("ascii", "replace"), np.uint8).astype(np.int64) % 128
    rng = np.random.default_rng(0)
    w1 = (rng.standard_normal((CONTEXT * 128, HIDDEN)) * 0.05).astype(np.float32)
    w2 = (rng.standard_normal((HIDDEN, 128)) * 0.1).astype(np.float32)
    for _ in range(STEPS):
        at = rng.integers(CONTEXT, codes.size, BATCH)
        rows = np.stack([codes[at - CONTEXT + i] + 128 * i for i in range(CONTEXT)], axis=1)
        h = np.tanh(w1[rows].sum(axis=1))
        z = h @ w2
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(BATCH), codes[at]] -= 1
        dh = (p @ w2.T) * (1 - h * h)
        w2 -= RATE / BATCH * h.T @ p
        np.subtract.at(w1, rows.reshape(-1), np.repeat(RATE / BATCH * dh, CONTEXT, axis=0).astype(np.float32))
    np.save(Path(__file__).with_name("char_weights.npy"), w1)


if __name__ == "__main__":
    main()
