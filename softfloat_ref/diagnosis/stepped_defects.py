"""Defects of any unit made of steps, from its steps alone: of its roundings, and of the operands that it reads."""

from __future__ import annotations

from collections.abc import Iterator

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.defects import defective
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.diagnosis.operand_defects import OPERAND_DEFECTS, reading
from softfloat_ref.diagnosis.rounding_defects import rounding_defects
from softfloat_ref.oracle.rounding_steps import read, rounded
from softfloat_ref.oracle.steps import Traced, recording
from softfloat_ref.units import SteppedUnit

_TRIED = (0, 1)  # codes of all inputs of a case by which the steps of a unit are seen


def stepped_defects(unit: SteppedUnit) -> Iterator[Hypothesis]:
    """The defects that each step of the unit may have, wherever it does it."""
    run = _recorded(unit)
    if run is None:
        return
    destinations = {id(x.args[2]): x.args[2] for x in run.all(rounded)}.values()
    for row in rounding_defects():
        if any(map(row.fits, destinations)):
            yield defective(unit, row.name, row.says, *row.where_it_fits, size=row.size)
    if any(True for _ in run.all(read)):
        for name, says, change in OPERAND_DEFECTS:
            yield defective(unit, name, f"{says}, in its operands", reading(change))


def _recorded(unit: SteppedUnit) -> Traced | None:
    """A run of the first such case that has an answer."""
    for code in _TRIED:
        run = recording()
        try:
            unit.answered(run, (code,) * unit.input_width)
        except Error:
            continue
        return run
    return None
