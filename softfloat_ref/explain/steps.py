"""The steps of a unit's case, and the changes that give a device's answer; modules of kinds register better ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from softfloat_ref.explain.case import field_lines
from softfloat_ref.explain.scalar import Rows
from softfloat_ref.units import Unit


@singledispatch
def steps(unit: Unit, inputs: Sequence[int]) -> Rows:
    """Labelled lines from the inputs to the outputs. Raises Undefined if no result is defined."""
    lines = [*field_lines(unit.inputs, inputs), *field_lines(unit.outputs, unit.answer(inputs))]
    return [(label, text) for label, _, text in (line.strip().partition(" ") for line in lines)]


@singledispatch
def alternatives(unit: Unit, inputs: Sequence[int], got: Sequence[int]) -> list[dict[str, str]]:
    """The changes of the unit that give an answer; an empty change if the unit itself gives it."""
    return [{}] if tuple(unit.answer(inputs)) == tuple(got) else []
