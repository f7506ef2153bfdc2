"""Approximations: the defects of their tables and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

from softfloat_ref.diagnosis.approximation_defects import approximation_defects, entries_suggested_by
from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Inputs, Model
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, code_text, register
from softfloat_ref.diagnosis.kinds.operation import EXHAUSTIVE_BITS
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.diagnosis.stepped_defects import stepped_suggested_by
from softfloat_ref.units import ApproximationUnit


class ApproximationSpace(Space[ApproximationUnit]):
    """The unit itself, and its defects."""

    def model_of(self, unit: ApproximationUnit) -> Model:
        return Faulty(unit)

    def defects_of(self, unit: ApproximationUnit) -> Iterator[Hypothesis]:
        return approximation_defects(unit)

    def suggested_of(self, unit: ApproximationUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        yield from entries_suggested_by(unit, cases)
        yield from stepped_suggested_by(unit, cases)


@register(ApproximationUnit)
class DiagnosedApproximation(DiagnosedKind):
    """An approximation."""

    choices: ClassVar[type[Space[Any]]] = ApproximationSpace
    unit: ApproximationUnit

    @property
    def title(self) -> str:
        a = self.unit.approximation
        return f"{a.name} of {a.fmt.name}" + (f" to {a.out.name}" if a.out != a.fmt else "")

    def inputs_text(self, inputs: Inputs) -> str:
        return code_text(inputs[0], self.unit.approximation.fmt)

    def every(self) -> Callable[[], Iterable[Question]] | None:
        width = self.unit.approximation.fmt.width
        return None if width > EXHAUSTIVE_BITS else lambda: ((code,) for code in range(1 << width))
