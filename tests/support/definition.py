"""Rounding by its definition: the representable values in a list, and exact rationals compared. No bits, no shifts.

Shares nothing with the code under test but `decode`, which gives the values of the codes.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from functools import lru_cache, partial

from gmpy2 import mpq

from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.formats import Format

INEXACT, UNDERFLOW, OVERFLOW = 1, 2, 4
UNBOUNDED = 1 << 40  # a code that no format has: "past the largest finite value"


@dataclass(frozen=True)
class Line:
    """The magnitudes one sign of a format can show, in order, with their codes; then the next one it lacks."""

    values: list[mpq]
    codes: list[int]

    @staticmethod
    def of(fmt: Format, negative: bool) -> Line:
        found: dict[mpq, int] = {}
        for code in range(1 << fmt.width):
            x = decode(code, fmt)
            if x.is_finite and (x.is_zero or x.sign == negative):
                value = magnitude(code, fmt)
                found.setdefault(value, code | fmt.sign_bit * (negative and fmt.negative_zero and value == 0))
        values = sorted(found)
        return Line([*values, successor(values[-1], fmt)], [*(found[v] for v in values), UNBOUNDED])


def magnitude(code: int, fmt: Format) -> mpq:
    return abs(mpq(decode(code, fmt).as_fraction()))


def successor(value: mpq, fmt: Format) -> mpq:
    """The value after the largest one, if the exponent had no end (for an unsigned format's negatives: after 0)."""
    if value == 0:
        return min(magnitude(c, fmt) for c in (1, 2))
    least_unit = mpq(2) ** (fmt.emin - fmt.mantissa_bits)
    return value + max(mpq(2) ** (floor_log2(value) - fmt.mantissa_bits), least_unit)


def floor_log2(x: mpq) -> int:
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if mpq(2) ** e <= x else e - 1


def goes_up(mode: str, negative: bool, lower_is_odd: bool, v: mpq, n: int, r: int) -> bool:
    """Whether the upper of two neighbours is taken; v in [0, 1) says where between them the value lies."""
    half = mpq(1, 2)
    match mode:
        case "rne":
            return v > half or (v == half and lower_is_odd)
        case "rna":
            return v >= half
        case "rhz":
            return v > half
        case "rnu":
            return v > half or (v == half and not negative)
        case "rtz":
            return False
        case "rup":
            return v > 0 and not negative
        case "rdn":
            return v > 0 and negative
        case "rto":
            return v > 0 and not lower_is_odd
        case "sr":
            return math.floor(v * 2**n) + r >= 2**n
        case "sr-b":
            return math.floor(v * 2 ** (n + 1)) + 2 * r + 1 >= 2 ** (n + 1)
        case "sr-c":
            return round(v * 2**n) + r >= 2**n  # Python's round of a rational: to nearest, ties to even
    raise AssertionError(mode)


def is_odd(value: mpq, code: int, fmt: Format) -> bool:
    """IEEE: the significand's last bit, which is the code's but for formats of one bit; P3109: the code's."""
    if fmt.mantissa_bits or fmt.p3109:
        return code & 1 == 1
    return value != 0


def expected(
    x: mpq, negative: bool, line: Line, fmt: Format, mode: str, n: int = 0, r: int = 0, tininess: str = "after"
) -> tuple[int, int]:
    """The code (UNBOUNDED where the result is past the largest) and the flags of a positive magnitude x."""
    if x >= line.values[-1]:
        return UNBOUNDED, OVERFLOW | INEXACT
    tiny = x < least_normal(fmt) and (
        tininess == "before" or unbounded(x, negative, fmt, mode, n, r) < least_normal(fmt)
    )
    i = bisect.bisect_right(line.values, x) - 1
    if i < 0:  # below all values of a format without zero
        return line.codes[0], INEXACT | (UNDERFLOW if tiny else 0)
    lower, upper = line.values[i], line.values[i + 1]
    v = (x - lower) / (upper - lower)
    code = line.codes[i]
    if goes_up(mode, negative, is_odd(lower, code, fmt), v, n, r):
        code = line.codes[i + 1]
    if code == UNBOUNDED:
        return UNBOUNDED, OVERFLOW | INEXACT
    if v == 0:
        return code, 0
    return code, INEXACT | (UNDERFLOW if tiny and not fmt.twos_complement else 0)


@lru_cache
def least_normal(fmt: Format) -> mpq:
    return magnitude(fmt.min_normal_code, fmt) if fmt.has_normals else mpq(2) ** fmt.emin


def unbounded(x: mpq, negative: bool, fmt: Format, mode: str, n: int, r: int) -> mpq:
    """x rounded to the format's precision, the exponent having no end."""
    e = floor_log2(x)
    unit = mpq(2) ** (e - fmt.mantissa_bits)
    lower = math.floor(x / unit)
    # One bit of precision: the significand is always odd; P3109 looks at the code, e + bias.
    odd = lower & 1 == 1 if fmt.mantissa_bits or not fmt.p3109 else (e + fmt.bias) & 1 == 1
    return (lower + goes_up(mode, negative, odd, x / unit - lower, n, r)) * unit


@lru_cache
def largest(fmt: Format, negative: bool) -> int:
    """The code of the largest finite magnitude of that sign; of formats of more than 8 bits, as the format has it."""
    if fmt.width > 8:
        return fmt.max_code | (fmt.sign_bit if negative else 0)
    sign = -1 if negative else 1
    values = {code: decode(code, fmt) for code in range(1 << fmt.width)}
    finite = {c: sign * v.as_fraction() for c, v in values.items() if v.is_finite and v.sign in (0, negative)}
    return max(finite, key=lambda c: (finite[c], -c))


def past_the_end(fmt: Format, overflow: str, mode: str, negative: bool) -> int:
    """The code of a finite value beyond the largest, from the words of IEEE 754 7.4 and P3109 4.7.5.

    RISC-V's results for integers; formats without zero (E8M0) for positive values only.
    """

    def nan() -> int:
        return fmt.canonical_nan if fmt.has_nan else 0

    def infinity() -> int:
        return fmt.inf_code | (fmt.sign_bit if negative else 0)

    if overflow == "sat-narrow":
        overflow = "sat-finite" if fmt.width <= 8 else "sat-none"
    if fmt.overflow == "integer" or overflow != "sat-none":
        return largest(fmt, negative)
    if not fmt.signed and not fmt.twos_complement and negative:
        return 0 if mode in ("rtz", "rup") else nan()
    if not fmt.zero:
        return nan()
    if mode == "rto":
        return infinity() if fmt.p3109 and fmt.signed and fmt.overflow == "inf" else largest(fmt, negative)
    if mode == "rtz" or (mode == "rup" and negative) or (mode == "rdn" and not negative):
        return largest(fmt, negative)
    return {"inf": infinity, "nan": nan, "max": partial(largest, fmt, negative)}[fmt.overflow]()
