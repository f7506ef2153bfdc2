"""TestFloat's text: operands, result and flags in upper-case hexadecimal, single spaces, no header."""

from __future__ import annotations

from softfloat_ref.golden.sets import Vectors
from softfloat_ref.golden.writers.batch import Batch, Data, LineWriter


class TestFloatWriter(LineWriter):
    """NAME.tv."""

    __test__ = False  # for pytest

    key = "tv"
    suffix = ".tv"

    def part(self, vectors: Vectors, batch: Batch) -> list[Data]:
        """The lines of a batch."""
        return [batch.text]

    def record(self, vectors: Vectors, stream: int) -> int:
        """All lines are as long."""
        return sum((f.digits + 1) * f.lanes for f in vectors.fields)
