"""Units that approximate a function by a table and polynomials, without flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.approximation import Approximation, get_approximation
from softfloat_ref.oracle.approximation_steps import approximated
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.steps import Do
from softfloat_ref.units.operation import properties
from softfloat_ref.units.unit import Field, SteppedUnit, file_name, operand, result

if TYPE_CHECKING:
    from softfloat_ref.units.unit import Rows


@dataclass(frozen=True)
class ApproximationUnit(SteppedUnit):
    """An approximation: operand a in, result out."""

    kind: ClassVar[str] = "approximation"

    approximation: Approximation

    @staticmethod
    def make(
        approximation: str | Approximation | Mapping[str, Any],
        fmt: str | Format | None = None,
        out: str | Format | None = None,
    ) -> ApproximationUnit:
        """An approximation from a definition. fmt, out: its formats, if they are to be checked. Raises Error."""
        definition = get_approximation(approximation)
        for what, wanted, own in (("takes", fmt, definition.fmt), ("gives", out, definition.out)):
            if wanted is not None and get_format(wanted) != own:
                raise Error(f"{definition.name} {what} {own.name}, not {get_format(wanted).name}")
        return ApproximationUnit(definition)

    @cached_property
    def name(self) -> str:
        return file_name(self.approximation.name)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return (operand("a", self.approximation.fmt), result("result", self.approximation.out))

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        return (approximated(do, self.approximation, inputs[0]),)

    def answers(self, inputs: Rows) -> Rows | None:
        import numpy as np

        from softfloat_ref.arrays.approximations import evaluate

        return evaluate(self.approximation, inputs[:, 0]).astype(np.uint64)[:, None]

    def properties(self) -> dict[str, str]:
        a = self.approximation
        return properties(a.name, a.fmt, a.out, a.policy, a.out.width)
