"""An identification as text and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from softfloat_ref.diagnosis.candidates import Candidate
from softfloat_ref.diagnosis.identify import Identification
from softfloat_ref.diagnosis.kinds import kind_of
from softfloat_ref.diagnosis.report import case_text
from softfloat_ref.units import Unit

SHOWN: Final = 6
_SHOWN_NEAR: Final = 3


def lines(result: Identification[Any], unit: Unit, where: str = "") -> list[str]:
    """The device, the alternatives, and the evidence; or the closest models, and where they differ. where: the range of
    the operands that it was asked about."""
    asked = f"  {result.questions} question{'s' * (result.questions != 1)} chosen one by one"
    flags = "" if result.has_flags or not unit.has_flags else "; results only: the device gives no flags"
    flags += f"; only operands where {where}" if where else ""
    title = kind_of(unit).title
    if result.candidates:
        first, *others = result.names
        text = [
            f"{title}: {first}",
            *(_same(result.candidates[0], where) if first == result.candidates[0].name else []),
        ]
        if result.proved:
            every = f"every input where {where}" if where else "every input"
            text.append(f"  proved to give the same for {every}: {_listed(result.proved)}")
        text += _others(others, ", which no question tried distinguishes from it")
        return [*text, f"{asked}, then {result.confirmed} of {result.tried} cases confirmed{flags}"]
    if result.complete:
        first, *others = result.names
        text = [f"{title}: {first}", f"  explains all {result.examined} answers"]
        text += _others(others, "")
    else:
        text = list(_closest(result, unit))
    return [*text, f"{asked}, then {result.tried} cases{flags}"]


def _others(names: Sequence[str], why: str) -> list[str]:
    """Models that are as possible as the first."""
    rest = len(names) - SHOWN
    return [f"  or: {name}{why}" for name in names[:SHOWN]] + ([f"  or one of {rest} more"] if rest > 0 else [])


def _closest(result: Identification[Any], unit: Unit) -> Iterator[str]:
    """The closest models where none explains every answer, and an answer that the best does not explain."""
    best = result.closest[0]
    if not best.explained:
        yield f"{kind_of(unit).title}: no model explains any answer, for example"
    else:
        yield f"{kind_of(unit).title}: no model explains every answer; the closest:"
        for f in result.closest[:_SHOWN_NEAR]:
            yield f"  {100 * f.explained / result.examined:.4g} % of {result.examined} answers: {f.hypothesis.name}"
        yield f"  {result.examined - best.explained} answers differ from the first model, for example"
    if result.exception is not None:
        yield f"    {case_text(result.exception, unit).replace(': expected', ': model', 1)}"


def _same(candidate: Candidate[Any], where: str) -> list[str]:
    """Its other names, which no operands distinguish for this operation and these formats."""
    rest = candidate.names[1:]
    what = "operation, format and range" if where else "operation and format"
    return [f"  identical for this {what}: {_listed(rest)}"] if rest else []


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{'; '.join(names[:SHOWN])}{more}"


def as_dict(result: Identification[Any], unit: Unit) -> dict[str, Any]:
    """The identification as data."""
    return {
        "operation": kind_of(unit).title,
        "identified": result.complete,
        "name": result.name,
        "candidates": [{"name": c.name, "the_same": c.names[1:]} for c in result.candidates],
        "proved": result.proved,
        "questions": result.questions,
        "confirmed": result.confirmed,
        "tried": result.tried,
        "flags": result.has_flags,
        "closest": [
            {"name": f.hypothesis.name, "explained": f.explained, "of": result.examined} for f in result.closest
        ],
        "departs": result.exception and case_text(result.exception, unit),
    }
