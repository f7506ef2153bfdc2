"""Functions as polynomials with proven bounds, for the compiled loop: tables made from exact values of the oracle.

The operands of one sign and one binade are divided into 2^k segments of equal length; u, from -1 to 1, is the place
within one. There, in units of 2^unit,

    base + multiple * X + p(u) - below  <  f(x)  <  base + multiple * X + p(u) + above

X being the operand's significand of 62 bits, and p(u) the integer that binary64 gives for a polynomial. The base, the
multiple (0, 1 or -1) and the bounds are integers. So a function that comes as near to 1, or to its own operand, as it
likes is told from that, however near it is: there p is 0, and one of the bounds is.

The polynomial interpolates the oracle's values (cut to 160 bits) at eight places. Elsewhere the bounds are twice the
difference at the segment's ends, and what binary64 may lose. They are a claim: tests/peers/compare_segments.py proves
it with Arb's balls for every segment of every function; the tables are the same everywhere, since they are made of
integers and MPFR's results. Wide bounds cost time, not bits: the loop leaves to the oracle what they do not decide.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base import disk_cache
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.operations import OPERATIONS, Operation, context, signature
from softfloat_ref.oracle.operations.table import Outcome
from softfloat_ref.oracle.policies import Policy

LEAST: Final = -150  # exponents of operands: those of binary32, subnormals included
BINADES: Final = 278
FAR: Final = 170  # results from 2^FAR up, or below 2^-FAR, are only known to be that
WIDTH: Final = 62  # bits of an operand's significand
LEFT: Final = 65 - WIDTH  # by so much, and by k, a significand is shifted so that the place within a segment is on top
ASK: Final = -1 << 20  # in place of a first row: the oracle answers
OUTSIDE: Final = -2 << 20  # the operands are outside the domain
FIRST, STEPS, FLIP = 0, 1, 2  # columns of `binades`: the first row less 2^k, k, whether the sign is turned
BASE, MULTIPLE, UNIT, BELOW, ABOVE = 0, 1, 2, 3, 4  # columns of `whole`
_UNIT_BITS: Final = 61
_VALUE_BITS: Final = 160
_FRACTION_BITS: Final = 64
_MOST_STEPS: Final = 10
_ERROR_GOAL: Final = 1 << 12  # units
_NEAR_BITS: Final = 44  # bits of the difference from a constant of 8 bits that the function has as its limit
UNBOUNDED: Final = 1 << 58  # a bound that decides nothing
HUGE: Final = 1 << 20  # exponent of the unit of results that are only known to be huge, or tiny
_MAX_USEFUL_ERROR: Final = 1 << 16  # a wider bound is that of a singularity, where it says little: the oracle answers
_MAX_CLOSE: Final = 1 << 10  # units; if a function is nearer to the base than that, the polynomial is left out
_HALF_ULP: Final = 2.0**-53
_PLACES: Final = (-64277, -54491, -36410, -12785, 12785, 36410, 54491, 64277)  # Chebyshev's, in units of 2^-16
DEGREE: Final = len(_PLACES) - 1
LOST: Final = 12  # at most so many half ulps of the sum of the coefficients are lost: see functions.polynomial
_PATTERN: Final = 0x1555555555555555  # a huge or tiny result: no rounding boundary is near it

Ints = NDArray[np.int64]


class SegmentTables(NamedTuple):
    """A function's tables: of each sign and binade; of each segment, integers and floating-point numbers."""

    binades: Ints
    whole: Ints
    parts: NDArray[np.float64]


Whole = tuple[int, int, int, int, int]
_NO_POLYNOMIAL: Final = (0.0,) * (DEGREE + 1)


class SegmentRow(NamedTuple):
    """A segment: base, multiple, unit and bounds; coefficients, the lowest first."""

    whole: Whole
    parts: tuple[float, ...]
    good: bool


class SegmentPlace(NamedTuple):
    """A segment's operands: sign, exponent of the binade, k, and its number of 2^k."""

    sign: int
    binade: int
    steps: int
    number: int

    def at(self, u: int) -> Value:
        """The operand at u, in units of 2^-16 of half the segment's length."""
        half = WIDTH - 2 - self.steps
        significand = ((1 << self.steps | self.number) << half + 1) + (1 << half) + (u << half >> 16)
        return Value(FINITE, self.sign, significand, self.binade - WIDTH + 1)


@lru_cache(maxsize=64)
def segments(operation: Operation) -> SegmentTables:
    """The tables of a function of one operand. They are kept on disk."""
    known = OPERATIONS.get(operation.name) is operation  # a function that a diagnosis or a test made up is not
    file = disk_cache.path_for(disk_cache.CacheKey(__name__, json.dumps(operation.name)) if known else None, "segments")
    stored = disk_cache.load(file)
    if stored is None:
        start = time.perf_counter()
        stored = _made(operation)
        if time.perf_counter() - start >= disk_cache.WORTH_S:
            disk_cache.store(file, stored)
    binades, whole, parts = stored
    return SegmentTables(np.array(binades, np.int64), np.array(whole, np.int64), np.array(parts, np.float64))


def _made(operation: Operation) -> tuple[Any, list[Whole], list[tuple[float, ...]]]:
    """The columns of `SegmentTables`, as lists."""
    table = _Table(operation)
    curve = operation.curve
    parity = curve.parity if curve else ""
    for sign in (0, 1):
        for at in range(BINADES):
            if sign and parity:
                table.binades[1, at] = table.binades[0, at]
                table.binades[1, at, FLIP] = int(parity == "odd")
            else:
                table.add(sign, at)
    return table.binades.tolist(), table.whole, table.parts


class _Table:
    def __init__(self, operation: Operation) -> None:
        self.function = operation.function
        self.context = context(signature(operation, "fp32"), Policy())._replace(bits=_VALUE_BITS)
        self.binades = np.zeros((2, BINADES, 3), np.int64)
        self.whole: list[Whole] = []
        self.parts: list[tuple[float, ...]] = []
        self.steps = 0

    def value(self, place: SegmentPlace, u: int) -> Outcome:
        outcome: Outcome = self.function(self.context, place.at(u))
        return outcome

    def add(self, sign: int, at: int) -> None:
        """A binade, with as few segments as reach the goal, or with the most."""
        binade = at + LEAST
        known = [self.value(SegmentPlace(sign, binade, 0, 0), u)[0] for u in (-1 << 16, *_PLACES)]
        if not all(x.kind == FINITE and x.significand for x in known[1:]):
            outside = all(x == exact.GENERATED for x in known)
            self.binades[sign, at] = (OUTSIDE if outside else ASK), 0, 0
            return
        for steps in (0, *range(max(self.steps - 1, 1), _MOST_STEPS + 1)):
            rows = self._rows(sign, binade, steps)
            if rows:
                break
        self.steps = steps or self.steps
        self.binades[sign, at] = len(self.whole) - (1 << steps), steps, 0
        self.whole += [row.whole for row in rows]
        self.parts += [row.parts for row in rows]

    def _rows(self, sign: int, binade: int, steps: int) -> list[SegmentRow]:
        """The segments of a binade; nothing if one is not good and there may be more."""
        rows = []
        for index in range(1 << steps):
            row = self._row(SegmentPlace(sign, binade, steps, index))
            if not row.good and steps < _MOST_STEPS:
                return []
            rows.append(row)
        return rows

    def _row(self, place: SegmentPlace) -> SegmentRow:
        known = [self.value(place, u)[0] for u in (*_PLACES, -1 << 16, 1 << 16)]
        if not all(x.kind == FINITE for x in known) or not all(x.significand for x in known[:-2]):
            return SegmentRow((0, 0, 0, UNBOUNDED, UNBOUNDED), _NO_POLYNOMIAL, False)
        tops = [exact.top(x) for x in known if x.significand]
        for far, unit in ((min(tops) > FAR, HUGE), (max(tops) < -FAR, -HUGE)):
            if far:
                turned = -_PATTERN if known[0].sign else _PATTERN
                return SegmentRow((turned, 0, unit, 1, 1), _NO_POLYNOMIAL, True)
        unit = max(tops[: len(_PLACES)]) - _UNIT_BITS
        return _interpolated(place, [_scaled(x, unit) for x in known], unit)


def _scaled(x: Value, unit: int) -> int:
    """A value in units of 2^(unit - _FRACTION_BITS); half a unit more in the last place if it was cut."""
    significand = 2 * x.significand + x.sticky
    shift = x.exponent - 1 - unit + _FRACTION_BITS
    size = significand << shift if shift >= 0 else significand >> -shift | 1
    return -size if x.sign else size


def _interpolated(place: SegmentPlace, values: Sequence[int], unit: int) -> SegmentRow:
    """The segment whose function has these values at the eight places and at the ends."""
    base, multiple = 0, 0
    operands = [place.at(u).significand << _FRACTION_BITS for u in (*_PLACES, -1 << 16, 1 << 16)]
    sign = -1 if values[0] < 0 else 1
    near_operand = all(abs(sign * v - x) < x >> 9 for v, x in zip(values, operands, strict=True))
    if near_operand:
        multiple = sign
        rest = [v - sign * x for v, x in zip(values, operands, strict=True)]
    else:
        base, rest = _base(values)
    sizes = [*map(abs, rest)]
    near = max(sizes) >> _FRACTION_BITS + _NEAR_BITS == 0 and (near_operand or base & ((1 << 54) - 1) == 0)
    if near and max(sizes) >> _FRACTION_BITS < _MAX_CLOSE and (all(x > 0 for x in rest) or all(x < 0 for x in rest)):
        beyond = 2 * _MAX_CLOSE
        return SegmentRow((base, multiple, unit, *((0, beyond) if rest[0] > 0 else (beyond, 0))), _NO_POLYNOMIAL, True)
    parts, error = _polynomial(rest)
    allowed = min(_ERROR_GOAL, min(sizes) >> _FRACTION_BITS + 2) if near else _ERROR_GOAL
    return SegmentRow((base, multiple, unit, error, error), parts, error <= allowed)


def _base(values: Sequence[int]) -> tuple[int, list[int]]:
    """The base, and what is left of the values: a number of 8 bits where all are near it, else one in the middle."""
    middle = (values[3] + values[4]) // 2
    short = (middle >> _FRACTION_BITS + 53) + 1 >> 1 << 54
    rest = [v - (short << _FRACTION_BITS) for v in values]
    if max(map(abs, rest)) >> _FRACTION_BITS + _NEAR_BITS:
        short = middle >> _FRACTION_BITS
        rest = [v - (short << _FRACTION_BITS) for v in values]
    return short, rest


def _polynomial(rest: Sequence[int]) -> tuple[tuple[float, ...], int]:
    """Coefficients, the lowest first, and the bound of the error."""
    scale = 2.0 ** -(_FRACTION_BITS + _INVERSE_BITS)
    coefficients = tuple(float(sum(w * v for w, v in zip(ws, rest, strict=False))) * scale for ws in _inverse())
    ends = (sum(p * (-1) ** k for k, p in enumerate(coefficients)), sum(coefficients))
    missed = max(abs(v / 2.0**_FRACTION_BITS - p) for v, p in zip(rest[-2:], ends, strict=True))
    error = int(2 * missed + LOST * _HALF_ULP * sum(map(abs, coefficients))) + 3
    return (coefficients, error) if error < _MAX_USEFUL_ERROR else (_NO_POLYNOMIAL, UNBOUNDED)


_INVERSE_BITS: Final = 80


@lru_cache(maxsize=1)
def _inverse() -> tuple[tuple[int, ...], ...]:
    """The inverse of the matrix of the places' powers, in units of 2^-80: row k gives the coefficient of u^k."""
    places = [Fraction(u, 1 << 16) for u in _PLACES]
    columns = []
    for i, x in enumerate(places):  # Lagrange's polynomial that is 1 there and 0 at the other places
        product = [Fraction(1)]
        for j, y in enumerate(places):
            if i != j:
                product = _times_line(product, y, x)
        columns.append(product)
    rows: Any = zip(*columns, strict=True)
    return tuple(tuple(int(x * (1 << _INVERSE_BITS)) for x in row) for row in rows)


def _times_line(p: Sequence[Fraction], zero: Fraction, one: Fraction) -> list[Fraction]:
    """p(u) (u - zero) / (one - zero), by coefficients, the lowest first."""
    shifted = [Fraction(0), *p]
    lower = [*(zero * c for c in p), Fraction(0)]
    return [(a - b) / (one - zero) for a, b in zip(shifted, lower, strict=True)]
