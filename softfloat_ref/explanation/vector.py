"""Explains one lane of a function of vectors: its operands, the exact value, and how that is rounded."""

from __future__ import annotations

from collections.abc import Sequence

from softfloat_ref.base.errors import Error
from softfloat_ref.explanation.scalar import Rows, ScalarExplanation, describe, explain_conversion, flag_text
from softfloat_ref.explanation.steps import MORE_BITS, steps
from softfloat_ref.oracle.steps import recording
from softfloat_ref.oracle.vector_functions import exact_lanes
from softfloat_ref.units import VectorUnit
from softfloat_ref.units.unit import split


def explain_lane(unit: VectorUnit, inputs: Sequence[int], lane: int) -> ScalarExplanation:
    """Each step of a lane. The flags are the lane's own. Raises Error for a lane that there is not."""
    if not 0 <= lane < unit.length:
        raise Error(f"lane {lane}: {unit.op} has lanes 0 to {unit.length - 1}")
    words = inputs[unit.operand_width :]
    run = recording()
    unit.computed(run, inputs, MORE_BITS)
    value, raised = run.first(exact_lanes).value[lane]
    rounded = explain_conversion(value, unit.out, unit.policy, words[lane] if words else None)
    rows: Rows = [("lane", f"{lane} of {unit.length}"), *_operand_rows(unit, inputs, lane)]
    if raised:
        rows.append(("raised", flag_text(raised)))
    flags = rounded.flags | raised
    own = [(label, flag_text(flags) if label == "flags" else text) for label, text in rounded.rows]
    return ScalarExplanation([*rows, *own], rounded.bits, flags)


def _operand_rows(unit: VectorUnit, inputs: Sequence[int], lane: int) -> Rows:
    """The lane's own operands, and those of all lanes."""
    rows: Rows = []
    for (f, codes), p in zip(split(unit.inputs, inputs), unit.own, strict=False):
        size = {"length": 1, "length x depth": unit.depth}.get(p.size, f.lanes)
        first = 0 if size == f.lanes else lane * size
        named = [(f.name if f.lanes == 1 else f"{f.name}[{i}]", codes[i]) for i in range(first, first + size)]
        rows += [(name, describe(code, fmt)) for name, code in named if (fmt := f.fmt) is not None]
    if unit.masked:
        rows.append(("visible", str(inputs[unit.operand_width - 1])))
    return rows


@steps.register
def _steps(unit: VectorUnit, inputs: Sequence[int]) -> Rows:
    return explain_lane(unit, inputs, 0).rows
