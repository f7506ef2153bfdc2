"""A tensor's own scale, and what it does in FP32's arithmetic: the factor of a block, and its reciprocals."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.blocks.fp32_steps import SCALE_BITS, fp32_divided, fp32_product, fp32_quotient
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.scale_rules import largest, quotient
from softfloat_ref.oracle.codec import encoder, to_value
from softfloat_ref.oracle.exact import FINITE, INF, Value
from softfloat_ref.oracle.flags import INEXACT
from softfloat_ref.oracle.policies import Overflow, Policy

FP32_ONE: Final = FP32.bias << FP32.mantissa_bits  # a tensor scale of 1
VALUE_BITS: Final = 256  # bits of a value that is itself cut (such as 1/3): more than any divisor here has
_NEAREST: Final = Policy()
_SATURATING: Final = Policy(overflow=Overflow.SAT_FINITE)
_ONE: Final = exact.finite(0, 1, 0)
_FP32_MAX: Final = largest(FP32)
_REACHES: Final = {"amax-256": exact.finite(0, 1, 8)}


def reach(fmt: BlockFormat, profile: Profile) -> Value:
    """The magnitude that the scale of a block and an element give at most: the largest scale (or 256, which leaves room
    for scales that are half as large again) times the largest element."""
    return exact.multiply(_REACHES.get(profile.tensor_scale, largest(fmt.scale)), largest(fmt.element))


def inverse_reach(fmt: BlockFormat, profile: Profile) -> Value:
    """1 / reach, in FP32."""
    return fp32_divided(_ONE, reach(fmt, profile))


@lru_cache(maxsize=1 << 10)
def encode_scale(fmt: BlockFormat, profile: Profile, amax: Value) -> Value:
    """What values are multiplied by where the tensor's scale is its largest magnitude: reach / amax, in FP32."""
    return _finite(fp32_divided(reach(fmt, profile), amax))


@lru_cache(maxsize=1 << 12)
def reciprocal_scale(scale: Value, fmt: BlockFormat, profile: Profile, amax: Value) -> Value:
    """What the values of a block are multiplied by under its scale, which may be zero: each step of
    1 / (scale * (1 / encode_scale)) in FP32 (Transformer Engine)."""
    decode_scale = fp32_divided(_ONE, encode_scale(fmt, profile, amax))
    return _finite(fp32_divided(_ONE, fp32_product(scale, decode_scale)))


def _finite(x: Value) -> Value:
    return _FP32_MAX if x.kind == INF else x


def block_factor(scale: Value, fmt: BlockFormat, profile: Profile, tensor_scale: Value) -> Value:
    """What elements are multiplied by: a block's scale and the tensor's. scale: finite, or the result."""
    if scale.kind != FINITE:
        return scale
    if profile.arithmetic == "fp32-division":
        return fp32_product(scale, tensor_scale)
    if profile.arithmetic == "fp32-inverse":
        return fp32_divided(scale, tensor_scale)
    if profile.arithmetic == "fp32-amax":
        product = fp32_product(scale, tensor_scale)
        return fp32_product(product, inverse_reach(fmt, profile)) if product.kind == FINITE else product
    return exact.multiply(scale, tensor_scale)


def tensor_scale_code(scale: Any, name: str = "a tensor scale") -> int:
    """The FP32 code of a second-level scale that is given as its value: a float, which is rounded once, to nearest
    even, or an exact number.

    Raises Error for an exact number that FP32 does not hold, for a float that it holds only as zero, subnormal or Inf,
    and for integers, which could be meant as codes."""
    number = scale.item() if getattr(scale, "shape", None) == () else scale
    if isinstance(number, int):
        raise Error(f"{name} is a value, not a code: write {number}.0 if {number} is its value")
    code, flags = encoder(FP32, _NEAREST)(to_value(number, VALUE_BITS), 0)
    if flags and not (isinstance(number, float) and flags == INEXACT):
        raise Error(f"{name} must be an FP32 number, not {str(number)[:60]}")
    return code


def tensor_scale_of(amax: Value | None, fmt: BlockFormat, profile: Profile) -> int:
    """The FP32 code of the second-level scale: the tensor's largest magnitude over (largest scale * largest element),
    or, for fp32-amax, itself.

    1.0 if the profile has none, or if the result would be zero. Sources: arXiv 2509.25149, appendix C; torchao.
    """
    if not profile.two_levels or amax is None:
        return encoder(FP32, _NEAREST)(_ONE, 0)[0]
    encode, limit = encoder(FP32, _SATURATING), reach(fmt, profile)
    if profile.arithmetic == "fp32-amax":
        return encode(amax, 0)[0] or FP32_ONE
    if profile.arithmetic == "fp32-inverse":
        inverse = fp32_quotient(_ONE, amax)  # as torch divides a number by a tensor
        code = 0 if inverse.kind == INF else encoder(FP32, _NEAREST)(exact.multiply(inverse, limit), 0)[0]
        return FP32_ONE if code in (0, FP32.inf_code) else code
    return encode(quotient(amax, limit, SCALE_BITS), 0)[0] or FP32_ONE
