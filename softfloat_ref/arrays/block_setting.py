"""How blocks are quantized: a format, a profile and a policy together, with the plans of the compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.convert import code_dtype
from softfloat_ref.arrays.kernels import block_dispatch, divided
from softfloat_ref.oracle.blocks.formats import BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.quantize import QuantizedBlock, element_policy, quantize_block, resolve
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE, reach, tensor_scale_of
from softfloat_ref.oracle.codec import to_value
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE
from softfloat_ref.oracle.policies import Policy

FP32: Final = CATALOGUE["fp32"]
_MAX_DIVISOR_BITS: Final = 24  # bits of a divisor for which rounding a float64 quotient to FP32 is rounding once
_MIN_NORMAL: Final = 2.0**FP32.emin


@dataclass(frozen=True, eq=False)
class BlockSetting:
    """How blocks are quantized. There is one object for each combination, so that it is found and hashed quickly."""

    fmt: BlockFormat
    profile: Profile
    policy: Policy

    @cached_property
    def dtypes(self) -> tuple[np.dtype[Any], np.dtype[Any]]:
        """The types of codes of elements and of scales."""
        return code_dtype(self.fmt.element), code_dtype(self.fmt.scale)

    @cached_property
    def plan(self) -> block_dispatch.PowerPlan | None:
        """The plan of the loops for power-of-two scales."""
        return block_dispatch.plan(self.fmt, self.profile, self.policy, FP32)

    @cached_property
    def _fixed(self) -> divided.DividedPlan | None:
        return divided.fixed_plan(self.fmt, self.profile, self.policy)

    @cached_property
    def _usual(self) -> divided.DividedPlan | None:
        return self._fixed and divided.plan(self._fixed, FP32_ONE)

    def divided(self, tensor_scale: int) -> divided.DividedPlan | None:
        """The plan of the loops for scales of any format."""
        if tensor_scale == FP32_ONE or self._fixed is None:
            return self._usual
        return divided.plan(self._fixed, tensor_scale)

    @cached_property
    def _reach(self) -> float:
        """The largest scale times the largest element; 0 if `tensor_scale` needs the oracle for so many bits."""
        product = reach(self.fmt, self.profile)
        return float(product) if divided.short_bits(product) <= _MAX_DIVISOR_BITS and product.exponent >= 0 else 0.0

    def tensor_scale(self, amax: int) -> int:
        """The FP32 code of the second-level scale for the largest magnitude (an FP32 code)."""
        value = float(np.uint32(amax).view(np.float32))
        if self.policy.flush_inputs and value < _MIN_NORMAL:
            value = 0.0
        divided = self.profile.arithmetic not in ("fp32-inverse", "fp32-amax")
        quick = divided and value >= self._reach * _MIN_NORMAL > 0.0
        if quick:  # FP32 by a divisor of few bits: float64 is on the quotient's side
            return int(np.float32(value / self._reach).view(np.uint32))
        return tensor_scale_of(to_value(value, 0) if value else None, self.fmt, self.profile)

    def block(self, values: Sequence[Value], words: Sequence[int] | None, factor: Value) -> QuantizedBlock:
        """One block, by the oracle. factor: the second-level scale."""
        return quantize_block(values, self.fmt, self.profile, self.policy, words, factor)


def setting(fmt: str | BlockFormat, profile: str | Profile | None, policy: Policy | str | None) -> BlockSetting:
    """The setting of a format, a profile (default: the format's own) and a policy. Raises Error."""
    if type(fmt) is str and profile is None and policy is None and ".toml" not in fmt:
        return _named(fmt, None, None)
    names = [x for x in (fmt, profile, policy) if isinstance(x, str)]
    plain = isinstance(fmt, str) and not isinstance(profile, Profile) and not any(".toml" in x for x in names)
    return _named(fmt, profile, policy) if plain else _found(fmt, profile, policy)


@lru_cache(maxsize=256)
def _named(fmt: str, profile: str | None, policy: Policy | str | None) -> BlockSetting:
    return _found(fmt, profile, policy)


def _found(fmt: str | BlockFormat, profile: str | Profile | None, policy: Policy | str | None) -> BlockSetting:
    resolved, chosen = resolve(get_block_format(fmt), profile)
    return _one(resolved, chosen, element_policy(policy, chosen))


def in_one_row(chosen: BlockSetting) -> BlockSetting:
    """The setting of the format whose blocks have the same elements in one row."""
    return _one(chosen.fmt.in_one_row, chosen.profile, chosen.policy)


@lru_cache(maxsize=256)
def _one(fmt: BlockFormat, profile: Profile, policy: Policy) -> BlockSetting:
    return BlockSetting(fmt, profile, policy)
