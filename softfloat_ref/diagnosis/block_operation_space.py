"""Operations on blocks as a space of policies, and the defects of their scales."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Inputs, Model, as_model
from softfloat_ref.diagnosis.policy_space import PolicySpace
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.explanation.scalar import choice_text
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.evaluation import BlockEvaluation, divided
from softfloat_ref.oracle.codec import decoder, encode, encoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.policies import Policy, Specials
from softfloat_ref.units import BlockOperationUnit
from softfloat_ref.units.unit import Field

DEFECT: Final = "defect"
_SATURATED: Final = Policy(overflow="sat-finite")  # type: ignore[arg-type]


class _Multiplied(BlockEvaluation):
    """Multiplies by the result's scale."""

    def result(self, values: Sequence[Value], scale: Value | None) -> Value:
        value = self.element(values)
        return exact.multiply(value, scale) if scale and scale.is_finite and value.is_finite else value


class _Twice(BlockEvaluation):
    """Rounds a lane to the result's format before it divides by the scale."""

    def result(self, values: Sequence[Value], scale: Value | None) -> Value:
        rounded = decoder(self.out.element)(encoder(self.out.element, self.policy)(self.element(values), 0)[0])
        return rounded if scale is None else divided(lambda bits: rounded, scale, self.context.bits)


@dataclass(frozen=True)
class BlockOperationSpace(PolicySpace):
    """The policies of an operation on blocks."""

    def unit_of(self, point: Policy) -> BlockOperationUnit:  # type: ignore[override]
        return dataclasses.replace(self.unit, policy=point)  # type: ignore[no-any-return]

    @property
    def _has_specials(self) -> bool:
        return self.unit.row.operation.p3109  # type: ignore[no-any-return]

    def suggested(self, point: Policy, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        return iter(())

    def model(self, point: Policy) -> Model | None:
        return Space.model(self, point)

    def key(self, point: Policy) -> Hashable:
        """Its fields, without those that these formats make irrelevant, and those of flags and integers."""
        evaluation = self.unit_of(point).evaluation
        fmt = evaluation.out.element
        return (
            point.rounding,
            point.random_count,
            point.overflow_for(fmt),
            point.flush_inputs,
            (point.flush_outputs, point.flush_rule if point.flush_outputs else ""),
            point.nan if fmt.nan == "ieee" else "" if fmt.has_nan else point.nan_missing,
            evaluation.context.p3109,
            point.specials == Specials.P3109 and fmt.negative_zero,
        )

    def texts(self, point: Policy) -> dict[str, str]:
        known = {k: choice_text(getattr(point, k)) for k in self.fields}
        return known | {"overflow": str(point.overflow_for(self.unit.evaluation.out.element))}

    def defects(self, point: Policy) -> Iterator[Hypothesis]:
        yield from _defects(self.unit_of(point))

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        return iter(())


def _defects(unit: BlockOperationUnit) -> Iterator[Hypothesis]:
    """Scales that are left out or used in another way."""
    for at, f in _scales(unit):
        of = "of the result" if f.name == "scale" else f"of operand {f.name[0]}"
        one = encode(1, f.fmt, _SATURATED).bits if f.fmt else 0
        yield _defect(f"scale {of} left out", f"leaves the scale {of} out", unit, _with(at, one))
    if unit.row.takes_scale:
        for kind, name, text in (
            (_Multiplied, "multiplied by the scale", "multiplies by the result's scale instead of dividing"),
            (_Twice, "rounded before the scale", "rounds to the result's format before it divides by the scale"),
        ):
            evaluation = kind(*(getattr(unit.evaluation, f.name) for f in dataclasses.fields(BlockEvaluation)))
            yield Hypothesis(name, text, _answers(unit, evaluation), DEFECT, 3)


def _scales(unit: BlockOperationUnit) -> Iterator[tuple[int, Field]]:
    """The scales among the inputs, each with its place."""
    at = 0
    for f in unit.inputs:
        if f.role == "operand" and "scale" in f.name:
            yield at, f
        at += f.lanes


def _with(at: int, code: int) -> Callable[[Inputs], Inputs]:
    return lambda inputs: (*inputs[:at], code, *inputs[at + 1 :])


def _defect(name: str, text: str, unit: BlockOperationUnit, change: Callable[[Inputs], Inputs]) -> Hypothesis:
    """A device that sees other inputs; it still copies its result's scale."""
    first = int(unit.evaluation.out.scale is not None)

    def run(inputs: Inputs) -> Sequence[int]:
        right, other = unit.answer(inputs), unit.answer(change(inputs))
        return (*right[:first], *other[first:])

    return Hypothesis(name, text, as_model(run), DEFECT, 3)


def _answers(unit: BlockOperationUnit, evaluation: BlockEvaluation) -> Model:
    def run(inputs: Inputs) -> Sequence[int]:
        block = evaluation.run(*unit.taken(inputs))
        return block.scale, *block.codes

    return as_model(run)
