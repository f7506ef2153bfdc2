"""Sets of affine quantizations and dequantizations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from softfloat_ref.golden.cases import join_words, random_code, words_of_cases, words_per_code
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.golden.kinds.operation import convention
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.affine import FP32, AffineFormat
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.policies import POLICIES, Overflow, Policy
from softfloat_ref.units import AffineDequantizeUnit, AffineQuantizeUnit, Line
from softfloat_ref.units.affine import integer_format, parameter_fields, parameters

_SATURATE: Final = Policy(overflow=Overflow.SAT_FINITE)
_ANY_SCALE_EVERY: Final = 16  # one case in N has an arbitrary positive scale
_SCALE_BINADES: Final = 12  # of the other scales, on each side of one
_ANY_VALUE_EVERY: Final = 8  # one value in N is an arbitrary code; the others lie near a tie between two integers


class AffineCases(Cases):
    """What quantizers and dequantizers have in common: random words for scale and zero point."""

    def parameters(self, control: int, bits: int, affine: AffineFormat) -> Line:
        """Codes of a scale and, if the format has one, of a zero point."""
        scale = 1 + bits % (FP32.inf_code - 1)
        if control % _ANY_SCALE_EVERY:
            field = FP32.bias + (control >> 4) % (2 * _SCALE_BINADES) - _SCALE_BINADES
            scale = field << FP32.mantissa_bits | scale & ((1 << FP32.mantissa_bits) - 1)
            scale &= -1 << (control >> 20) % (FP32.mantissa_bits + 1)  # sometimes a power of two
        span = affine.highest - affine.lowest + 1
        zero_point = affine.lowest + (control >> 32) % span
        codes = (scale, zero_point % (1 << affine.bits))
        return codes[: len(parameter_fields(affine))]


@register(AffineQuantizeUnit)
class AffineQuantizeCases(AffineCases):
    """The cases of an affine quantizer: most values lie at, or just beside, a tie between two integers."""

    unit: AffineQuantizeUnit

    def operands(self, count: int) -> Iterator[Line]:
        unit, size = self.unit, 2 + words_per_code(self.unit.values)
        for i, (control, bits, *words) in enumerate(words_of_cases(self.vectors.seed, size, count)):
            codes = self.parameters(control, bits, unit.affine)
            yield (self._value(words, codes, i), *codes)

    def _value(self, words: list[int], codes: Line, turn: int) -> int:
        unit = self.unit
        head, bits = words[0], join_words(words[1:])
        if turn % _ANY_VALUE_EVERY == 0:
            return random_code(unit.values, head, bits)
        code = encoder(unit.values, _SATURATE)(self._tie(bits, codes), 0)[0]
        near = (code & unit.values.magnitude_mask) + head % 3 - 1
        return min(max(near, 0), unit.values.max_code) | code & unit.values.sign_bit

    def _tie(self, bits: int, codes: Line) -> Value:
        """Half a step above or below an integer, or beyond the ends, as a value."""
        affine, zero_point = self.unit.affine, parameters(codes, self.unit.affine)
        span = 2 * (affine.highest - affine.lowest + 5)
        halves = 2 * (affine.lowest - 2 - zero_point.zero_point) + bits % span
        steps = exact.finite(int(halves < 0), abs(halves), -1)
        return exact.multiply(steps, decoder(FP32)(codes[0]))

    def conventions(self) -> list[dict[str, Any]]:
        unit = self.unit
        row = convention(unit.op, [unit.values.name], integer_format(unit.affine), unit.policy)
        return [{**row, "affine": {"format": unit.affine.name, "rule": unit.rule.name}}]


@register(AffineDequantizeUnit)
class AffineDequantizeCases(AffineCases):
    """The cases of an affine dequantizer."""

    unit: AffineDequantizeUnit

    def operands(self, count: int) -> Iterator[Line]:
        affine = self.unit.affine
        for control, bits, word in words_of_cases(self.vectors.seed, 3, count):
            yield (word % (1 << affine.bits), *self.parameters(control, bits, affine))

    def conventions(self) -> list[dict[str, Any]]:
        row = convention(self.unit.op, (), FP32, POLICIES["ieee"])
        return [{**row, "affine": {"format": self.unit.affine.name}}]
