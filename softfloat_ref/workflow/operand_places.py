"""Which operands a sum takes of a unit of three, such as a and b, or b and c: found by simulation."""

from __future__ import annotations

import dataclasses
from typing import Final

from softfloat_ref.base.tables import toml_value
from softfloat_ref.base.trees import parse_toml
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing.judge import CheckReport
from softfloat_ref.units import MixedUnit

OTHER_PLACES: Final = ("bc", "ac")
_SUMS: Final = ("add", "sub")
_LETTERS: Final = 3


def movable_sums(vectors: VectorSet) -> tuple[str, ...]:
    """The sums of a set of several operations, of three operands, whose own operands nobody named."""
    unit = vectors.unit
    if not isinstance(unit, MixedUnit) or sum(f.role == "operand" for f in unit.fields) != _LETTERS:
        return ()
    places = unit.places or ("",) * len(unit.operations)
    return tuple(
        dict.fromkeys(
            part.op for part, place in zip(unit.operations, places, strict=True) if part.op in _SUMS and not place
        )
    )


def with_sums(vectors: VectorSet, place: str) -> VectorSet:
    """The set with the operands of its movable sums in other fields. Raises Error."""
    unit, moved = vectors.unit, movable_sums(vectors)
    assert isinstance(unit, MixedUnit)
    places = unit.places or ("",) * len(unit.operations)
    own = tuple(place if part.op in moved else x for part, x in zip(unit.operations, places, strict=True))
    return dataclasses.replace(vectors, unit=dataclasses.replace(unit, places=own))


def wrong_sums(report: CheckReport | None) -> tuple[int, int]:
    """How many results of sums are wrong, of how many."""
    if report is None:
        return 0, 0
    parts = report.parts or {report.vectors.unit: report}
    own = [part for unit, part in parts.items() if unit.properties()["op"] in _SUMS]
    return sum(part.mismatched for part in own), sum(part.compared for part in own)


def are_mostly_wrong(report: CheckReport | None) -> bool:
    """Whether at least half of the sums are."""
    wrong, count = wrong_sums(report)
    return 0 < count <= 2 * wrong


def are_clearly_better(before: CheckReport | None, after: CheckReport | None) -> bool:
    """Whether at most half as many sums are wrong."""
    (wrong, _), (left, count) = wrong_sums(before), wrong_sums(after)
    return count > 0 and 2 * left <= wrong


def input_settings(before: str, after: str) -> list[str]:
    """The lines of the inputs in which a port map differs from an earlier one, as settings of a draft."""
    earlier, later = (parse_toml(text, "draft")["inputs"] for text in (before, after))
    return [f"inputs.{name}={toml_value(value)}" for name, value in later.items() if earlier.get(name) != value]
