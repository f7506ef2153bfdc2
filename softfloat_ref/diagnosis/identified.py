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
_NEAR: Final = 3


def lines(found: Identification[Any], unit: Unit) -> list[str]:
    """The device, the alternatives, and the evidence; or the closest models, and where they differ."""
    asked = f"  {found.questions} question{'s' * (found.questions != 1)} chosen one by one"
    flags = "" if found.has_flags or not unit.has_flags else "; results only: the device gives no flags"
    title = kind_of(unit).title
    if found.found:
        first, *others = found.names
        text = [f"{title}: {first}", *(_same(found.found[0]) if first == found.found[0].name else [])]
        if found.proved:
            text.append(f"  proved to give the same for every input: {_listed(found.proved)}")
        text += _others(others, ", which no question tried distinguishes from it")
        return [*text, f"{asked}, then {found.confirmed} of {found.tried} cases confirmed{flags}"]
    if found.complete:
        first, *others = found.names
        text = [f"{title}: {first}", f"  explains all {found.examined} answers"]
        text += _others(others, "")
    else:
        text = list(_closest(found, unit))
    return [*text, f"{asked}, then {found.tried} cases{flags}"]


def _others(names: Sequence[str], why: str) -> list[str]:
    """Models that are as possible as the first."""
    rest = len(names) - SHOWN
    return [f"  or: {name}{why}" for name in names[:SHOWN]] + ([f"  or one of {rest} more"] if rest > 0 else [])


def _closest(found: Identification[Any], unit: Unit) -> Iterator[str]:
    """The closest models where none explains every answer, and an answer that the best does not explain."""
    best = found.closest[0]
    if not best.explained:
        yield f"{kind_of(unit).title}: no model explains any answer, for example"
    else:
        yield f"{kind_of(unit).title}: no model explains every answer; the closest:"
        for f in found.closest[:_NEAR]:
            yield f"  {100 * f.explained / found.examined:.4g} % of {found.examined} answers: {f.hypothesis.name}"
        yield f"  {found.examined - best.explained} answers differ from the first model, for example"
    if found.exception is not None:
        yield f"    {case_text(found.exception, unit).replace(': expected', ': model', 1)}"


def _same(candidate: Candidate[Any]) -> list[str]:
    """Its other names, which no operands distinguish for this operation and these formats."""
    rest = candidate.names[1:]
    return [f"  identical for this operation and format: {_listed(rest)}"] if rest else []


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{'; '.join(names[:SHOWN])}{more}"


def as_dict(found: Identification[Any], unit: Unit) -> dict[str, Any]:
    """The identification as data."""
    return {
        "operation": kind_of(unit).title,
        "identified": found.complete,
        "name": found.name,
        "candidates": [{"name": c.name, "the_same": c.names[1:]} for c in found.found],
        "proved": found.proved,
        "questions": found.questions,
        "confirmed": found.confirmed,
        "tried": found.tried,
        "flags": found.has_flags,
        "closest": [{"name": f.hypothesis.name, "explained": f.explained, "of": found.examined} for f in found.closest],
        "departs": found.exception and case_text(found.exception, unit),
    }
