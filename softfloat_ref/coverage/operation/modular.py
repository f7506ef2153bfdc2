"""A model of conversions to an integer's lower bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final

from softfloat_ref.coverage.codes import operand
from softfloat_ref.coverage.engine.framework import Bins, Cell, Line, cross, signs_of
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationModel, OperationSetting
from softfloat_ref.oracle.exact import FINITE, finite

_HALVES: Final = (1, 2, 3, 4, 5)  # of the modulus
_STEPS: Final = (-4, -2, -1, 0, 1, 2, 4)  # quarters beside them


class Wraps(OperationModel):
    """MOD: operands beside multiples of half the modulus, where the result changes its sign or begins again."""

    id = "MOD"
    title = "modular conversions: beside the first multiples of half the modulus"

    def applies(self, where: OperationSetting) -> bool:
        return where.modular

    def bins(self, where: OperationSetting) -> Bins:
        """Multiples and quarters beside them, of each sign, that the operand's format has."""
        steps = {step: f"{step:+d}/4" if step else "0" for step in _STEPS}
        signs = signs_of(where.formats[0])
        bins = cross("{sign}.{halves}halves{step}", sign=signs, halves=_HALVES, step=steps)
        return {cell: name for cell, name in bins.items() if next(self.cases(where, cell), None) is not None}

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        sign, halves, step = cell
        code = operand(where.formats[0], finite(sign, (halves << where.out.width + 1) + step, -2))
        if code is not None:
            yield (code,)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        x = e.operands[0]
        if x.kind != FINITE or not x.significand:
            return
        quarters, half = abs(x.as_fraction()) * 4, 1 << e.where.out.width + 1
        halves = int(quarters / half + Fraction(1, 2))
        step = quarters - halves * half
        if halves in _HALVES and step in _STEPS:
            yield x.sign, halves, int(step)
