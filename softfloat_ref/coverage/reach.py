"""What exact results an operation can have at all: bounds that prove a bin unreachable.

Each bound is a statement about every pair of operands; what it excludes cannot happen. What it does not exclude need
not be possible.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from softfloat_ref import exact
from softfloat_ref.coverage.events import Setting
from softfloat_ref.exact import Value, finite
from softfloat_ref.formats import Format

UNBOUNDED = 1 << 30


class Reach(NamedTuple):
    """Bounds of the exact results that are not zero.

    smallest, largest: magnitudes. unit: every result is a multiple of 2^unit (None: no such unit). bits: the most
    significant bits a result with an end can have. endless: whether others have none. negative: whether any is.
    """

    smallest: Value
    largest: Value
    unit: int | None
    bits: int
    endless: bool
    negative: bool


class Span(NamedTuple):
    """The magnitudes of a format: the ends, the exponent of the unit of the smallest, significant bits."""

    low: Value
    high: Value
    unit: int
    bits: int
    negative: bool


@lru_cache(maxsize=256)
def span(fmt: Format, flush: bool = False) -> Span:
    """The magnitudes of a format's operands, none of them subnormal where those are flushed."""
    least = fmt.min_code
    if flush and fmt.subnormals == "gradual" and not fmt.twos_complement:
        least = max(fmt.min_normal_code, fmt.min_code)
    most = max(fmt.max_code, fmt.max_negative_code)
    if fmt.symmetric:
        most += 1  # it decodes
    top = fmt.magnitude(most) if not fmt.twos_complement else (most, 1 - fmt.bias - fmt.mantissa_bits)
    bits = fmt.mantissa_bits if fmt.twos_complement else fmt.precision
    return Span(finite(0, *fmt.magnitude(least)), finite(0, *top), fmt.magnitude(least)[1], bits, fmt.signed)


@lru_cache(maxsize=512)
def reach(where: Setting) -> Reach | None:
    """The bounds of an operation; None where none are known."""
    flush = where.policy.flush_inputs and where.sig.operation.flushes
    s = [span(f, flush) for f in where.formats]
    negative = any(x.negative for x in s) or where.name == "sub"
    match where.name:
        case "convert":
            return Reach(s[0].low, s[0].high, s[0].unit, s[0].bits, False, negative)
        case "add" | "sub" | "faa":
            unit = min(x.unit for x in s)
            return Reach(finite(0, 1, unit), _sum([x.high for x in s]), unit, UNBOUNDED, False, negative)
        case "mul":
            low, high = (exact.multiply(getattr(s[0], k), getattr(s[1], k)) for k in ("low", "high"))
            return Reach(low, high, s[0].unit + s[1].unit, s[0].bits + s[1].bits, False, negative)
        case "fma":
            unit = min(s[0].unit + s[1].unit, s[2].unit)
            most = _sum([exact.multiply(s[0].high, s[1].high), s[2].high])
            return Reach(finite(0, 1, unit), most, unit, UNBOUNDED, False, negative)
        case "div" | "recip":
            a = s[0] if where.name == "div" else Span(finite(0, 1, 0), finite(0, 1, 0), 0, 1, False)
            low, high = exact.divide(a.low, s[-1].high, 64), exact.divide(a.high, s[-1].low, 64)
            return Reach(low, _above(high), None, a.bits, True, negative)
        case "sqrt":
            low, high = (exact.square_root(x, 64) for x in (s[0].low, s[0].high))
            return Reach(low, _above(high), None, (s[0].bits + 1) // 2, True, False)
        case "rsqrt":
            low, high = (exact.reciprocal_square_root(x, 64) for x in (s[0].high, s[0].low))
            return Reach(low, _above(high), None, 1, True, False)
        case "scaleb":
            return Reach(finite(0, 1, -UNBOUNDED), finite(0, 1, UNBOUNDED), None, s[0].bits, False, negative)
    return None


def _sum(terms: list[Value]) -> Value:
    total = terms[0]
    for x in terms[1:]:
        total = exact.add(total, x)
    return total


def _above(x: Value) -> Value:
    return x if not x.sticky else finite(0, x.significand + 1, x.exponent)


def _before(x: Value, y: Value) -> bool:
    """Whether x < y, of magnitudes without a sign or a sticky."""
    if y.significand == 0 or x.significand == 0:
        return x.significand == 0 and y.significand != 0
    if exact.top(x) != exact.top(y):
        return exact.top(x) < exact.top(y)
    return exact.compare(x, y) < 0


def excluded(where: Setting, cell: Value) -> str:
    """Why no operands have their exact result in a cell; '' where no bound says so."""
    return (
        _sign(where, cell)
        or too_large(where, cell)
        or too_small(where, cell)
        or too_fine(where, cell)
        or too_long(where, cell)
    )


def excluded_between(where: Setting, first: Value, last: Value) -> str:
    """The same of every cell of one shape from `first` to `last`, of which `first` asks least of the operands."""
    return (
        _sign(where, first)
        or too_large(where, first)
        or too_small(where, last)
        or too_fine(where, first)
        or too_long(where, first)
    )


def excluded_everywhere(where: Setting, cell: Value) -> str:
    """Why none have it in a cell times any power of two."""
    bounds = reach(where)
    return "" if bounds is None else _sign(where, cell) or _too_precise(bounds, cell)


def _sign(where: Setting, cell: Value) -> str:
    bounds = reach(where)
    return "no result is negative" if bounds is not None and cell.sign and not bounds.negative else ""


def too_large(where: Setting, cell: Value) -> str:
    """Whether a cell lies above every exact result."""
    bounds = reach(where)
    low = finite(0, cell.significand, cell.exponent)
    if bounds is None or not (_before(bounds.largest, low) or (cell.sticky and not _before(low, bounds.largest))):
        return ""
    return "every exact result is smaller"


def too_small(where: Setting, cell: Value) -> str:
    """Whether a cell lies below every exact result."""
    bounds = reach(where)
    if bounds is None:
        return ""
    high = finite(0, cell.significand + cell.sticky, cell.exponent)
    least = bounds.smallest
    if _before(high, least) or (cell.sticky and not _before(least, high)):
        return "every exact result is larger"
    return ""


def too_fine(where: Setting, cell: Value) -> str:
    """Whether a cell asks for more significant bits, or lower ones, than an exact result has."""
    bounds = reach(where)
    return "" if bounds is None else _too_precise(bounds, cell) or _too_low(bounds, cell)


def _too_precise(bounds: Reach, cell: Value) -> str:
    if cell.sticky:
        possible, which = bounds.endless or cell.significand.bit_length() < bounds.bits, ""
    else:
        possible, which = cell.significand.bit_length() - _zeros(cell) <= bounds.bits, " with an end"
    return "" if possible else f"an exact result{which} has at most {bounds.bits} significant bits"


def _too_low(bounds: Reach, cell: Value) -> str:
    if (cell.sticky and bounds.endless) or bounds.unit is None:
        return ""
    low = cell.exponent <= bounds.unit if cell.sticky else cell.exponent + _zeros(cell) < bounds.unit
    return f"every exact result is a multiple of 2^{bounds.unit}" if low else ""


def _zeros(cell: Value) -> int:
    """The zeros at the lower end of a point's significand."""
    return (cell.significand & -cell.significand).bit_length() - 1


class Term(NamedTuple):
    """One of two numbers that are added: significant bits, unit, exponents of the smallest and the largest."""

    bits: int
    unit: int
    low: int
    high: int


@lru_cache(maxsize=512)
def two_terms_of(where: Setting) -> tuple[Term, Term]:
    """What is known of the two terms of a sum."""
    flush = where.policy.flush_inputs and where.sig.operation.flushes
    s = [span(f, flush) for f in where.formats]
    a, b = (Term(x.bits, x.unit, exact.top(x.low), exact.top(x.high)) for x in s[:2])
    if where.name != "fma":
        return a, b
    low, high = (exact.top(exact.multiply(getattr(s[0], k), getattr(s[1], k))) for k in ("low", "high"))
    c = Term(s[2].bits, s[2].unit, exact.top(s[2].low), exact.top(s[2].high))
    return Term(a.bits + b.bits, a.unit + b.unit, low, high), c


def too_long(where: Setting, cell: Value) -> str:
    """Whether a sum of two terms would have to reach from its leading bit to a lower one than any does.

    A term whose lowest bit is the sum's, l, or lower lies below 2^(l + bits); `_reaches` judges the other. If the
    sum's lowest bit is given, it is either that of one term alone, which is then at least 2^l, or both terms have
    their lowest bits at or below it.
    """
    if where.name not in ("add", "sub", "fma") or cell.significand == 0:
        return ""
    e, pair = exact.top(cell), two_terms_of(where)
    orders = (pair, pair[::-1])
    if cell.sticky:  # the sum's lowest bit is anywhere below the cell's unit
        possible = any(_reaches(x, y, min(cell.exponent - 1, x.high), e, False) for x, y in orders)
    else:
        lowest = cell.exponent + (cell.significand & -cell.significand).bit_length() - 1
        one = any(x.high >= lowest and _reaches(x, y, lowest, e, e > lowest) for x, y in orders)
        possible = one or all(_reaches(x, y, lowest, e, e > lowest) for x, y in orders)
    return "" if possible else "no two terms reach from such a leading bit to such a low one"


def _reaches(x: Term, other: Term, lowest: int, e: int, above: bool) -> bool:
    """Whether a sum of exponent e may have a term x with a bit at or below `lowest`.

    If |x| is less than half of 2^e, the other term's leading bit is within one place of the sum's. above: the sum is
    more than 2^e; x at its largest, 2^e - 2^lowest, then misses it by at least 2^(lowest + 1).
    """
    low_enough = other.low - 1 <= e
    helped = not above or (low_enough and other.high > lowest)
    alone = e < lowest + x.bits or (e == lowest + x.bits and helped)
    return lowest >= x.unit and (alone or (low_enough and e <= other.high + 1))
