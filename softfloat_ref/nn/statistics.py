"""The effect of formats on gradients: per tensor, the share of zeros, of what was flushed to zero, and of what
overflowed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.nn.trainer import Trainer

Array = NDArray[Any]
_ROLES: Final = ("error", "weight_gradient")


class Statistics:
    """Watches the errors and weight gradients of a trainer. Scaled as they are when a format takes them."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._counts: dict[str, list[int]] = {}
        self._kept: dict[str, Array] = {}
        trainer.run.probe = self._see

    def _see(self, layer: str, role: str, before: Array, after: Array) -> None:
        if role not in _ROLES or not self._trainer.run.training:
            return
        name = f"{layer}.{role}"
        zeros = before == 0
        counts = self._counts.setdefault(name, [0, 0, 0, 0])
        flushed = (after == 0) & ~zeros
        beyond = ~np.isfinite(after) & np.isfinite(before)
        for i, n in enumerate((before.size, int(zeros.sum()), int(flushed.sum()), int(beyond.sum()))):
            counts[i] += n
        self._kept[name] = before.copy()

    def take(self) -> dict[str, dict[str, float]]:
        """The shares since they were taken last: zeros that were given, values flushed to zero, values overflowed."""
        found = {
            name: {"zero": zeros / size, "flushed": flushed / size, "overflowed": beyond / size}
            for name, (size, zeros, flushed, beyond) in self._counts.items()
            if size
        }
        self._counts.clear()
        return found

    def gradients(self) -> dict[str, Array]:
        """The tensors of the last step as they were before quantization; of layers in FP32, the weights' gradients."""
        scale = self._trainer.scaler.scale
        unscaled = {f"{k}.gradient": v * v.dtype.type(scale) for k, v in self._trainer.gradients().items()}
        return self._kept or unscaled
