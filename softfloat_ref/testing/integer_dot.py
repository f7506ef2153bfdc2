"""Mismatches of dot products of integers: a circuit with its own accumulator adds to what it holds, right or wrong."""

from __future__ import annotations

from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.views import MismatchView, register
from softfloat_ref.units import IntegerDotUnit, Line


@register(IntegerDotUnit)
class IntegerDotView(MismatchView):
    """The mismatches of a dot product of integers."""

    unit: IntegerDotUnit

    def met(self, line: Line, last: Answer | None) -> Line:
        """With an accumulator of its own, c is the device's last result: each step is judged by itself."""
        unit = self.unit
        if not unit.clear or last is None or last.codes[-1] >> unit.c.width:
            return line
        inputs = (*line[: unit.input_width - 1], last.codes[-1])
        return line if inputs == line[: unit.input_width] else (*inputs, *unit.answer(inputs))
