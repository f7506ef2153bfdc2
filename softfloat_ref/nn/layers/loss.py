"""Softmax with cross-entropy, the end of every network here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softfloat_ref.nn.layers.base import Array
from softfloat_ref.nn.numerics import Numerics


class Loss(NamedTuple):
    """The mean loss, how many predictions are right, and the gradient of the logits (of the loss times the scale)."""

    value: float
    correct: int
    gradient: Array


def softmax_cross_entropy(logits: Array, targets: Array, numerics: Numerics, scale: float = 1.0) -> Loss:
    """Mean of -log(softmax(logits)[target]) over all but the last axis. targets: integers in that shape.

    Sums and logarithms are computed in the logits' type; the gradient is in the vector format.
    """
    rows = np.asarray(logits).reshape(-1, logits.shape[-1])
    wanted = np.asarray(targets).reshape(-1)
    picked = np.arange(wanted.size)
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged network has Inf - Inf here, and is reported so
        shifted = rows - rows.max(axis=1, keepdims=True)
        exponentials = np.exp(shifted)
        sums = exponentials.sum(axis=1)
        losses = np.log1p(sums - 1) - shifted[picked, wanted]
        gradient = exponentials / sums[:, np.newaxis]
        correct = int((shifted[picked, wanted] == 0).sum())
        gradient[picked, wanted] -= 1
        gradient *= gradient.dtype.type(scale / wanted.size)
        value = float(losses.mean(dtype=np.float64))
    made = numerics.computed("softmax_cross_entropy", (logits, targets), gradient, "gradient")
    return Loss(value, correct, numerics.vector(made).reshape(logits.shape))
