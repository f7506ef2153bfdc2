"""Explains a block quantizer's case, and a dot product's, by the explanations of a block and of an accumulator."""

from __future__ import annotations

from collections.abc import Sequence

from softfloat_ref.explanation.block import BlockExplanation
from softfloat_ref.explanation.scalar import Rows
from softfloat_ref.explanation.steps import labelled_rows, recorded_rows, steps
from softfloat_ref.oracle.accumulate.trace import trace, trace_text
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.units import DotUnit, QuantizeUnit


@steps.register
def _quantize_steps(unit: QuantizeUnit, inputs: Sequence[int]) -> Rows:
    """Of a block; each step where the tensor's scale is an operand."""
    if unit.two_levels:
        return recorded_rows(unit, inputs)
    decode, size = decoder(unit.values, unit.policy.flush_inputs), unit.block.size
    words = tuple(inputs[size:]) or None
    values = tuple(map(decode, inputs[:size]))
    return list(BlockExplanation(values, unit.block, unit.profile, unit.policy, words).rows())


@steps.register
def _dot_steps(unit: DotUnit, inputs: Sequence[int]) -> Rows:
    """The accumulator's, from the products to the result."""
    a, b, c = unit.sides(inputs)
    return labelled_rows(trace_text(trace(unit.setting, a, b, c)))
