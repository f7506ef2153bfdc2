"""The effect of formats on a network's tensors: by layer and role, the errors of quantization of every kind of format,
and the gradients before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.error_counts import Errors, compare_values
from softfloat_ref.nn.quantizers import Seen
from softfloat_ref.nn.trainer import Trainer

Array = NDArray[Any]
_GRADIENTS: Final = ("error", "weight_gradient")  # the roles whose last tensors are kept


@dataclass
class TensorTally:
    """The errors of all tensors of one role in one layer. relative: the sum of relative errors, of `compared` values:
    those that neither are nor become zero, NaN or Inf, which the largest is taken of too."""

    errors: Errors = Errors()  # noqa: RUF009 (frozen)
    zeros: int = 0
    relative: float = 0.0
    compared: int = 0

    def add(self, seen: Seen) -> None:
        """Count one more tensor."""
        before, after = (x.reshape(-1).astype(np.float64) for x in (seen.before, seen.after))
        saturated = np.isfinite(after) & seen.beyond().reshape(-1)
        self.errors += replace(compare_values(before, after), saturated=int(saturated.sum()))
        self.zeros += int((before == 0).sum())
        usable = np.isfinite(before) & np.isfinite(after) & (before != 0) & (after != 0)
        before, after = before[usable], after[usable]
        self.relative += float((np.abs(after - before) / np.abs(before)).sum())
        self.compared += before.size

    def figures(self) -> dict[str, float]:
        """Shares of all values, relative errors, and the ratio of signal to noise in dB."""
        errors, size = self.errors, self.errors.values
        counts = {
            "zero": self.zeros,
            "flushed": errors.flushed,
            "overflowed": errors.lost,
            "saturated": errors.saturated,
        }
        return {name: count / size for name, count in counts.items()} | {
            "mean_relative_error": self.relative / self.compared if self.compared else 0.0,
            "largest_relative_error": errors.largest_relative,
            "sqnr": errors.sqnr,
        }


class Statistics:
    """Watches the tensors of a trainer that have a format, while it trains. Gradients are scaled as they are when a
    format takes them."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._tallies: dict[str, TensorTally] = {}
        self._last: dict[str, Array] = {}
        for numerics in (trainer.objective.numerics, *(layer.numerics for layer in trainer.layers.values())):
            numerics.watch(partial(self._see, numerics.name))

    def _see(self, layer: str, role: str, seen: Seen) -> None:
        if not self._trainer.run.training or not seen.before.size:
            return
        name = f"{layer}.{role}"
        self._tallies.setdefault(name, TensorTally()).add(seen)
        if role in _GRADIENTS:
            self._last[name] = seen.before.copy()

    def take(self) -> dict[str, dict[str, float]]:
        """The figures by layer and role since they were taken last."""
        figures = {name: tally.figures() for name, tally in self._tallies.items()}
        self._tallies.clear()
        return figures

    def gradients(self) -> dict[str, Array]:
        """The tensors of the last step as they were before quantization; of layers in FP32, the weights' gradients."""
        scale = self._trainer.scaler.scale
        unscaled = {f"{k}.gradient": v * v.dtype.type(scale) for k, v in self._trainer.gradients().items()}
        return self._last or unscaled
