"""Sets of functions of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.operation.operands import ordinary
from softfloat_ref.coverage.vector.models import vector_functions
from softfloat_ref.golden.cases import random_code, words_of_cases
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.golden.kinds.operation import convention
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import Field, Line, VectorUnit

_SPECIAL_EVERY: Final = 8  # one case in N has codes of every kind in a few lanes
_WIDE_EVERY: Final = 4  # one in N has numbers of many binades
_EXPONENTS: Final = {"x": (-3, 3), "q": (-4, 0), "k": (-2, 1), "scale": (-4, 0), "gain": (-2, 1), "bias": (-3, 1)}


@register(VectorUnit)
class VectorCases(Cases):
    """The cases of a function of vectors: numbers of a few binades, so that many lanes count; some with special codes
    in a few lanes."""

    generator: ClassVar[str] = "vector-1"
    wide: ClassVar[bool] = True
    unit: VectorUnit

    @property
    def coverage(self) -> Coverage | None:
        return vector_functions(self.unit)

    def operands(self, count: int) -> Iterator[Line]:
        fields = [f for f in self.unit.inputs if f.role == "operand"]
        for control, *words in words_of_cases(self.vectors.seed, 1 + self.unit.operand_width, count):
            yield self._line(fields, control, words)

    def _line(self, fields: list[Field], control: int, words: list[int]) -> Line:
        codes: list[int] = []
        for f in fields:
            own = words[len(codes) : len(codes) + f.lanes]
            codes += [self._code(f, control, word) for word in own]
        if control % _SPECIAL_EVERY == 0:
            for j in range(1 + (control >> 8) % 3):
                at = (control >> 12 * j) % len(codes)
                fmt = self.unit.input_formats[at]
                if fmt is not None and not fmt.is_integer:
                    codes[at] = random_code(fmt, words[at] >> 3 | 7, words[at])
        return tuple(codes)

    def _code(self, field: Field, control: int, word: int) -> int:
        if field.name == "visible":
            return 1 + word % self.unit.length
        low, high = _EXPONENTS[field.name]
        fmt: Format = field.fmt  # type: ignore[assignment]
        if (control >> 4) % _WIDE_EVERY == 0 and field.name in ("x", "k"):
            low, high = max(fmt.emin - fmt.mantissa_bits, -40), min(fmt.emax, 12)
        e = low + word % (high - low + 1)
        return ordinary(fmt, word >> 8, e, 0 if field.name in ("gain", "scale") else None)

    def conventions(self) -> list[dict[str, Any]]:
        unit = self.unit
        row = convention(unit.op, [f.name for f in unit.formats], unit.out, unit.policy)
        more = {"epsilon": unit.epsilon} if unit.epsilon else {}
        return [{**row, **more, "lane_order": "lane i is element i of the vector", "flags": "of all lanes, or-ed"}]
