"""Mismatches of block conversions, whose answer is a scale and elements, or values, and of operations on blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softfloat_ref.explanation.steps import number_text
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.literals import shortest
from softfloat_ref.testing.compare import Answer, code_texts
from softfloat_ref.testing.operation import policy_options
from softfloat_ref.testing.views import MismatchView, register
from softfloat_ref.units import BlockOperationUnit, DequantizeUnit, QuantizeUnit
from softfloat_ref.units.unit import LETTERS, split


class BlockView(MismatchView):
    """The common part of quantizers and dequantizers: only the lanes that differ are shown."""

    def operand_lines(self, inputs: Sequence[int]) -> Iterator[str]:
        return iter(())


def _value(scale: int, code: int, block: BlockFormat) -> str:
    """The value of an element times its scale; '' if one of them is not a number."""
    if scale >> block.scale.width or code >> block.element.width:
        return ""
    x, factor = decoder(block.element)(code), decoder(block.scale)(scale)
    if x.kind != FINITE or factor.kind != FINITE:
        return ""
    return shortest(exact.multiply(x, factor))


@register(QuantizeUnit)
class QuantizeView(BlockView):
    """The mismatches of a block quantizer."""

    unit: QuantizeUnit

    def place_name(self, place: int) -> tuple[str, str]:
        return ("scale", "scale") if place == 0 else ("elements", f"element {place - 1}")

    def difference(self, place: int, expected: Sequence[int], got: Answer) -> str:
        block, right, came = self.unit.block, expected[0], got.codes[0]
        if place == 0:
            special = block.scale.is_nan(right) or block.scale.is_nan(came)
            steps = f"{abs(came - right)} {'high' if came > right else 'low'}"
            return super().difference(place, expected, got) if special else steps
        what = super().difference(place, expected, got)
        values = [_value(scale, code, block) for scale, code in ((right, expected[place]), (came, got.codes[place]))]
        return what + (f"; scaled, expected {values[0]}, got {values[1]}" if all(values) else "")

    def origin(self, inputs: Sequence[int], place: int) -> str:
        return "" if place == 0 else f" of {number_text(inputs[place - 1], self.unit.values)}"

    def command(self, inputs: Sequence[int], got: Answer) -> str:
        unit, block = self.unit, self.unit.block
        decode = decoder(unit.values)
        values = " ".join(shortest(decode(x)) for x in inputs[: block.size])
        answer = f"{block.scale.hex(got.codes[0])}:{','.join(map(block.element.hex, got.codes[1:]))}"
        options = [x for x in policy_options(unit.policy, unit.profile.rounding) if x.startswith("--round")]
        words = [f"softfloat-ref explain --fmt {block.name} --profile {unit.profile.name}", *options]
        return " ".join([*words, f"--got {answer}", "--", values])


@register(DequantizeUnit)
class DequantizeView(BlockView):
    """The mismatches of a block dequantizer; the command decodes the elements."""

    unit: DequantizeUnit

    def place_name(self, place: int) -> tuple[str, str]:
        return "values", f"value {place}"

    def origin(self, inputs: Sequence[int], place: int) -> str:
        scale, element = self.unit.block.scale, self.unit.block.element
        return f" of scale {scale.hex(inputs[0])}, element {element.hex(inputs[1 + place])}"

    def command(self, inputs: Sequence[int], got: Answer) -> str:
        block = self.unit.block
        codes = " ".join(block.element.hex(x) for x in inputs[1 : 1 + block.size])
        return f"softfloat-ref decode --fmt {block.element.name} {codes}"


@register(BlockOperationUnit)
class BlockOperationView(MismatchView):
    """The mismatches of an operation on blocks."""

    unit: BlockOperationUnit

    def command(self, inputs: Sequence[int], got: Answer) -> str:
        unit = self.unit
        formats = ",".join(f"{letter}={x.name}" for letter, x in zip(LETTERS, unit.operands, strict=False))
        codes = code_texts([f for f in unit.inputs if f.role == "operand"], inputs)
        options = [f"--fmt {formats}", f"--out {unit.out.name}", *policy_options(unit.policy)]
        if unit.row.finds_scale:
            options += [x.replace("--", "--scale-", 1) for x in policy_options(unit.scale_policy)]
        words = [f"{x:x}" for f, own in split(unit.inputs, inputs) if f.role == "random" for x in own]
        options += [f"--random-bits {','.join(words)}"] if words else []
        return f"softfloat-ref explain {unit.op} {' '.join(options)} {' '.join(codes)}"
