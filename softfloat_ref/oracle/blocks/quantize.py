"""One block at a time: from exact values to a shared scale and element codes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.elements import divided, division, element, used_scale
from softfloat_ref.oracle.blocks.formats import BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.blocks.scale_search import searched_scale
from softfloat_ref.oracle.blocks.scales import block_scale, flush
from softfloat_ref.oracle.codec import decoder, encoder, needed_bits
from softfloat_ref.oracle.exact import FINITE, NAN, Value
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.rounding_steps import destination, rounded
from softfloat_ref.oracle.steps import PLAIN, Do, step

_ONE: Final = exact.finite(0, 1, 0)


class QuantizedBlock(NamedTuple):
    """A quantized block: the scale's code, the elements' codes, and the elements' flags."""

    scale: int
    codes: tuple[int, ...]
    flags: tuple[int, ...]


def resolve(fmt: BlockFormat, profile: Profile | str | None) -> tuple[BlockFormat, Profile]:
    """The format with elements as the profile defines them, and the profile (default: the format's own). Raises Error
    for a profile that is not for such a format."""
    chosen = get_profile(fmt.profile if profile is None else profile)
    if not is_for(chosen, fmt):
        raise Error(
            f"profile {chosen.name} is for {chosen.formats.replace('|', ', ')}; {fmt.name} is"
            f" {fmt.element.name}@{fmt.scale.name}. {chosen.name},formats=* is for any"
        )
    return _resolved(fmt, chosen), chosen


def is_for(profile: Profile, fmt: BlockFormat) -> bool:
    """Whether a profile is for a format."""
    return profile.is_for(fmt.element.name, fmt.scale.name)


@lru_cache(maxsize=256)
def _resolved(fmt: BlockFormat, profile: Profile) -> BlockFormat:
    choices = (profile.nan, profile.inf, profile.scale_high, profile.no_finite)
    if {"block", "nan", "special"} & set(choices) and not fmt.scale.has_nan:
        raise Error(
            f"{fmt.name}: the scale format {fmt.scale.name} has no NaN, which {profile.name} needs; use"
            " nan=element,inf=element, and neither scale_high=nan nor no_finite=special"
        )
    if not fmt.element.twos_complement:  # MX 1.0 5.3.4 leaves the most negative code to the implementation
        return fmt
    element = dataclasses.replace(fmt.element, symmetric=fmt.element.signed and profile.integers == "symmetric")
    return dataclasses.replace(fmt, element=element)


@lru_cache(maxsize=256)
def element_policy(policy: Policy | str | None, profile: Profile) -> Policy:
    """The policy for elements: the caller's, or the profile's rounding; overflow is always the profile's."""
    chosen = get_policy(None, rounding=profile.rounding) if policy is None else get_policy(policy)
    return chosen.replace(overflow=profile.overflow)


def special_element(fmt: BlockFormat, policy: Policy, profile: Profile) -> int:
    """The code of all elements of a block whose scale is NaN."""
    if profile.special_codes == "encoded":
        return encoder(fmt.element, policy)(exact.GENERATED, 0)[0]
    return policy.nan_rule.code(fmt.element) if fmt.element.has_nan else 0


def quantize_block(
    values: Sequence[Value],
    fmt: BlockFormat | str,
    profile: Profile | str | None = None,
    policy: Policy | str | None = None,
    random_bits: Sequence[int] | None = None,
    tensor_scale: Value = _ONE,
) -> QuantizedBlock:
    """Quantize one block of at most fmt.size exact values, in integers.

    A shorter block is treated as if padded with zeros. random_bits: for stochastic rounding, one word per element.
    tensor_scale: the second-level scale; values are divided by it too. Raises Error, Undefined.
    """
    fmt, profile = resolve(get_block_format(fmt), profile)
    policy = element_policy(policy, profile)
    if 0 < fmt.size < len(values):
        raise Error(f"a block of {fmt.name} has at most {fmt.size} values, not {len(values)}")
    words = [0] * len(values) if random_bits is None else random_bits
    return quantized(PLAIN, values, fmt, profile, policy, words, tensor_scale)


@step("lanes", "codes")
def lanes(codes: tuple[int, ...]) -> tuple[int, ...]:
    """The elements in the order in which they are given out."""
    return codes


def quantized(
    do: Do,
    values: Sequence[Value],
    fmt: BlockFormat,
    profile: Profile,
    policy: Policy,
    words: Sequence[int],
    tensor_scale: Value,
    more_bits: int = 0,
) -> QuantizedBlock:
    """A block quantized, step by step. more_bits: of each quotient, beyond those that rounding needs."""
    if tensor_scale.kind != FINITE or tensor_scale.sign or not tensor_scale.significand:
        raise Undefined("a tensor scale must be a positive finite number")
    scale = do(block_scale, values, fmt, profile, tensor_scale)
    if profile.scale_search != "none":
        scale = do(searched_scale, scale, values, fmt, profile, policy, words, tensor_scale)
    used = do(used_scale, scale, fmt.scale)
    if decoder(fmt.scale)(used).kind == NAN:
        if profile.special_codes != "quantized":
            codes = (special_element(fmt, policy, profile),) * len(values)
            return QuantizedBlock(scale, do(lanes, codes), (0,) * len(values))
        finite = [x for x in values if x.kind == FINITE]
        used = do.at("finite")(block_scale, finite, fmt, profile.replace(scale_high="largest"), tensor_scale)
    bits = needed_bits(fmt.element, policy) + more_bits
    by, to = do(division, used, fmt, profile, tensor_scale, bits), destination(fmt.element, policy)
    elements, flags = [], []
    for k, (x, r) in enumerate(zip(do(flush, values, profile), words, strict=True)):
        lane = do.at("elements", k)
        code, raised = lane(rounded, lane(divided, x, by), r, to)
        elements.append(lane(element, code, fmt.element, profile))
        flags.append(raised)
    return QuantizedBlock(scale, do(lanes, tuple(elements)), tuple(flags))
