"""A training run that diverged: which tensor, at which step, and whether by overflow or NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.nn.layers import Layer

Array = NDArray[Any]


class Diverged(Exception):
    """The training cannot go on. tensor: the first that is not finite; what: overflow or NaN, and how many values."""

    def __init__(self, tensor: str, step: int, what: str) -> None:
        super().__init__(f"diverged at step {step}: {tensor}: {what}")
        self.tensor, self.step, self.what = tensor, step, what


def describe_values(x: Array) -> str:
    """A description of the values of a tensor that are not finite."""
    nans, infinite = int(np.isnan(x).sum()), int(np.isinf(x).sum())
    parts = [f"overflow, {infinite} Inf"] * (infinite > 0) + [f"{nans} NaN"] * (nans > 0)
    return f"{' and '.join(parts)} among {x.size} values"


def find_divergence(network: Layer, step: int, work: Callable[[], object], wrong: Array, tensor: str) -> Diverged:
    """Do a step again, watching every layer; the report names the first output that is not finite.

    Random bits depend on the step, so that it goes the same way. wrong, tensor: what was noticed, reported where no
    layer's output is to blame.
    """
    reports: list[Diverged] = []
    for name, layer in network.walk():
        for method, what in (("forward", "output"), ("backward", "error")):
            setattr(layer, method, _watched(getattr(layer, method), f"{name} {what}", step, reports))
    try:
        work()
    except FloatingPointError:
        pass
    finally:
        for _, layer in network.walk():
            del layer.forward, layer.backward  # the wrappers, which hid the methods
    return reports[0] if reports else Diverged(tensor, step, describe_values(np.asarray(wrong)))


def _watched(method: Any, tensor: str, step: int, reports: list[Diverged]) -> Any:
    def watch(x: Array) -> Array:
        y: Array = method(x)
        if not reports and y.dtype.kind == "f" and not np.isfinite(np.asarray(y)).all():
            reports.append(Diverged(tensor, step, describe_values(np.asarray(y))))
        return y

    return watch
