"""The elements of a block: values divided by its scale."""

from __future__ import annotations

from typing import Final, NamedTuple

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.fp32_steps import fp32_divided, fp32_multiplied, fp32_product, fp32_quotient
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.scale_rules import quotient
from softfloat_ref.oracle.blocks.tensor_scales import block_factor, reciprocal_scale
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.steps import step

_ONE: Final = exact.finite(0, 1, 0)


class Division(NamedTuple):
    """How values are divided by a scale that is not NaN. reciprocal: of profiles that multiply by one, in FP32.
    zeros: keep, drop-given or set-given. in_fp32: whether the quotient is rounded to FP32."""

    divisor: Value
    reciprocal: Value | None
    bits: int
    zeros: str
    in_fp32: bool = False


@step("scale used", "scale code")
def used_scale(code: int, scale: Format) -> int:
    """The scale by which elements are divided: the one that is given out."""
    return code


@step("divisor", "division")
def division(code: int, fmt: BlockFormat, profile: Profile, tensor_scale: Value, bits: int) -> Division:
    """The number that values are divided by. bits: of each quotient."""
    factor, reciprocal = decoder(fmt.scale)(code), None
    if profile.arithmetic == "fp32-amax" and factor.kind == FINITE:
        reciprocal = reciprocal_scale(factor, fmt, profile, tensor_scale)
        return Division(_ONE, reciprocal, bits, profile.negative_zero, in_fp32=True)
    if profile.arithmetic == "fp32-reciprocal" and factor.significand:
        reciprocal = fp32_quotient(fp32_quotient(_ONE, tensor_scale), factor)
    divisor = block_factor(factor, fmt, profile, tensor_scale)
    in_fp32 = profile.divides_in_fp32 and not factor.is_zero
    return Division(divisor, reciprocal, bits, profile.negative_zero, in_fp32)


@step("quotient", "value")
def divided(x: Value, by: Division) -> Value:
    """A value divided by the scale."""
    if x.is_zero:
        x = signed_zero(x, by.zeros)
    if x.kind == NAN:
        return x
    if by.in_fp32:
        quotient = fp32_divided(x, by.divisor) if by.reciprocal is None else fp32_multiplied(x, by.reciprocal)
        return signed_zero(quotient, by.zeros) if quotient.is_zero else quotient
    if by.divisor.kind == INF:  # IEEE P3109, BlockProject: under an Inf scale, values keep only their sign
        return x if x.is_zero else exact.finite(x.sign, 1, 0)
    if not by.divisor.significand:
        return exact.zero(x.sign)  # under a scale of zero, every element is zero
    if x.kind == INF:
        return x
    if by.reciprocal is not None:
        return fp32_product(x, by.reciprocal)
    return divide(x, by.divisor, by.bits) if x.significand else x


def signed_zero(x: Value, zeros: str) -> Value:
    """A zero with the sign that elements get from it."""
    if zeros == "set-given":
        return exact.zero(1)
    return exact.zero(0) if zeros == "drop-given" else x


@step("element", "code")
def element(code: int, fmt: Format, profile: Profile) -> int:
    """A rounded element as it is given out: without the sign of a zero, if the profile drops it."""
    dropped = profile.negative_zero == "drop" and code == fmt.sign_bit and fmt.negative_zero
    return 0 if dropped else code


def divide(x: Value, divisor: Value, bits: int) -> Value:
    """x / divisor for a positive divisor; exact if that is a power of two."""
    if divisor.significand == 1:
        return x._replace(exponent=x.exponent - divisor.exponent)
    return quotient(x, divisor, bits)
