"""One block at a time: from exact values to a shared scale and element codes, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.fp32_steps import (
    SCALE_BITS,
    fp32_divided,
    fp32_multiplied,
    fp32_product,
    fp32_quotient,
)
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.blocks.scale_rules import WantedScale, get_scale_rule, largest, quotient
from softfloat_ref.oracle.blocks.scale_search import block_error, expanded, is_less
from softfloat_ref.oracle.blocks.tensor_scales import block_factor, encode_scale, reach, reciprocal_scale
from softfloat_ref.oracle.codec import check_code, decoder, encoder, needed_bits, to_value
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.flags import INEXACT, OVERFLOW
from softfloat_ref.oracle.formats import (
    Format,
)
from softfloat_ref.oracle.policies import Overflow, Policy, get_policy
from softfloat_ref.oracle.rounding import Rounding
from softfloat_ref.oracle.rounding_steps import Destination, destination, read, rounded
from softfloat_ref.oracle.steps import PLAIN, Do, step

FP32_ONE: Final = FP32.bias << FP32.mantissa_bits  # a tensor scale of 1
_ONE: Final = exact.finite(0, 1, 0)
EIGHTH: Final = exact.finite(0, 1, -3)
_INSTEAD_OF_ZERO: Final = {"one": _ONE, "eighth": EIGHTH}
_NEAREST: Final = Policy()
_SATURATING: Final = Policy(overflow=Overflow.SAT_FINITE)
_BINADE: Final = exact.finite(0, 1, FP32.emax + 1)  # the value of Inf according to FP32's exponent field
VALUE_BITS: Final = 256  # bits of a value that is itself cut (such as 1/3): more than any divisor here has


class QuantizedBlock(NamedTuple):
    """A quantized block: the scale's code, the elements' codes, and the elements' flags."""

    scale: int
    codes: tuple[int, ...]
    flags: tuple[int, ...]


# -- quantize --------------------------------------------------------------------------------------------------------


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


# -- the scale -------------------------------------------------------------------------------------------------------


@step("flush", "values")
def flush(values: Sequence[Value], profile: Profile) -> list[Value]:
    """The values, with those too small for the profile replaced by zeros of the same sign."""
    if profile.flush == "never":
        return list(values)
    small = [x.kind == FINITE and x.significand != 0 and exact.top(x) < profile.flush_below for x in values]
    if profile.flush == "block" and not all(s or x.is_zero for s, x in zip(small, values, strict=True)):
        return list(values)
    return [exact.zero(x.sign) if s else x for s, x in zip(small, values, strict=True)]


@step("special scale", "scale code")
def special_scale(values: Sequence[Value], fmt: BlockFormat, profile: Profile) -> int | None:
    """The scale that special values alone decide; None: finite ones do. Raises Undefined for a special value that the
    profile refuses."""
    kinds = {x.kind for x in values}
    if (NAN in kinds and profile.nan == "error") or (INF in kinds and profile.inf == "error"):
        raise Undefined(f"a block of {fmt.name} holds a NaN or Inf, which profile {profile.name} refuses")
    if (NAN in kinds and profile.nan == "block") or (INF in kinds and profile.inf == "block"):
        return fmt.scale.canonical_nan
    if INF in kinds and profile.inf == "largest":
        return fmt.scale.max_code
    alone = FINITE not in kinds and kinds and not (INF in kinds and profile.inf == "binade")
    if profile.no_finite == "special" and alone:
        return fmt.scale.canonical_nan if INF not in kinds else _scale_of_inf(fmt.scale)
    return None


def scale_in_steps(do: Do, values: Sequence[Value], fmt: BlockFormat, profile: Profile, tensor_scale: Value) -> int:
    """`block_scale`, step by step."""
    code = do(special_scale, values, fmt, profile)
    if code is not None:
        return code
    finite = [x for x in do(flush, values, profile) if x.kind == FINITE and x.significand]
    if profile.inf == "binade" and INF in {x.kind for x in values}:
        finite.append(_BINADE)
    return do(scale_of, do(largest_magnitude, finite), fmt, profile, tensor_scale)


def _scale_of_inf(scale: Format) -> int:
    return encoder(scale, _NEAREST)(exact.inf(0), 0)[0]


@step("amax", "value")
def largest_magnitude(values: Sequence[Value]) -> Value | None:
    """The largest magnitude of finite nonzero values; None if there are none."""
    best: Value | None = None
    for x in values:
        if best is None or exact.compare(exact.magnitude(x), best) > 0:
            best = exact.magnitude(x)
    return best


@step("wanted scale", "scale")
def wanted_scale(amax: Value, fmt: BlockFormat, profile: Profile, tensor_scale: Value) -> WantedScale:
    """The number that the rule wants as a scale, and how it is rounded to the scale's format."""
    if profile.arithmetic == "fp32-reciprocal":
        steps = fp32_quotient(fp32_quotient(amax, largest(fmt.element)), tensor_scale)
        return WantedScale(steps, Rounding.RNE, False)
    if profile.divides_in_fp32 and profile.scale_rule == "rne":
        if profile.arithmetic == "fp32-amax":
            steps = fp32_product(fp32_quotient(amax, largest(fmt.element)), encode_scale(fmt, profile, tensor_scale))
        elif profile.arithmetic == "fp32-inverse":
            steps = fp32_product(fp32_quotient(amax, largest(fmt.element)), tensor_scale)
        else:
            steps = fp32_divided(amax, fp32_product(largest(fmt.element), tensor_scale))
        return WantedScale(steps, Rounding.RNE, False)
    if profile.arithmetic == "fp32-inverse":
        amax, tensor_scale = exact.multiply(amax, tensor_scale)._replace(sticky=amax.sticky), _ONE
    if profile.arithmetic == "fp32-amax":
        amax = exact.multiply(amax, reach(fmt, profile))._replace(sticky=amax.sticky)
    if tensor_scale != _ONE:
        length = amax.significand.bit_length()
        amax = quotient(amax, tensor_scale, length - 2 * FP32.precision if amax.sticky else length + SCALE_BITS)
    return get_scale_rule(profile.scale_rule)(amax, fmt.element, SCALE_BITS)


@step("expanded scale", "scale")
def expanded_scale(wanted: WantedScale, profile: Profile) -> WantedScale:
    """The number that is wanted as a scale if the largest element is to be 4."""
    return wanted._replace(value=expanded(wanted.value, profile))


@step("limited scale", "scale code")
def limited_scale(code: int, flags: int, infinite: bool, scale: Format, profile: Profile) -> int:
    """A scale that was rounded to its format, within the profile's limits."""
    if (flags & OVERFLOW or infinite) and profile.scale_high == "nan":
        return scale.canonical_nan
    if scale.is_nan(code) or code == scale.inf_code:
        return code
    if profile.scale_low == "zero" and scale.zero:
        return code
    if profile.scale_low == "eighth" and scale.zero and not code:
        return scale_code(_INSTEAD_OF_ZERO[profile.scale_low], scale)
    return max(code, lowest_scale(scale, profile))


def scale_of_in_steps(
    do: Do, amax: Value | None, fmt: BlockFormat, profile: Profile, tensor_scale: Value = _ONE
) -> int:
    """`scale_of`, step by step."""
    if amax is None:
        return _zero_scale(fmt.scale, profile)
    wanted = do(wanted_scale, amax, fmt, profile, tensor_scale)
    return rounded_scale(do, wanted, fmt.scale, profile)


def second_scale(do: Do, amax: Value, fmt: BlockFormat, profile: Profile, tensor_scale: Value) -> int:
    """The code of the other scale of a search: that of the rule times 3/2."""
    wanted = do(expanded_scale, do(wanted_scale, amax, fmt, profile, tensor_scale), profile)
    return rounded_scale(do, wanted, fmt.scale, profile)


@lru_cache(maxsize=1 << 14)
def scale_of_steps(value: Value, scale: Format, profile: Profile) -> int:
    """The code of the scale that FP32 steps ask for."""
    return rounded_scale(PLAIN, WantedScale(value, Rounding.RNE, False), scale, profile)


def rounded_scale(do: Do, wanted: WantedScale, scale: Format, profile: Profile) -> int:
    """The code of a wanted scale."""
    value, mode, power = wanted
    if profile.divides_in_fp32 and value.is_zero:
        return _zero_scale(scale, profile)
    if power and exact.top(value) > scale.emax:
        if profile.scale_high == "nan":
            return scale.canonical_nan
        value = exact.finite(0, 1, scale.emax)
    code, flags = do(rounded, value, 0, _to_scale(scale, mode, profile.scale_high == "format"))
    return do(limited_scale, code, flags, value.kind == INF, scale, profile)


@step("scale of amax", "scale code", scale_of_in_steps, (wanted_scale, rounded, limited_scale))
@lru_cache(maxsize=1 << 14)
def scale_of(amax: Value | None, fmt: BlockFormat, profile: Profile, tensor_scale: Value = _ONE) -> int:
    """The code of the scale for a block's largest finite magnitude (None: the block is zero)."""
    return scale_of_in_steps(PLAIN, amax, fmt, profile, tensor_scale)


@step("scale", "scale code", scale_in_steps, (special_scale, flush, largest_magnitude, scale_of))
def block_scale(values: Sequence[Value], fmt: BlockFormat, profile: Profile, tensor_scale: Value = _ONE) -> int:
    """The code of a block's shared scale. Raises Undefined for a special value that the profile refuses."""
    return scale_in_steps(PLAIN, values, fmt, profile, tensor_scale)


def _zero_scale(scale: Format, profile: Profile) -> int:
    if profile.zero_block in _INSTEAD_OF_ZERO:
        return scale_code(_INSTEAD_OF_ZERO[profile.zero_block], scale)
    if profile.zero_block == "zero" and scale.zero:
        return 0
    return lowest_scale(scale, profile)


def scale_code(value: Value, scale: Format) -> int:
    """The code of a scale given as its value."""
    return encoder(scale, _NEAREST)(value, 0)[0]


def lowest_scale(scale: Format, profile: Profile) -> int:
    """The smallest scale that a profile allows besides zero."""
    return scale.min_normal_code if profile.scale_low == "smallest-normal" and scale.has_normals else scale.min_code


@cache
def _to_scale(scale: Format, rounding: Rounding, format_rule: bool) -> Destination:
    """Rounding to a scale format. format_rule: by the format's own overflow instead of saturation."""
    return destination(scale, scale_policy(rounding, format_rule))


def scale_policy(rounding: Rounding, format_rule: bool) -> Policy:
    """The policy that rounds to a scale format."""
    return (_NEAREST if format_rule else _SATURATING).replace(rounding=rounding)


# -- the elements ----------------------------------------------------------------------------------------------------


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


@step("error", "value")
def error(
    values: Sequence[Value], code: int, fmt: BlockFormat, profile: Profile, policy: Policy, words: Sequence[int],
    tensor_scale: Value,
) -> Value:  # fmt: skip
    """The error of a block under a scale."""
    by = division(code, fmt, profile, tensor_scale, needed_bits(fmt.element, policy))
    to = destination(fmt.element, policy)
    codes = [rounded(divided(x, by), r, to)[0] for x, r in zip(values, words, strict=True)]
    return block_error(values, codes, code, fmt, profile, tensor_scale)


@step("better scale", "scale code")
def better_scale(first: int, second: int, first_error: Value, second_error: Value) -> int:
    """The scale with the smaller error; the first one if they are equal."""
    return second if is_less(second_error, first_error) else first


def searched_in_steps(
    do: Do, scale: int, values: Sequence[Value], fmt: BlockFormat, profile: Profile, policy: Policy,
    words: Sequence[int], tensor_scale: Value,
) -> int:  # fmt: skip
    """`searched_scale`, step by step."""
    flushed = flush(values, profile)
    amax = largest_magnitude([x for x in flushed if x.kind == FINITE and x.significand])
    if amax is None or any(x.kind != FINITE for x in values):
        return scale
    other = second_scale(do.at("second"), amax, fmt, profile, tensor_scale)
    errors = [do.at(name)(error, flushed, code, fmt, profile, policy, words, tensor_scale)
              for name, code in (("first", scale), ("second", other))]  # fmt: skip
    return do(better_scale, scale, other, *errors)


@step("searched scale", "scale code", searched_in_steps, (wanted_scale, expanded_scale, rounded, limited_scale, error,
                                                          better_scale))  # fmt: skip
def searched_scale(
    scale: int, values: Sequence[Value], fmt: BlockFormat, profile: Profile, policy: Policy, words: Sequence[int],
    tensor_scale: Value,
) -> int:  # fmt: skip
    """The code of the scale with the smaller error: the rule's, or that of the largest element 4. The rule's for blocks
    with a NaN or Inf, and of zeros."""
    return searched_in_steps(PLAIN, scale, values, fmt, profile, policy, words, tensor_scale)


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


def divide(x: Value, divisor: Value, bits: int) -> Value:
    """x / divisor for a positive divisor; exact if that is a power of two."""
    if divisor.significand == 1:
        return x._replace(exponent=x.exponent - divisor.exponent)
    return quotient(x, divisor, bits)


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


# -- dequantize ------------------------------------------------------------------------------------------------------


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
    """An element times its scale."""
    if factor.kind == FINITE:
        return exact.multiply(factor, x) if x.kind == FINITE else x
    if factor.kind == NAN or x.kind == NAN or x.is_zero:
        return Value(NAN, 0)
    return exact.inf(x.sign)


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
