"""An identification as text and as data."""

from __future__ import annotations

from typing import Any, Final

from softfloat_ref.diagnosis.candidates import Candidate
from softfloat_ref.diagnosis.identify import Identification
from softfloat_ref.diagnosis.kinds import kind_of
from softfloat_ref.diagnosis.report import case_text
from softfloat_ref.units import Unit

SHOWN: Final = 6
_NEAR: Final = 3


def lines(found: Identification[Any], unit: Unit) -> list[str]:
    """The device, the alternatives, and the evidence; or the closest models, and where they differ."""
    asked = f"  {found.questions} questions chosen one by one"
    flags = "" if found.has_flags or not unit.has_flags else "; results only: the device gives no flags"
    if found.found:
        first, *others = found.found
        text = [f"{kind_of(unit).title}: {first.name}", *_same(first)]
        text += [f"  or: {other.name}, which no question tried distinguishes from it" for other in others[:SHOWN]]
        return [*text, f"{asked}, then {found.confirmed} of {found.tried} cases confirmed{flags}"]
    text = []
    best = found.closest[0]
    if best.explained == found.examined:
        text = [f"{kind_of(unit).title}: {best.hypothesis.name}", f"  explains all {found.examined} answers"]
        tied = [f.hypothesis.name for f in found.closest[1:] if f.explained == best.explained]
        text += [f"  or: {name}" for name in tied[:SHOWN]]
    else:
        text = [f"{kind_of(unit).title}: no model explains every answer; the closest:"]
        for f in found.closest[:_NEAR]:
            text.append(
                f"  {100 * f.explained / found.examined:.4g} % of {found.examined} answers: {f.hypothesis.name}"
            )
        if found.exception is not None:
            text.append(f"  {found.examined - best.explained} answers differ from the first model, for example")
            text.append(f"    {case_text(found.exception, unit).replace(': expected', ': model', 1)}")
    return [*text, f"{asked}, then {found.tried} cases{flags}"]


def _same(candidate: Candidate[Any]) -> list[str]:
    """Its other names, which no operands distinguish for this operation and these formats."""
    rest = candidate.names[1:]
    if not rest:
        return []
    more = f" and {len(rest) - SHOWN} more" if len(rest) > SHOWN else ""
    return [f"  identical for this operation and format: {'; '.join(rest[:SHOWN])}{more}"]


def as_dict(found: Identification[Any], unit: Unit) -> dict[str, Any]:
    """The identification as data."""
    return {
        "operation": kind_of(unit).title,
        "identified": found.complete,
        "name": found.name,
        "candidates": [{"name": c.name, "the_same": c.names[1:]} for c in found.found],
        "questions": found.questions,
        "confirmed": found.confirmed,
        "tried": found.tried,
        "flags": found.has_flags,
        "closest": [{"name": f.hypothesis.name, "explained": f.explained, "of": found.examined} for f in found.closest],
        "departs": found.exception and case_text(found.exception, unit),
    }
