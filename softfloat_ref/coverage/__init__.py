"""Coverage of vectors: models with named bins, cases that hit them by construction, and reports."""

from __future__ import annotations

from typing import Any


def summary(vectors: Any) -> dict[str, Any] | None:
    """What a set's directed cases cover, in numbers, as a manifest has it; None where no models look at the set."""
    from softfloat_ref.coverage import measure

    return measure.summary(vectors)
