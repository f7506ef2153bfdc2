"""Defects as replaced steps: written once, for every kind of unit whose computation has these steps.

A defect is one or several changes of steps. It is offered for a unit in whole or within a part of the computation; the
changes of several defects together are one device with all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, Model, Output, Stepwise
from softfloat_ref.oracle.steps import Change, Function, Known, Plan, Traced, values_of
from softfloat_ref.units import SteppedUnit

MORE_BITS: Final = 16  # extra bits of quotients and roots, for defects that depend on bits below the guard bit


def replaced(step: Function, wrong: Function, *reads: Function) -> Change:
    """A replaced step. reads: steps whose values `wrong` asks the run for."""
    return Change(step, wrong, (), reads)


def within(part: object, changes: Sequence[Change]) -> tuple[Change, ...]:
    """The changes in a part of the computation only: "elements", an operand, a lane."""
    return tuple(c._replace(parts=(part, *c.parts)) for c in changes)


class Asked(NamedTuple):
    """What a change may look at besides the steps: the unit, and the inputs of the case."""

    unit: Any
    inputs: Inputs


_MOST: Final = (
    1 << 15
)  # input codes of the cases of a unit whose steps are kept: those on which all hypotheses are tried
_UNITS: Final = 8
_Kept = dict[tuple[int, ...], list[Any]]
_KEPT: Final[dict[int, tuple[SteppedUnit, _Kept]]] = {}  # by the unit's identity


def _known(unit: SteppedUnit, inputs: tuple[int, ...]) -> Known | None:
    """What the steps of the right unit give for a case; None for cases beyond the first ones, or if it is undefined."""
    if id(unit) not in _KEPT and len(_KEPT) >= _UNITS:
        _KEPT.pop(next(iter(_KEPT), 0))
    kept = _KEPT.setdefault(id(unit), (unit, {}))[1]
    values = kept.get(inputs)
    if values is None:
        if len(kept) * len(inputs) >= _MOST:
            return None
        try:
            values = kept[inputs] = values_of(lambda do: unit.computed(do, inputs, MORE_BITS))
        except Error:
            return None
    return Known(values)


@dataclass(frozen=True)
class Faulty(Stepwise):
    """A unit with some steps replaced. Without changes it is the unit itself."""

    unit: SteppedUnit
    changes: tuple[Change, ...] = ()

    @cached_property
    def plan(self) -> Plan:
        return Plan(self.changes)

    def __call__(self, inputs: Inputs) -> Output | None:
        codes = tuple(inputs)[: self.unit.input_width]
        try:
            if not self.changes:
                return tuple(self.unit.answer(codes))
            run = Traced(self.plan, Asked(self.unit, codes), _known(self.unit, codes))
            return tuple(self.unit.computed(run, codes, MORE_BITS))
        except Error:
            return None

    def joined(self, other: Model) -> Faulty | None:
        if not isinstance(other, Faulty):
            return None
        if not other.changes:  # another unit, whatever its faults
            return replace(self, unit=other.unit)
        return replace(self, changes=(*self.changes, *other.changes))


def defective(unit: SteppedUnit, name: str, says: str, *changes: Change, size: int = 2) -> Hypothesis:
    """A unit with replaced steps, as a hypothesis."""
    return Hypothesis(name, says, Faulty(unit, changes), size=size)
