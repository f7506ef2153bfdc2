"""What a tensor's own scale does in FP32's arithmetic: the factor of a block, and its reciprocals."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.blocks.fp32_steps import fp32_divided, fp32_product
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.exact import FINITE, INF, Value

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
