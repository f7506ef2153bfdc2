"""The error of quantized values: exact sums of squares, counts, and largest errors, which add up over parts.

Sums are integers in units of 2^-2148, the smallest square of a float64, so no part of the result depends on how an
array was divided or in which order it was summed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels import dispatch

UNIT_EXPONENT: Final = 2 * (np.finfo(np.float64).minexp - 52)  # of the sums: -2148
_ROOT_BITS: Final = 120  # more than a float shows
_PIECE_SIZE: Final = 1 << 20  # values of one call of the compiled loop; its sums hold 2^31

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Errors:
    """The errors of an array's values in a format. Two parts are added with +.

    values: all values. specials: NaN and Inf among them. lost: finite values that became NaN or Inf. saturated: values
    beyond the largest one (of their block). flushed: nonzero values that became zero. signal, noise: exact sums of the
    squares of values and of errors, in units of 2^-2148, over the values that are finite before and after.
    largest_error: of those. largest_relative: the largest error divided by its value, over those that neither are nor
    become zero. amax: the largest finite magnitude. blocks, nan_blocks: blocks, and those whose scale is NaN.
    low_scale, high_scale: the smallest and largest scale, the second-level scale included, of the blocks that are not
    all zero; NaN without such blocks.
    """

    values: int = 0
    specials: int = 0
    lost: int = 0
    saturated: int = 0
    flushed: int = 0
    signal: int = field(default=0, repr=False)
    noise: int = field(default=0, repr=False)
    largest_error: float = 0.0
    largest_relative: float = 0.0
    amax: float = 0.0
    blocks: int = 0
    nan_blocks: int = 0
    low_scale: float = math.nan
    high_scale: float = math.nan

    @property
    def counted(self) -> int:
        """The number of values in the sums."""
        return self.values - self.specials - self.lost

    @property
    def sqnr(self) -> float:
        """The ratio of signal to noise, in dB: inf without any error, NaN if nothing but zeros was counted."""
        if not self.noise:
            return math.inf if self.signal else math.nan
        if not self.signal:
            return -math.inf
        try:
            ratio = self.signal / self.noise  # of integers: rounded once
        except OverflowError:
            ratio = math.inf
        if 0 < ratio < math.inf:
            return 10 * math.log10(ratio)
        return 10 * (math.log10(self.signal) - math.log10(self.noise))

    @property
    def rms(self) -> float:
        """The root mean square of the counted values."""
        return self._root(self.signal)

    @property
    def rms_error(self) -> float:
        """The root mean square of the errors."""
        return self._root(self.noise)

    def _root(self, total: int) -> float:
        if not self.counted:
            return 0.0
        root = math.isqrt((total << 2 * _ROOT_BITS) // self.counted)
        return float(Fraction(root, 1 << (_ROOT_BITS - UNIT_EXPONENT // 2)))

    def __add__(self, other: Errors) -> Errors:
        sums = ("values", "specials", "lost", "saturated", "flushed", "signal", "noise", "blocks", "nan_blocks")
        totals: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in sums}
        for name in ("largest_error", "largest_relative", "amax"):
            totals[name] = max(getattr(self, name), getattr(other, name))
        lows, highs = (self.low_scale, other.low_scale), (self.high_scale, other.high_scale)
        known = not math.isnan(lows[0]), not math.isnan(lows[1])
        totals["low_scale"] = min(lows) if all(known) else lows[known[1]]
        totals["high_scale"] = max(highs) if all(known) else highs[known[1]]
        return Errors(**totals)


def compare_values(x: Doubles, y: Doubles) -> Errors:
    """Values compare_values with their quantized values; without saturation and scales. x, y: float64, of one shape."""
    x, y = x.reshape(-1), y.reshape(-1)
    total = Errors()
    for start in range(0, x.size, _PIECE_SIZE):
        part = slice(start, start + _PIECE_SIZE)
        one = _compiled if dispatch.use_compiled(x[part].size, dispatch.ONE_BY_ONE) else _one_by_one
        total += one(np.ascontiguousarray(x[part]), np.ascontiguousarray(y[part]))
    return total


def _compiled(x: Doubles, y: Doubles) -> Errors:
    from softfloat_ref.arrays.kernels import squares

    signal, noise = (np.zeros((squares.EXPONENTS, squares.PARTS), np.int64) for _ in range(2))
    counts, largest = np.zeros(len(squares.COUNTS), np.int64), np.zeros(3)
    odd = np.empty(x.size, np.int64)
    n = squares.compare(dispatch.read_only(x), dispatch.read_only(y), signal, noise, counts, largest, odd)
    rest = _squares(x[odd[:n]].tolist(), y[odd[:n]].tolist())
    specials, lost, flushed = counts.tolist()
    return Errors(
        x.size, specials, lost, 0, flushed, _total(signal) + rest[0], _total(noise) + rest[1],
        float(largest[1]), float(largest[2]), float(largest[0]),
    )  # fmt: skip


def _total(sums: NDArray[np.int64]) -> int:
    """The sum over all exponents, in units of 2^UNIT_EXPONENT."""
    from softfloat_ref.arrays.kernels.squares import LOW_BITS

    total = 0
    for exponent in np.flatnonzero(sums.any(axis=1)).tolist():
        halves = sums[exponent].tolist()
        high, cross, low = (halves[i] + (halves[i + 1] << 32) for i in (0, 2, 4))
        total += ((high << 2 * LOW_BITS) + (cross << LOW_BITS + 1) + low) << 2 * (exponent - 1)
    return total


def _one_by_one(x: Doubles, y: Doubles) -> Errors:
    """`_compiled` in Python's integers and floats; with the same result."""
    specials = lost = flushed = 0
    error = relative = amax = 0.0
    pairs: list[tuple[float, float]] = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if not math.isfinite(a):
            specials += 1
            continue
        amax = max(amax, abs(a))
        if not math.isfinite(b):
            lost += 1
            continue
        pairs.append((a, b))
        error = max(error, abs(b - a))
        if a and b:
            relative = max(relative, abs(b - a) / abs(a))
        flushed += a != 0 and b == 0
    signal, noise = _squares([a for a, _ in pairs], [b for _, b in pairs])
    return Errors(x.size, specials, lost, 0, flushed, signal, noise, error, relative, amax)


def _squares(x: list[float], y: list[float]) -> tuple[int, int]:
    """The sums of squares of x and of y - x, by their definition."""
    signal = noise = 0
    for a, b in zip(x, y, strict=True):
        units = _units(a)
        signal += units * units
        noise += (_units(b) - units) ** 2
    return signal, noise


def _units(x: float) -> int:
    """A float in units of 2^-1074."""
    top, bottom = x.as_integer_ratio()
    return top << (-UNIT_EXPONENT // 2 - bottom.bit_length() + 1)
