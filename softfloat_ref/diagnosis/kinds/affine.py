"""Affine integers: rules, and which of them are one device; the defects of scale, zero point and range."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Undefined
from softfloat_ref.diagnosis.affine_defects import dequantize_defects, quantize_defects
from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs
from softfloat_ref.diagnosis.kinds.base import SCALES, DiagnosedKind, register
from softfloat_ref.diagnosis.kinds.operation import kinds_of_codes
from softfloat_ref.diagnosis.policy_space import ROUNDS
from softfloat_ref.diagnosis.spaces import ERROR, ChoiceSpace, Space
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.affine import CHOICES, RULES, Rule, nan_result
from softfloat_ref.units import AffineDequantizeUnit, AffineQuantizeUnit, Unit
from softfloat_ref.units.affine import parameters

_SHIFT_INVARIANT: Final = ("rup", "rdn", "rnu")  # adding an integer before the rounding is the same as after it
_EVEN_SHIFT_INVARIANT: Final = ("rne", "rto")  # adding an even integer is
_WORDS: Final[dict[str, dict[str, str]]] = {
    "order": {
        "inside": "adds the zero point before it rounds",
        "outside": "adds the zero point after it rounds",
    },
    "arithmetic": {
        "exact": "divides by the scale without an error",
        "fp32": "multiplies by the fp32 reciprocal of the scale, every step rounded to fp32",
        "fp32-fma": "multiplies by the fp32 reciprocal of the scale and adds the zero point in one fp32 step",
        "fp32-division": "divides by the scale in fp32, and rounds the quotient",
    },
    "rounding": ROUNDS,
    "nan": {
        "largest": "gives the largest integer for a NaN",
        "smallest": "gives the smallest integer for a NaN",
        "zero": "gives zero for a NaN",
        "zero-point": "gives the zero point for a NaN",
    },
    "inf": {"saturate": "saturates infinities"},
}


@dataclass(frozen=True)
class RuleSpace(ChoiceSpace[Rule]):
    """The rules of an affine quantization."""

    kind: ClassVar[str] = "rule"
    catalogue: ClassVar[Mapping[str, Rule]] = RULES
    fields: ClassVar[Sequence[str]] = ("order", "arithmetic", "rounding", "nan", "inf")  # that one quantization reveals
    choices: ClassVar[Mapping[str, Sequence[str]]] = CHOICES
    words: ClassVar[Mapping[str, Mapping[str, str]]] = _WORDS

    def key(self, point: Rule) -> Hashable:
        """Its choices, without those that the formats or other choices make irrelevant."""
        fmt, values = self.unit.affine, self.unit.values
        middle = (fmt.middle,) if fmt.symmetric else (fmt.lowest, fmt.lowest + 1, fmt.highest)
        nan: Hashable = ERROR if point.nan == ERROR else tuple(nan_result(fmt, point, z) for z in middle)
        always_zero, always_even = middle == (0,), middle[0] % 2 == 0 and fmt.symmetric
        shifted = point.rounding in _SHIFT_INVARIANT or (always_even and point.rounding in _EVEN_SHIFT_INVARIANT)
        same = always_zero or (point.arithmetic == "exact" and shifted)
        arithmetic = "fp32" if always_zero and point.arithmetic == "fp32-fma" else point.arithmetic
        return (
            "" if same else point.order,
            arithmetic,
            point.rounding,
            nan if values.has_nan else "",
            point.inf if values.infinity else "",
        )

    def defects_of(self, unit: AffineQuantizeUnit) -> Iterator[Hypothesis]:
        return quantize_defects(unit, self.source)


@dataclass(frozen=True)
class AffineDequantizeSpace(Space[Unit]):
    """An affine dequantization, which has no choices."""

    def defects_of(self, unit: AffineDequantizeUnit) -> Iterator[Hypothesis]:
        return dequantize_defects(unit)


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
