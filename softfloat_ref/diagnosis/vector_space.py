"""Policies of functions of vectors as a space, and the defects that such units have."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Model, expected_model
from softfloat_ref.diagnosis.policy_space import PolicySpace, ends_of
from softfloat_ref.oracle.codec import target
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.units import VectorUnit


class VectorSpace(PolicySpace):
    """The policies of a function of vectors."""

    unit: Any

    @property
    def _has_specials(self) -> bool:
        return False

    def model(self, point: Policy) -> Model | None:
        try:
            return expected_model(self._unit_of(point))
        except Error:
            return None

    def _unit_of(self, point: Policy) -> VectorUnit:
        return dataclasses.replace(self.unit, policy=point)  # type: ignore[no-any-return]

    def key(self, point: Policy) -> Hashable:
        return point.flush_inputs, point.nan, tuple(target(self.unit.out, point)), ends_of(self.unit.out, point)

    def defects(self, point: Policy) -> Iterator[Hypothesis]:
        unit = self._unit_of(point)
        for name, text, changes in _changed(unit):
            yield Hypothesis(name, text, expected_model(dataclasses.replace(unit, **changes)))
        yield from _swapped(unit)

    def suggested(self, point: Policy, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        return iter(())

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        return iter(())


def _changed(unit: VectorUnit) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Units with another constant or another formula: a name, what the device does, and the fields that differ."""
    if unit.exact_epsilon:
        yield "no epsilon", "adds no epsilon", {"epsilon": "0"}
        yield "epsilon squared", "adds the square of epsilon", {"epsilon": str(unit.exact_epsilon**2)}


def _swapped(unit: VectorUnit) -> Iterator[Hypothesis]:
    """The answers of neighbouring lanes exchanged, or all in the reverse order."""
    model, n = expected_model(unit), unit.length
    if n < 2:
        return
    pairs = [i ^ 1 if i ^ 1 < n else i for i in range(n)]
    orders: Sequence[tuple[str, str, Sequence[int]]] = (
        ("lanes reversed", "gives the lanes in reverse order", range(n - 1, -1, -1)),
        ("lanes exchanged", "exchanges neighbouring lanes", pairs),
    )
    for name, text, order in orders:

        def moved(inputs: Sequence[int], order: Sequence[int] = order) -> tuple[int, ...] | None:
            codes = model(inputs)
            return None if codes is None else (*(codes[i] for i in order), *codes[n:])

        yield Hypothesis(name, text, moved)
