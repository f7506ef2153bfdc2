"""Dot products of integers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.exchanged_formats import exchanged_formats
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, Model
from softfloat_ref.diagnosis.integer_dot_defects import integer_dot_defects
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, register
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.oracle.integer_dots import Fit, IntegerAccumulator, parse_accumulator
from softfloat_ref.units import IntegerDotUnit

_WORDS: Final = {Fit.WRAP: "wraps", Fit.SATURATE: "saturates"}
_STEPS: Final = (1, 2, 4, 8, 16, 0)


class IntegerDotSpace(Space[str]):
    """The accumulators of a dot product of integers, as text."""

    kind: ClassVar[str] = "accumulator"

    def named(self) -> Iterator[str]:
        steps = (n for n in _STEPS if n < self.unit.k)
        yield from (IntegerAccumulator(fit, n).text for n, fit in product(steps, Fit))

    def unit_of(self, point: str) -> IntegerDotUnit:
        unit: IntegerDotUnit = replace(self.unit, accumulator=point)
        if unit.steps and unit.step_count != self.unit.step_count:
            raise Error("another number of running sums")
        return unit

    def model_of(self, unit: IntegerDotUnit) -> Model:
        return Faulty(unit)

    def key(self, point: str) -> Hashable:
        fit, size = parse_accumulator(point)
        return fit, size or self.unit.k

    def text(self, point: str) -> str:
        return f"accumulator {point}"

    def description(self, point: str) -> str:
        fit, size = parse_accumulator(point)
        when = (
            "once, after all products"
            if not size
            else "after every product"
            if size == 1
            else f"after every {size} products"
        )
        return f"{_WORDS[fit]} sums that do not fit {when}"

    def size(self, point: str) -> int:
        return 2 * int(self.key(point) != self.key(self.base))

    def defects_of(self, unit: IntegerDotUnit) -> Iterator[Hypothesis]:
        yield from exchanged_formats(unit)
        yield from integer_dot_defects(unit)


@register(IntegerDotUnit)
class DiagnosedIntegerDot(DiagnosedKind):
    """A dot product of integers."""

    tried: ClassVar[str] = "accumulator or listed defect"
    choices: ClassVar[type[Space[Any]]] = IntegerDotSpace
    unit: IntegerDotUnit

    def askable(self, inputs: Inputs) -> bool:
        """What a register holds cannot be asked for."""
        return not self.unit.clear
