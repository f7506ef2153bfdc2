"""The table of models, and what they say of a setting: bins in order, the bins a case hits."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from softfloat_ref.coverage import (
    last_places,
    operands,
    residues,
    results,
    special,
    stochastic,
    stochastic_tininess,
    sum_events,
    sums,
)
from softfloat_ref.coverage.events import Events, Setting
from softfloat_ref.coverage.model import Bin, Model

MODELS: Final[dict[str, Model]] = {
    m.id: m
    for m in (
        operands.Classes(),
        results.NearBoundaries(),
        last_places.LastPlace(),
        results.Overflow(),
        results.Underflow(),
        results.BelowSubnormal(),
        last_places.StickyBits(),
        results.BinadeEdges(),
        operands.Patterns(),
        sums.Shifts("B10", "alignment of a sum: the difference of the operands' exponents"),
        sums.PatternsAndShifts("B11", "significand patterns of a sum's operands crossed with their alignment"),
        sums.Cancellation("B12", "cancellation in a sum: the result's exponent less the larger operand's", False),
        sums.Cancellation("B13", "cancellation in a sum with a subnormal result", True),
        sums.Shifts("B14", "alignment of an fma: the addend's exponent less the product's"),
        sums.PatternsAndShifts("B15", "significand patterns of a factor and the addend crossed with their alignment"),
        sums.Cancellation("B16", "cancellation in an fma: the result's exponent less the larger term's", False),
        sums.Cancellation("B17", "cancellation in an fma with a subnormal result", True),
        sum_events.ProductEvents(),
        residues.Residues(),
        residues.SubnormalFactors(),
        special.Comparisons(),
        last_places.TrailingZeros(),
        operands.DivideByZero(),
        operands.Exponents("B22", "conversion to integers: the operand's exponent"),
        results.Integers(),
        results.NearZeroAndOne(),
        operands.FromInteger("B25", "conversion of integers: 0, +-1, +-2 and the ends of the range"),
        operands.FromInteger("B26", "conversion of integers: every number of significant bits"),
        operands.NanNarrowing(),
        operands.Exponents("B28", "rounding to integral values: the operand's exponent"),
        last_places.IntegerPlace(),
        results.Values(),
        results.Tininess(),
        last_places.RoundingCarry(),
        sum_events.CarryChains(),
        last_places.DoubleRounding(),
        special.Saturation(),
        special.FlushedResults(),
        operands.Flushed(),
        stochastic.StochasticCarry(),
        stochastic_tininess.StochasticTininess(),
    )
}


@lru_cache(maxsize=256)
def applicable(where: Setting) -> tuple[Model, ...]:
    """The models that say anything of a setting, in the table's order."""
    return tuple(m for m in MODELS.values() if m.applies(where))


@lru_cache(maxsize=256)
def bins(where: Setting) -> dict[str, tuple[Bin, ...]]:
    """The bins of each model that applies."""
    return {m.id: m.bins(where) for m in applicable(where)}


def hits(e: Events) -> set[str]:
    """The bins a case hits."""
    return {name for m in applicable(e.where) for name in m.hits(e)}
