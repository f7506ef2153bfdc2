"""Plans of the compiled loops of kernels/divided_loops.py, for blocks with scales of any format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels import plans
from softfloat_ref.base.search import first_equal
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.fp32_steps import fp32_quotient
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.quantize import special_element
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.blocks.scales import EIGHTH, lowest_scale, scale_code, scale_of, scale_policy
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE, reach
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import Rounding

FAR_BELOW: Final = 26  # as nearest.ALL
FP32: Final = CATALOGUE["fp32"]
FP64: Final = CATALOGUE["fp64"]
_ONE: Final = exact.finite(0, 1, 0)
_ROUNDINGS: Final = {"rne": Rounding.RNE, "amax": Rounding.RNE, "rceil": Rounding.RUP}  # the other rules: powers of two
_MAX_PRODUCT_BITS: Final = 42  # of a midpoint times a divisor, so that a product with the reciprocal is on its side
_MAX_QUOTIENT_BITS: Final = 51  # the same for a quotient
_MODERATE_EXPONENT: Final = 300  # an exponent
_FINITE_FIELDS: Final = 255  # exponent fields of finite float32 values
_ZERO_SIGNS: Final = {
    "keep": plans.KEEP,
    "drop-given": plans.DROP_GIVEN,
    "drop": plans.DROP_ALL,
    "set-given": plans.SET_GIVEN,  # of FP32 quotients only
}
_BY: Final = {
    "fp32-division": plans.BY_PRODUCT,
    "fp32-inverse": plans.BY_QUOTIENT,
    "fp32-amax": plans.BY_RECIPROCAL,
}
_STEPS: Final = {
    "fp32-division": plans.DIVISION,
    "fp32-inverse": plans.INVERSE,
    "fp32-amax": plans.INVERSE,
    "fp32-reciprocal": plans.RECIPROCAL,
}
_ERRORS: Final = {"none": 0, "mse": plans.MSE, "mae": plans.MAE, "max": plans.MAX}
_NO_POWERS: Final = np.zeros((0, 3), np.uint32)
_NOTHING: Final = np.zeros(0)
Array = NDArray[Any]


class DividedPlan(NamedTuple):
    """The arguments of the loops; see divided_loops."""

    rules: Array
    factors: Array
    rounded: Array
    powers: Array
    values: Array
    plain: Array
    near: Array
    mode: int
    bits: int  # of a random word
    kind: int
    shorts: tuple[int, int]  # bits of a midpoint times its divisor, for scales and elements, without those of a factor
    search: int  # by which error the scale is searched; 0: not at all
    elements: Array  # of a search: the values of the elements' codes


def plan(fixed: DividedPlan, tensor_scale: int) -> DividedPlan | None:
    """The plan for a second-level scale (an FP32 code); None if the loops do not support it. fixed: of `fixed_plan`."""
    kind = fixed.kind
    if kind == plans.POWER and tensor_scale != FP32_ONE:
        return None
    second, added = _single(tensor_scale)
    of_scale, of_element = fixed.shorts[0] + added, fixed.shorts[1] + added
    if kind == plans.QUOTIENT and max(of_element, of_scale) > _MAX_QUOTIENT_BITS:
        return None
    rules = fixed.rules
    if kind in (plans.QUOTIENT, plans.POWER) and of_element > _MAX_PRODUCT_BITS:
        rules = rules.copy()
        rules[plans.DIVIDE] = 1
    top, _, limit, _, _, reaches = fixed.factors.tolist()
    if fixed.rules[plans.IN_FP32] == plans.BY_RECIPROCAL:
        return _by_amax(fixed, second)
    divisor = top * second  # exact
    if kind == plans.RECIPROCAL:
        divisor = float(fp32_quotient(_ONE, decoder(FP32)(tensor_scale)))
    elif kind == plans.DIVISION:
        with np.errstate(over="ignore"):
            divisor = float(np.float32(divisor))
    return fixed._replace(rules=rules, factors=np.array([divisor, second, limit, 0.0, second, reaches]))


def _by_amax(fixed: DividedPlan, amax: float) -> DividedPlan | None:
    """The plan for a tensor's largest magnitude in place of its scale."""
    top, _, limit, _, _, reaches = fixed.factors.tolist()
    with np.errstate(all="ignore"):
        encode = np.minimum(np.float32(reaches) / np.float32(amax), np.finfo(np.float32).max)
        decode = np.float32(1) / encode
    if not 0 < decode < np.inf:
        return None
    return fixed._replace(factors=np.array([top, encode, limit, decode, amax, reaches], np.float64))


def _single(code: int) -> tuple[float, int]:
    """The value of a positive FP32 code, and the bits of its significand without trailing zeros."""
    hidden = 1 << FP32.mantissa_bits
    fraction = code & (hidden - 1) | (hidden if code >= hidden else 0)
    return float(np.uint32(code).view(np.float32)), fraction.bit_length() - (fraction & -fraction).bit_length() + 1


def short_bits(x: Value) -> int:
    """The bits of a significand, without trailing zeros."""
    return x.significand.bit_length() - ((x.significand & -x.significand).bit_length() - 1)


def is_in_fp32(x: Value) -> bool:
    """Whether FP32 holds a number that is no less than 1."""
    return short_bits(x) <= FP32.precision and exact.top(x) <= FP32.emax


def fixed_plan(fmt: BlockFormat, profile: Profile, policy: Policy) -> DividedPlan | None:
    """The parts of a plan for float32 values that do not depend on the second-level scale, or None if the loops do not
    support the conversion."""
    element, scale, n = fmt.element, fmt.scale, policy.random_count
    regular = plans.is_stochastic(element, policy, FP32) if n else plans.is_plain(element, policy, FP32)
    lowest = element.emin - element.mantissa_bits - n - 3
    near_one = element.emax < plans.RANGE and lowest > -plans.RANGE and is_moderate(scale)
    narrow = element.width <= 16 and element.precision + n + 2 < FP32.precision
    readable = scale.width <= 16 or is_cut_fp32(scale)
    flushes = profile.flush == "never" or (profile.flush == "element" and profile.flush_below == FP32.emin)
    kind = _kind(fmt, profile)
    if not (regular and near_one and narrow and readable and flushes and kind is not None):
        return None
    powers = _powers(fmt, profile) if kind == plans.POWER else _NO_POWERS
    if powers is None:
        return None
    rounding = _ROUNDINGS[profile.scale_rule] if kind == plans.QUOTIENT else Rounding.RNE
    rounded = scale_policy(rounding, profile.scale_high == "format")
    near = _near(element, policy) if element.signed and not n else []  # those loops drop no negative values
    in_fp32 = kind == plans.RECIPROCAL or profile.divides_in_fp32
    if in_fp32 and near and near[plans.INF] != near[plans.BEYOND]:
        near = []  # a result of FP32 may be Inf, which those loops count as a large number
    top = _ONE if profile.scale_rule == "amax" else largest(element)
    reaches, searched = reach(fmt, profile), profile.scale_search != "none"
    if profile.arithmetic == "fp32-amax" and not is_in_fp32(reaches):
        return None
    return DividedPlan(
        _rules(fmt, profile, policy, kind),
        np.array([float(top), 1.0, float(largest(element)), 0.0, 1.0, float(reaches)]),
        np.array([] if kind == plans.POWER else plans.plain_numbers(scale, rounded, FP64), np.uint64),
        powers,
        _values(scale),
        np.array(plans.plain_numbers(element, policy, FP32), np.uint32),
        np.array(near, np.uint32),
        int(policy.rounding),
        n,
        kind,
        (scale.precision + 1 + short_bits(top), element.precision + 1 + n + scale.precision),
        _ERRORS[profile.scale_search],
        _code_values(element) if searched else _NOTHING,
    )


def is_moderate(*formats: Format) -> bool:
    """Whether exponents are so small that quotients of float32 values, second-level scales and such numbers are normal
    numbers of float64."""
    return max(abs(x) for fmt in formats for x in (fmt.emin, fmt.emax)) <= _MODERATE_EXPONENT


def _near(fmt: Format, policy: Policy) -> list[int]:
    """The fields of nearest.Nearest for magnitudes; empty if its loops do not apply."""
    spare = FP32.precision - fmt.precision >= 2
    fields = plans.nearest_magnitudes(fmt, policy) if spare and plans.is_plain(fmt, policy, FP32) else None
    return fields if fields and fields[plans.LEAST] > FAR_BELOW and fmt.emax < plans.RANGE else []


def _kind(fmt: BlockFormat, profile: Profile) -> int | None:
    """How the loops find the scale; None if they cannot."""
    scale = fmt.scale
    steps = profile.divides_in_fp32 and profile.scale_rule == "rne"
    if not steps and (profile.scale_search != "none" or profile.arithmetic == "fp32-amax"):
        return None
    if (profile.scale_low == "eighth" and not steps) or (
        profile.negative_zero == "set-given" and not profile.divides_in_fp32
    ):
        return None
    by_rule = scale.mantissa_bits and profile.scale_rule in _ROUNDINGS
    if steps or profile.arithmetic == "fp32-reciprocal" or by_rule:
        plain = plans.is_plain(scale, scale_policy(Rounding.RNE, True), FP64) and not scale.twos_complement
        fits = plain and profile.scale_high == "largest" if steps else plain and profile.scale_high != "nan"
        exact = profile.divides_in_fp32 and not steps
        return _STEPS.get(profile.arithmetic, plans.QUOTIENT) if fits and not exact else None
    return plans.POWER


def marks_blocks(profile: Profile) -> bool:
    """Whether a NaN or Inf makes its whole block NaN."""
    return profile.nan == profile.inf == "block" and profile.special_codes != "quantized"


def _rules(fmt: BlockFormat, profile: Profile, policy: Policy, kind: int) -> Array:
    simple = marks_blocks(profile)
    rules = np.zeros(plans.RULES, np.int64)
    rules[plans.FLUSH] = policy.flush_inputs or profile.flush == "element"
    rules[plans.ZERO_SCALE] = scale_of(None, fmt, profile)
    rules[plans.NAN_SCALE] = fmt.scale.canonical_nan if simple else -1
    zero = profile.scale_low == "zero" and fmt.scale.zero
    rules[plans.LOWEST] = 0 if zero or kind == plans.POWER else lowest_scale(fmt.scale, profile)
    rules[plans.KIND], rules[plans.DROP] = kind, _ZERO_SIGNS[profile.negative_zero]
    rules[plans.NAN_CODE] = special_element(fmt, policy, profile) if simple else 0
    rules[plans.IN_FP32] = _BY.get(profile.arithmetic, 0)
    rules[plans.INSTEAD] = rules[plans.LOWEST]
    if profile.scale_low == "eighth" and fmt.scale.zero:
        rules[plans.LOWEST], rules[plans.INSTEAD] = 0, scale_code(EIGHTH, fmt.scale)
    rules[plans.NEGATE] = fmt.element.twos_complement and fmt.element.signed
    rules[plans.SHIFT] = FP32.mantissa_bits - fmt.scale.mantissa_bits
    return rules


def _values(scale: Format) -> Array:
    """The values of a scale's codes; empty for formats that are the upper bits of FP32."""
    return _NOTHING if is_cut_fp32(scale) else _code_values(scale)


def _code_values(fmt: Format) -> Array:
    decode = decoder(fmt)
    return np.array([float(decode(code)) for code in range(1 << fmt.width)])


def is_cut_fp32(scale: Format) -> bool:
    """Whether codes are the upper bits of FP32's."""
    ieee = scale.nan == "ieee" and scale.signed and scale.subnormals == "gradual"
    return ieee and scale.exponent_bits == FP32.exponent_bits and scale.bias == FP32.bias and scale.width <= FP32.width


def _powers(fmt: BlockFormat, profile: Profile) -> Array | None:
    """By the exponent of the largest magnitude, from FP32's smallest subnormal up: the fraction from which the scale is
    another one, and both scales. Computed by the oracle; None if a scale changes more than once in a binade."""
    decode, none, rows, guess = decoder(FP32), 1 << FP32.mantissa_bits, [], 0

    def code(bits: int) -> int:
        return scale_of(decode(bits), fmt, profile)

    for begin, unit in _binades():
        end = begin + none // unit
        low, high = code(begin), code(end - 1)
        turn = end
        if low != high:
            turn = first_equal(begin, end, code, high, begin + guess // unit)
            guess = (turn - begin) * unit
            if code(turn - 1) != low:
                return None
        rows.append(((turn - begin) * unit, low, high))
    return np.array(rows, np.uint32)


def _binades() -> Iterator[tuple[int, int]]:
    """The first code of each binade of FP32, and the difference of two fractions there, in units of a normal number's
    last place."""
    yield from ((1 << k, 1 << (FP32.mantissa_bits - k)) for k in range(FP32.mantissa_bits))
    yield from ((field << FP32.mantissa_bits, 1) for field in range(1, _FINITE_FIELDS))
