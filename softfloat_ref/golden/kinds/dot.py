"""Sets of dot products."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, Final

from softfloat_ref.coverage.dot.models import dot_products
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.golden.kinds.dot_codes import DotCodes, DotFormats, crossed_dots, random_case
from softfloat_ref.golden.tags import Run
from softfloat_ref.oracle.accumulate.dots import run
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.sources import Philox
from softfloat_ref.units import DotUnit, Line
from softfloat_ref.units.dot import side

CROSSED: Final = "crossed"  # the tag of cases that cross special values, scales and places
RULE: Final = "each Round node of the accumulator has its own rounding"


def operands_of(unit: DotUnit) -> DotFormats:
    """The parameters of the cases of a dot product."""
    scales = [(x.scale, unit.blocks(x)) if isinstance(x, BlockFormat) else (None, 0) for x in (unit.a, unit.b)]
    s = unit.setting
    return DotFormats(*s.formats, s.c, unit.k, scales[0][0], scales[1][0], scales[0][1], scales[1][1])


@register(DotUnit)
class DotCases(Cases):
    """The cases of a dot product: after the directed ones, special values, scales and places crossed."""

    generator: ClassVar[str] = "dot-2"
    wide: ClassVar[bool] = True
    streams: ClassVar[dict[str, int]] = {"operands": 0}
    rule: ClassVar[str] = RULE
    unit: DotUnit

    @property
    def coverage(self) -> Coverage | None:
        return dot_products(self.unit)

    @cached_property
    def dot_formats(self) -> DotFormats:
        return operands_of(self.unit)

    def _crossed(self, count: int) -> list[DotCodes]:
        """At most half of the remaining cases."""
        return list(itertools.islice(crossed_dots(self.dot_formats), count // 2))

    def first(self, count: int) -> Run:
        return CROSSED, len(self._crossed(count))

    def operands(self, count: int) -> Iterator[Line]:
        first = self._crossed(count)
        yield from map(line_inputs, first)
        source = Philox(self.vectors.seed)
        for i in range(count - len(first)):
            yield line_inputs(self._with_addend(random_case(self.dot_formats, source, i), i))

    def _with_addend(self, case: DotCodes, turn: int) -> DotCodes:
        """c: as drawn; zero; cancelling the products, exactly or except for one unit; of their size."""
        if turn % 4 == 0:
            return case
        if turn % 4 == 1:
            return dataclasses.replace(case, c=0)
        unit = self.unit
        a, b = side(unit.a, case.a, case.a_scales), side(unit.b, case.b, case.b_scales)
        code = run(unit.setting, a, b, 0).bits
        value, fmt = decoder(unit.out)(code), unit.c
        if unit.out != fmt or not value.is_finite or value.is_zero:
            return case
        if turn % 4 == 2:
            near = (code & fmt.magnitude_mask) + (turn >> 2) % 3 - 1
            return dataclasses.replace(case, c=min(max(near, 0), fmt.max_code) | (code & fmt.sign_bit ^ fmt.sign_bit))
        binades = ((turn >> 2) % 60 - 30) << fmt.mantissa_bits
        near = min(max((code & fmt.magnitude_mask) + binades, 0), fmt.max_code)
        return dataclasses.replace(case, c=near ^ (case.c & 0xFF & fmt.max_code) | case.c & fmt.sign_bit)


def line_inputs(case: DotCodes) -> Line:
    """A case as the inputs of a line."""
    return (*case.a_scales, *case.a, *case.b_scales, *case.b, case.c)
