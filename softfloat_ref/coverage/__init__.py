"""Coverage of vectors: models with named bins, cases that hit them by construction, and reports."""

from __future__ import annotations

from typing import Any


def summary(vectors: Any) -> dict[str, Any] | None:
    """The coverage of a set's directed cases in numbers, for its manifest; None if the set has no models."""
    from softfloat_ref.coverage.engine import measure

    return measure.summary(vectors)
