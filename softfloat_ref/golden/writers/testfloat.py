"""TestFloat's text: operands, result and flags in upper-case hexadecimal, single spaces, no header."""

from __future__ import annotations

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers.batch import Batch, Data
from softfloat_ref.golden.writers.writer import LineWriter


class TestFloatWriter(LineWriter):
    """NAME.tv."""

    __test__ = False  # for pytest

    key = "tv"
    suffix = ".tv"

    def part(self, vectors: VectorSet, batch: Batch) -> list[Data]:
        return [batch.text]

    def record(self, vectors: VectorSet, stream: int) -> int:
        return sum((f.digits + 1) * f.lanes for f in vectors.fields)
