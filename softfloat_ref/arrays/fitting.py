"""The smallest table that keeps an approximation within a bound, found by search and measured on every operand.

The coefficients come from floating-point fits; what is promised does not: the finished definition is evaluated for
every code of the format, and compared with the correctly rounded function.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert, operations
from softfloat_ref.arrays.approximations import addresses
from softfloat_ref.arrays.goals import Floats, Goal, Ints, measure
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.approximation import SHARES, Address, Approximation, Part, Symmetry, check_name, horner
from softfloat_ref.oracle.policies import rounding_name

_GUARD_BITS: Final = 9  # bits below the result's last one that are tried
_LAWSON_STEPS: Final = 30  # steps toward the smallest largest error
_CLOSE_ENOUGH: Final = 1e-3  # of a window's width: an error that needs no further step
_MAX_ROWS: Final = 1 << 12
_ROWS_RATIO: Final = 1.3  # times the fewest rows that are enough, up to which tables may still be smaller
_MAX_UNIT_BITS: Final = 20  # fraction bits of an address by value
_MAX_COEFFICIENT_BITS: Final = 26  # bits of a constant, beyond which no table is sought
_NUDGES: Final = tuple(sorted(itertools.product((0, 1, -1, 2, -2), (0, 1, -1)), key=lambda x: abs(x[0]) + abs(x[1])))


# -- the ends of a table -------------------------------------------------------------------------------------------


class Ends(NamedTuple):
    """Where a table begins and ends, and what is outside."""

    first: int
    after: int
    small: str
    large: str


class _Side(NamedTuple):
    """The operands of one sign: for each magnitude code, its place among all codes."""

    goal: Goal
    places: Ints

    def ends(self) -> Ends:
        """The longest stretches at both ends where the operand or a constant is good enough."""
        good = {text: self._good(text) for text in (*SHARES, *self._constants())}
        reach = {text: int(np.argmin(ok)) if not ok.all() else ok.size for text, ok in good.items()}
        small = max(reach, key=lambda text: reach[text])
        back = {text: int(np.argmin(ok[::-1])) if not ok.all() else ok.size for text, ok in good.items()}
        large = max(back, key=lambda text: back[text])
        if self.goal.fmt.infinity:
            large = self._at_infinity(back, large)
        after = len(self.places) - back[large]
        return Ends(min(reach[small], after), after, small, large)

    def _at_infinity(self, back: dict[str, int], large: str) -> str:
        """What also gives the result for infinity, if that differs."""
        fmt, goal = self.goal.fmt, self.goal
        code = fmt.inf_code | int(self.places[0])
        right = int(goal.expected[code])
        if large in SHARES:
            fits = right == int(self._converted(np.array([code]), large)[0])
        else:
            fits = int(large, 16) == right or (goal.finite[code] and self._good(large)[-1])
        if fits or goal.out.is_nan(right):
            return large
        back.setdefault(f"{right:x}", 0)
        return f"{right:x}"

    def _constants(self) -> list[str]:
        expected = self.goal.expected[self.places]
        codes = dict.fromkeys(int(x) for x in expected[[0, 1, -1]])
        return [f"{c:x}" for c in codes]

    def _converted(self, codes: NDArray[Any], share: str) -> NDArray[Any]:
        x = np.ldexp(convert.decode(codes, self.goal.fmt).astype(np.float64), SHARES[share])
        return operations.evaluate("convert", [x.view(np.uint64)], "fp64", self.goal.out, self.goal.policy)

    def _good(self, text: str) -> NDArray[np.bool_]:
        goal = self.goal
        shared = text in SHARES
        codes = self._converted(self.places, text) if shared else np.full(self.places.size, int(text, 16))
        low, high = (x[self.places] for x in goal.allowed)
        rank = goal.ranks(codes)
        came, right = (np.isnan(convert.decode(x, goal.out)) for x in (codes, goal.expected[self.places]))
        return np.where(came | right, came & right, (rank >= low) & (rank <= high))


# -- segments ------------------------------------------------------------------------------------------------------


class TableShape(NamedTuple):
    """How segments are addressed."""

    address: Address
    unit: int
    shift: int


class _Segment(NamedTuple):
    """The operands of a segment: distances along it, windows of values, and coefficients that stay inside them."""

    d: Ints
    low: Floats
    high: Floats
    coefficients: list[float]

    @property
    def place(self) -> int:
        """The exponent of the narrowest window's first bit."""
        return int(np.frexp((self.high - self.low).min())[1]) - 1 if self.d.size else 1 << 20

    def rounded(self, exponent: int, shift: int, degree: int) -> tuple[int, ...] | None:
        """Integer coefficients that keep every operand within its window; None if none are found."""
        if not self.d.size:
            return (0,) * (degree + 1)
        places = [exponent - i * shift for i in range(degree + 1)]
        whole = [round(float(np.ldexp(c, -p))) for c, p in zip(self.coefficients, places, strict=False)]
        whole += [0] * (degree + 1 - len(whole))
        if max(map(abs, whole)) >> _MAX_COEFFICIENT_BITS:
            return None
        for up, tilt in _NUDGES if degree else _NUDGES[:1]:
            tried = [whole[0] + up, *(c + tilt * (i == 0) for i, c in enumerate(whole[1:]))]
            total = horner([np.full(self.d.shape, c) for c in tried], self.d, (shift,) * degree)
            value = np.ldexp(total.astype(np.float64), exponent)
            if ((value > self.low) & (value < self.high)).all():
                return tuple(tried)
        return None


def _fit(d: Ints, low: Floats, high: Floats, degree: int) -> list[float]:
    """Coefficients whose largest error, in windows' widths, is nearly the least (Lawson's iteration).

    Sums are exact and then rounded, and nothing depends on a library's order: the same coefficients everywhere.
    """
    degree = min(degree, len(np.unique(d)) - 1)
    scale = float(max(d.max(), 1))
    x, width, middle = d / scale, high - low, (low + high) / 2
    powers = [np.ones(d.size)]
    for _ in range(degree):
        powers.append(powers[-1] * x)
    weights, coefficients = np.ones(d.size), [0.0]
    for _ in range(_LAWSON_STEPS if degree < d.size - 1 else 1):
        share = weights / (width * width)
        matrix = [[_sum(share * p * q) for q in powers] for p in powers]
        coefficients = _solved(matrix, [_sum(share * p * middle) for p in powers])
        off = np.abs(_polynomial(coefficients, x) - middle) / width
        if off.max() < _CLOSE_ENOUGH:
            break
        weights = weights * off + 1e-12
        weights /= _sum(weights)
    return [c / scale**i for i, c in enumerate(coefficients)]


def _polynomial(coefficients: list[float], x: Floats) -> Floats:
    total = np.full(x.shape, coefficients[-1])
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def _sum(x: Floats) -> float:
    return math.fsum(x.tolist())


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a small positive definite system, by elimination."""
    rows = [[*row, y] for row, y in zip(matrix, right, strict=True)]
    for i, row in enumerate(rows):
        for lower in rows[i + 1 :]:
            factor = lower[i] / row[i]
            lower[i:] = [x - factor * y for x, y in zip(lower[i:], row[i:], strict=True)]
    solution: list[float] = []
    for i in range(len(rows) - 1, -1, -1):
        rest = math.fsum(a * x for a, x in zip(rows[i][i + 1 : -1], solution, strict=True))
        solution.insert(0, (rows[i][-1] - rest) / rows[i][i])
    return solution


def _segments(side: _Side, ends: Ends, shape: TableShape, degree: int) -> list[_Segment] | None:
    """The segments of one side; None if some function is too curved for polynomials of that degree."""
    codes = np.arange(ends.first, ends.after)
    low, high = (x[side.places[codes]] for x in side.goal.windows)
    if (low >= high).any():
        return None
    values = convert.decode(codes, side.goal.fmt).astype(np.float64)
    steps = addresses(shape.address, shape.unit, codes, values)
    numbers, fitted = steps >> shape.shift, []
    for number in range(int(numbers[0]), int(numbers[-1]) + 1) if codes.size else ():
        inside = slice(*np.searchsorted(numbers, (number, number + 1)))
        d, ends_ = steps[inside] & ((1 << shape.shift) - 1), (low[inside], high[inside])
        if not d.size:
            fitted.append(_Segment(d, *ends_, [0.0]))
            continue
        coefficients = _fit(d, *ends_, degree)
        value = _polynomial(coefficients, d.astype(np.float64))
        if not ((value > ends_[0]) & (value < ends_[1])).all():
            return None
        fitted.append(_Segment(d, *ends_, coefficients))
    return fitted


def _part(ends: Ends, segments: list[_Segment], shift: int, degree: int, guard: int, own: bool) -> Part | None:
    """One side's table, its values to `guard` bits below the narrowest window, of all rows or of each (own)."""
    places = [x.place - guard for x in segments]
    exponents = [min(p, 0) for p in places] if own else [min(places, default=0)]
    rows = []
    for i, segment in enumerate(segments):
        row = segment.rounded(exponents[i if own else 0], shift, degree)
        if row is None:
            return None
        rows.append(row)
    return Part(*ends, exponents=tuple(exponents or [0]), rows=tuple(rows))


# -- the search ----------------------------------------------------------------------------------------------------


def approximate(goal: Goal, name: str = "", address: Address | None = None) -> Approximation:
    """The definition with the fewest bits of table that meets the bound on every operand. Raises Error if none does."""
    name = name or f"{goal.function}_{goal.fmt.name}".replace(".", "_")
    check_name(name)
    symmetry = _symmetry(goal)
    magnitudes, signs = np.arange(goal.fmt.max_code + 1), range(2 if symmetry == "none" and goal.fmt.signed else 1)
    sides = [_Side(goal, magnitudes | goal.fmt.sign_bit * sign) for sign in signs]
    ends = [side.ends() for side in sides]
    best: Approximation | None = None
    fewest = 0
    for shape in _shapes(goal, ends, address):
        count = _rows(goal, ends, shape)
        if count > _MAX_ROWS or (best is not None and count > fewest * _ROWS_RATIO):
            break
        attempt = _attempt(goal, name, symmetry, sides, ends, shape)
        if attempt is not None and (best is None or attempt.table_bits < best.table_bits):
            best, fewest = attempt, fewest or count
    if best is None:
        raise Error(
            f"no table of degree {goal.degree} and up to {_MAX_ROWS} rows was found that meets the bound for "
            f"{goal.function} in {goal.fmt.name}; allow more, or a higher degree"
        )
    return best


def _symmetry(goal: Goal) -> Symmetry:
    """Odd or even, if the results are so for every pair of operands."""
    if not goal.fmt.signed or not (goal.fmt.negative_zero or goal.fmt.p3109):
        return "none"
    up = np.arange(1, goal.fmt.max_code + 1)
    plus, minus = goal.expected[up].astype(np.int64), goal.expected[up | goal.fmt.sign_bit].astype(np.int64)
    if (plus == minus).all():
        return "even"
    return "odd" if (plus == minus ^ goal.out.sign_bit).all() else "none"


def _shapes(goal: Goal, ends: list[Ends], address: Address | None) -> Iterator[TableShape]:
    """The shapes to try, those with few segments first."""
    shapes = [TableShape("code", 0, shift) for shift in range(goal.fmt.mantissa_bits + 1)] if address != "value" else []
    if address != "code":
        least = min((e.first for e in ends if e.first < e.after), default=1)
        exact = -min(goal.fmt.magnitude(max(least, 1))[1], 0)
        units = range(max(exact - 3, 0), min(exact, _MAX_UNIT_BITS) + 1)
        shapes += [TableShape("value", unit, shift) for unit in units for shift in range(unit + 4)]
    yield from sorted(shapes, key=lambda s: (_rows(goal, ends, s), s.unit))


def _rows(goal: Goal, ends: list[Ends], shape: TableShape) -> int:
    """The number of segments of a shape."""
    count = 0
    for e in ends:
        if e.first < e.after:
            low, high = (_step(goal, x, shape) for x in (e.first, e.after - 1))
            count += (high >> shape.shift) - (low >> shape.shift) + 1
    return count


def _step(goal: Goal, magnitude: int, shape: TableShape) -> int:
    if shape.address == "code":
        return magnitude
    significand, exponent = goal.fmt.magnitude(magnitude)
    up = exponent + shape.unit
    return significand << up if up >= 0 else significand >> -up


def _attempt(
    goal: Goal, name: str, symmetry: Symmetry, sides: list[_Side], ends: list[Ends], shape: TableShape
) -> Approximation | None:
    """The smallest table of a shape that meets the bound on every operand."""
    listed = [_segments(side, e, shape, goal.degree) for side, e in zip(sides, ends, strict=True)]
    best: Approximation | None = None
    for own, guard in itertools.product((False, True), range(_GUARD_BITS)):
        parts = [
            None if x is None else _part(e, x, shape.shift, goal.degree, guard, own)
            for e, x in zip(ends, listed, strict=True)
        ]
        if any(x is None for x in listed):
            return None
        complete = [p for p in parts if isinstance(p, Part)]
        if len(complete) < len(parts):
            continue
        table = _made(goal, name, symmetry, complete, shape)
        if table and (best is None or table.table_bits < best.table_bits) and not measure(table, goal).wrong.size:
            best = table
    return best


def _made(goal: Goal, name: str, symmetry: Symmetry, parts: list[Part], shape: TableShape) -> Approximation | None:
    rows = [row for p in parts for row in p.rows]
    columns = zip(*rows, strict=True) if rows else [[0]] * (goal.degree + 1)
    widths = tuple(max(max(c, -c - 1).bit_length() + 1 for c in map(int, column)) for column in columns)
    overflow = goal.policy.overflow
    try:
        return Approximation(
            name,
            goal.function,
            goal.fmt,
            goal.out,
            shape.shift,
            widths,
            (shape.shift,) * goal.degree,
            parts[0],
            parts[1] if len(parts) > 1 else None,
            symmetry,
            shape.address,
            shape.unit,
            rounding_name(goal.policy.rounding),
            "" if overflow is None else str(overflow),
        )
    except Error:  # sums of too many bits
        return None
