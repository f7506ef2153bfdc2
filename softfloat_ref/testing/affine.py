"""Mismatches of affine quantizers and dequantizers: which rules give a device's answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softfloat_ref.explanation.affine import integer_text, rule_text
from softfloat_ref.explanation.steps import alternatives
from softfloat_ref.oracle.affine import FP32, AffineFormat
from softfloat_ref.testing.compare import Answer, code_texts
from softfloat_ref.testing.operation import policy_options
from softfloat_ref.testing.views import MismatchView, register
from softfloat_ref.units import AffineDequantizeUnit, AffineQuantizeUnit


@register(AffineDequantizeUnit)
class AffineView(MismatchView):
    """The mismatches of an affine dequantizer, and what a quantizer's have in common with them."""

    def changes(self, inputs: Sequence[int], answer: Answer, flags: bool) -> list[dict[str, str]]:
        return [c for c in alternatives(self.unit, inputs, answer.codes) if c]

    def options(self, inputs: Sequence[int]) -> Iterator[str]:
        """The options of the command that explains a case."""
        yield f"--fmt {format_name(self.unit.affine)}"

    def command(self, inputs: Sequence[int], got: Answer) -> str:
        codes = code_texts([f for f in self.unit.inputs if f.role == "operand"], inputs)
        words = ["softfloat-ref explain", self.unit.op, *self.options(inputs), *codes, f"--got {got.result:x}"]
        return " ".join(words)


@register(AffineQuantizeUnit)
class AffineQuantizeView(AffineView):
    """The mismatches of an affine quantizer."""

    unit: AffineQuantizeUnit

    def options(self, inputs: Sequence[int]) -> Iterator[str]:
        unit = self.unit
        yield from super().options(inputs)
        if unit.values != FP32:
            yield f"--out {unit.values.name}"
        if (rule := rule_text(unit.rule)) != "exact":
            yield f"--profile {rule}"
        yield from policy_options(unit.policy, unit.rule.rounding)
        if unit.policy.random_count:
            yield f"--random-bits {inputs[-1]:x}"

    def answer_text(self, result: int, flags: int | None) -> str:
        fmt = self.unit.affine
        return f"{result:x}, which does not fit {fmt.bits} bits" if result >> fmt.bits else integer_text(result, fmt)


def format_name(fmt: AffineFormat) -> str:
    """The name of an affine format by the grammar, even if it has another name."""
    return f"q{'' if fmt.signed else 'u'}int{fmt.bits}{'_sym' * fmt.symmetric}{'_narrow' * fmt.narrow}"
