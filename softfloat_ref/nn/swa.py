"""Stochastic weight averaging: after training, once during it, or from some epoch on in every one.

The average is kept in float64 as a running one, w_swa <- (w_swa n + w) / (n + 1), and rounded once where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.base.tables import variant
from softfloat_ref.nn.checkpoint import under

Weights = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class NoAverage:
    """No average. epochs: of the whole training. at_end: the average is for use after training. collects, replaces:
    whether weights go into the average after `done` epochs, and whether it replaces them."""

    epochs: int | None = None

    at_end = False

    def collects(self, done: int) -> bool:
        return False

    def replaces(self, done: int) -> bool:
        return False


@dataclass(frozen=True)
class After(NoAverage):
    """SWA(XxY): the average of Y checkpoints X epochs apart (`apart`, `count`), the last one at the end of training.

    begin: after how many epochs the first checkpoint is taken; by default, counted back from epochs.
    """

    apart: int = 1
    count: int = 5
    begin: int | None = None

    at_end = True

    def __post_init__(self) -> None:
        refuse(
            "swa 'after'",
            ("apart and count must be at least 1", self.apart < 1 or self.count < 1),
            ("give begin, or the epochs of the training", self.begin is None and self.epochs is None),
        )
        refuse("swa 'after'", ("begin must be at least 1", self.begin is not None and self.begin < 1))
        last = (self.begin or 1) + (self.count - 1) * self.apart
        needs = f"{self.count} checkpoints {self.apart} apart need {last} epochs, not {self.epochs}"
        refuse(
            "swa 'after'",
            (f"{needs}; train longer, or without an average: --set swa={{}}", last > (self.epochs or last)),
        )

    @property
    def first(self) -> int:
        """After how many epochs the first checkpoint is taken."""
        return (self.epochs or 0) - (self.count - 1) * self.apart if self.begin is None else self.begin

    def collects(self, done: int) -> bool:
        place, rest = divmod(done - self.first, self.apart)
        return rest == 0 and 0 <= place < self.count


@dataclass(frozen=True)
class Once(NoAverage):
    """The average of the epochs from `begin` to `at` replaces the weights once, after epoch `at`."""

    at: int = 1
    begin: int = 1

    def __post_init__(self) -> None:
        refuse("swa 'once'", ("1 <= begin <= at", not 1 <= self.begin <= self.at))

    def collects(self, done: int) -> bool:
        return self.begin <= done <= self.at

    def replaces(self, done: int) -> bool:
        return done == self.at


@dataclass(frozen=True)
class Every(NoAverage):
    """After epoch `begin` and each one from there on, the weights go into the average, which replaces them."""

    begin: int = 1

    def __post_init__(self) -> None:
        refuse("swa 'every'", ("begin must be at least 1", self.begin < 1))

    def collects(self, done: int) -> bool:
        return done >= self.begin

    replaces = collects


KINDS: Final[dict[str, type[NoAverage]]] = {"none": NoAverage, "after": After, "once": Once, "every": Every}


class Averager:
    """The running average of a training's weights.

    spec: `{kind = "after", apart = 5, count = 5}`, `{kind = "once", at = 10}`, `{kind = "every", begin = 10}` or
    `{kind = "none"}`; epochs: of the training, which "after" counts back from. Raises Error.
    """

    def __init__(self, spec: Mapping[str, Any] | str | None, epochs: int | None = None) -> None:
        table: dict[str, Any] = {"kind": spec or "none"} if spec is None or isinstance(spec, str) else dict(spec)
        if epochs is not None:
            table["epochs"] = epochs
        self._kind = variant("swa", KINDS, table, "none")
        self._mean: dict[str, NDArray[np.float64]] = {}
        self._types: dict[str, np.dtype[Any]] = {}
        self.count = 0

    def epoch_end(self, epoch: int, params: Weights) -> dict[str, NDArray[Any]] | None:
        """At the end of an epoch, counted from 0: the weights to put in place now, if any. Raises Error."""
        done = epoch + 1
        if self._kind.collects(done):
            self._collect(params)
        return self._rounded() if self._kind.replaces(done) else None

    def average(self) -> dict[str, NDArray[Any]] | None:
        """After training: the averaged weights, in the weights' own types; None where there is nothing to put in place.

        Statistics of batch normalisation belong to other weights and are computed again for these.
        """
        return self._rounded() if self._kind.at_end and self.count else None

    def _collect(self, params: Weights) -> None:
        if self.count and {k: v.shape for k, v in params.items()} != {k: v.shape for k, v in self._mean.items()}:
            raise Error("the weights to average differ from the earlier ones in names or shapes")
        n = self.count
        for name, w in params.items():
            wide = w.astype(np.float64)
            self._mean[name] = (self._mean[name] * n + wide) / (n + 1) if n else wide
            self._types[name] = w.dtype
        self.count = n + 1

    def _rounded(self) -> dict[str, NDArray[Any]]:
        return {name: mean.astype(self._types[name]) for name, mean in self._mean.items()}

    def state(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint stores: the average in float64 by name, how many went into it, and the weights' types."""
        arrays: dict[str, NDArray[Any]] = {f"mean/{name}": mean.copy() for name, mean in self._mean.items()}
        arrays |= {f"type/{name}": np.zeros(0, dtype) for name, dtype in self._types.items()}
        return {**arrays, "count": np.array(self.count, np.int64)}

    def restore(self, state: Weights) -> None:
        """Go on from a stored state. Raises Error."""
        count = state.get("count")
        if count is None or count.shape or count.dtype.kind not in "iu":
            raise Error("the checkpoint lacks the average's count")
        self.count = int(count)
        self._mean = {k: v.copy() for k, v in under("mean/", state).items()}
        self._types = {k: v.dtype for k, v in under("type/", state).items()}
        if self.count < 0 or bool(self._mean) != (self.count > 0):
            raise Error(f"the checkpoint has an average of {len(self._mean)} weights, but its count is {self.count}")
        floats = all(x.dtype == np.float64 for x in self._mean.values()) and all(
            x.kind == "f" for x in self._types.values()
        )
        if not floats or self._mean.keys() != self._types.keys():
            raise Error("the checkpoint lacks the average's mean in float64, or its type, for some weight")
