"""A quantizer whose work is watched: of each tensor, the values before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.nn.quantizers import Array, Quantizer
from softfloat_ref.oracle.sources import RandomSource


class Seen(NamedTuple):
    """A tensor before and after quantization. beyond: computes which finite values were beyond the largest one."""

    before: Array
    after: Array
    beyond: Callable[[], NDArray[np.bool_]]


class WatchedQuantizer(Quantizer):
    """Does what another quantizer does, and shows each tensor."""

    def __init__(self, by: Quantizer, see: Callable[[Seen], object]) -> None:
        self.fmt, self.policy, self.by_product = by.fmt, by.policy, by.by_product
        self._by, self._see = by, see

    def values(self, x: Array, source: RandomSource | None, axis: int = -1, training: bool = True) -> Array:
        values = self._by.values(x, source, axis, training)
        self._see(Seen(x, values, lambda: self._by.beyond(x, source, axis)))
        return values

    def operand(self, x: Array, source: RandomSource | None, axis: int) -> tuple[Any, Any]:
        operand = self._by.operand(x, source, axis)
        if self.by_product:  # values in a scalar format were quantized, and seen, before
            self._see(Seen(x, operand[0].decode(), lambda: self._by.beyond(x, source, axis)))
        return operand

    def beyond(self, x: Array, source: RandomSource | None, axis: int = -1) -> NDArray[np.bool_]:
        return self._by.beyond(x, source, axis)

    def largest(self) -> float:
        return self._by.largest()

    def state(self) -> dict[str, Array]:
        return self._by.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        self._by.restore(state)
