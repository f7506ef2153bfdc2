"""Sets of requantizations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.requantize import requantizations
from softfloat_ref.coverage.requantize_cases import WORDS, drawn
from softfloat_ref.golden.cases import join_words, words_of_cases
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.units import Line, RequantizeUnit


@register(RequantizeUnit)
class RequantizeCases(Cases):
    """The cases of a requantizer: of each bin of its coverage, then drawn ones, most of them at a decision."""

    generator = "requantize-1"
    unit: RequantizeUnit

    @property
    def coverage(self) -> Coverage | None:
        return requantizations(self.unit)

    def operands(self, count: int) -> Iterator[Line]:
        for words in words_of_cases(self.vectors.seed, WORDS, count):
            yield drawn(self.unit, join_words(words))

    def conventions(self) -> list[dict[str, Any]]:
        rule = {k: v for k, v in self.unit.rule.to_dict().items() if k != "source"}
        return [{"op": self.unit.op, "rule": rule, **({"fixed": self.unit.fixed} if self.unit.fixed else {})}]
