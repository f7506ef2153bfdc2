"""Functions of vectors: policies, the constants of their formulas, and exchanged lanes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any, ClassVar

from softfloat_ref.diagnosis.defects import Faulty, defective, replaced
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, register
from softfloat_ref.diagnosis.lane_defects import lane_defects
from softfloat_ref.diagnosis.policy_space import PolicySpace, ends_of
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.diagnosis.stepped_defects import stepped_defects
from softfloat_ref.oracle.codec import target
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.oracle.vector_functions import FunctionSetting, Lanes, OperandValues, VectorFunction, exact_lanes
from softfloat_ref.units import VectorUnit


class VectorSpace(PolicySpace):
    """The policies of a function of vectors."""

    def key(self, point: Policy) -> Hashable:
        return point.flush_inputs, point.nan, tuple(target(self.unit.out, point)), ends_of(self.unit.out, point)

    def model_of(self, unit: VectorUnit) -> Model:
        return Faulty(unit)

    def defects_of(self, unit: VectorUnit) -> Iterator[Hypothesis]:
        yield from _constants(unit)
        if unit.length > 1:
            yield from lane_defects(unit, unit.length)
        yield from stepped_defects(unit)


def _constants(unit: VectorUnit) -> Iterator[Hypothesis]:
    """Another constant in the formula."""
    if unit.exact_epsilon:
        yield defective(unit, "no epsilon", "adds no epsilon", _epsilon(Fraction(0)))
        yield defective(unit, "epsilon squared", "adds the square of epsilon", _epsilon(unit.exact_epsilon**2))


def _epsilon(other: Fraction) -> Change:
    def wrong(
        here: Traced, right: Function, row: VectorFunction, setting: FunctionSetting, operands: OperandValues
    ) -> Lanes:
        return right(row, setting._replace(epsilon=other), operands)  # type: ignore[no-any-return]

    return replaced(exact_lanes, wrong)


@register(VectorUnit)
class DiagnosedVector(DiagnosedKind):
    """A function of vectors."""

    tried: ClassVar[str] = "policy or listed defect"
    choices: ClassVar[type[Space[Any]]] = VectorSpace
    unit: VectorUnit
