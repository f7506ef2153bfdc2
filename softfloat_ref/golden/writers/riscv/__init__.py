"""Self-checking assembly for RV64: a program that runs the instructions of a set over its cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers.batch import Batch, Data, Facts
from softfloat_ref.golden.writers.readmemh import HeaderWriter
from softfloat_ref.golden.writers.riscv.checks import REGISTER, refusal
from softfloat_ref.golden.writers.riscv.program import ENVIRONMENT, closing, opening, parts_of
from softfloat_ref.golden.writers.writer import LineWriter, Rows
from softfloat_ref.units import Line, Unit

ASSEMBLY: Final = "riscv-asm"
MACROS: Final = "riscv-inc"
MAX_LINES: Final = 1 << 20


class AssemblyWriter(LineWriter):
    """NAME.S: a case is the operands, the result, and fflags with the number of the part, each a word of 64 bits."""

    key = ASSEMBLY
    suffix = ".S"

    def has(self, vectors: VectorSet) -> bool:
        return not refusal(vectors.unit)  # type: ignore[arg-type]

    def check(self, vectors: VectorSet, count: int) -> None:
        if why := refusal(vectors.unit):  # type: ignore[arg-type]
            raise Error(f"{vectors.name}: {self.key}: {why}")
        if count > MAX_LINES:
            raise Error(f"{vectors.name}: {count} vectors; {self.key} holds at most {MAX_LINES}: choose a lower -n")

    def opening(self, vectors: VectorSet) -> bytes:
        parts, operands = parts_of(vectors.unit)
        return opening(vectors.name, parts, operands).encode("ascii")

    def part(self, vectors: VectorSet, batch: Batch) -> list[Data]:
        return [_rows(vectors.unit).encode(batch)]

    def foot(self, vectors: VectorSet, facts: Facts) -> bytes:
        return closing().encode("ascii")

    def record(self, vectors: VectorSet, stream: int) -> int:
        rows = _rows(vectors.unit)
        return len(rows.template % ((0,) * len(rows.digits)) + rows.end(""))


class MacroWriter(HeaderWriter):
    """The environment of the tests, the same for every set."""

    key = MACROS

    def has(self, vectors: VectorSet) -> bool:
        return not refusal(vectors.unit)  # type: ignore[arg-type]

    def file_name(self, vectors: VectorSet) -> str:
        return ENVIRONMENT

    def header(self, vectors: VectorSet, count: int) -> str:
        """The text, stored beside this module."""
        return Path(__file__).with_name(ENVIRONMENT).read_text(encoding="ascii")


@lru_cache(maxsize=8)
def _rows(unit: Unit) -> Rows:
    """The layout of a case: floats NaN-boxed, the rest in the low bits; then the number of the part, and the flags."""
    digits, between, before = list[int](), list[str](), "    .8byte 0x"
    for f in unit.fields[:-1]:
        if f.role != "control":
            boxed = f.fmt is not None and f.fmt.exponent_bits
            between.append(before + ("f" if boxed else "0") * (REGISTER // 4 - f.digits))
            digits.append(f.digits)
            before = ", 0x"
    if len(unit.parts) == 1:
        return Rows([*digits, 2], [*between, f"{before}{0:06x}"], _end)
    return Rows([*digits, 4, 2], [*between, before, "00"], _end, _numbered(unit))


def _end(tag: str) -> str:
    return "\n"


def _numbered(unit: Any) -> Callable[[Line], Sequence[int]]:
    """From a line of a mixed unit to operands, result, number of the part, flags."""
    controls = len(unit.controls)
    numbers = {codes: i for i, codes in enumerate(unit.by_codes)}
    return lambda line: (*line[controls:-1], numbers[line[:controls]], line[-1])
