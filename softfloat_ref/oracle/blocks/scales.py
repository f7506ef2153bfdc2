"""A block's scale: from the largest magnitude, by the rule of a profile, to a code of the scale's format."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

from softfloat_ref.base.errors import Undefined
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.blocks.fp32_steps import SCALE_BITS, fp32_divided, fp32_product, fp32_quotient
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.scale_rules import WantedScale, get_scale_rule, largest, quotient
from softfloat_ref.oracle.blocks.tensor_scales import encode_scale, reach
from softfloat_ref.oracle.codec import encoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.flags import OVERFLOW
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.oracle.rounding import Rounding
from softfloat_ref.oracle.rounding_steps import Destination, destination, rounded
from softfloat_ref.oracle.steps import PLAIN, Do, step

_ONE: Final = exact.finite(0, 1, 0)
EIGHTH: Final = exact.finite(0, 1, -3)
_INSTEAD_OF_ZERO: Final = {"one": _ONE, "eighth": EIGHTH}
_NEAREST: Final = Policy()
_SATURATING: Final = Policy(overflow=Overflow.SAT_FINITE)
_BINADE: Final = exact.finite(0, 1, FP32.emax + 1)  # the value of Inf according to FP32's exponent field


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
