"""Defects as replaced steps: written once, for every kind of unit whose computation has these steps.

A defect is one or several changes of steps. It is offered for a unit in whole or within a part of the computation; the
changes of several defects together are one device with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Final, cast

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.conditions import Holds
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, Model, Output, with_change
from softfloat_ref.oracle.rounding_steps import answer
from softfloat_ref.oracle.steps import Change, Function, Known, Plan, Traced, values_of
from softfloat_ref.units import SteppedUnit

MORE_BITS: Final = 16  # extra bits of quotients and roots, for defects that depend on bits below the guard bit


def replaced(step: Function, wrong: Function, *reads: Function) -> Change:
    """A replaced step. wrong: called as `wrong(run, right, *args)` with the step's own arguments, in place of `right`;
    for instance `replaced(total, lambda run, right, aligned, terms, node: right(aligned[1:], terms, node))`.

    reads: steps whose values `wrong` asks the run for.
    """
    return Change(step, wrong, (), reads)


def within(part: object, changes: Sequence[Change]) -> tuple[Change, ...]:
    """The changes in a part of the computation only: "elements", an operand, a lane."""
    return tuple(c._replace(parts=(part, *c.parts)) for c in changes)


def in_parts(parts: Sequence[object], change: Change) -> tuple[Change, ...]:
    """A change in each of some parts; without parts, everywhere."""
    return tuple(c for part in parts for c in within(part, [change])) if parts else (change,)


class CaseContext:
    """What a change may look at besides the steps: the unit, and the inputs of the case; and its right answer."""

    __slots__ = ("_held", "_right", "inputs", "unit")

    def __init__(self, unit: Any, inputs: tuple[int, ...], right: Output | None) -> None:
        self.unit, self.inputs, self._right = unit, inputs, right
        self._held: dict[Holds, bool] | None = None

    def fulfils(self, holds: Holds) -> bool:
        """Whether a condition on the inputs and the right answer holds."""
        known = self._held
        if known is None:
            known = self._held = {}
        if holds not in known:
            right = tuple(self.unit.answer(self.inputs)) if self._right is None else self._right
            known[holds] = holds(self.inputs, right)
        return known[holds]


def where(holds: Holds, changes: Sequence[Change]) -> tuple[Change, ...]:
    """The changes in cases only that fulfil a condition on the inputs and the right answer."""

    def conditional(wrong: Function) -> Function:
        def chosen(here: Traced, right: Function, *args: Any) -> Any:
            return wrong(here, right, *args) if here.case.fulfils(holds) else right(*args)

        return chosen

    return tuple(c._replace(wrong=conditional(c.wrong)) for c in changes)


# Input codes of the cases of a unit whose steps are kept: those on which all hypotheses are tried.
_MOST_CODES: Final = 1 << 15
_MOST_ANSWERS: Final = 1 << 9  # that a model remembers: it is tried on the same cases again under another fault
_MOST_UNITS: Final = 8
_Runs = dict[tuple[int, ...], list[Any]]
_RUNS: Final[dict[int, tuple[SteppedUnit, _Runs]]] = {}  # by the unit's identity


def _runs_of(unit: SteppedUnit) -> _Runs:
    """What the steps of a unit gave for the first cases of a search, by their inputs."""
    if id(unit) not in _RUNS:
        if len(_RUNS) >= _MOST_UNITS:
            _RUNS.pop(next(iter(_RUNS), 0))
        _RUNS[id(unit)] = unit, {}
    return _RUNS[id(unit)][1]


@dataclass(frozen=True)
class Faulty:
    """A unit with some steps replaced. Without changes it is the unit itself."""

    unit: SteppedUnit
    changes: tuple[Change, ...] = ()

    def __call__(self, inputs: Inputs) -> Output | None:
        codes = tuple(inputs)[: self._width]
        known = self._answers.get(codes)
        if known is None:
            known = self._answer(codes)
            if known is not None and len(self._answers) < _MOST_ANSWERS:
                self._answers[codes] = known
        return known

    @cached_property
    def _answers(self) -> dict[tuple[int, ...], Output]:
        return {}

    def _answer(self, codes: tuple[int, ...]) -> Output | None:
        try:
            if not self.changes:
                return tuple(self.unit.answer(codes))
            values = self._runs.get(codes) or self._values(codes)
            right, known = (None, None) if values is None else (values[-1], Known(values))
            run = Traced(self._plan, CaseContext(self.unit, codes, right), known)
            if values is not None and self._last_only:
                return run(answer, values[-1])
            return tuple(self.unit.answered(run, codes, MORE_BITS))
        except Error:
            return None

    @cached_property
    def _plan(self) -> Plan:
        return Plan(self.changes)

    @cached_property
    def _last_only(self) -> bool:
        """Whether only the answer is changed, which is the last step."""
        return all(c.step is answer and not c.reads for c in self.changes)

    @cached_property
    def _width(self) -> int:
        return self.unit.input_width

    @cached_property
    def _runs(self) -> _Runs:
        return _runs_of(self.unit)

    def _values(self, codes: tuple[int, ...]) -> list[Any] | None:
        """What the steps of the right unit give for a case; None for cases beyond the first, or if it is undefined."""
        runs = self._runs
        if len(runs) * len(codes) >= _MOST_CODES:
            return None
        try:
            values = runs[codes] = values_of(lambda do: self.unit.answered(do, codes, MORE_BITS))
        except Error:
            return None
        return values

    def joined(self, other: Model, right: Model | None = None) -> Faulty | None:
        """The device with the wrong steps and the other choices of both; None if the other has none, or adds none.
        right: the device without any."""
        if not isinstance(other, Faulty):
            return None
        if not other.changes:  # another unit, whatever its faults
            base = right.unit if isinstance(right, Faulty) else self.unit
            return replace(self, unit=_merged(self.unit, other.unit, base))
        if set(other.changes) <= set(self.changes):
            return None
        return replace(self, changes=(*self.changes, *other.changes))

    def preceded(self, other: Model) -> Faulty | None:
        """As `joined`, with the wrong steps of the other before these; None if no step is wrong in both."""
        steps = {c.step for c in self.changes}
        if not isinstance(other, Faulty) or not any(c.step in steps for c in other.changes):
            return None
        return (
            None if set(other.changes) <= set(self.changes) else replace(self, changes=(*other.changes, *self.changes))
        )


def _merged(mine: Any, other: Any, base: Any) -> Any:
    """What the other chooses otherwise than the base, and for the rest mine."""
    if other == base or mine == other:
        return mine
    if mine == base or not is_dataclass(mine) or type(mine) is not type(other) or type(mine) is not type(base):
        return other
    chosen = {f.name: _merged(*(getattr(x, f.name) for x in (mine, other, base))) for f in fields(mine) if f.init}
    try:
        return replace(cast(Any, mine), **chosen)
    except Error:  # the choices exclude each other
        return other


def defective(
    unit: SteppedUnit, name: str, description: str, *changes: Change, size: int = 2, share: float = 0.0
) -> Hypothesis:
    """A unit with replaced steps, as a hypothesis. It may be offered where it changes nothing: one that equals the unit
    is never shown, and costs its time only."""
    return Hypothesis(name, description, Faulty(unit, changes), size=size, share=share)


def answering(unit: Any, change: Callable[[Inputs, Output], Output], under: Model | None = None) -> Model:
    """A unit whose answer is changed: from its inputs and the right codes. under: another model of it to change."""
    if under is not None:
        return with_change(under, change)

    def wrong(here: Traced, right: Function, codes: Output) -> Output:
        return right(change(here.case.inputs, codes))  # type: ignore[no-any-return]

    return Faulty(unit, (replaced(answer, wrong),))


def flags_kept(h: Hypothesis, changed: int = 0) -> Hypothesis:
    """A defect of an operation that raises the right flags. changed: flags that are not kept."""

    def wrong(here: Traced, right: Function, codes: Output) -> Output:
        kept = here.case.unit.answer(here.case.inputs)[1] & ~changed
        return right((codes[0], kept | codes[1] & changed))  # type: ignore[no-any-return]

    model = cast(Faulty, h.model)
    more = (*model.changes, replaced(answer, wrong))
    text = f"{h.description}, but raises the right flags"
    return h._replace(name=f"{h.name}, flags kept", description=text, model=replace(model, changes=more))
