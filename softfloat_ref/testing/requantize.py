"""Mismatches of requantizers: which rules give a device's answer."""

from __future__ import annotations

from collections.abc import Sequence

from softfloat_ref.explanation.requantize import integer_text
from softfloat_ref.explanation.steps import alternatives
from softfloat_ref.oracle.requantization import spelled
from softfloat_ref.testing.compare import Answer, code_texts
from softfloat_ref.testing.views import MismatchView, register
from softfloat_ref.units import RequantizeUnit


@register(RequantizeUnit)
class RequantizeView(MismatchView):
    """The mismatches of a requantizer."""

    unit: RequantizeUnit

    def changes(self, inputs: Sequence[int], answer: Answer, flags: bool) -> list[dict[str, str]]:
        return [c for c in alternatives(self.unit, inputs, answer.codes) if c]

    def command(self, inputs: Sequence[int], got: Answer) -> str:
        unit = self.unit
        words = [f"softfloat-ref explain {unit.op} --fmt {unit.accumulator.name} --out {unit.out.name}"]
        words += [f"--rule {spelled(unit.rule)}", *([f"--fixed {unit.fixed}"] if unit.fixed else [])]
        return " ".join(
            [*words, *["--clamped"] * unit.clamped, *code_texts(unit.inputs, inputs), f"--got {got.result:x}"]
        )

    def answer_text(self, result: int, flags: int | None) -> str:
        fmt = self.unit.out
        return f"{result:x}, which does not fit {fmt.width} bits" if result >> fmt.width else integer_text(result, fmt)
