"""Functions by tables of parabolas, as a multifunction unit computes them: data, and the integer functions that use it.

The leading bits of a fraction choose a row of three coefficients, the 17 bits x below them the place on its parabola:
c0 + c1 x + c2 x^2, of which only the square is not exact. Numba compiles `evaluated` for arrays: hence plain integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

RCP: Final = 0
RSQRT: Final = 1
SQRT: Final = 2
EX2: Final = 3
LG2: Final = 4
SIN: Final = 5
COS: Final = 6
TANH: Final = 7

WIDTH: Final = 23  # bits of a fraction, as of FP32
_LOW: Final = (1 << 17) - 1
_ONES: Final = (1 << WIDTH) - 1
_HALF_TURN: Final = 1 << 24  # angles are in units of 2^-25 turns
_INVERSE_TURN: Final = 0xA2F983  # the significand of FP32's 1 / (2 pi), which is 2^-26 times this
_FAR: Final = 1 << 12  # an exponent beyond those of every format
# Of tanh, for each binade from 2^-8: log2 of the number of rows, the first of them, and the unit's exponent, negated.
_TANH_LEAST: Final = -8
_TANH_ROWS: Final = (0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3)
_TANH_FIRST: Final = tuple(sum(1 << rows for rows in _TANH_ROWS[:binade]) for binade in range(len(_TANH_ROWS)))
_TANH_UNIT: Final = (39, 38, 37, 38, 37, 38, 37, 36, 37, 39, 37)


@dataclass(frozen=True, eq=False)
class Interpolation:
    """A function and its rows: c0 above 30 bits, c1 in 16, c2 in the lowest 14.

    root: the parity of the exponent chooses a half of the rows. index_bits: how many of the fraction's leading bits
    choose a row.
    """

    kind: int
    make: Callable[[], Sequence[int]]
    index_bits: int

    @property
    def root(self) -> bool:
        return self.kind in (RSQRT, SQRT)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        return tuple(self.make())


def evaluated(kind: int, negative: int, exponent: int, fraction: int, rows: Sequence[int]) -> tuple[int, int, int]:
    """The function of (1 + fraction / 2^23) 2^exponent: sign, significand of 24 bits, and the exponent of its leading
    bit; a zero has the significand 0."""
    if kind == RCP:
        y = parabola(rows[fraction >> 16], (fraction << 1) & _LOW, 14, -1, 2, 4046) >> 16
        return negative, *_below_one(y, -exponent)
    if kind == RSQRT:
        if fraction == 0 and exponent & 1 == 0:
            return 0, 1 << WIDTH, -(exponent >> 1)
        y = parabola(rows[(exponent & 1) << 6 | fraction >> 17], fraction & _LOW, 14, -1, 4, 16383) >> 16
        return 0, *_below_one(y, -(exponent >> 1))
    if kind == SQRT:
        return 0, _root(exponent & 1, fraction, rows), exponent >> 1
    if kind == EX2:
        return _power(negative, exponent, fraction, rows)
    if kind == LG2:
        return _logarithm(exponent, fraction, rows)
    if kind == TANH:
        return _tanh(negative, exponent, fraction, rows)
    angle = _turns(exponent, fraction)
    return _sine(negative, angle, rows) if kind == SIN else _sine(0, angle + (_HALF_TURN >> 1), rows)


def parabola(row: int, x: int, up: int, slope: int, curve: int, bias: int) -> int:
    """c0 2^up + slope c1 x + curve c2 x^2 / 2^19 + bias."""
    return ((row >> 30) << up) + slope * ((row >> 14) & 0xFFFF) * x + curve * (row & 0x3FFF) * square(x) + bias


def square(x: int) -> int:
    """About x^2 / 2^19 of 17 bits: the products of two bits that weigh less than 2^19 are left out.

    Bits i > j have one product, of weight 2^(i + j + 1), and bit i alone one of 2^(2 i).
    """
    total = 0
    for i in range(2, 17):
        if (x >> i) & 1:
            total += (((x >> (i + 1)) << (2 * i + 2)) | (1 << (2 * i))) >> 19
    return total


def _below_one(y: int, exponent: int) -> tuple[int, int]:
    """The significand and exponent of y / 2^24 times 2^exponent, where y is from 2^23 to 2^24."""
    if y >> 24:
        return 1 << WIDTH, exponent
    return y, exponent - 1


def _root(odd: int, fraction: int, rows: Sequence[int]) -> int:
    row, x = rows[odd << 6 | fraction >> 17], fraction & _LOW
    if odd:
        return parabola(row, x, 14, 1, -1, 16383) >> 16
    return parabola(row, x, 15, 1, -2, 32767) >> 17


def _power(negative: int, exponent: int, fraction: int, rows: Sequence[int]) -> tuple[int, int, int]:
    """2^x: x is cut to 23 fraction bits; that of a negative x is the complement."""
    if exponent >= 11:
        return 0, 1 << WIDTH, -_FAR if negative else _FAR
    x = 1 << WIDTH | fraction
    x = x << exponent if exponent >= 0 else x >> min(-exponent, WIDTH + 1)
    whole, rest = x >> WIDTH, x & _ONES
    if negative:
        whole = -whole
        if rest:
            whole, rest = whole - 1, rest ^ _ONES
    return 0, parabola(rows[rest >> 17], rest & _LOW, 13, 1, 1, 0x77E2) >> 15, whole


def _logarithm(exponent: int, fraction: int, rows: Sequence[int]) -> tuple[int, int, int]:
    """log2 in fixed point, of 36 fraction bits; a negative one is complemented. The result is cut to 24 bits."""
    if exponent == 0 and fraction == 0:
        return 0, 0, 0
    mantissa = parabola(rows[fraction >> 17], fraction & _LOW, 12, 1, -2, 0x7345)
    v = ((exponent << 38) + mantissa) >> 2
    return _normalized(1, ~v, 36) if v < 0 else _normalized(0, v, 36)


def _turns(exponent: int, fraction: int) -> int:
    """The operand over 2 pi, cut like an FP32 product and then to units of 2^-25; whole turns are left out."""
    product = (1 << WIDTH | fraction) * _INVERSE_TURN
    cut = 24 if product >> 47 else 23
    down = 24 - exponent - cut  # the product is in units of 2^(exponent - 49), the angle of 2^-25
    kept = product >> cut
    if down > 0:
        return kept >> min(down, 24)
    return (kept << min(-down, 25)) & (2 * _HALF_TURN - 1)


def _sine(negative: int, angle: int, rows: Sequence[int]) -> tuple[int, int, int]:
    if angle & _HALF_TURN:
        negative ^= 1
    if angle & (_HALF_TURN >> 1):
        angle = ~angle
    angle &= _ONES
    return _normalized(negative, parabola(rows[angle >> 17], angle & _LOW, 12, 1, -1, 0), 37)


def _tanh(negative: int, exponent: int, fraction: int, rows: Sequence[int]) -> tuple[int, int, int]:
    """Small operands are their own result; from 8 it is one."""
    if exponent < _TANH_LEAST:
        return negative, 1 << WIDTH | fraction, exponent
    if exponent > 2:
        return negative, 1 << WIDTH, 0
    binade = exponent - _TANH_LEAST
    skipped = 6 - _TANH_ROWS[binade]
    row = rows[_TANH_FIRST[binade] + (fraction >> (17 + skipped))]
    return _normalized(negative, parabola(row, (fraction >> skipped) & _LOW, 15, 1, -2, 0), _TANH_UNIT[binade])


def _normalized(negative: int, value: int, unit: int) -> tuple[int, int, int]:
    """value / 2^unit, cut to 24 bits; value has at most 63, and is not negative."""
    top, rest = 0, value
    for step in (32, 16, 8, 4, 2, 1):
        if rest >> step:
            rest >>= step
            top += step
    significand = value >> (top - WIDTH) if top >= WIDTH else value << (WIDTH - top)
    return negative, significand & 0xFFFFFF, top - unit
