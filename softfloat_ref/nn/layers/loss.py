"""Losses: softmax with cross-entropy, and the binary cross-entropy of generative adversarial networks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from softfloat_ref.nn.layers.base import Array
from softfloat_ref.nn.numerics import Numerics
from softfloat_ref.nn.operations import real_function


class Loss(NamedTuple):
    """The mean loss, how many predictions are right, and the gradient of the logits (of the loss times the scale)."""

    value: float
    correct: int
    gradient: Array


def softmax_cross_entropy(logits: Array, targets: Array, numerics: Numerics, scale: float = 1.0) -> Loss:
    """Mean of -log(softmax(logits)[target]) over all but the last axis. targets: integers in that shape.

    All is computed in the logits' type; the gradient is in the vector format.
    """
    n = numerics
    rows, wanted = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged network has Inf - Inf here, and is reported so
        shares, shifted, sums = n.softmax(rows)
        differences = n.sub(shares, n.one_hot(wanted, rows.shape[1], "targets"), "differences", out=shares)
        share = n.number(f"scale_over_{len(wanted)}", shares.dtype.type(scale / len(wanted)))
        gradient = n.mul(differences, share, "gradient", out=differences)
        own = np.asarray(shifted)[np.arange(len(wanted)), np.asarray(wanted)]
        losses = real_function("log1p", np.asarray(sums)[:, 0] - 1) - own
        value = math.fsum(losses.tolist()) / len(losses)
    return Loss(value, int((own == 0).sum()), n.vector(gradient).reshape(logits.shape))


def binary_cross_entropy(logits: Array, target: int, numerics: Numerics, scale: float = 1.0) -> Loss:
    """Mean of -log(sigmoid(logit)) for target 1, of -log(1 - sigmoid(logit)) for target 0.

    The loss is max(z, 0) - z target + log1p(e^-|z|), which does not overflow; its gradient (sigmoid(z) - target) times
    scale / count, in the logits' type, is in the vector format.
    """
    n, number = numerics, logits.dtype.type
    shares = n.sigmoid(logits, "probabilities")
    differences = n.sub(shares, n.number(f"target_{target}", number(target)), "differences", out=shares)
    share = n.number(f"scale_over_{logits.size}", number(scale / logits.size))
    gradient = n.mul(differences, share, "gradient", out=differences)
    z = np.asarray(logits)
    losses = np.maximum(z, 0) - z * number(target) + real_function("log1p", real_function("exp", -np.abs(z)))
    value = math.fsum(losses.reshape(-1).tolist()) / losses.size
    return Loss(value, int(((z > 0) == target).sum()), n.vector(gradient))
