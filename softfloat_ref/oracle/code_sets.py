"""Sets of the codes of a format, such as its subnormals, as a few ranges: what a circuit compares to tell whether a
code is among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from softfloat_ref.oracle.formats import Format

COMPARISONS: Final = ("<", "<=", ">", ">=", "=", "!=")


class CodeRange(NamedTuple):
    """The codes from low to high, both included, of which the bits of a mask are as in `bits`."""

    low: int
    high: int
    mask: int = 0
    bits: int = 0

    def __contains__(self, code: object) -> bool:
        return isinstance(code, int) and self.low <= code <= self.high and code & self.mask == self.bits


CodeSet = tuple[CodeRange, ...]


def united(ranges: Iterable[CodeRange]) -> CodeSet:
    """The codes of any of some ranges without masks: disjoint ranges, in order."""
    joined: list[CodeRange] = []
    for r in sorted(r for r in ranges if r.low <= r.high):
        if joined and r.low <= joined[-1].high + 1:
            joined[-1] = CodeRange(joined[-1].low, max(joined[-1].high, r.high))
        else:
            joined.append(CodeRange(r.low, r.high))
    return tuple(joined)


def others(codes: CodeSet, width: int) -> CodeSet:
    """The codes of that width that are not in a set without masks."""
    rest, first = [], 0
    for r in united(codes):
        rest.append(CodeRange(first, r.low - 1))
        first = r.high + 1
    return united([*rest, CodeRange(first, (1 << width) - 1)])


def common(one: CodeSet, other: CodeSet) -> CodeSet:
    """The codes that are in both of two sets without masks."""
    return united(CodeRange(max(a.low, b.low), min(a.high, b.high)) for a in one for b in other)


# -- classes -----------------------------------------------------------------------------------------------------------


def _signs(fmt: Format, low: int, high: int, mask: int = 0, bits: int = 0) -> Iterator[CodeRange]:
    """Magnitude codes, with each sign."""
    yield CodeRange(low, high, mask, bits)
    if fmt.sign_bit:
        yield CodeRange(low | fmt.sign_bit, high | fmt.sign_bit, mask, bits)


def _without_nan(fmt: Format, low: int, high: int) -> CodeSet:
    """Magnitude codes with each sign, except for the NaN in place of -0."""
    return common(united(_signs(fmt, low, high)), others(_nan(fmt), fmt.width))


def _nan(fmt: Format) -> CodeSet:
    if not fmt.has_nan:
        return ()
    if fmt.nan == "negative-zero":
        return (CodeRange(fmt.sign_bit, fmt.sign_bit),)
    first = fmt.inf_code + 1 if fmt.nan == "ieee" else fmt.magnitude_mask
    return united(_signs(fmt, first, fmt.magnitude_mask))


def _snan(fmt: Format) -> CodeSet:
    return united(_signs(fmt, fmt.inf_code + 1, (fmt.inf_code | fmt.quiet_bit) - 1)) if fmt.signaling else ()


def _inf(fmt: Format) -> CodeSet:
    return united(_signs(fmt, fmt.inf_code, fmt.inf_code)) if fmt.infinity else ()


def _zero(fmt: Format) -> CodeSet:
    if not fmt.zero:
        return ()
    if fmt.twos_complement:
        return (CodeRange(0, 0),)
    return _without_nan(fmt, 0, (1 << fmt.mantissa_bits) - 1 if fmt.subnormals == "none" else 0)


def _subnormal(fmt: Format) -> CodeSet:
    if fmt.twos_complement or fmt.subnormals != "gradual":
        return ()
    return united(_signs(fmt, 1, min((1 << fmt.mantissa_bits) - 1, fmt.max_code)))


def _finite(fmt: Format) -> CodeSet:
    return others((*_nan(fmt), *_inf(fmt)), fmt.width)


def _normal(fmt: Format) -> CodeSet:
    return common(_finite(fmt), others((*_zero(fmt), *_subnormal(fmt)), fmt.width))


def _negative(fmt: Format) -> CodeSet:
    if not fmt.signed:
        return ()
    signed = (CodeRange(fmt.sign_bit, (1 << fmt.width) - 1),)
    unsigned = _nan(fmt) if fmt.p3109 or fmt.nan == "negative-zero" else ()
    return common(signed, others(unsigned, fmt.width))


def _integer(fmt: Format) -> CodeSet:
    return tuple(_multiples(fmt, odd=False))


def _odd(fmt: Format) -> CodeSet:
    return tuple(_multiples(fmt, odd=True))


def _even(fmt: Format) -> CodeSet:
    return tuple(_multiples(fmt, odd=False, unit=1))


def _multiples(fmt: Format, odd: bool, unit: int = 0) -> Iterator[CodeRange]:
    """The finite codes whose values are multiples of 2^unit; odd: odd ones only."""
    m = fmt.mantissa_bits
    if fmt.twos_complement:
        yield from _divisible(CodeRange(0, (1 << fmt.width) - 1), unit - (1 - fmt.bias - m), odd)
        return
    for r in () if odd else _zero(fmt):
        yield r
    if fmt.subnormals == "gradual":
        lowest = CodeRange(1, min((1 << m) - 1, fmt.max_code))
        for r in _divisible(lowest, unit - (fmt.emin - m), odd):
            yield from _signs(fmt, *r)
    first = fmt.min_normal_code >> m
    for field in range(first, (fmt.max_code >> m) + 1):
        places = unit - (field - fmt.bias - m)  # bits of the significand below the unit
        low, high = max(field << m, fmt.min_normal_code), min((field + 1 << m) - 1, fmt.max_code)
        if places < 0 and not odd:
            yield from _signs(fmt, low, fmt.max_code)
            return
        if places == m:  # the hidden bit is the unit
            yield from _signs(fmt, low, high, (1 << m) - 1, 0)
        elif 0 <= places < m:
            for r in _divisible(CodeRange(low, high), places, odd):
                yield from _signs(fmt, *r)


def _divisible(r: CodeRange, places: int, odd: bool) -> Iterator[CodeRange]:
    """The codes of a range that are multiples of 2^places; odd: odd ones only."""
    if r.low > r.high or (odd and places < 0):
        return
    places = max(places, 0)
    mask, bits = (1 << places + odd) - 1, odd << places
    if bits <= r.high:
        yield CodeRange(r.low, r.high, mask, bits)


CLASSES: Final[dict[str, Callable[[Format], CodeSet]]] = {
    "normal": _normal,
    "subnormal": _subnormal,
    "zero": _zero,
    "inf": _inf,
    "nan": _nan,
    "snan": _snan,
    "qnan": lambda fmt: common(_nan(fmt), others(_snan(fmt), fmt.width)),
    "finite": _finite,
    "negative": _negative,
    "positive": lambda fmt: others(_negative(fmt), fmt.width),
    "integer": _integer,
    "odd": _odd,
    "even": _even,
}


@lru_cache(maxsize=256)
def of_class(fmt: Format, name: str) -> CodeSet:
    """The codes of a class of CLASSES: as the operations is_normal, is_zero, ... have it; positive: not negative."""
    return CLASSES[name](fmt)


# -- comparisons -------------------------------------------------------------------------------------------------------


def in_order(comparison: str, bound: int, width: int) -> CodeSet:
    """The numbers of that many bits that compare so with a bound."""
    every = (CodeRange(0, (1 << width) - 1),)
    below, up_to = (common(every, (CodeRange(0, x),)) for x in (bound - 1, bound))
    return _compared(comparison, below, up_to, every, width)


def _compared(comparison: str, below: CodeSet, up_to: CodeSet, every: CodeSet, width: int) -> CodeSet:
    """What compares so with a bound, from what lies below it, what does not lie above it, and all that has an order."""
    above, from_it = (common(every, others(x, width)) for x in (up_to, below))
    equal = common(up_to, from_it)
    parts = {"<": below, "<=": up_to, ">": above, ">=": from_it, "=": equal}
    return parts[comparison] if comparison in parts else common(every, others(equal, width))


def of_magnitudes(fmt: Format, codes: CodeSet) -> CodeSet:
    """Codes of either sign, from their magnitude codes."""
    return united(x for r in codes if r.low <= r.high for x in _signs(fmt, r.low, r.high))


def compared_codes(fmt: Format, comparison: str, bound: int, magnitude: bool) -> CodeSet:
    """The codes, or those whose magnitude code, compares so with a code."""
    if magnitude:
        return of_magnitudes(fmt, in_order(comparison, bound, fmt.width - fmt.signed))
    return in_order(comparison, bound, fmt.width)


def compared_exponents(fmt: Format, comparison: str, bound: int) -> CodeSet:
    """The codes whose exponent field, as it is stored, compares so with a number."""
    m = fmt.mantissa_bits
    fields = in_order(comparison, bound, fmt.exponent_bits)
    return of_magnitudes(fmt, tuple(CodeRange(r.low << m, (r.high + 1 << m) - 1) for r in fields))


def compared_values(fmt: Format, comparison: str, bound: Fraction | float, magnitude: bool) -> CodeSet:
    """The codes whose value, or its magnitude, compares so with a number or an infinity. NaN compares with nothing: it
    is among those of != only."""
    numbers = others(_nan(fmt), fmt.width)
    smaller = _fixed_smaller if fmt.twos_complement else _smaller
    below, up_to = (smaller(fmt, bound, strictly, magnitude) for strictly in (True, False))
    codes = _compared(comparison, below, up_to, numbers, fmt.width)
    return united([*codes, *_nan(fmt)]) if comparison == "!=" else codes


def _smaller(fmt: Format, bound: Fraction | float, strictly: bool, magnitude: bool) -> CodeSet:
    """The codes of values, or magnitudes, that are less than a number; unless strictly, or equal to it."""
    top = fmt.max_code + fmt.infinity
    every = _without_nan(fmt, 0, top)
    negative = common(every, _negative(fmt))
    if bound < 0 or (bound == 0 and strictly):  # negative numbers of a larger magnitude
        larger = (CodeRange(_count(fmt, -bound, not strictly), top),)
        return () if magnitude else common(negative, of_magnitudes(fmt, larger))
    upper = (CodeRange(0, _count(fmt, bound, strictly) - 1),)
    return common(every, of_magnitudes(fmt, upper) if magnitude else united([*upper, *negative]))


def _count(fmt: Format, size: Fraction | float, strictly: bool) -> int:
    """How many magnitude codes have a value below that; unless strictly, or equal to it."""
    if isinstance(size, float):
        return fmt.max_code + 1 + (fmt.infinity and not strictly)
    low, high = 0, fmt.max_code + 1
    while low < high:
        middle = (low + high) // 2
        significand, exponent = fmt.magnitude(middle)
        value = Fraction(significand) * Fraction(2) ** exponent
        if value < size or (value == size and not strictly):
            low = middle + 1
        else:
            high = middle
    return low


def _fixed_smaller(fmt: Format, bound: Fraction | float, strictly: bool, magnitude: bool) -> CodeSet:
    """`_smaller` in two's complement."""
    lowest, highest = -fmt.sign_bit, (1 << fmt.width - fmt.signed) - 1
    if isinstance(bound, float):
        last = highest if bound > 0 else lowest - 1
    else:
        steps = bound / Fraction(2) ** (1 - fmt.bias - fmt.mantissa_bits)
        n, d = steps.numerator, steps.denominator
        last = -(-n // d) - 1 if strictly else n // d
    first, last = max(-last if magnitude and bound != math.inf else lowest, lowest), min(last, highest)
    size = 1 << fmt.width
    negative = CodeRange(size + first, size + min(last, -1))
    return united([CodeRange(max(first, 0), last), *([negative] if first < 0 else [])])
