"""A kind of unit that the package does not know, declared in steps: its faults are named from its declaration alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.diagnosis import report
from softfloat_ref.explanation.steps import steps
from softfloat_ref.golden.sets import of_unit
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding_steps import destination, read, rounded
from softfloat_ref.oracle.steps import Do
from softfloat_ref.units import Field, SteppedUnit
from softfloat_ref.units.unit import FLAGS, operand, result

FP16 = get_format("fp16")


@dataclass(frozen=True)
class WeightedUnit(SteppedUnit):
    """(a + 3 b) / 4 of finite numbers in FP16, with flags; zero for other operands."""

    kind: ClassVar[str] = "weighted"

    @property
    def name(self) -> str:
        return "weighted_fp16"

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return operand("a", FP16), operand("b", FP16), result("result", FP16), FLAGS

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        a, b = (do.at(name)(read, code, decoder(FP16), FP16) for name, code in zip("ab", inputs, strict=True))
        return do(rounded, self.exact(a, b), 0, destination(FP16, Policy()))

    @staticmethod
    def exact(a: Value, b: Value) -> Value:
        if not (a.is_finite and b.is_finite):
            return exact.zero(0)
        total = exact.add(a, exact.multiply(b, exact.finite(0, 3, 0)))
        return total._replace(exponent=total.exponent - 2) if total.significand else total

    def to_dict(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> WeightedUnit:
        return WeightedUnit()


VECTORS = of_unit(WeightedUnit(), 1500, seed=2)


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    "name", ["sticky dropped", "carry lost", "FTZ after rounding", "subnormals flushed", "zero negative"]
)
def test_a_fault_is_named(name: str) -> None:
    d = diagnosis(VECTORS, defect(VECTORS, name))
    assert d.complete
    assert name in names(d)
    assert report.lines(d, VECTORS.unit)[0].startswith("diagnosis: the device ")


def test_its_answer_is_that_of_its_steps() -> None:
    assert VECTORS.unit.line((0x3C00, 0x4000)) == (0x3C00, 0x4000, 0x3F00, 0)  # (1 + 3 * 2) / 4 = 1.75
    assert ("round", "3f00 = 1.75 (0x1.cp+0)") in steps(VECTORS.unit, (0x3C00, 0x4000))
