"""What an approximation is measured by: the function, correctly rounded, for every operand; kappa and errors in ulp."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import approximations, convert, operations
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.approximation import Approximation
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import get_operation
from softfloat_ref.oracle.operations.on_codes import rank_of
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.rounding import Rounding

MAX_OPERAND_BITS: Final = 16  # bits of operands, of which every one is tried
_NEAREST_ROUNDINGS: Final = (Rounding.RNE, Rounding.RNA, Rounding.RNU, Rounding.RHZ)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Goal:
    """What is sought: a function on formats, the degree of the polynomials, and a bound: kappa or an error in ulp."""

    function: str
    fmt: Format
    out: Format
    degree: int = 1
    kappa: int | None = None
    ulp: float | None = None
    policy: Policy = dataclasses.field(default_factory=get_policy)

    def __post_init__(self) -> None:
        operation = get_operation(self.function)
        if operation.arity != 1 or operation.result != "float":
            raise Error(f"{self.function} is not a function of one operand")
        if not 0 <= self.degree <= 3:
            raise Error(f"degree {self.degree}; use 0 to 3")
        if self.fmt.width > MAX_OPERAND_BITS or not self.fmt.exponent_bits:
            most = f"a floating-point format of at most {MAX_OPERAND_BITS} bits"
            raise Error(f"{self.fmt.name}: every operand is tried; use {most}")
        if self.out.width > 32 or not self.out.exponent_bits or not (self.out.signed and self.out.zero):
            raise Error(f"{self.out.name} is not a result's format here; use a signed one of at most 32 bits")
        if (self.kappa is None) == (self.ulp is None):
            raise Error("give a bound: kappa or ulp, one of them")
        if self.kappa is not None and not 0 <= self.kappa <= 2 * self.out.max_code:
            raise Error(f"kappa = {self.kappa}: {self.out.name} has values at most {2 * self.out.max_code} apart")
        if self.ulp is not None and not 0 < self.ulp < math.inf:
            raise Error(f"ulp = {self.ulp:g}: a bound is a positive number")

    @cached_property
    def codes(self) -> NDArray[Any]:
        """Every code of the operand's format."""
        return np.arange(1 << self.fmt.width)

    @cached_property
    def expected(self) -> NDArray[Any]:
        """The correctly rounded results."""
        return operations.evaluate(self.function, [self.codes], self.fmt, self.out, self.policy)

    @cached_property
    def exact(self) -> Floats:
        """The function, rounded to float64."""
        results = operations.evaluate(self.function, [self.codes], self.fmt, "fp64")
        return np.asarray(results.view(np.float64))

    @cached_property
    def levels(self) -> Floats:
        """The result's values in order; the one of rank 0 is in the middle."""
        up = convert.decode(np.arange(self.out.max_code + 1), self.out).astype(np.float64)
        return np.concatenate([-up[:0:-1], up])

    def ranks(self, codes: NDArray[Any]) -> Ints:
        """The places of results among the values; beyond them for infinities. Those of NaN are anything."""
        return np.asarray(rank_of(self.out, codes.astype(np.int64)))

    @cached_property
    def finite(self) -> NDArray[np.bool_]:
        """Where the defined result is finite."""
        return np.isfinite(convert.decode(self.expected, self.out))

    @cached_property
    def ulps(self) -> Floats:
        """An ulp of the result's format at each value of the function."""
        _, top = np.frexp(np.where(np.isfinite(self.exact), self.exact, 1.0))
        exponent = np.clip(top - 1, self.out.emin, self.out.emax) - self.out.mantissa_bits
        return np.asarray(np.ldexp(1.0, exponent), np.float64)

    @cached_property
    def allowed(self) -> tuple[Ints, Ints]:
        """The lowest and the highest rank that the bound allows for each code."""
        rank, most = self.ranks(self.expected), self.out.max_code
        if self.kappa is not None:
            low, high = rank - self.kappa, rank + self.kappa
        else:
            assert self.ulp is not None
            with np.errstate(invalid="ignore"):
                low = np.searchsorted(self.levels, self.exact - self.ulp * self.ulps, "left") - most
                high = np.searchsorted(self.levels, self.exact + self.ulp * self.ulps, "right") - 1 - most
        return np.where(self.finite, np.maximum(low, -most), rank), np.where(self.finite, np.minimum(high, most), rank)

    @cached_property
    def windows(self) -> tuple[Floats, Floats]:
        """The values that surely round to something allowed, for each code; an empty window where none does."""
        low, high = self.allowed
        most, levels = self.out.max_code, self.levels
        beyond = levels[-1] + (levels[-1] - levels[-2])
        padded = np.concatenate([[-beyond], levels, [beyond]])
        at = np.clip(low, -most, most) + most + 1, np.clip(high, -most, most) + most + 1
        if self.policy.rounding in _NEAREST_ROUNDINGS:
            ends = (padded[at[0] - 1] + padded[at[0]]) / 2, (padded[at[1]] + padded[at[1] + 1]) / 2
        else:
            ends = padded[at[0]], padded[at[1]]
        return np.where(self.finite, ends[0], 1.0), np.where(self.finite, ends[1], -1.0)


class ApproximationErrors(NamedTuple):
    """How far an approximation is from its function: kappa (None: NaN or infinities do not match), the largest error in
    ulp, with operands that have them; and the error of every code with a finite result."""

    kappa: int | None
    worst: int
    ulp: float
    worst_ulp: int
    errors: Floats
    wrong: NDArray[Any]


def measure(a: Approximation, goal: Goal) -> ApproximationErrors:
    """The errors of an approximation over every code."""
    got = approximations.evaluate(a, goal.codes)
    away = np.abs(goal.ranks(got) - goal.ranks(goal.expected))
    came, right = convert.decode(got, goal.out), convert.decode(goal.expected, goal.out)
    unlike = np.where(np.isnan(right), ~np.isnan(came), ~goal.finite & (came != right)) | (
        goal.finite & ~np.isfinite(came)
    )
    away = np.where(goal.finite, away, 0)
    with np.errstate(invalid="ignore"):
        errors = np.where(goal.finite, np.abs(came - goal.exact) / goal.ulps, 0.0)
    low, high = goal.allowed
    rank = goal.ranks(got)
    wrong = unlike | (goal.finite & ((rank < low) | (rank > high)))
    return ApproximationErrors(
        None if unlike.any() else int(away.max()),
        int(np.argmax(np.where(unlike, 1 << 40, away))),
        float(errors.max()),
        int(np.argmax(errors)),
        errors,
        np.flatnonzero(wrong),
    )


def goal_of(a: Approximation) -> Goal:
    """What an approximation is measured by: its function, on its formats. Raises Error."""
    return Goal(a.function, a.fmt, a.out, a.degree, kappa=0, policy=a.policy)
