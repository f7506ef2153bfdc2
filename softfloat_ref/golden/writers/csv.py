"""Comma-separated values: a header line, then hexadecimal codes without 0x, the tag last."""

from __future__ import annotations

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers.batch import Batch, Data
from softfloat_ref.golden.writers.writer import LineWriter, Rows


class CsvWriter(LineWriter):
    """NAME.csv. Lane i of a field with lanes is the column `values[i]`; a tag with a comma or quote is quoted."""

    key = "csv"
    suffix = ".csv"

    def opening(self, vectors: VectorSet) -> bytes:
        names = [f.name if f.lanes == 1 else f"{f.name}[{i}]" for f in vectors.fields for i in range(f.lanes)]
        return (",".join([*names, "tag"]) + "\n").encode("ascii")

    def part(self, vectors: VectorSet, batch: Batch) -> list[Data]:
        digits = [f.digits for f in vectors.fields for _ in range(f.lanes)]
        return [Rows(digits, ["", *[","] * (len(digits) - 1)], _end).encode(batch)]


def _end(tag: str) -> str:
    quoted = '"' + tag.replace('"', '""') + '"' if set(tag) & set(',"\n\r') else tag
    return f",{quoted}\n"
