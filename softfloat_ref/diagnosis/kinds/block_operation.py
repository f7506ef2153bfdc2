"""Operations on blocks: policies, and the defects of their scales."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final

from softfloat_ref.diagnosis.defects import Faulty, defective, replaced, within
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, register
from softfloat_ref.diagnosis.lane_defects import lane_defects
from softfloat_ref.diagnosis.policy_space import PolicySpace
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.diagnosis.stepped_defects import stepped_defects
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.elements import used_scale
from softfloat_ref.oracle.blocks.evaluation import divided
from softfloat_ref.oracle.codec import decoder, encode
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy, Specials
from softfloat_ref.oracle.rounding_steps import read
from softfloat_ref.oracle.steps import Change
from softfloat_ref.units import BlockOperationUnit
from softfloat_ref.units.unit import LETTERS

_SATURATED: Final = Policy(overflow="sat-finite")  # type: ignore[arg-type]


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

    def model_of(self, unit: BlockOperationUnit) -> Model:
        return Faulty(unit)

    def defects_of(self, unit: BlockOperationUnit) -> Iterator[Hypothesis]:
        return _defects(unit)


def _defects(unit: BlockOperationUnit) -> Iterator[Hypothesis]:
    """Scales that are left out or used in another way, lanes in another order, and the defects of the steps."""
    evaluation = unit.evaluation
    for letter, side in zip(LETTERS, evaluation.sides, strict=False):
        if side.scale is not None:
            read_one = replaced(read, lambda here, right, code, decode, fmt: right(_one(fmt), decode, fmt))
            yield _of_scale(unit, f"of operand {letter}", *within(f"{letter}_scale", [read_one]))
    if unit.row.takes_scale and evaluation.out.scale is not None:
        use_one = replaced(used_scale, lambda here, right, code, fmt: right(_one(fmt), fmt))
        yield _of_scale(unit, "of the result", use_one)
        multiplied = replaced(divided, lambda here, right, x, scale, bits: _multiplied(x, scale))
        text = "multiplies by the result's scale instead of dividing"
        yield defective(unit, "multiplied by the scale", text, multiplied, size=3)
        back, to = decoder(evaluation.out.element), evaluation.destination
        twice = replaced(divided, lambda here, right, x, scale, bits: right(back(to.encode(x, 0)[0]), scale, bits))
        text = "rounds to the result's format before it divides by the scale"
        yield defective(unit, "rounded before the scale", text, twice, size=3)
    if unit.row.to != "value":
        yield from lane_defects(unit, unit.size)
    yield from stepped_defects(unit)


def _of_scale(unit: BlockOperationUnit, of: str, *changes: Change) -> Hypothesis:
    return defective(unit, f"scale {of} left out", f"leaves the scale {of} out", *changes, size=3)


@lru_cache(maxsize=64)
def _one(fmt: Format) -> int:
    """The code of one, or of the number next to it."""
    return encode(1, fmt, _SATURATED).bits


def _multiplied(x: Value, scale: Value) -> Value:
    return exact.multiply(x, scale) if scale.is_finite and x.is_finite else x


@register(BlockOperationUnit)
class DiagnosedBlockOperation(DiagnosedKind):
    """An operation on blocks."""

    tried: ClassVar[str] = "policy or listed defect"
    choices: ClassVar[type[Space[Any]]] = BlockOperationSpace
    unit: BlockOperationUnit
