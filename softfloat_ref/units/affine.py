"""Units of affine integers: a value, a scale and a zero point to an integer, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.oracle.affine import (
    FP32,
    RULES,
    AffineFormat,
    Parameters,
    Rule,
    dequantized_value,
    element_policy,
    get_affine_format,
    get_rule,
    quantized_value,
)
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations.steps import random_word
from softfloat_ref.oracle.policies import Policy, rounding_name
from softfloat_ref.oracle.rounding_steps import read
from softfloat_ref.oracle.steps import Do, step
from softfloat_ref.units.operation import given_policy, properties
from softfloat_ref.units.unit import Field, SteppedUnit, file_name, operand, random_words, result

_NEAREST: Final = element_policy(None, RULES["exact"])


def integer_format(fmt: AffineFormat) -> Format:
    """The format of the integers."""
    return get_format(f"{'i' if fmt.signed else 'u'}{fmt.bits}")


def parameter_fields(fmt: AffineFormat) -> list[Field]:
    """The scale, and the zero point of formats that choose it."""
    return [operand("scale", FP32), *([] if fmt.symmetric else [operand("zero_point", integer_format(fmt))])]


@step("integer", "integer")
def integer(code: int, fmt: AffineFormat) -> int:
    """The integer that a code stands for."""
    return code - ((code >> (fmt.bits - 1)) << fmt.bits) if fmt.signed else code


def parameters(codes: Sequence[int], fmt: AffineFormat) -> Parameters:
    """Scale and zero point of the codes of their fields. Raises Undefined for codes that are not valid."""
    scale = decoder(FP32)(codes[0])
    if not scale.is_finite or scale.is_zero or scale.sign:
        raise Undefined("a scale must be a positive finite number")
    zero_point = fmt.middle if fmt.symmetric else integer(codes[1], fmt)
    if not fmt.lowest <= zero_point <= fmt.highest:
        raise Undefined(f"{fmt.name} has no zero point {zero_point}")
    return Parameters(codes[0], zero_point)


@dataclass(frozen=True)
class AffineQuantizeUnit(SteppedUnit):
    """An affine quantizer: a value, its scale, a zero point (of formats that are not symmetric) and a random word in,
    an integer out. It raises no flags."""

    kind: ClassVar[str] = "affine-quantize"
    op: ClassVar[str] = "quantize"

    affine: AffineFormat
    values: Format = FP32
    rule: Rule = RULES["exact"]
    policy: Policy = _NEAREST

    def __post_init__(self) -> None:
        if not self.values.exponent_bits or not self.values.signed:
            raise Error(f"quantize takes values of a signed float format, for example fp32, not {self.values.name}")
        self.values.needs_hidden("affine quantizers")
        if self.rule.arithmetic != "exact" and not _held_by_fp32(self.values):
            raise Error(
                f"affine rule {self.rule.name}: steps in FP32 need values that fit FP32, not {self.values.name}"
            )

    @staticmethod
    def make(
        fmt: str | AffineFormat,
        values: str | Format | None = None,
        policy: Policy | str | Mapping[str, Any] | None = None,
        rule: str | Rule | None = None,
    ) -> AffineQuantizeUnit:
        """A quantizer from names. Raises Error."""
        choice = get_rule(rule or "exact")
        chosen = element_policy(given_policy(policy, choice.rounding), choice)
        return AffineQuantizeUnit(get_affine_format(fmt), get_format(values or "fp32"), choice, chosen)

    @cached_property
    def name(self) -> str:
        names = ("quantize", self.affine.name, "from", self.values.name, rounding_name(self.policy.rounding))
        return file_name(*names)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return (
            operand("value", self.values),
            *parameter_fields(self.affine),
            *random_words(self.policy.random_count),
            result("integer", integer_format(self.affine)),
        )

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        own = parameters(inputs[1:], self.affine)
        value = do.at("value")(read, inputs[0], decoder(self.values, self.policy.flush_inputs), self.values)
        word = do(random_word, inputs[-1]) if self.policy.random_count else 0
        try:
            q = quantized_value(do, value, own, self.affine, self.rule, self._rounding, word, more_bits)
        except Error as e:  # a NaN or Inf that the rule refuses, a scale without a reciprocal
            raise Undefined(str(e)) from None
        return (q % (1 << self.affine.bits),)

    @cached_property
    def _rounding(self) -> Policy:
        return element_policy(self.policy, self.rule)

    def properties(self) -> dict[str, str]:
        return properties(self.op, self.values, self.affine, self.policy, self.affine.bits)


@dataclass(frozen=True)
class AffineDequantizeUnit(SteppedUnit):
    """An affine dequantizer: an integer, its scale and zero point in, an FP32 value out. It raises no flags."""

    kind: ClassVar[str] = "affine-dequantize"
    op: ClassVar[str] = "dequantize"

    affine: AffineFormat

    @cached_property
    def name(self) -> str:
        return file_name("dequantize", self.affine.name, "to_fp32_rne")

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return operand("integer", integer_format(self.affine)), *parameter_fields(self.affine), result("value", FP32)

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        q = do(integer, inputs[0], self.affine)
        return (dequantized_value(do, q, parameters(inputs[1:], self.affine)),)

    def properties(self) -> dict[str, str]:
        return {"op": self.op, "fmt": self.affine.name, "out": FP32.name, "width": str(FP32.width)}


def _held_by_fp32(fmt: Format) -> bool:
    return fmt.mantissa_bits <= FP32.mantissa_bits and fmt.emax <= FP32.emax and fmt.emin >= FP32.emin
