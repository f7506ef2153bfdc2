"""The coverage of a function of vectors."""

from __future__ import annotations

from functools import lru_cache

from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.vector.results import Results
from softfloat_ref.coverage.vector.setting import VectorSetting
from softfloat_ref.coverage.vector.shapes import ExponentShapes, NumberShapes, VectorOperands
from softfloat_ref.units import VectorUnit


@lru_cache(maxsize=64)
def vector_functions(unit: VectorUnit) -> Coverage:
    """The coverage models of a function of vectors."""
    return Coverage(VectorSetting(unit), [VectorOperands(), ExponentShapes(), NumberShapes(), Results()])
