"""Schedules of the learning rate: the factor of the base rate in each epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from softfloat_ref.base.errors import refuse
from softfloat_ref.base.tables import variant


@dataclass(frozen=True)
class ConstantRate:
    """1 in every epoch."""

    def factor(self, epoch: int) -> float:
        return 1.0


@dataclass(frozen=True)
class StepRate(ConstantRate):
    """The rate is divided by `divide` once each of the numbers of epochs `at` has been trained."""

    at: tuple[int, ...] = ()
    divide: float = 10.0

    def __post_init__(self) -> None:
        bad = any(b <= a for a, b in zip((0, *self.at), self.at, strict=False))
        refuse(
            "schedule 'step'",
            ("at must be a rising list of epochs from 1", bad),
            ("divide must be above 0", self.divide <= 0),
        )

    def factor(self, epoch: int) -> float:
        return 1.0 / power(self.divide, sum(epoch >= x for x in self.at))


@dataclass(frozen=True)
class ExponentialRate(ConstantRate):
    """`after` epochs at the full rate, then each at `base` times the rate of the one before."""

    base: float = 0.8
    after: int = 6

    def __post_init__(self) -> None:
        refuse(
            "schedule 'exponential'",
            ("base must be above 0", self.base <= 0),
            ("after must not be negative", self.after < 0),
        )

    def factor(self, epoch: int) -> float:
        return power(self.base, max(0, epoch + 1 - self.after))


@dataclass(frozen=True)
class CyclicalRate(ConstantRate):
    """One factor per epoch, repeated."""

    factors: tuple[float, ...] = (1.0, 0.5, 0.25)

    def __post_init__(self) -> None:
        bad = not self.factors or min(self.factors) <= 0
        refuse("schedule 'cyclical'", ("factors must be numbers above 0", bad))

    def factor(self, epoch: int) -> float:
        return float(self.factors[epoch % len(self.factors)])


KINDS: Final[dict[str, type[ConstantRate]]] = {
    "constant": ConstantRate,
    "step": StepRate,
    "exponential": ExponentialRate,
    "cyclical": CyclicalRate,
}


def schedule(spec: Mapping[str, Any] | str | None) -> Callable[[int], float]:
    """The factor of the learning rate as a function of the epoch, which counts from 0: epochs trained before.

    spec: `{kind = "step", at = [80, 120], divide = 10}`, `{kind = "exponential", base = 0.8, after = 6}`,
    `{kind = "cyclical", factors = [1, 0.5, 0.25]}` or `{kind = "constant"}`. Raises Error.
    """
    return variant("schedule", KINDS, spec, "constant").factor


@lru_cache(maxsize=64)
def power(base: float, count: int) -> float:
    """By repeated products, which are the same on every machine."""
    product = 1.0
    for _ in range(count):
        product *= base
    return product
