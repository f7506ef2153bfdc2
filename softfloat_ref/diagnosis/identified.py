"""An identification in words, and as data."""

from __future__ import annotations

from typing import Any, Final

from softfloat_ref.diagnosis.candidates import Candidate
from softfloat_ref.diagnosis.identify import Identification
from softfloat_ref.diagnosis.report import case_text
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing.check import Checkable

SHOWN: Final = 6
_NEAR: Final = 3


def lines(found: Identification[Any], vectors: Checkable) -> list[str]:
    """What the device is, what else it may be, and how that was found; or what is nearest, and where it departs."""
    asked = f"  {found.questions} questions chosen one by one"
    flags = "" if found.has_flags or _wide(vectors) else "; results only: the device gives no flags"
    if found.found:
        first, *others = found.found
        text = [f"{_title(vectors)}: {first.name}", *_same(first, vectors)]
        text += [f"  or: {other.name}, which no question tried tells from it" for other in others[:SHOWN]]
        return [*text, f"{asked}, then {found.confirmed} of {found.tried} cases confirmed{flags}"]
    text = []
    best = found.closest[0]
    if best.explained == found.examined:
        text = [f"{_title(vectors)}: {best.hypothesis.name}", f"  explains all {found.examined} answers"]
        tied = [f.hypothesis.name for f in found.closest[1:] if f.explained == best.explained]
        text += [f"  or: {name}" for name in tied[:SHOWN]]
    else:
        text = [f"{_title(vectors)}: no choice explains every answer; the closest:"]
        for f in found.closest[:_NEAR]:
            text.append(
                f"  {100 * f.explained / found.examined:.4g} % of {found.examined} answers: {f.hypothesis.name}"
            )
        if found.exception is not None:
            text.append(f"  departs from the first in {found.examined - best.explained}, as in")
            text.append(f"    {case_text(found.exception, vectors).replace(': expected', ': as that', 1)}")
    return [*text, f"{asked}, then {found.tried} cases{flags}"]


def _wide(vectors: Checkable) -> bool:
    return isinstance(vectors, VectorSet) and vectors.block is not None


def _title(vectors: Checkable) -> str:
    if isinstance(vectors, DotSet):
        formats = "_".join(dict.fromkeys((vectors.a.name, vectors.b.name)))
        return f"dot of {vectors.k} {formats} to {vectors.out.name}"
    if vectors.block is not None:
        return f"{vectors.op} {vectors.block.name}"
    formats = ", ".join(dict.fromkeys(f.name for f in vectors.formats))
    return f"{vectors.op} {formats}" + (f" to {vectors.out.name}" if vectors.out.name != formats else "")


def _same(candidate: Candidate[Any], vectors: Checkable) -> list[str]:
    """Its other names: for this operation and these formats no operands tell them apart."""
    rest = candidate.names[1:]
    if not rest:
        return []
    more = f" and {len(rest) - SHOWN} more" if len(rest) > SHOWN else ""
    return [f"  the same for this operation and format: {'; '.join(rest[:SHOWN])}{more}"]


def as_dict(found: Identification[Any], vectors: Checkable) -> dict[str, Any]:
    """The identification as data."""
    return {
        "operation": _title(vectors),
        "identified": found.complete,
        "name": found.name,
        "candidates": [{"name": c.name, "the_same": c.names[1:]} for c in found.found],
        "questions": found.questions,
        "confirmed": found.confirmed,
        "tried": found.tried,
        "flags": found.has_flags,
        "closest": [{"name": f.hypothesis.name, "explained": f.explained, "of": found.examined} for f in found.closest],
        "departs": found.exception and case_text(found.exception, vectors),
    }
