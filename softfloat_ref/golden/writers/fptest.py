"""Lines of IBM's floating-point test suite (.fptest), of operations of IEEE 754's binary formats."""

from __future__ import annotations

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.fptest import EXCEPTIONS, OPERATIONS, ROUNDINGS, format_name, number_text
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers.batch import Batch, Data
from softfloat_ref.golden.writers.writer import LineWriter
from softfloat_ref.oracle.policies import rounding_name
from softfloat_ref.units import OperationUnit


class FptestWriter(LineWriter):
    """NAME.fptest: no exception is trapped; the bits of NaNs are lost."""

    key = "fptest"
    suffix = ".fptest"

    def check(self, vectors: VectorSet, count: int) -> None:
        self._head(vectors)

    def part(self, vectors: VectorSet, batch: Batch) -> list[Data]:
        head, unit = self._head(vectors), vectors.unit
        formats = [f for f in unit.result_formats if f is not None]
        n = unit.input_width
        lines = []
        for line in batch.lines:
            operands = [number_text(x, f) for x, f in zip(line[:n], unit.input_formats, strict=True) if f is not None]
            raised = "".join(letter for letter, flag in EXCEPTIONS.items() if line[n + 1] & flag)
            lines.append(f"{head} {' '.join(operands)} -> {number_text(line[n], formats[0])} {raised}".rstrip() + "\n")
        return ["".join(lines).encode("ascii")]

    def _head(self, vectors: VectorSet) -> str:
        """The first words of each line. Raises Error for a set that cannot be written so."""
        unit, why = vectors.unit, f"{vectors.name}: fptest"
        if not isinstance(unit, OperationUnit):
            raise Error(f"{why} holds one operation in one rounding")
        symbols = {name: key for key, name in OPERATIONS.items() if key[0] not in "<>"}  # minNum of 2008 is another one
        symbol = symbols.get(unit.op)
        rounding = next((k for k, name in ROUNDINGS.items() if name == rounding_name(unit.policy.rounding)), None)
        names = {format_name(f) for f in (*unit.formats, unit.out)}
        if symbol is None:
            raise Error(f"{why} has no operation {unit.op}; it has {', '.join(symbols)}")
        if rounding is None:
            raise Error(
                f"{why} has no rounding {rounding_name(unit.policy.rounding)}; it has {', '.join(ROUNDINGS.values())}"
            )
        source, out = format_name(unit.formats[0]), format_name(unit.out)
        if None in names or len(names) != (1 if source == out else 2) or (symbol != "cff" and source != out):
            raise Error(f"{why} has fp16, fp32, fp64 and fp128, and one of them for operands and result")
        return f"{source}{out if symbol == 'cff' else ''}{symbol} {rounding}"
