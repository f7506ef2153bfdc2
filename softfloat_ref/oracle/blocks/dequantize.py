"""Blocks back to values: elements times their scale, exactly or rounded to FP32."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.blocks.tensor_scales import block_factor
from softfloat_ref.oracle.codec import check_code, decoder
from softfloat_ref.oracle.exact import FINITE, NAN, Value
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.oracle.rounding_steps import Destination, destination, read, rounded
from softfloat_ref.oracle.steps import PLAIN, Do, step

_ONE: Final = exact.finite(0, 1, 0)


def dequantize_block(
    scale: int, codes: Sequence[int], fmt: BlockFormat | str, tensor_scale: Value = _ONE
) -> list[Value]:
    """The exact values scale * element; all NaN if the scale is NaN."""
    fmt = get_block_format(fmt)
    factor = _factor(decoder(fmt.scale)(check_code(scale, fmt.scale)), tensor_scale)
    decode = decoder(fmt.element)
    return [scaled(decode(check_code(code, fmt.element)), factor) for code in codes]


def _factor(scale: Value, tensor_scale: Value) -> Value:
    return exact.multiply(scale, tensor_scale) if scale.kind == FINITE else scale


@step("product", "value")
def scaled(x: Value, factor: Value) -> Value:
    """An element times its scale: NaN for an infinity times zero, as in IEEE 754."""
    if factor.kind == FINITE and x.kind in (FINITE, NAN):
        return exact.multiply(factor, x) if x.kind == FINITE else x
    if factor.kind == NAN or x.kind == NAN or x.is_zero or factor.is_zero:
        return Value(NAN, 0)
    return exact.inf(x.sign ^ factor.sign)


@cache
def to_fp32(saturate: bool) -> Destination:
    """Rounding to FP32. saturate: finite values beyond it give the largest number."""
    return destination(FP32, Policy(overflow=Overflow.SAT_PROPAGATE if saturate else Overflow.SAT_NONE))


def dequantize_to_fp32(
    scale: int,
    codes: Sequence[int],
    fmt: BlockFormat | str,
    profile: Profile | str = "ocp",
    tensor_scale: Value = _ONE,
) -> list[int]:
    """The FP32 codes of the values; each exact product is rounded once."""
    return dequantized(PLAIN, scale, codes, get_block_format(fmt), get_profile(profile), tensor_scale)


def dequantized(
    do: Do, scale: int, codes: Sequence[int], fmt: BlockFormat, profile: Profile, tensor_scale: Value
) -> list[int]:
    """The FP32 codes of a block, step by step."""
    decode, to = decoder(fmt.element), to_fp32(profile.dequantize_overflow == "saturate")
    read_scale = do.at("scale")(read, check_code(scale, fmt.scale), decoder(fmt.scale), fmt.scale)
    factor = block_factor(read_scale, fmt, profile, tensor_scale)
    results = []
    for k, code in enumerate(codes):
        lane = do.at("elements", k)
        x = lane(read, check_code(code, fmt.element), decode, fmt.element)
        results.append(lane(rounded, lane(scaled, x, factor), 0, to)[0])
    return results
