"""Questions for an unknown device: directed cases, probes known to distinguish candidates, random cases."""

from __future__ import annotations

from typing import Any

from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.identify import Examiner
from softfloat_ref.diagnosis.kinds import kind_of
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing.compare import CompareNan


def examiner(vectors: VectorSet, nan: CompareNan = CompareNan.EXACT) -> Examiner[Any]:
    """The examiner for a unit: its policy, profile, accumulator or rule is the base; the set's count is not used."""
    return kind_of(vectors.unit).examiner(vectors, nan)


def confirming(vectors: VectorSet, count: int, seed: int) -> list[Question]:
    """Cases that confirm an identification, as in a check: half directed and half random."""
    return kind_of(vectors.unit).confirming(vectors, count, seed) if count else []
