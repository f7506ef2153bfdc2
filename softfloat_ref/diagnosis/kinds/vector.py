"""Functions of vectors: policies, the constants of their formulas, and exchanged lanes."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, ClassVar

from softfloat_ref.diagnosis.block_defects import lane_orders
from softfloat_ref.diagnosis.hypotheses import Hypothesis, expected_model, with_change
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, register
from softfloat_ref.diagnosis.policy_space import PolicySpace, ends_of
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.oracle.codec import target
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.units import VectorUnit


class VectorSpace(PolicySpace):
    """The policies of a function of vectors."""

    def key(self, point: Policy) -> Hashable:
        return point.flush_inputs, point.nan, tuple(target(self.unit.out, point)), ends_of(self.unit.out, point)

    def defects_of(self, unit: VectorUnit) -> Iterator[Hypothesis]:
        for name, text, fields in _constants(unit):
            yield Hypothesis(name, text, expected_model(dataclasses.replace(unit, **fields)))
        right, n = expected_model(unit), unit.length
        for name, text, order in lane_orders(n) if n > 1 else ():
            moved = with_change(right, lambda _, codes, order=order: (*(codes[i] for i in order), *codes[n:]))  # type: ignore[misc]
            yield Hypothesis(name, text, moved)


def _constants(unit: VectorUnit) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Units with another constant: a name, what the device does, and the fields that differ."""
    if unit.exact_epsilon:
        yield "no epsilon", "adds no epsilon", {"epsilon": "0"}
        yield "epsilon squared", "adds the square of epsilon", {"epsilon": str(unit.exact_epsilon**2)}


@register(VectorUnit)
class DiagnosedVector(DiagnosedKind):
    """A function of vectors."""

    tried: ClassVar[str] = "policy or listed defect"
    choices: ClassVar[type[Space[Any]]] = VectorSpace
    unit: VectorUnit
