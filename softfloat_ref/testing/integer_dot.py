"""Mismatches of dot products of integers: a circuit with its own accumulator adds to what it holds, right or wrong."""

from __future__ import annotations

from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.views import MismatchView, register
from softfloat_ref.units import IntegerDotUnit, Line


@register(IntegerDotUnit)
class IntegerDotView(MismatchView):
    """The mismatches of a dot product of integers."""

    unit: IntegerDotUnit

    def met(self, line: Line, before: tuple[Line, Answer] | None) -> Line:
        """With an accumulator of its own, c is the device's last result: each step is judged by itself."""
        unit, c = self.unit, self.unit.input_width - 1
        if not unit.clear or before is None:
            return line
        (*_, expected, _), answer = before
        held = answer.codes[-1]
        if line[c] != expected or held in (expected, line[c]) or held >> unit.c.width:
            return line
        inputs = (*line[:c], held)
        return (*inputs, *unit.answer(inputs))
