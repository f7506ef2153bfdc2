"""Operands of two formats of one width, read each in the other's: a unit whose formats or ports are exchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.defects import Faulty, defective
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.diagnosis.operation_models import other_operands
from softfloat_ref.oracle.operations.table import LETTERS
from softfloat_ref.units import DotUnit, IntegerDotUnit, MatmulUnit, OperationUnit, Unit


class ExchangedFormats(NamedTuple):
    """The unit with the formats of two operands exchanged. letters: of these; formats: that they have then."""

    unit: Unit
    letters: tuple[str, str]
    formats: tuple[str, str]


def exchanged_formats(unit: Unit) -> Iterator[Hypothesis]:
    """Two operands in each other's format, of any pair that differs in the format and not in the width."""
    for other, (a, b), (x, y) in _exchanged(unit):
        text = f"reads {a} as {x} and {b} as {y}: are their formats or their ports exchanged?"
        yield Hypothesis(f"formats of {a} and {b} exchanged", text, Faulty(other), unit=other)  # type: ignore[arg-type]
        i, j = LETTERS.index(a), LETTERS.index(b)
        if isinstance(unit, OperationUnit) and not _commutes(unit, i, j):
            text = f"takes {b} for {a} and {a} for {b}: are their ports exchanged?"
            yield defective(unit, f"ports of {a} and {b} exchanged", text, *other_operands((i, j), (j, i)))


def _exchanged(unit: Unit) -> Iterator[ExchangedFormats]:
    for a, b, other in _pairs(unit):
        if [f.width for f in other.inputs] == [f.width for f in unit.inputs]:
            formats = {f.name: f.format for f in other.inputs} if isinstance(other, OperationUnit) else _sides(other)
            yield ExchangedFormats(other, (a, b), (formats[a], formats[b]))


def _pairs(unit: Any) -> Iterator[tuple[str, str, Unit]]:
    """The pairs of operands of different formats, and the unit with these exchanged."""
    try:
        if isinstance(unit, OperationUnit):
            for i, j in combinations(range(len(unit.formats)), 2):
                own = list(unit.formats)
                own[i], own[j] = own[j], own[i]
                if own[i] != own[j]:
                    yield LETTERS[i], LETTERS[j], replace(unit, formats=tuple(own))
        elif isinstance(unit, DotUnit | IntegerDotUnit) and unit.a != unit.b:
            sides: dict[str, Any] = {"a": unit.b, "b": unit.a}
            yield "a", "b", replace(unit, **sides)
        elif isinstance(unit, MatmulUnit) and unit.dot.a != unit.dot.b:
            yield "a", "b", replace(unit, dot=replace(unit.dot, a=unit.dot.b, b=unit.dot.a))
    except Error:  # the operation does not have them so
        return


def _sides(unit: Any) -> dict[str, str]:
    own = unit.dot if isinstance(unit, MatmulUnit) else unit
    return {"a": own.a.name, "b": own.b.name}


def _commutes(unit: OperationUnit, i: int, j: int) -> bool:
    """Whether exchanged ports are no more than exchanged formats."""
    formula = unit.signature.operation.formula
    if formula is None:
        return unit.signature.operation.commutes
    if {formula.divisor, formula.power} & {i, j}:
        return False
    places = {i: j, j: i}
    before, after = (
        Counter((tuple(sorted(by.get(k, k) for k in term.factors)), term.minus) for term in formula.terms)
        for by in ({}, places)
    )
    return before == after
