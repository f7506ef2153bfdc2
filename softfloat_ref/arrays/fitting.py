"""The smallest table that keeps an approximation within a bound, found by search and measured on every operand.

The coefficients come from floating-point fits; what is promised does not: the finished definition is evaluated for
every code of the format, and compared with the correctly rounded function.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import approximations, convert, operations
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.approximation import OPERAND, Address, Approximation, Part, Symmetry, horner
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations import get_operation
from softfloat_ref.oracle.policies import Policy, get_policy, rounding_name
from softfloat_ref.oracle.rounding import Rounding

WIDEST: Final = 16  # bits of operands, of which every one is tried
_NEAREST: Final = (Rounding.RNE, Rounding.RNA, Rounding.RNU, Rounding.RHZ)
_GUARDS: Final = 9  # bits below the result's last one that are tried
_LAWSON: Final = 30  # steps toward the smallest largest error
_WIDE: Final = 26  # bits of a constant, beyond which no table is sought
_NUDGES: Final = tuple(sorted(itertools.product((0, 1, -1, 2, -2), (0, 1, -1)), key=lambda x: abs(x[0]) + abs(x[1])))

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Goal:
    """What is sought: a function on formats, the degree of the polynomials, and a bound: kappa or an error in ulp."""

    function: str
    fmt: Format
    out: Format
    degree: int = 1
    kappa: int | None = None
    ulp: float | None = None
    policy: Policy = dataclasses.field(default_factory=get_policy)

    def __post_init__(self) -> None:
        operation = get_operation(self.function)
        if operation.arity != 1 or operation.result != "float":
            raise Error(f"{self.function} is not a function of one operand")
        if not 0 <= self.degree <= 3:
            raise Error(f"degree {self.degree}; use 0 to 3")
        if self.fmt.width > WIDEST or not self.fmt.exponent_bits:
            raise Error(f"approximate tries every operand of a floating-point format of at most {WIDEST} bits")
        if self.out.width > 32 or not self.out.exponent_bits or not (self.out.signed and self.out.zero):
            raise Error(f"{self.out.name} is not a result's format here; use a signed one of at most 32 bits")
        if (self.kappa is None) == (self.ulp is None):
            raise Error("give a bound: kappa or ulp, one of them")
        if (self.kappa is not None and self.kappa < 0) or (self.ulp is not None and not self.ulp > 0):
            raise Error("the bound is negative, or zero ulp")

    @cached_property
    def codes(self) -> NDArray[Any]:
        """Every code of the operand's format."""
        return np.arange(1 << self.fmt.width)

    @cached_property
    def expected(self) -> NDArray[Any]:
        """The correctly rounded results."""
        return operations.evaluate(self.function, [self.codes], self.fmt, self.out, self.policy)

    @cached_property
    def exact(self) -> Floats:
        """The function, rounded to float64."""
        found = operations.evaluate(self.function, [self.codes], self.fmt, "fp64")
        return found.view(np.float64)

    @cached_property
    def levels(self) -> Floats:
        """The result's values in order; the one of rank 0 is in the middle."""
        up = convert.decode(np.arange(self.out.max_code + 1), self.out).astype(np.float64)
        return np.concatenate([-up[:0:-1], up])

    def ranks(self, codes: NDArray[Any]) -> Ints:
        """The places of results among the values; beyond them for infinities. Those of NaN are anything."""
        size = (codes.astype(np.int64)) & self.out.magnitude_mask
        return np.where(codes.astype(np.int64) & self.out.sign_bit != 0, -size, size)

    @cached_property
    def finite(self) -> NDArray[np.bool_]:
        """Where the defined result is finite."""
        return np.isfinite(convert.decode(self.expected, self.out))

    @cached_property
    def ulps(self) -> Floats:
        """An ulp of the result's format at each value of the function."""
        _, top = np.frexp(np.where(np.isfinite(self.exact), self.exact, 1.0))
        exponent = np.clip(top - 1, self.out.emin, self.out.emax) - self.out.mantissa_bits
        return np.ldexp(1.0, exponent)

    @cached_property
    def allowed(self) -> tuple[Ints, Ints]:
        """The lowest and the highest rank that the bound allows for each code."""
        rank, most = self.ranks(self.expected), self.out.max_code
        if self.kappa is not None:
            low, high = rank - self.kappa, rank + self.kappa
        else:
            assert self.ulp is not None
            with np.errstate(invalid="ignore"):
                low = np.searchsorted(self.levels, self.exact - self.ulp * self.ulps, "left") - most
                high = np.searchsorted(self.levels, self.exact + self.ulp * self.ulps, "right") - 1 - most
        return np.where(self.finite, np.maximum(low, -most), rank), np.where(self.finite, np.minimum(high, most), rank)

    @cached_property
    def windows(self) -> tuple[Floats, Floats]:
        """The values that surely round to something allowed, for each code; an empty window where none does."""
        low, high = self.allowed
        most, levels = self.out.max_code, self.levels
        beyond = levels[-1] + (levels[-1] - levels[-2])
        padded = np.concatenate([[-beyond], levels, [beyond]])
        at = np.clip(low, -most, most) + most + 1, np.clip(high, -most, most) + most + 1
        if self.policy.rounding in _NEAREST:
            ends = (padded[at[0] - 1] + padded[at[0]]) / 2, (padded[at[1]] + padded[at[1] + 1]) / 2
        else:
            ends = padded[at[0]], padded[at[1]]
        return np.where(self.finite, ends[0], 1.0), np.where(self.finite, ends[1], -1.0)


class Measured(NamedTuple):
    """How far an approximation is from its function: kappa (None: NaN or infinities do not match), the largest error in
    ulp, with operands that have them; and the error of every code with a finite result."""

    kappa: int | None
    worst: int
    ulp: float
    worst_ulp: int
    errors: Floats
    wrong: NDArray[Any]


def measure(a: Approximation, goal: Goal) -> Measured:
    """The errors of an approximation over every code."""
    got = approximations.evaluate(a, goal.codes)
    away = np.abs(goal.ranks(got) - goal.ranks(goal.expected))
    came, right = convert.decode(got, goal.out), convert.decode(goal.expected, goal.out)
    unlike = np.where(np.isnan(right), ~np.isnan(came), ~goal.finite & (came != right)) | (goal.finite & ~np.isfinite(came))
    away = np.where(goal.finite, away, 0)
    with np.errstate(invalid="ignore"):
        errors = np.where(goal.finite, np.abs(came - goal.exact) / goal.ulps, 0.0)
    low, high = goal.allowed
    rank = goal.ranks(got)
    wrong = unlike | (goal.finite & ((rank < low) | (rank > high)))
    return Measured(
        None if unlike.any() else int(away.max()),
        int(np.argmax(np.where(unlike, 1 << 40, away))),
        float(errors.max()),
        int(np.argmax(errors)),
        errors,
        np.flatnonzero(wrong),
    )


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

    @staticmethod
    def of(goal: Goal, negative: int) -> _Side:
        return _Side(goal, np.arange(goal.fmt.max_code + 1) | goal.fmt.sign_bit * negative)

    def ends(self) -> Ends:
        """The longest stretches at both ends where the operand or a constant is good enough."""
        good = {text: self._good(text) for text in (OPERAND, *self._constants())}
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
        if large == OPERAND:
            fits = right == int(self._converted(np.array([code]))[0])
        else:
            fits = int(large, 16) == right or (goal.finite[code] and self._good(large)[-1])
        return large if fits or goal.out.is_nan(right) else max((f"{right:x}",), key=lambda x: back.setdefault(x, 0))

    def _constants(self) -> list[str]:
        expected = self.goal.expected[self.places]
        codes = dict.fromkeys(int(x) for x in expected[[0, 1, -1]])
        return [f"{c:x}" for c in codes if not self.goal.out.is_nan(c)]

    def _converted(self, codes: NDArray[Any]) -> NDArray[Any]:
        return operations.evaluate("convert", [codes], self.goal.fmt, self.goal.out, self.goal.policy)

    def _good(self, text: str) -> NDArray[np.bool_]:
        goal = self.goal
        codes = self._converted(self.places) if text == OPERAND else np.full(self.places.size, int(text, 16))
        low, high = (x[self.places] for x in goal.allowed)
        rank = goal.ranks(codes)
        return (rank >= low) & (rank <= high) & ~np.isnan(convert.decode(goal.expected[self.places], goal.out))


# -- segments ------------------------------------------------------------------------------------------------------


class Shape(NamedTuple):
    """How segments are addressed, and how fine their values are. own: whether each row has an exponent."""

    address: Address
    unit: int
    shift: int
    guard: int
    own: bool


def _fit(d: Ints, middle: Floats, width: Floats, degree: int) -> Floats:
    """Coefficients whose largest error, in windows' widths, is nearly the least (Lawson's iteration)."""
    degree = min(degree, len(np.unique(d)) - 1)
    powers = d[:, None].astype(np.float64) ** np.arange(degree + 1)
    scale = np.maximum(np.abs(powers).max(axis=0), 1.0)
    rows, weights = powers / scale / width[:, None], np.full(d.size, 1.0)
    for _ in range(_LAWSON if degree < d.size - 1 else 1):
        root = np.sqrt(weights)
        found = np.linalg.lstsq(rows * root[:, None], middle / width * root, rcond=None)[0]
        off = np.abs(rows @ found - middle / width)
        if off.max() == 0:
            break
        weights = weights * off + 1e-12
        weights /= weights.sum()
    return np.asarray(found / scale, np.float64)


def _row(side: _Side, codes: Ints, steps: Ints, shape: Shape, exponent: int, degree: int) -> tuple[int, ...] | None:
    """Integer coefficients that keep all of a segment's operands within their windows; None if none are found."""
    low, high = (x[side.places[codes]] for x in side.goal.windows)
    if (low > high).any():
        return None
    d = steps & ((1 << shape.shift) - 1)
    found = _fit(d, (low + high) / 2, np.maximum(high - low, 1e-300), degree)
    places = [exponent - i * shape.shift for i in range(degree + 1)]
    whole = [round(float(np.ldexp(c, -p))) for c, p in zip(found, places, strict=False)]
    whole += [0] * (degree + 1 - len(whole))
    if max(map(abs, whole)) >> _WIDE:
        return None
    cuts = (shape.shift,) * degree
    for up, tilt in _NUDGES:
        tried = [whole[0] + up, *(c + tilt * (i == 0) for i, c in enumerate(whole[1:]))]
        value = np.ldexp(horner([np.full(d.shape, c) for c in tried], d, cuts).astype(np.float64), exponent)
        if ((value > low) & (value < high)).all():
            return tuple(tried)
        if degree == 0 and tilt:
            continue
    return None


def _table(side: _Side, ends: Ends, shape: Shape, degree: int) -> tuple[list[tuple[int, ...]], list[int]] | None:
    """The rows and exponents of one side; None if some segment has none."""
    codes = np.arange(ends.first, ends.after)
    steps = codes
    if shape.address == "value":
        size = np.abs(convert.decode(codes, side.goal.fmt).astype(np.float64))
        steps = np.floor(np.ldexp(size, shape.unit)).astype(np.int64)
    if not codes.size:
        return [], [0]
    numbers = steps >> shape.shift
    exponents = _exponents(side, codes, numbers, shape)
    if exponents is None:
        return None
    rows = []
    for i, number in enumerate(range(int(numbers[0]), int(numbers[-1]) + 1)):
        inside = numbers == number
        exponent = exponents[i if shape.own else 0]
        row = _row(side, codes[inside], steps[inside], shape, exponent, degree) if inside.any() else (0,) * (degree + 1)
        if row is None:
            return None
        rows.append(row)
    return rows, exponents


def _exponents(side: _Side, codes: Ints, numbers: Ints, shape: Shape) -> list[int] | None:
    """The exponent of each row, or of all: the last place of the narrowest window, and the guard bits below."""
    low, high = (x[side.places[codes]] for x in side.goal.windows)
    if (high <= low).any():
        return None
    _, top = np.frexp(high - low)
    places = top - 1 - shape.guard
    if not shape.own:
        return [int(places.min())]
    every = range(int(numbers[0]), int(numbers[-1]) + 1)
    return [int(places[numbers == n].min()) if (numbers == n).any() else int(places.min()) for n in every]


# -- the search ----------------------------------------------------------------------------------------------------


def approximate(goal: Goal, name: str = "", address: Address | None = None) -> Approximation:
    """The definition with the fewest bits of table that meets the bound on every operand. Raises Error if none does."""
    symmetry = _symmetry(goal)
    sides = [_Side.of(goal, negative) for negative in range(2 if symmetry == "none" and goal.fmt.signed else 1)]
    ends = [side.ends() for side in sides]
    name = name or f"{goal.function}_{goal.fmt.name}".replace(".", "_")
    best: Approximation | None = None
    for shape in _shapes(goal, ends, address):
        if best is not None and _rows(goal, ends, shape) * (goal.out.mantissa_bits + 1) >= best.table_bits:
            continue
        made = _attempt(goal, name, symmetry, sides, ends, shape)
        if made is not None and (best is None or made.table_bits < best.table_bits):
            if not measure(made, goal).wrong.size:
                best = made
    if best is None:
        raise Error(f"no table of degree {goal.degree} was found that meets the bound for {goal.function}")
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


def _shapes(goal: Goal, ends: list[Ends], address: Address | None) -> Iterator[Shape]:
    """The shapes to try, those with few segments first."""
    m = goal.fmt.mantissa_bits
    found = []
    for own, guard in itertools.product((False, True), range(_GUARDS)):
        if address != "value":
            found += [Shape("code", 0, shift, guard, own) for shift in range(m + 1)]
        if address != "code":
            least = min((e.first for e in ends if e.first < e.after), default=1)
            exact = -min(goal.fmt.magnitude(max(least, 1))[1], 0)
            found += [
                Shape("value", unit, shift, guard, own)
                for unit in range(max(exact - 3, 0), exact + 1)
                for shift in range(unit + 4)
            ]
    yield from sorted(found, key=lambda s: (_rows(goal, ends, s), s.own, s.guard))


def _rows(goal: Goal, ends: list[Ends], shape: Shape) -> int:
    """The number of segments of a shape."""
    count = 0
    for e in ends:
        if e.first < e.after:
            low, high = (_step(goal, x, shape) for x in (e.first, e.after - 1))
            count += (high >> shape.shift) - (low >> shape.shift) + 1
    return count


def _step(goal: Goal, magnitude: int, shape: Shape) -> int:
    if shape.address == "code":
        return magnitude
    significand, exponent = goal.fmt.magnitude(magnitude)
    up = exponent + shape.unit
    return significand << up if up >= 0 else significand >> -up


def _attempt(
    goal: Goal, name: str, symmetry: Symmetry, sides: list[_Side], ends: list[Ends], shape: Shape
) -> Approximation | None:
    if _rows(goal, ends, shape) > 1 << 12:
        return None
    parts, rows = [], []
    for side, e in zip(sides, ends, strict=True):
        made = _table(side, e, shape, goal.degree)
        if made is None:
            return None
        parts.append(Part(*e, exponents=tuple(made[1]), rows=tuple(made[0])))
        rows += made[0]
    columns = zip(*rows, strict=True) if rows else [[0]] * (goal.degree + 1)
    widths = tuple(max(max(c.bit_length(), (-c - 1).bit_length()) + 1 for c in map(int, column)) for column in columns)
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


def goal_of(a: Approximation) -> Goal:
    """What an approximation is measured by: its function, on its formats. Raises Error."""
    return Goal(a.function, a.fmt, a.out, a.degree, kappa=0, policy=a.policy)


__all__ = ["Goal", "Measured", "approximate", "get_format", "goal_of", "measure"]
