"""The compiled loops of real functions of float32 values, rounded to nearest even: exp, sigmoid, tanh, log1p.

They are computed in float64 from a table of powers of two and a short polynomial, by additions, multiplications and
divisions alone, which IEEE 754 fixes; nothing is taken on trust from a mathematical library. A result stands if no
boundary between two float32 is within the margin of it. The others are marked, about one in a million; the oracle
decides them.

The errors. With c = ln 2 / 256, n the integer nearest to x / c (or its neighbour, beside a tie), r = x - n c, p = e^r
- 1 and t = 2^(n / 256), e^x is t + t p, and |r| < 0.00136:
- c is in two parts. n times the first, of 36 bits, is exact, as n has at most 16; so is x minus that, a multiple of
  2^-44 below 2^-9. The second part rounds r once more: r is within 2^-52 of itself.
- p is a polynomial of degree 5: it lacks less than r^5 / 720 < 2^-57 of p, and with the roundings is within 2^-50.5 of
  p.
- t is in two parts, too, the nearest float64 and what that lacks. t p is within 2^-50 of itself, and less than 0.0014
  t: so e^x is within 2^-51.5 of itself. e^x - 1 is p for n = 0. Else t - 1, in float64, and the sum with its second
  part are off by 2^-53 of it each; |t p| is at most 0.51 of |t - 1|, and the sum at least 0.49: e^x - 1 is within
  2^-49 of itself.
- sigmoid has one addition and one division more. tanh x is -m / (m + 2), m being e^(-2|x|) - 1, above -1: that at most
  doubles the error of m, to 2^-48.
- The logarithm of 1 + x is a library's estimate y and one step of Newton's method, d = (1 + x) e^-y - 1, if d is so
  small that its square does not count; else nothing is known. For x <= 1, d is x + m + x m with m = e^-y - 1, off by
  less than 2^-48 x; beyond, the product is off by less than 2^-50.5, and the logarithm is at least ln 2.
The margin is 2^-46. With fused multiply-adds in place of pairs of roundings the bounds hold as well.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels.casts import double, double_bits
from softfloat_ref.arrays.kernels.jit import compiled

PARTS: Final = 256  # powers of two from 1 to 2: columns of the table, whose second row has what the first lacks
_LOG_PARTS: Final = 8
_BIAS: Final = 1023
_FIRST: Final = float.fromhex("0x1.62e42fefap-1") / PARTS  # c = ln 2 / 256: 36 bits of it
_SECOND: Final = float.fromhex("0x1.cf79abc9e3b3ap-40") / PARTS  # and the rest; a test confirms both
_STEPS: Final = 1 / (_FIRST + _SECOND)
_SPAN: Final = 110.0  # beyond it e^x overflows or vanishes in float32, and sigmoid too
_TANH: Final = 10.0  # from it tanh is 1 in float32
_INTEGER: Final = 1.5 * 2.0**52  # added, it leaves the nearest integer in the low bits
_MARGIN: Final = 1 << 7  # in units of a float64's last place: at least 2^-46
_HALF: Final = 1 << 28  # half a unit of float32's last place
_MASK: Final = (1 << 29) - 1  # the bits that a float64 has and a float32 has not
_SMALL: Final = 2.0**-125  # subnormal numbers have other boundaries
_LARGE: Final = 2.0**127
_ZERO: Final = 2.0**-151  # below half of the smallest number
_NEAR: Final = 2.0**-60  # of the result: the largest square of Newton's step
_A: Final = 1 / 120
_B: Final = 1 / 24
_C: Final = 1 / 6


@compiled(forceinline=True)
def _power(x: Any, less: Any, table: Any) -> Any:
    """e^x - less, for less 0 or 1 and |x| <= _SPAN."""
    shifted = x * _STEPS + _INTEGER
    bits = double_bits(shifted)  # whose low bits are the integer
    n = shifted - _INTEGER
    r = (x - n * _FIRST) - n * _SECOND
    scale = double((bits >> _LOG_PARTS) + _BIAS << 52)
    place = bits & (PARTS - 1)
    t = table[0, place] * scale
    p = ((((r * _A + _B) * r + _C) * r + 0.5) * r + 1.0) * r
    return t * p + ((t - less) + table[1, place] * scale)


@compiled(forceinline=True)
def _within(x: Any, low: Any, high: Any) -> Any:
    """x held between two numbers; a NaN as it is."""
    return low if x < low else high if x > high else x


@compiled(forceinline=True)
def _is_sure(y: Any) -> Any:
    """Whether no boundary of float32 is within the margin of a number, or it rounds to zero."""
    size = abs(y)
    plain = (size > _SMALL) & (size < _LARGE)
    near = (double_bits(y) + _MARGIN - _HALF & _MASK) < 2 * _MARGIN
    return (plain & (not near)) | (size < _ZERO)


@compiled(nogil=True)
def exp(x: Any, table: Any, out: Any, sure: Any) -> Any:
    """The results of float32 operands; returns how many are sure. sure: which are."""
    count = 0
    for i in range(x.size):
        y = _power(_within(np.float64(x[i]), -_SPAN, _SPAN), 0.0, table)
        out[i], sure[i] = y, _is_sure(y)
        count += sure[i]
    return count


@compiled(nogil=True)
def sigmoid(x: Any, table: Any, out: Any, sure: Any) -> Any:
    """As `exp`."""
    count = 0
    for i in range(x.size):
        y = 1.0 / (_power(_within(-np.float64(x[i]), -_SPAN, _SPAN), 0.0, table) + 1.0)
        out[i], sure[i] = y, _is_sure(y)
        count += sure[i]
    return count


@compiled(nogil=True)
def tanh(x: Any, table: Any, out: Any, sure: Any) -> Any:
    """As `exp`."""
    count = 0
    for i in range(x.size):
        d = np.float64(x[i])
        m = _power(_within(-2.0 * abs(d), -2 * _TANH, 0.0), 1.0, table)
        y = math.copysign(m / (m + 2.0), d)
        out[i], sure[i] = y, _is_sure(y)
        count += sure[i]
    return count


@compiled(nogil=True)
def log1p(x: Any, table: Any, out: Any, sure: Any) -> Any:
    """As `exp`, for operands from 0 on; those of which it knows nothing are not sure."""
    count = 0
    for i in range(x.size):
        d = np.float64(x[i])
        near = math.log1p(d)
        step = 0.0
        if d <= 1.0:
            m = _power(-near, 1.0, table)
            step = d + m + d * m
        else:
            step = (1.0 + d) * _power(_within(-near, -_SPAN, 0.0), 0.0, table) - 1.0
        y = near + step if d else d
        out[i], sure[i] = y, _is_sure(y) & (step * step <= _NEAR * abs(near))
        count += sure[i]
    return count
