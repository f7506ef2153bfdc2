"""Operands that a set takes from tensors, stored with where they come from: a manifest still defines its set alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.kinds import Cases
from softfloat_ref.golden.tags import Run
from softfloat_ref.units import Line, Unit
from softfloat_ref.units.unit import Field

MAX_CODES: Final = 1 << 18  # of a set: they stand in its manifest
TAG: Final = "tensor"
_TEXTS: Final = ("field", "file", "tensor", "shape", "stored", "taken", "sha256")


@dataclass(frozen=True)
class OperandTensor:
    """The tensor that a field's operands come from. stored: the format of the tensor in its file; taken: how its
    values become operands; sha256: of all its values, as little-endian FP32 (FP64, if they are) in C order."""

    field: str
    file: str
    tensor: str
    shape: str
    stored: str
    taken: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.file}::{self.tensor}"


@dataclass(frozen=True)
class TensorOperands:
    """The operands of a set's cases, in their order, and the tensors that they come from."""

    tensors: tuple[OperandTensor, ...]
    lines: tuple[Line, ...]

    def check(self, unit: Unit) -> None:
        """Raise Error if these are not operands of the unit."""
        widths = [f.width for f in operand_fields(unit) for _ in range(f.lanes)]
        if not self.lines or not self.tensors or len(widths) * len(self.lines) > MAX_CODES:
            raise Error(f"operands of tensors: at least a case and a tensor, and at most {MAX_CODES} codes")
        for line in self.lines:
            if len(line) != len(widths) or any(code >> width for code, width in zip(line, widths, strict=True)):
                raise Error(f"operands of tensors: a line does not have the {len(widths)} codes of {unit.name}")

    def to_dict(self) -> dict[str, Any]:
        lines = [" ".join(f"{code:x}" for code in line) for line in self.lines]
        return {"tensors": [asdict(x) for x in self.tensors], "lines": lines}

    @staticmethod
    def from_dict(table: Mapping[str, Any]) -> TensorOperands:
        """What a manifest stores. Raises Error."""
        tensors, lines = table["tensors"], table["lines"]
        if not isinstance(tensors, list) or not isinstance(lines, list) or len(lines) > MAX_CODES:
            raise Error("operands of tensors: tensors and lines must be lists")
        for line in lines:
            if not isinstance(line, str) or not re.fullmatch(r"[0-9a-f]{1,64}( [0-9a-f]{1,64})*", line):
                raise Error("operands of tensors: a line is not of hexadecimal codes")
        for x in tensors:
            if not isinstance(x, dict) or x.keys() != set(_TEXTS) or not all(isinstance(v, str) for v in x.values()):
                raise Error(f"operands of tensors: a tensor has the texts {', '.join(_TEXTS)}")
        codes = (tuple(int(code, 16) for code in line.split(" ")) for line in lines)
        return TensorOperands(tuple(OperandTensor(**x) for x in tensors), tuple(codes))


def operand_fields(unit: Unit) -> list[Field]:
    """The fields of a unit that tensors fill."""
    return [f for f in unit.inputs if f.role == "operand"]


@lru_cache(maxsize=32)
def cases_of_tensors(kind: type[Cases]) -> type[Cases]:
    """The cases of a kind of unit, with operands of tensors in place of its own."""

    class CasesOfTensors(kind):  # type: ignore[misc, valid-type]
        generator: ClassVar[str] = "tensors-1"
        near_carry: ClassVar[bool] = False
        streams: ClassVar[dict[str, int]] = {}
        chunked = False
        drawn_in_arrays = False

        def check(self) -> None:
            super().check()
            vectors = self.vectors
            vectors.operands.check(self.unit)
            if vectors.level or vectors.where:
                raise Error("operands of tensors have no level and no range")
            if vectors.count > len(vectors.operands.lines):
                raise Error(f"{vectors.count} vectors, but the tensors give {len(vectors.operands.lines)}")

        def _directed(self) -> tuple[tuple[str, Line], ...]:
            return ()

        def first(self, count: int) -> Run:
            return TAG, count

        def operands(self, count: int) -> Any:
            return iter(self.vectors.operands.lines[:count])

    return CasesOfTensors
