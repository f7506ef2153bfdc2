"""Explains an operation on blocks lane by lane: decoded operands, the exact result, what the scale makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.explanation.scalar import Rows, describe, value_text
from softfloat_ref.explanation.steps import SHOWN_LANES, steps
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.units import BlockOperationUnit
from softfloat_ref.units.unit import LETTERS

MORE_BITS: Final = 64  # of a number without a finite form


@steps.register
def _steps(unit: BlockOperationUnit, inputs: Sequence[int]) -> Rows:
    evaluation, row = unit.evaluation, unit.row
    operands, scale, words, scale_word = unit.taken(inputs)
    result = evaluation.run(operands, scale, words, scale_word)
    rows = [evaluation.decoded(side, block) for side, block in zip(evaluation.sides, operands, strict=True)]
    lines = list(_operand_rows(unit, inputs))
    if evaluation.out.scale is not None:
        lines.append(("scale", describe(result.scale, evaluation.out.scale)))
    results = [] if row.fold else list(result.codes)
    for i, values in enumerate(zip(*rows, strict=True)):
        if i == SHOWN_LANES:
            lines.append(("", f"and {unit.size - i} more lanes"))
            break
        lines += _lane_rows(unit, i, values, result.scale, results)
    if row.fold:
        lines += [("exact", value_text(evaluation.folded(list(zip(*rows, strict=True)))))]
        lines += [("result", describe(result.codes[0], evaluation.out.element))]
    return lines


def _operand_rows(unit: BlockOperationUnit, inputs: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The scales of the operands."""
    operands, *_ = unit.taken(inputs)
    for letter, side, block in zip(LETTERS, unit.evaluation.sides, operands, strict=False):
        if side.scale is not None:
            yield f"{letter}_scale", describe(block.scale, side.scale)


def _lane_rows(
    unit: BlockOperationUnit, i: int, values: Sequence[Value], scale: int, results: Sequence[int]
) -> Iterator[tuple[str, str]]:
    """The operands of a lane with their scales, its exact result, that divided by the scale, and rounded."""
    evaluation, at = unit.evaluation, f"[{i}]" if unit.size > 1 else ""
    for letter, value in zip(LETTERS, values, strict=False):
        yield f"{letter}{at}", value_text(value)
    bits = evaluation.context.bits + MORE_BITS
    if not unit.row.operation.is_conversion:
        yield f"{unit.row.op}{at}", value_text(evaluation.element(values, bits))
    if results and evaluation.out.scale is not None:
        yield f"/ scale{at}", value_text(evaluation.result(values, decoder(evaluation.out.scale)(scale)))
    if results:
        yield f"result{at}", describe(results[i], evaluation.out.element)
