"""Scale rules: each one maps a block's largest magnitude to a scale by an exact rounding. Integers only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from softfloat_ref.base.errors import unknown
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.rounding import Rounding, round_to_unit


class WantedScale(NamedTuple):
    """The result of a rule: a number, and how to round it to the scale format (which is exact for a power of two)."""

    value: Value
    rounding: Rounding = Rounding.RNE
    power: bool = True  # a power of two: limited to the powers of two of the scale format


# From amax (positive), the element format, and the bits that a quotient needs to decide the scale, to a Scale.
ScaleRule = Callable[[Value, Format, int], WantedScale]


def floor_rule(amax: Value, element: Format, bits: int) -> WantedScale:
    """2^(floor(log2 amax) - emax of the element) (OCP MX 1.0, 6.3)."""
    return _power(exact.top(amax) - element.emax)


def ceil_rule(amax: Value, element: Format, bits: int) -> WantedScale:
    """2^(ceil(log2 amax) - emax of the element) (torchao, CEIL)."""
    is_power = amax.significand & (amax.significand - 1) == 0 and not amax.sticky
    return _power(exact.top(amax) + (not is_power) - element.emax)


def even_rule(amax: Value, element: Format, bits: int) -> WantedScale:
    """floor, applied to amax rounded to the largest element's precision, ties away from zero (torchao, EVEN; AMD
    Quark)."""
    return _even(amax, element, largest(element).significand.bit_length() - 1)


def even_e2m1_rule(amax: Value, element: Format, bits: int) -> WantedScale:
    """even with E2M1's precision, whatever the element: from 1.75 * 2^e up one more (compressed-tensors, MXFP8)."""
    return _even(amax, element, 1)


def _even(amax: Value, element: Format, m: int) -> WantedScale:
    """floor, applied to amax rounded to m fraction bits."""
    top, length = exact.top(amax), amax.significand.bit_length()
    rounded, _ = round_to_unit(0, amax.significand, amax.exponent - top + m, length, Rounding.RNA, 0, 0)
    return _power(top + rounded.bit_length() - 1 - m - element.emax)


def nearest_rule(amax: Value, element: Format, bits: int) -> WantedScale:
    """2^k, k the integer nearest to log2(amax / largest element) (MLX before 4353)."""
    limit = largest(element)
    k = exact.top(quotient(amax, limit, bits))
    # k + 1 is nearer if amax / limit > sqrt(2) 2^k. The squares are compared; they are never equal.
    shift = 2 * (amax.exponent - limit.exponent - k) - 1
    ours, theirs = amax.significand**2 << max(shift, 0), limit.significand**2 << max(-shift, 0)
    return _power(k + (ours > theirs))


def rceil_rule(amax: Value, element: Format, bits: int) -> WantedScale:
    """The smallest scale X with amax <= X * largest element (NVIDIA's cvt.rp, cuDNN's quantize_round_up)."""
    return WantedScale(quotient(amax, largest(element), bits), Rounding.RUP, False)


def rne_rule(amax: Value, element: Format, bits: int) -> WantedScale:
    """amax / largest element, rounded to nearest, ties to even (NVFP4's E4M3 scales)."""
    return WantedScale(quotient(amax, largest(element), bits), Rounding.RNE, False)


def amax_rule(amax: Value, element: Format, bits: int) -> WantedScale:
    """amax itself, rounded to nearest, ties to even (IEEE P3109, ConvertToBlockMaxAbsFinite)."""
    return WantedScale(amax, Rounding.RNE, False)


SCALE_RULES: Final[dict[str, ScaleRule]] = {
    "floor": floor_rule,
    "ceil": ceil_rule,
    "rceil": rceil_rule,
    "even": even_rule,
    "even-e2m1": even_e2m1_rule,
    "nearest": nearest_rule,
    "rne": rne_rule,
    "amax": amax_rule,
}


def get_scale_rule(name: str) -> ScaleRule:
    """The scale rule of that name. Raises Error."""
    if not isinstance(name, str) or name not in SCALE_RULES:
        raise unknown("scale rule", str(name), SCALE_RULES)
    return SCALE_RULES[name]


def largest(element: Format) -> Value:
    """The largest finite element."""
    return exact.finite(0, *element.magnitude(element.max_code))


def quotient(a: Value, b: Value, bits: int) -> Value:
    """a / b for finite a and nonzero b without sticky: exact if it is dyadic and short, else cut, with a sticky bit.

    If a itself is cut, it needs `bits` bits more than b, so that its error does not reach the bits of the quotient.
    """
    ratio = exact.divide(a, b, bits)
    return ratio._replace(sticky=1) if a.sticky else ratio


def _power(exponent: int) -> WantedScale:
    return WantedScale(exact.finite(0, 1, exponent))
