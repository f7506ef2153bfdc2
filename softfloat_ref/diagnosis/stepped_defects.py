"""The defects of the steps of any unit: wherever it reads an operand, and wherever it rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.answer_defects import constant_results
from softfloat_ref.diagnosis.flag_defects import rows_of_flags
from softfloat_ref.diagnosis.format_defects import format_exchanged, format_readings
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, wrong_codes, wrong_flags
from softfloat_ref.diagnosis.lane_defects import lanes_suggested_by
from softfloat_ref.diagnosis.operand_defects import (
    nan_readings,
    reading_defects,
    special_kinds,
    special_readings,
)
from softfloat_ref.diagnosis.rounding_defects import ROUNDING_DEFECTS
from softfloat_ref.diagnosis.suggested_roundings import suggested_rows
from softfloat_ref.oracle.rounding_steps import Destination, read, rounded
from softfloat_ref.oracle.steps import Traced, recording
from softfloat_ref.units import SteppedUnit

_TRIED_CODES: Final = (0, 1)  # codes of all inputs of a case by which the steps of a unit are seen


def stepped_defects(unit: SteppedUnit) -> Iterator[Hypothesis]:
    """The defects that each step of the unit may have, wherever it does it."""
    run = _recorded(unit)
    if run is None:
        return
    destinations = _destinations(run)
    for row in ROUNDING_DEFECTS:
        if any(map(row.fits, destinations)) and (unit.has_flags or not row.only_flags):
            yield row.guarded.of(unit)
    formats = dict.fromkeys(x.args[2] for x in run.all(read))
    if formats:
        yield from reading_defects(unit, ", in its operands")
    for fmt in formats:
        yield from format_readings(unit, fmt, {f"{fmt.name} operands": ()})
        if any(to.fmt == fmt for to in destinations):
            yield from format_exchanged(unit, fmt)


def stepped_suggested_by(unit: SteppedUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
    """Those that the mismatches suggest."""
    run = _recorded(unit)
    if run is None:
        return
    destinations, wrong = _destinations(run), wrong_codes(unit, cases)
    for row in (*suggested_rows(wrong), *rows_of_flags(wrong_flags(unit, cases))):
        if any(map(row.fits, destinations)) and (unit.has_flags or not row.only_flags):
            yield row.guarded.of(unit)
    if any(True for _ in run.all(read)):
        yield from nan_readings(unit, wrong, ", in its operands")
        yield from special_readings(unit, special_kinds(unit, cases), ", in its operands")
    if len(unit.result_formats) == 1:
        yield from constant_results(unit, wrong)
    else:
        yield from lanes_suggested_by(unit, cases)


def _destinations(run: Traced) -> list[Destination]:
    return list({id(x.args[2]): x.args[2] for x in run.all(rounded)}.values())


def _recorded(unit: SteppedUnit) -> Traced | None:
    """A run of the first such case that has an answer."""
    for code in _TRIED_CODES:
        run = recording()
        try:
            unit.answered(run, (code,) * unit.input_width)
        except Error:
            continue
        return run
    return None
