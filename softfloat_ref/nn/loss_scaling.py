"""Loss scaling: the factor that keeps small gradients inside a format's range, and when a step is skipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any, Final

from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.base.tables import variant


@dataclass(frozen=True)
class ConstantScaling:
    """The same factor always. No step is skipped: where a gradient overflows, the training shows it."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        refuse("loss scaling 'constant'", ("scale must be a number above 0", not _positive(self.scale)))

    def floor_at(self, step: int) -> float:
        """The least scale at a step."""
        return 0.0

    def after(self, scale: float, good: int, finite: bool) -> tuple[float, int, bool]:
        """The next scale, the number of good steps in a row, and whether this step is taken."""
        return scale, 0, True


@dataclass(frozen=True)
class NoScaling(ConstantScaling):
    """A factor of 1."""

    def __post_init__(self) -> None:
        refuse("loss scaling 'none'", ('has no scale; kind = "constant" has one', self.scale != 1))


@dataclass(frozen=True)
class DynamicScaling(ConstantScaling):
    """A step with an Inf or NaN is skipped and the scale halved; after `interval` good steps in a row it is doubled.

    scale: at the start. factor: by which it changes. It stays from `smallest` to `largest`.
    (Micikevicius et al., Mixed Precision Training, ICLR 2018, and NVIDIA's guide to it.)
    """

    scale: float = 65536.0
    factor: float = 2.0
    interval: int = 2000
    smallest: float = 1.0
    largest: float = 2.0**24

    def __post_init__(self) -> None:
        ordered = _positive(self.smallest) and self.smallest <= self.scale <= self.largest < float("inf")
        refuse(
            "dynamic loss scaling",
            ("0 < smallest <= scale <= largest", not ordered),
            ("factor must be above 1", not 1 < self.factor < float("inf")),
            ("interval must be at least 1", self.interval < 1),
        )

    def floor_at(self, step: int) -> float:
        return float(self.smallest)

    def after(self, scale: float, good: int, finite: bool) -> tuple[float, int, bool]:
        if not finite:
            return scale / self.factor, 0, False
        good += 1
        if good < self.interval:
            return scale, good, True
        return min(scale * self.factor, float(self.largest)), 0, True


@dataclass(frozen=True)
class EnhancedScaling(DynamicScaling):
    """Dynamic, with a floor that rises: from each step in `floors`, [[step, floor], ...], the scale is not below it.

    (Mellempudi et al., Mixed Precision Training With 8-bit Floating Point, 2019.)
    """

    floors: tuple[tuple[Any, ...] | Any, ...] = ((40_000, 8192.0), (150_000, 32768.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = [x for x in self.floors if isinstance(x, tuple) and len(x) == 2 and type(x[0]) is int]
        rising = len(pairs) == len(self.floors) and list(pairs) == sorted(pairs)
        rising = rising and all(_positive(b) and b <= self.largest for _, b in pairs)
        rising = rising and all(a[1] <= b[1] for a, b in pairwise(pairs))
        refuse("loss scaling 'enhanced'", ("floors must be rising pairs [step, floor] up to largest", not rising))

    def floor_at(self, step: int) -> float:
        return max([float(self.smallest), *(float(floor) for begin, floor in self.floors if step >= begin)])


KINDS: Final[dict[str, type[ConstantScaling]]] = {
    "none": NoScaling,
    "constant": ConstantScaling,
    "dynamic": DynamicScaling,
    "enhanced": EnhancedScaling,
}


def _positive(x: object) -> bool:
    return isinstance(x, (int, float)) and x > 0 and isfinite(x)


class LossScaler:
    """The scale, step by step. steps: taken or skipped so far; skipped: how many were."""

    def __init__(self, kind: ConstantScaling) -> None:
        self._kind = kind
        self._good = 0
        self.steps = self.skipped = 0
        self.scale = max(float(kind.scale), kind.floor_at(0))

    def update(self, finite: bool) -> bool:
        """After a backward pass: whether its gradients, which were all finite or not, are used; and the next scale."""
        scale, self._good, taken = self._kind.after(self.scale, self._good, finite)
        self.steps += 1
        self.skipped += not taken
        self.scale = max(scale, self._kind.floor_at(self.steps))
        return taken

    def state(self) -> dict[str, float | int]:
        """What a checkpoint stores."""
        return {"scale": self.scale, "good": self._good, "steps": self.steps, "skipped": self.skipped}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a stored state. Raises Error."""
        try:
            scale, counts = float(state["scale"]), [int(state[k]) for k in ("good", "steps", "skipped")]
        except (KeyError, TypeError, ValueError, OverflowError) as e:
            raise Error(f"the checkpoint lacks the loss scaler's scale, good, steps or skipped: {e}") from None
        if not _positive(scale) or min(counts) < 0:
            raise Error(f"the checkpoint's loss scale must be above 0, and its counts at least 0, not {dict(state)!r}")
        self.scale, (self._good, self.steps, self.skipped) = scale, counts


def loss_scaler(spec: Mapping[str, Any] | str | None) -> LossScaler:
    """A loss scaler: `{kind = "constant", scale = 131072}`, `{kind = "dynamic", interval = 2000}`,
    `{kind = "enhanced", floors = [[40000, 8192]]}` or `{kind = "none"}`. Raises Error."""
    return LossScaler(variant("loss scaling", KINDS, spec, "none"))
