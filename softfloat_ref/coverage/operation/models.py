"""The models of operations, in the order of their bins."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.operation import (
    encodings,
    functions,
    hard_cases,
    last_places,
    modular,
    operands,
    residues,
    results,
    special,
    stochastic,
    sum_events,
    sums_and_fma,
)
from softfloat_ref.coverage.operation.setting import OperationModel, OperationSetting
from softfloat_ref.oracle.operations import Signature
from softfloat_ref.oracle.policies import Policy

MODELS: Final[tuple[OperationModel, ...]] = (
    operands.Classes(),
    results.NearBoundaries(),
    last_places.LastPlace(),
    results.OverflowResults(),
    results.Underflow(),
    results.BelowSubnormal(),
    last_places.StickyBits(),
    results.BinadeEdges(),
    operands.Patterns(),
    sums_and_fma.Shifts("B10", "alignment of a sum: the difference of the operands' exponents"),
    sums_and_fma.PatternsAndShifts("B11", "significand patterns of a sum's operands crossed with their alignment"),
    sums_and_fma.Cancellation("B12", "cancellation in a sum: the result's exponent less the larger operand's"),
    sums_and_fma.Cancellation("B13", "cancellation in a sum with a subnormal result", subnormal=True),
    sums_and_fma.Shifts("B14", "alignment of an fma: the addend's exponent less the product's", fused=True),
    sums_and_fma.PatternsAndShifts(
        "B15", "significand patterns of a factor and the addend crossed with their alignment", True
    ),
    sums_and_fma.Cancellation(
        "B16", "cancellation in an fma: the result's exponent less the larger term's", fused=True
    ),
    sums_and_fma.Cancellation("B17", "cancellation in an fma with a subnormal result", fused=True, subnormal=True),
    sum_events.ProductEvents(),
    residues.Residues(),
    residues.SubnormalFactors(),
    special.Comparisons(),
    last_places.TrailingZeros(),
    operands.DivideByZero(),
    operands.OperandExponents("B22", "conversion to integers: the operand's exponent"),
    results.IntegerResults(),
    results.NearZeroAndOne(),
    modular.Wraps(),
    operands.IntegerEnds(),
    operands.IntegerLengths(),
    operands.NanNarrowing(),
    operands.OperandExponents("B28", "rounding to integral values: the operand's exponent"),
    last_places.IntegerPlace(),
    results.SmallValues(),
    results.TinyResults(),
    last_places.RoundingCarry(),
    sum_events.CarryChains(),
    last_places.DoubleRounding(),
    special.Saturation(),
    special.FlushedResults(),
    operands.Flushed(),
    stochastic.StochasticCarry(),
    stochastic.StochasticTininess(),
    functions.Arguments(),
    functions.ExactResults(),
    hard_cases.HardCases(),
    functions.Entries(),
)


@lru_cache(maxsize=64)
def operations(sig: Signature, policy: Policy) -> Coverage:
    """The coverage of an operation under a policy."""
    if any(f.explicit_bit for f in (*sig.formats, sig.out)):
        return encodings.EncodingCoverage(encodings.ExplicitSetting(sig, policy), (*MODELS, encodings.Encodings()))
    return Coverage(OperationSetting(sig, policy), MODELS)
