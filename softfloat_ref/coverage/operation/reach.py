"""Bounds of an operation's exact results, which prove bins unreachable.

Each bound is a statement about every pair of operands; what it excludes cannot occur. What it does not exclude is
not necessarily possible.

A region is a set in which an exact result may lie: a point, or the open interval between two neighbours of a grid. It
is a finite Value: significand S, exponent q. Without a sticky it is the point S*2^q; with one, everything strictly
between S*2^q and (S+1)*2^q.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, reduce
from typing import Final, NamedTuple

from softfloat_ref.coverage.operation.setting import OperationSetting
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value, finite
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.curve import Curve
from softfloat_ref.oracle.operations.formula import Summand

_MOST_SHIFT: Final = 1 << 16
UNBOUNDED: Final = 1 << 30  # stands for no bound: of bits, of exponents and, negative, of a unit


class Span(NamedTuple):
    """Bounds of numbers that are not zero: of a format, of a term, or of an operation's exact results.

    low, high: magnitudes. unit: every number is a multiple of 2^unit. bits: the most significant bits of a number with
    a finite expansion. negative: whether any is. endless: whether others have an infinite expansion.
    """

    low: Value
    high: Value
    unit: int
    bits: int
    negative: bool
    endless: bool = False

    @property
    def least(self) -> int:
        """The exponent of the smallest magnitude."""
        return exact.top(self.low)

    @property
    def most(self) -> int:
        """The exponent of the largest magnitude."""
        return exact.top(self.high)


@lru_cache(maxsize=256)
def span(fmt: Format, flush: bool = False) -> Span:
    """The magnitudes of a format's operands, without subnormals if those are flushed."""
    least = fmt.min_code
    if flush and fmt.subnormals == "gradual" and not fmt.twos_complement:
        least = max(fmt.min_normal_code, fmt.min_code)
    most = max(fmt.max_code, fmt.max_negative_code)
    if fmt.symmetric:
        most += 1  # it decodes
    top = fmt.magnitude(most) if not fmt.twos_complement else (most, 1 - fmt.bias - fmt.mantissa_bits)
    bits = fmt.mantissa_bits if fmt.twos_complement else fmt.precision
    return Span(finite(0, *fmt.magnitude(least)), finite(0, *top), fmt.magnitude(least)[1], bits, fmt.signed)


def spans(where: OperationSetting) -> list[Span]:
    """The magnitudes of each operand."""
    return [span(f, where.flushes) for f in where.formats]


def precisions(where: OperationSetting) -> tuple[int, int]:
    """The significant bits of the first two operands."""
    first, second = (span(f).bits for f in where.formats[:2])
    return first, second


_ONE = Span(finite(0, 1, 0), finite(0, 1, 0), 0, 1, False)


def _of_term(term: Summand, operands: list[Span]) -> Span:
    """The magnitudes of a product; negative: whether its operands have signs."""

    def times(x: Span, y: Span) -> Span:
        low, high = exact.multiply(x.low, y.low), exact.multiply(x.high, y.high)
        return Span(low, high, x.unit + y.unit, x.bits + y.bits, x.negative or y.negative)

    return reduce(times, (operands[i] for i in term.factors)) if term.factors else _ONE


@lru_cache(maxsize=512)
def terms_of(where: OperationSetting) -> tuple[Span, ...]:
    """The magnitudes of each term of the operation's formula."""
    operands = spans(where)
    return tuple(_of_term(term, operands) for term in where.formula.terms) if where.formula is not None else ()


def aligned_terms(where: OperationSetting) -> tuple[Span, Span]:
    """The two terms of a sum whose exponents are subtracted; for an fma the addend comes first."""
    a, b = terms_of(where)
    return (b, a) if where.fused else (a, b)


def opposite(where: OperationSetting) -> bool | None:
    """Whether the terms may have opposite signs: True always, False never, None both."""
    if any(x.negative for x in terms_of(where)) or where.formula is None:
        return None
    return len(set(where.formula.minus)) > 1


@lru_cache(maxsize=512)
def reach(where: OperationSetting) -> Span | None:
    """The bounds of an operation; None if none are known."""
    formula = where.formula
    if where.curve is not None:
        return _of_curve(where.curve)
    if formula is None or not where.rounded:
        return None
    operands, terms = spans(where), terms_of(where)
    negative = any(x.negative for x in operands) or any(term.minus for term in formula.terms)
    a = terms[0]
    match len(terms), formula.divisor, formula.power, formula.root:
        case 1, None, None, False:
            return a._replace(negative=negative)
        case _, None, None, False:
            unit, most = min(x.unit for x in terms), reduce(exact.add, (x.high for x in terms))
            return Span(finite(0, 1, unit), most, unit, UNBOUNDED, negative)
        case 1, None, _, False:
            return Span(finite(0, 1, -UNBOUNDED), finite(0, 1, UNBOUNDED), -UNBOUNDED, a.bits, negative)
        case 1, int(i), None, False:
            low, high = exact.divide(a.low, operands[i].high, 64), exact.divide(a.high, operands[i].low, 64)
            return Span(low, _above(high), -UNBOUNDED, a.bits, negative, True)
        case 1, None, None, True:
            low, high = exact.square_root(a.low, 64), exact.square_root(a.high, 64)
            return Span(low, _above(high), -UNBOUNDED, (a.bits + 1) // 2, False, True)
        case 1, int(i), None, True if a == _ONE:
            low, high = (exact.reciprocal_square_root(x, 64) for x in (operands[i].high, operands[i].low))
            return Span(low, _above(high), -UNBOUNDED, 1, False, True)
    return None


def _of_curve(curve: Curve) -> Span:
    high = finite(0, 1, UNBOUNDED) if curve.most is None else finite(0, curve.most, 0)
    return Span(finite(0, 1, -UNBOUNDED), high, -UNBOUNDED, UNBOUNDED, curve.negative, True)


def _above(x: Value) -> Value:
    return x if not x.sticky else finite(0, x.significand + 1, x.exponent)


def excluded(where: OperationSetting, region: Value) -> str:
    """Why no operands have their exact result in a region; '' if no bound proves it."""
    return excluded_between(where, region, region)


def excluded_between(where: OperationSetting, first: Value, last: Value) -> str:
    """As `excluded`, for every region of one shape from `first` to `last`; `first` is the easiest to reach."""
    bounds = reach(where)
    if bounds is None:
        return ""
    return (
        _not_exact(where, first, last)
        or _sign(bounds, first)
        or _too_large(bounds, first)
        or _too_small(bounds, last)
        or _too_precise(bounds, first)
        or _too_low(bounds, first)
        or _too_long(where, first)
    )


def _not_exact(where: OperationSetting, first: Value, last: Value) -> str:
    """Whether points are none of a function's few exact results."""
    if first.sticky or where.curve is None or where.curve.exact is None:
        return ""
    numbers = (exact.from_fraction(x, 1) for x in where.curve.exact)
    return "" if any(_is_between(x, first, last) for x in numbers) else "no exact result is such a number"


def _is_between(x: Value, first: Value, last: Value) -> bool:
    """Whether a number is one of the points of a shape: between its ends, and an odd or even number of its units."""
    low, high = (finite(first.sign, p.significand, p.exponent) for p in (first, last))
    shift = x.exponent - first.exponent
    whole = x.significand << max(shift, 0) >> max(-shift, 0)
    same = whole & 1 == first.significand & 1 and (shift >= 0 or whole << -shift == x.significand)
    ordered = exact.compare(exact.magnitude(low), exact.magnitude(x)) <= 0 <= exact.compare(high, x) * (1 - 2 * x.sign)
    return x.sign == first.sign and same and ordered


def excluded_everywhere(where: OperationSetting, region: Value) -> str:
    """Why no operands have it in a region times any power of two."""
    bounds = reach(where)
    return "" if bounds is None else _sign(bounds, region) or _too_precise(bounds, region)


def _sign(bounds: Span, region: Value) -> str:
    return "no result is negative" if region.sign and not bounds.negative else ""


def _too_large(bounds: Span, region: Value) -> str:
    """Whether a region lies above every exact result."""
    order = exact.compare(finite(0, region.significand, region.exponent), bounds.high)
    return "every exact result is smaller" if order + region.sticky > 0 else ""


def _too_small(bounds: Span, region: Value) -> str:
    """Whether a region lies below every exact result."""
    order = exact.compare(finite(0, region.significand + region.sticky, region.exponent), bounds.low)
    return "every exact result is larger" if order < region.sticky else ""


def _too_precise(bounds: Span, region: Value) -> str:
    if region.sticky:
        possible, which = bounds.endless or region.significand.bit_length() < bounds.bits, ""
    else:
        bits = exact.normal(region).significand.bit_length()
        possible, which = bits <= bounds.bits, " with a finite expansion"
    return "" if possible else f"an exact result{which} has at most {bounds.bits} significant bits"


def _too_low(bounds: Span, region: Value) -> str:
    if region.sticky and bounds.endless:
        return ""
    low = region.exponent <= bounds.unit if region.sticky else exact.normal(region).exponent < bounds.unit
    return f"every exact result is a multiple of 2^{bounds.unit}" if low else ""


def _too_long(where: OperationSetting, region: Value) -> str:
    """Whether a sum of two terms would have to reach from its leading bit to a lower one than any does.

    A term whose lowest bit is the sum's, l, or lower lies below 2^(l + bits); `_reaches` judges the other. If the
    sum's lowest bit is given, it is either that of one term alone, which is then at least 2^l, or both terms have
    their lowest bits at or below it.
    """
    if not where.two_terms or region.significand == 0:
        return ""
    e, pair = exact.top(region), terms_of(where)
    orders = (pair, pair[::-1])
    if region.sticky:  # the sum's lowest bit is anywhere below the region's unit
        possible = any(_reaches(x, y, min(region.exponent - 1, x.most), e, False) for x, y in orders)
    else:
        lowest = exact.normal(region).exponent
        one = any(x.most >= lowest and _reaches(x, y, lowest, e, e > lowest) for x, y in orders)
        possible = one or all(_reaches(x, y, lowest, e, e > lowest) for x, y in orders)
    return "" if possible else "no two terms reach from such a leading bit to such a low one"


def _reaches(x: Span, other: Span, lowest: int, e: int, above: bool) -> bool:
    """Whether a sum of exponent e may have a term x with a bit at or below `lowest`.

    If |x| is less than half of 2^e, the other term's leading bit is within one place of the sum's. above: the sum is
    more than 2^e; x at its largest, 2^e - 2^lowest, then misses it by at least 2^(lowest + 1).
    """
    low_enough = other.least - 1 <= e
    helped = not above or (low_enough and other.most > lowest)
    alone = e < lowest + x.bits or (e == lowest + x.bits and helped)
    return lowest >= x.unit and (alone or (low_enough and e <= other.most + 1))


# -- regions ---------------------------------------------------------------------------------------------------------


def between(sign: int, significand: int, exponent: int) -> Value:
    """The region above significand * 2^exponent and below the next multiple."""
    return Value(FINITE, sign, significand, exponent, 1)


def inside(x: Value, region: Value) -> bool:
    """Whether an exact number, which is not zero, lies in a region."""
    if x.kind != FINITE or x.sign != region.sign or x.significand == 0:
        return False
    whole, part = units(x, region.exponent)
    return whole == region.significand and part == bool(region.sticky)


def units(x: Value, exponent: int) -> tuple[int, bool]:
    """|x| in units of 2^exponent: whole units, and whether there is a fraction. -1 if there are very many."""
    shift = x.exponent - exponent
    if shift >= 0:
        return (-1, False) if shift > _MOST_SHIFT else (x.significand << shift, bool(x.sticky))
    whole = x.significand >> -shift
    return whole, bool(x.sticky) or whole << -shift != x.significand


def refined(region: Value) -> Iterator[Value]:
    """Points inside a region, the middle first, then ever closer to its ends; a point is itself."""
    if not region.sticky:
        yield region
        return
    for t in (1, 2, 3, 5, 8, 4, 6, 7, 9, 10, 11, 12, 13, 16, 24, 32, 53):
        low = region.significand << t
        yield finite(region.sign, low + 1, region.exponent - t)
        yield finite(region.sign, low + (1 << t) - 1, region.exponent - t)
