"""Operations on blocks: policies, and the defects of their scales."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, as_model
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, places, register
from softfloat_ref.diagnosis.policy_space import PolicySpace
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.evaluation import BlockEvaluation, divided
from softfloat_ref.oracle.codec import decoder, encode, encoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy, Specials
from softfloat_ref.units import BlockOperationUnit

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

    @property
    def out(self) -> Format:
        return self.unit.evaluation.out.element  # type: ignore[no-any-return]

    @property
    def _has_specials(self) -> bool:
        return self.unit.row.operation.p3109  # type: ignore[no-any-return]

    def key(self, point: Policy) -> Hashable:
        """Its fields, without those that these formats make irrelevant, and those of flags and integers."""
        evaluation, fmt = self.unit_of(point).evaluation, self.out
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

    def defects_of(self, unit: BlockOperationUnit) -> Iterator[Hypothesis]:
        return _defects(unit)


def _defects(unit: BlockOperationUnit) -> Iterator[Hypothesis]:
    """Scales that are left out or used in another way. A scale of the result is always copied."""
    copied = int(unit.evaluation.out.scale is not None)
    for at, f in places(unit.inputs):
        if f.role != "operand" or "scale" not in f.name:
            continue
        of = "of the result" if f.name == "scale" else f"of operand {f.name[0]}"
        one = encode(1, f.fmt, _SATURATED).bits if f.fmt else 0

        def left_out(inputs: Inputs, at: int = at, one: int = one) -> Sequence[int]:
            other = unit.answer((*inputs[:at], one, *inputs[at + 1 :]))
            return (*unit.answer(inputs)[:copied], *other[copied:])

        yield Hypothesis(f"scale {of} left out", f"leaves the scale {of} out", as_model(left_out), size=3)
    for kind, name, text in (
        (_Multiplied, "multiplied by the scale", "multiplies by the result's scale instead of dividing"),
        (_Twice, "rounded before the scale", "rounds to the result's format before it divides by the scale"),
    ):
        wrong = kind(*(getattr(unit.evaluation, f.name) for f in dataclasses.fields(BlockEvaluation)))

        def answer(inputs: Inputs, evaluation: BlockEvaluation = wrong) -> Sequence[int]:
            block = evaluation.run(*unit.taken(inputs))
            return block.scale, *block.codes

        if unit.row.takes_scale:
            yield Hypothesis(name, text, as_model(answer), size=3)


@register(BlockOperationUnit)
class DiagnosedBlockOperation(DiagnosedKind):
    """An operation on blocks."""

    tried: ClassVar[str] = "policy or listed defect"
    choices: ClassVar[type[Space[Any]]] = BlockOperationSpace
    unit: BlockOperationUnit
