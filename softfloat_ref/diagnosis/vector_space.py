"""Policies of functions of vectors as a space, and the defects that such units have."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.block_defects import lane_defects
from softfloat_ref.diagnosis.defects import Faulty, defective, replaced
from softfloat_ref.diagnosis.hypotheses import Case, Hypothesis, Model
from softfloat_ref.diagnosis.policy_space import PolicySpace, ends_of
from softfloat_ref.diagnosis.stepped_defects import stepped_defects
from softfloat_ref.oracle.codec import target
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.oracle.vector_functions import FunctionSetting, Lanes, OperandValues, VectorFunction, exact_lanes
from softfloat_ref.units import VectorUnit


class VectorSpace(PolicySpace):
    """The policies of a function of vectors."""

    unit: Any

    @property
    def _has_specials(self) -> bool:
        return False

    def model(self, point: Policy) -> Model | None:
        try:
            return Faulty(self._made(point))
        except Error:
            return None

    def _made(self, point: Policy) -> VectorUnit:
        return dataclasses.replace(self.unit, policy=point)  # type: ignore[no-any-return]

    def key(self, point: Policy) -> Hashable:
        return point.flush_inputs, point.nan, tuple(target(self.unit.out, point)), ends_of(self.unit.out, point)

    def defects(self, point: Policy) -> Iterator[Hypothesis]:
        unit = self._made(point)
        yield from _constants(unit)
        if unit.length > 1:
            yield from lane_defects(unit, unit.length)
        yield from stepped_defects(unit)

    def suggested(self, point: Policy, cases: Sequence[Case]) -> Iterator[Hypothesis]:
        return iter(())

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        return iter(())


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
