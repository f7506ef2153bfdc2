"""Affine integers: rules, and the defects of scale, zero point and range."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

from softfloat_ref.base.errors import Undefined
from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.hypotheses import Inputs
from softfloat_ref.diagnosis.kinds.base import SCALES, DiagnosedKind, register
from softfloat_ref.diagnosis.kinds.operation import kinds_of_codes
from softfloat_ref.diagnosis.rule_space import AffineDequantizeSpace, RuleSpace
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.units import AffineDequantizeUnit, AffineQuantizeUnit
from softfloat_ref.units.affine import parameters


class DiagnosedAffine(DiagnosedKind):
    """The common part of quantizers and dequantizers."""

    unit: Any

    def askable(self, inputs: Inputs) -> bool:
        try:
            parameters(inputs[1:], self.unit.affine)
        except Undefined:
            return False
        return True


@register(AffineQuantizeUnit)
class DiagnosedAffineQuantize(DiagnosedAffine):
    """An affine quantizer."""

    tried: ClassVar[str] = "rule or listed defect"
    choices: ClassVar[type[Space[Any]]] = RuleSpace
    unit: AffineQuantizeUnit

    @property
    def title(self) -> str:
        return f"quantize {self.unit.values.name} to {self.unit.affine.name}"

    def questions(self, vectors: VectorSet) -> list[Question]:
        questions = dict.fromkeys((*self._crossed(), *super().questions(vectors)))
        return [x for x in questions if self.unit.line(x) is not None]

    def _crossed(self) -> Iterator[Question]:
        """A few values of each kind, including NaN and Inf, with a few scales and zero points."""
        fmt = self.unit.affine
        ends = (0, 1, fmt.lowest, fmt.highest, (fmt.lowest + fmt.highest) // 2 + 5)
        points = [()] if fmt.symmetric else [(z % (1 << fmt.bits),) for z in dict.fromkeys(ends)]
        words = ((0,), (1,)) if self.unit.policy.random_count else ((),)
        for value, scale in itertools.product(kinds_of_codes(self.unit.values), SCALES):
            yield from ((value, scale, *z, *word) for z, word in itertools.product(points, words))


@register(AffineDequantizeUnit)
class DiagnosedAffineDequantize(DiagnosedAffine):
    """An affine dequantizer."""

    choices: ClassVar[type[Space[Any]]] = AffineDequantizeSpace
    unit: AffineDequantizeUnit

    @property
    def title(self) -> str:
        return f"dequantize {self.unit.affine.name} to fp32"
