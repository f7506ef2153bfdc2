"""Observers: the range of a tensor, from what was seen of it.

MinMax keeps the smallest and largest value of all; MovingAverageMinMax moves towards each tensor's own by a part.
Steps are in FP32, as in PyTorch's observers of the same names, whose results these are bit for bit. NaN and Inf are
ignored.
"""

from __future__ import annotations

from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import affine, convert
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.nn.tensor_format import OBSERVERS
from softfloat_ref.oracle.affine import AffineFormat, Rule

Ends = NDArray[np.float32]


class Observer:
    """The range of the values seen, of the whole tensor, or of each channel along an axis."""

    def __init__(self, kind: str = "minmax", axis: int | None = None, momentum: float = 0.01) -> None:
        """momentum: the part that each tensor moves the average by. Raises Error for unknown kinds, and for a momentum
        outside (0, 1]."""
        if kind not in OBSERVERS:
            raise unknown("observer", str(kind), OBSERVERS)
        if not 0 < momentum <= 1:
            raise Error(f"an observer's momentum is above 0 and at most 1, not {momentum!r}")
        self.kind, self.axis, self.momentum = kind, axis, np.float32(momentum)
        self._low: Ends | None = None
        self._high: Ends | None = None

    def observe(self, x: ArrayLike) -> None:
        """Take in a tensor of floats. Raises Error for one without the axis, or with other channels than before."""
        values = x if _is_fp32(x) else convert.round_to_fp32(convert.to_float64(x))
        others = None if self.axis is None else self._others(values.ndim)
        if not values.size:
            return
        low, high = values.min(axis=others), values.max(axis=others)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):  # a NaN is the minimum of what holds one
            finite = np.isfinite(values)
            if not finite.any():
                return
            low = np.where(finite, values, np.inf).min(axis=others)
            high = np.where(finite, values, -np.inf).max(axis=others)
            empty = low > high  # a channel without a finite value
            low, high = np.where(empty, 0, low), np.where(empty, 0, high)
        self._take(np.asarray(low, np.float32), np.asarray(high, np.float32))

    def _others(self, ndim: int) -> tuple[int, ...]:
        axis = self.axis or 0
        if not -ndim <= axis < ndim:
            raise Error(f"axis {axis} of an observer is out of range for an array of {ndim} dimensions")
        return tuple(i for i in range(ndim) if i != axis % ndim)

    def _take(self, low: Ends, high: Ends) -> None:
        if self._low is None or self._high is None:
            self._low, self._high = low, high
            return
        if low.shape != self._low.shape:
            raise Error(f"an observer of {self._low.size} channels was given {low.size}")
        if self.kind == "minmax":
            self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)
        else:
            self._low = self._low + self.momentum * (low - self._low)
            self._high = self._high + self.momentum * (high - self._high)

    def range(self) -> tuple[Ends, Ends]:
        """Smallest and largest value, float32, of shape () or one a channel. Raises Error before anything was seen."""
        if self._low is None or self._high is None:
            raise Error("the observer has no range yet: it has not seen a finite value")
        return self._low, self._high

    def parameters(
        self, fmt: str | AffineFormat, rule: str | Rule = "exact"
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Scale and zero point of an affine format for the range. Raises Error."""
        return affine.parameters(*self.range(), fmt, rule)

    def state(self) -> dict[str, Ends]:
        """What a checkpoint stores; empty before anything was seen."""
        return {} if self._low is None or self._high is None else {"low": self._low, "high": self._high}

    def restore(self, state: dict[str, Ends]) -> None:
        """Go on from a stored state. Raises Error."""
        self._low = self._high = None
        if not state:
            return
        if not state.keys() >= {"low", "high"}:
            raise Error("the checkpoint lacks an observer's low or high")
        low, high = (np.asarray(state[k], np.float32) for k in ("low", "high"))
        wrong = low.shape != high.shape or low.ndim != (self.axis is not None)
        if wrong or not np.isfinite([low, high]).all() or (low > high).any():
            raise Error(
                "the checkpoint's low and high of an observer are not finite, not in order, or not one pair a channel"
            )
        self._low, self._high = low, high


def _is_fp32(x: ArrayLike) -> TypeGuard[NDArray[np.float32]]:
    return isinstance(x, np.ndarray) and x.dtype == np.float32
