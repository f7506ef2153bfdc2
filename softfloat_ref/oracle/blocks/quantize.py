"""One block at a time: from exact values to a shared scale and element codes, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.profiles import Profile, get_profile
from softfloat_ref.oracle.blocks.scale_rules import get_scale_rule, largest, quotient
from softfloat_ref.oracle.codec import Encoder, check_code, decoder, encoder, to_value
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.flags import OVERFLOW
from softfloat_ref.oracle.formats import (
    Format,
)
from softfloat_ref.oracle.policies import Overflow, Policy, get_policy
from softfloat_ref.oracle.rounding import Rounding

FP32_ONE: Final = FP32.bias << FP32.mantissa_bits  # a tensor scale of 1
_ONE: Final = exact.finite(0, 1, 0)
_NEAREST: Final = Policy()
_SATURATING: Final = Policy(overflow=Overflow.SAT_FINITE)
_BINADE: Final = exact.finite(0, 1, FP32.emax + 1)  # the value of Inf according to FP32's exponent field
SCALE_BITS: Final = 64  # bits of a quotient that is rounded to a scale; more than any scale format has
VALUE_BITS: Final = 256  # bits of a value that is itself cut (such as 1/3): more than any divisor here has


class Block(NamedTuple):
    """A quantized block: the scale's code, the elements' codes, and the elements' flags."""

    scale: int
    codes: tuple[int, ...]
    flags: tuple[int, ...]


# -- quantize --------------------------------------------------------------------------------------------------------


def resolve(fmt: BlockFormat, profile: Profile | str | None) -> tuple[BlockFormat, Profile]:
    """The format with elements as the profile defines them, and the profile (default: the format's own)."""
    found = get_profile(fmt.profile if profile is None else profile)
    return _resolved(fmt, found), found


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


def tensor_scale_code(given: Any, name: str = "a tensor scale") -> int:
    """The FP32 code of a second-level scale that is given as its value: a float or an exact number.

    Raises Error for a number that FP32 does not hold, and for integers, which could be meant as codes."""
    number = given.item() if getattr(given, "shape", None) == () else given
    if isinstance(number, int):
        raise Error(f"{name} is a value, not a code: write {number}.0 if {number} is its value")
    code, flags = encoder(FP32, _NEAREST)(to_value(number, VALUE_BITS), 0)
    if flags:
        raise Error(f"{name} must be an FP32 number, not {str(number)[:60]}")
    return code


def special_element(fmt: BlockFormat, policy: Policy) -> int:
    """The code of all elements of a block whose scale is NaN."""
    return policy.nan_rule.code(fmt.element) if fmt.element.has_nan else 0


def quantize_block(
    values: Sequence[Value],
    fmt: BlockFormat | str,
    profile: Profile | str | None = None,
    policy: Policy | str | None = None,
    random_bits: Sequence[int] | None = None,
    tensor_scale: Value = _ONE,
) -> Block:
    """Quantize one block of at most fmt.size exact values, in integers.

    A shorter block is treated as if padded with zeros. random_bits: for stochastic rounding, one word per element.
    tensor_scale: the second-level scale; values are divided by it too. Raises Error, Undefined.
    """
    fmt, profile = resolve(get_block_format(fmt), profile)
    policy = element_policy(policy, profile)
    if 0 < fmt.size < len(values):
        raise Error(f"a block of {fmt.name} has at most {fmt.size} values, not {len(values)}")
    if tensor_scale.kind != FINITE or tensor_scale.sign or not tensor_scale.significand:
        raise Undefined("a tensor scale must be a positive finite number")
    words = [0] * len(values) if random_bits is None else random_bits
    scale = block_scale(values, fmt, profile, tensor_scale)
    factor = decoder(fmt.scale)(scale)
    if factor.kind == NAN and profile.special_codes == "nan":
        return Block(scale, (special_element(fmt, policy),) * len(values), (0,) * len(values))
    if factor.kind == NAN:
        finite = [x for x in values if x.kind == FINITE]
        factor = decoder(fmt.scale)(block_scale(finite, fmt, profile.replace(scale_high="largest"), tensor_scale))
    encode = _element_encoder(fmt, profile, policy, factor, tensor_scale)
    flushed = flush(values, profile)
    results = [encode(x, r) for x, r in zip(flushed, words, strict=True)]
    return Block(scale, tuple(code for code, _ in results), tuple(flags for _, flags in results))


def flush(values: Sequence[Value], profile: Profile) -> list[Value]:
    """The values, with those too small for the profile replaced by zeros of the same sign."""
    if profile.flush == "never":
        return list(values)
    small = [x.kind == FINITE and x.significand != 0 and exact.top(x) < profile.flush_below for x in values]
    if profile.flush == "block" and not all(s or x.is_zero for s, x in zip(small, values, strict=True)):
        return list(values)
    return [exact.zero(x.sign) if s else x for s, x in zip(small, values, strict=True)]


def block_scale(values: Sequence[Value], fmt: BlockFormat, profile: Profile, tensor_scale: Value = _ONE) -> int:
    """The code of a block's shared scale. Raises Error for a special value that the profile refuses."""
    kinds = {x.kind for x in values}
    if (NAN in kinds and profile.nan == "error") or (INF in kinds and profile.inf == "error"):
        raise Undefined(f"a block of {fmt.name} holds a NaN or Inf, which profile {profile.name} refuses")
    if (NAN in kinds and profile.nan == "block") or (INF in kinds and profile.inf == "block"):
        return fmt.scale.canonical_nan
    if INF in kinds and profile.inf == "largest":
        return fmt.scale.max_code
    finite = [x for x in flush(values, profile) if x.kind == FINITE and x.significand]
    if INF in kinds and profile.inf == "binade":
        finite.append(_BINADE)
    if not finite and profile.no_finite == "special" and FINITE not in kinds and kinds:
        return fmt.scale.canonical_nan if INF not in kinds else _scale_of_inf(fmt.scale)
    return scale_of(largest_magnitude(finite), fmt, profile, tensor_scale)


def _scale_of_inf(scale: Format) -> int:
    return encoder(scale, _NEAREST)(exact.inf(0), 0)[0]


def largest_magnitude(values: Sequence[Value]) -> Value | None:
    """The largest magnitude of finite nonzero values; None if there are none."""
    best: Value | None = None
    for x in values:
        if best is None or exact.compare(exact.magnitude(x), best) > 0:
            best = exact.magnitude(x)
    return best


@lru_cache(maxsize=1 << 14)
def scale_of(amax: Value | None, fmt: BlockFormat, profile: Profile, tensor_scale: Value = _ONE) -> int:
    """The code of the scale for a block's largest finite magnitude (None: the block is zero)."""
    if amax is None:
        return _zero_scale(fmt.scale, profile)
    if profile.arithmetic == "fp32-reciprocal":
        steps = fp32_quotient(fp32_quotient(amax, largest(fmt.element)), tensor_scale)
        return _limited(steps, Rounding.RNE, fmt.scale, profile)
    if tensor_scale != _ONE:
        length = amax.significand.bit_length()
        amax = quotient(amax, tensor_scale, length - 2 * FP32.precision if amax.sticky else length + SCALE_BITS)
    wanted = get_scale_rule(profile.scale_rule)(amax, fmt.element, SCALE_BITS)
    value = wanted.value
    if wanted.power and exact.top(value) > fmt.scale.emax:
        if profile.scale_high == "nan":
            return fmt.scale.canonical_nan
        value = exact.finite(0, 1, fmt.scale.emax)
    return _limited(value, wanted.rounding, fmt.scale, profile)


def fp32(x: Value) -> Value:
    """A number rounded to FP32, as one step of an FP32 computation."""
    return decoder(FP32)(encoder(FP32, _NEAREST)(x, 0)[0])


def fp32_quotient(a: Value, b: Value) -> Value:
    """a / b rounded to FP32; b is finite and nonzero."""
    return fp32(quotient(a, b, SCALE_BITS)) if a.kind == FINITE else a


def fp32_product(a: Value, b: Value) -> Value:
    """a * b rounded to FP32; a is finite."""
    if b.kind == INF:
        return exact.GENERATED if a.is_zero else exact.inf(a.sign)
    return fp32(exact.multiply(a, b)._replace(sticky=a.sticky))


def _zero_scale(scale: Format, profile: Profile) -> int:
    if profile.zero_block == "one":
        return encoder(scale, _NEAREST)(_ONE, 0)[0]
    if profile.zero_block == "zero" and scale.zero:
        return 0
    return lowest_scale(scale, profile)


def lowest_scale(scale: Format, profile: Profile) -> int:
    """The smallest scale that a profile allows besides zero."""
    return scale.min_normal_code if profile.scale_low == "smallest-normal" and scale.has_normals else scale.min_code


@cache
def _scale_encoder(scale: Format, rounding: Rounding, format_rule: bool) -> Encoder:
    """The function that rounds to a scale format. format_rule: use the format's own overflow instead of saturation."""
    return encoder(scale, scale_policy(rounding, format_rule))


def scale_policy(rounding: Rounding, format_rule: bool) -> Policy:
    """The policy that rounds to a scale format."""
    return (_NEAREST if format_rule else _SATURATING).replace(rounding=rounding)


def _limited(x: Value, rounding: Rounding, scale: Format, profile: Profile) -> int:
    """A positive number (or zero or Inf, from FP32 steps) rounded to the scale format, within the profile's limits."""
    code, flags = _scale_encoder(scale, rounding, profile.scale_high == "format")(x, 0)
    if (flags & OVERFLOW or x.kind == INF) and profile.scale_high == "nan":
        return scale.canonical_nan
    if scale.is_nan(code) or code == scale.inf_code:
        return code
    if profile.scale_low == "zero" and scale.zero:
        return code
    return max(code, lowest_scale(scale, profile))


def _element_encoder(fmt: BlockFormat, profile: Profile, policy: Policy, factor: Value, tensor_scale: Value) -> Any:
    """The function that encodes a value with its random bits to a code and flags, under a scale that is not NaN."""
    encode = encoder(fmt.element, policy)
    bits = fmt.element.precision + policy.random_count + 4
    divisor = exact.multiply(factor, tensor_scale) if factor.kind == FINITE else factor
    reciprocal = profile.arithmetic == "fp32-reciprocal"
    if reciprocal and factor.significand:
        factor = fp32_quotient(fp32_quotient(_ONE, tensor_scale), factor)

    def encode_element(x: Value, random_bits: int) -> tuple[int, int]:
        if profile.negative_zero == "drop-given" and x.is_zero:
            x = exact.zero(0)
        code, flags = encode(scaled(x), random_bits)
        if profile.negative_zero == "drop" and code == fmt.element.sign_bit and fmt.element.negative_zero:
            code = 0
        return code, flags

    def scaled(x: Value) -> Value:
        if x.kind == NAN:
            return x
        if divisor.kind == INF:  # IEEE P3109, BlockProject: under an Inf scale, values keep only their sign
            return x if x.is_zero else exact.finite(x.sign, 1, 0)
        if not divisor.significand:
            return exact.zero(x.sign)  # under a scale of zero, every element is zero
        if x.kind == INF:
            return x
        if reciprocal:
            return fp32_product(x, factor)
        return divide(x, divisor, bits) if x.significand else x

    return encode_element


def divide(x: Value, divisor: Value, bits: int) -> Value:
    """x / divisor for a positive divisor; exact if that is a power of two."""
    if divisor.significand == 1:
        return x._replace(exponent=x.exponent - divisor.exponent)
    return quotient(x, divisor, bits)


def tensor_scale_of(amax: Value | None, fmt: BlockFormat, profile: Profile) -> int:
    """The FP32 code of the second-level scale: the tensor's largest magnitude over (largest scale * largest element).

    1.0 if the profile has none, or if the result would be zero. Sources: arXiv 2509.25149, appendix C; torchao.
    """
    if not profile.two_levels or amax is None:
        return encoder(FP32, _NEAREST)(_ONE, 0)[0]
    reach = exact.multiply(largest(fmt.scale), largest(fmt.element))
    encode = encoder(FP32, _SATURATING)
    return encode(quotient(amax, reach, SCALE_BITS), 0)[0] or encode(_ONE, 0)[0]


# -- dequantize ------------------------------------------------------------------------------------------------------


def dequantize_block(
    scale: int, codes: Sequence[int], fmt: BlockFormat | str, tensor_scale: Value = _ONE
) -> list[Value]:
    """The exact values scale * element; all NaN if the scale is NaN."""
    fmt = get_block_format(fmt)
    factor = decoder(fmt.scale)(check_code(scale, fmt.scale))
    decode = decoder(fmt.element)
    elements = [decode(check_code(code, fmt.element)) for code in codes]
    if factor.kind == NAN:
        return [Value(NAN, 0)] * len(elements)
    if factor.kind == INF:
        return [_times_inf(x) for x in elements]
    factor = exact.multiply(factor, tensor_scale)
    return [exact.multiply(factor, x) if x.kind == FINITE else x for x in elements]


def _times_inf(x: Value) -> Value:
    return Value(NAN, 0) if x.kind == NAN or x.is_zero else exact.inf(x.sign)


@cache
def _dequantized(saturate: bool) -> Encoder:
    """The function that rounds values to FP32."""
    return encoder(FP32, Policy(overflow=Overflow.SAT_PROPAGATE if saturate else Overflow.SAT_NONE))


def dequantize_to_fp32(
    scale: int,
    codes: Sequence[int],
    fmt: BlockFormat | str,
    profile: Profile | str = "ocp",
    tensor_scale: Value = _ONE,
) -> list[int]:
    """The FP32 codes of the values; each exact product is rounded once."""
    encode = _dequantized(get_profile(profile).dequantize_overflow == "saturate")
    return [encode(x, 0)[0] for x in dequantize_block(scale, codes, fmt, tensor_scale)]
