"""Softmax, its logarithm, attention scores and norms of many vectors in float64, with a bound of the error; what that
bound decides is rounded by the oracle's own function, and lanes that it leaves open are the oracle's.

A lane's exact value lies strictly between two numbers of float64's significand, in units in its last place. If all
between them have one prefix of the bits that the rounding needs, the value is that prefix and something more. Errors
are counted in units of 2^-53 of a value: one for each operation that rounds, and those of the powers of e below 2^-48,
see exponentials.py. So nothing is assumed of a value but its bounds; where one of these is known exactly (softmax is
below 1 / the number of its largest lanes, log_softmax beyond the distance to the largest), it is taken.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels.exponentials import bounded_exp
from softfloat_ref.arrays.kernels.jit import compiled, double, double_bits
from softfloat_ref.arrays.kernels.loops import length, make_target, round_pack
from softfloat_ref.arrays.kernels.opcodes import UNKNOWN

# Of `setting`: a pair is a code and its flags.
BITS, LOGARITHM, CENTRED, ZERO_CODE, MINUS_ZERO_CODE, INF_CODE = 0, 1, 2, 3, 5, 7
SETTING: Final = 9
U64: Final = np.uint64
_NEGATIVE, _PREFIX, _UNIT, _EXACT, _ROWS = 0, 1, 2, 3, 4  # of the lanes of a row
_HIDDEN: Final = 1 << 52
_MOST: Final = _HIDDEN - 1  # an error that decides nothing
_TOP: Final = (1 << 53) - 1
_BELOW_ONE: Final = 1.0 - 2.0**-53
_FAR: Final = -700.0  # powers of e below are only known to be tiny
_HUGE: Final = 2.0**900  # beyond, and below 2^-900, float64 may not hold what is computed next
_TINIEST: Final = 2.0**-996  # above the sum of 4,096 powers of e beyond _FAR
_TINY_UNIT: Final = -1 << 20
_EXP_ERROR: Final = 80.0  # of a power of e, of the quotient and of the sum besides its terms
_LN2: Final = float.fromhex("0x1.62e42fefa39efp-1")
_ODD: Final = tuple(1.0 / (2 * i + 1) for i in range(12))


@compiled(forceinline=True)
def _log1p(x: Any) -> Any:
    """ln(1 + x) of x from 0 to 2^20, within 16 units: k ln 2 + 2 artanh(s) with 1 + x = 2^k m, s = (m - 1) / (m + 1),
    which is at most 0.172; the series ends at s^23, and what is left is below 2^-60 of it."""
    s, k = x / (2.0 + x), 0.0
    if x > 0.414:
        whole = 1.0 + x
        bits = double_bits(whole)
        exponent = np.int64(bits >> U64(52)) - 1023
        m = double(U64(bits & U64(_HIDDEN - 1)) | U64(1023 << 52))
        if m > 1.415:
            m, exponent = m * 0.5, exponent + 1
        s, k = (m - 1.0) / (m + 1.0), np.float64(exponent)
    square, total = s * s, 0.0
    for i in range(11, -1, -1):
        total = total * square + _ODD[i]
    return k * _LN2 + 2.0 * s * total


@compiled(forceinline=True)
def _decided(y: Any, error: Any, floor: int, top: int, bits: int) -> tuple[int, int]:
    """The first bits of all numbers within `error` of y, and their unit; 0 if they have not all the same. y: positive
    and normal. floor, top: bounds of the significand that are known besides, inclusively of what lies above them."""
    code = np.int64(double_bits(y))
    m, unit, e = code & (_HIDDEN - 1) | _HIDDEN, (code >> 52) - 1075, np.int64(min(error, _MOST)) + 1
    low, last = max(m - e, floor), min(m + e - 1, top)
    cut = max(length(low) - bits, 0)
    return (low >> cut if (low ^ last) >> cut == 0 else 0), unit + cut  # type: ignore[operator]


@compiled()
def _round(bits: int, targets: Any, work: Any, words: Any, codes: Any, apart: Any, i: int) -> int:
    """The codes of a row's lanes whose prefixes are known, and the union of their flags; the others are apart."""
    t, union = make_target(targets, 0), 0
    for j in range(work.shape[1]):
        prefix, word = work[_PREFIX, j], words[i, j] if words.size else 0
        if prefix > 0:
            size = 1 if work[_EXACT, j] else bits
            code, raised = round_pack(work[_NEGATIVE, j], prefix, work[_UNIT, j], size, 1 - work[_EXACT, j], word, t)
            codes[i, j] = code
            union |= raised
        elif prefix == 0:
            apart[i, j] = True
    return union


@compiled(forceinline=True)
def _store(work: Any, j: int, negative: int, prefix: int, unit: int, exact: int) -> None:
    """A lane's prefix, for `_round`. exact: whether the prefix, a one, is all."""
    work[_NEGATIVE, j], work[_PREFIX, j], work[_UNIT, j], work[_EXACT, j] = negative, prefix, unit, exact


@compiled(forceinline=True)
def _known(setting: Any, at: int, codes: Any, i: int, work: Any, j: int) -> int:
    """A lane of a known code; returns its flags."""
    work[_PREFIX, j], codes[i, j] = -1, setting[at]
    return setting[at + 1]  # type: ignore[no-any-return]


@compiled(nogil=True, error_model="numpy")
def exponentials(
    setting: Any, targets: Any, x: Any, scale: Any, slack: Any, visible: Any, words: Any, codes: Any, flags: Any,
    apart: Any,
) -> None:  # fmt: skip
    """Softmax of each row of scale * x, or its logarithm. slack: an error of each x. visible: how many lanes take part.
    flags: of all lanes; UNKNOWN for what the oracle must answer. apart: the lanes that it must answer of the others."""
    n = x.shape[1]
    powers, work = np.empty(n), np.zeros((_ROWS, n), np.int64)
    for i in range(x.shape[0]):
        lanes, sign, factor = visible[i], 1.0 if scale[i] >= 0 else -1.0, abs(scale[i])
        largest, numbers, missing = -np.inf, 0, not factor < np.inf
        for j in range(lanes):
            powers[j] = sign * x[i, j]
            missing |= not powers[j] < np.inf  # NaN, too
            largest = max(largest, powers[j])
            numbers += powers[j] > -np.inf
        flags[i] = UNKNOWN
        if missing or numbers == 0:
            continue
        others, count, loose = 0.0, 0, 3.0 * slack[i] * factor * 2.0**53
        for j in range(lanes):
            powers[j] = (powers[j] - largest) * factor if factor != 0 else 0.0
            if powers[j] == 0:
                count += 1
            elif powers[j] > _FAR:
                others += bounded_exp(powers[j])
        error, union = _EXP_ERROR + 4.0 * n + 3.0 * loose, 0
        powers[lanes:] = -np.inf
        if setting[LOGARITHM]:
            union = _logarithms(setting, x, i, largest, others, count, numbers, error, powers, codes, work)
        else:
            union = _shares(setting, i, others, count, numbers, error, loose > 0, powers, codes, work)
        flags[i] = union | _round(setting[BITS], targets, work, words, codes, apart, i)


@compiled(forceinline=True)
def _shares(
    setting: Any, i: int, others: Any, count: int, numbers: int, error: Any, loose: bool, powers: Any, codes: Any,
    work: Any,
) -> int:  # fmt: skip
    """The prefixes of softmax; returns the flags of those lanes that are known besides."""
    bits, union = setting[BITS], 0
    total, even = count + others, count & (count - 1) == 0
    just_below = even and not loose and others < 0.5 * count  # then the largest lanes are just below 1 / count
    just_below |= count == 1 and numbers > 1 and others < 0.5  # no share of several is one, whatever the errors
    for j in range(powers.size):
        distance, exact = powers[j], 0
        if distance == -np.inf:
            union |= _known(setting, ZERO_CODE, codes, i, work, j)
            continue
        if distance < _FAR:
            prefix, unit = 1 << (bits - 1), _TINY_UNIT
        elif distance == 0 and even and count == numbers and not loose:
            prefix, unit, exact = 1, 1 - length(count), 1
        else:
            value, top = (1.0 if distance == 0 else bounded_exp(distance)) / total, 2 * _TOP
            if distance == 0 and just_below:
                value, top = min(value, _BELOW_ONE / count), _TOP
            prefix, unit = _decided(value, error - 2.0 * distance, 1, top, bits)
        _store(work, j, 0, prefix, unit, exact)
    return union


@compiled(forceinline=True)
def _logarithms(
    setting: Any, x: Any, i: int, largest: Any, others: Any, count: int, numbers: int, error: Any, powers: Any,
    codes: Any, work: Any,
) -> int:  # fmt: skip
    """As `_shares`, of log_softmax, whose scale is 1."""
    bits, union = setting[BITS], 0
    logarithm = _log1p((count - 1) + others)
    for j in range(powers.size):
        distance = -powers[j]
        if distance == np.inf or numbers == 1:
            union |= _known(setting, INF_CODE if distance > 0 else ZERO_CODE, codes, i, work, j)
            continue
        back = distance - largest
        rest = (largest - (distance - back)) - (x[i, j] + back)  # two-sum: distance + rest is exact
        beyond = rest + logarithm
        value, floor, top = distance + beyond, np.int64(1), np.int64(2 * _TOP)
        if value < 1.0 / _HUGE:
            prefix, unit = 1 << (bits - 1), _TINY_UNIT
        else:
            unsure = logarithm * (error + 32.0)  # in units of 2^-53; and powers of e that are only known to be tiny
            if double_bits(value) >> U64(52) == double_bits(distance) >> U64(52):
                at, margin = np.int64(double_bits(distance)) & (_HIDDEN - 1) | _HIDDEN, unsure * 2.0**-53 + _TINIEST
                if rest == 0 or beyond > margin:
                    floor = at
                elif beyond < -margin:
                    top = at - 1
            prefix, unit = _decided(value, (unsure + abs(beyond)) / value + 0.5, floor, top, bits)
        _store(work, j, 1, prefix, unit, 0)
    return union


@compiled(nogil=True, error_model="numpy")
def dot_products(q: Any, k: Any, visible: Any, out: Any, slack: Any) -> None:
    """out[i, j] = the product of q[i] and k[i, :, j], and an error of all; NaN if it is not finite. Products of two
    operands are exact."""
    lost = np.empty(out.shape[1])
    for i in range(q.shape[0]):
        n = visible[i]
        total = out[i, :n]
        total[:], lost[:] = 0, 0
        for d in range(q.shape[1]):
            x, row = q[i, d], k[i, d]
            for j in range(n):
                term = x * row[j]
                added = total[j] + term
                back = added - total[j]
                lost[j] += abs((total[j] - (added - back)) + (term - back))  # Knuth's two-sum
                total[j] = added
        most = 0.0
        for j in range(n):
            total[j] = total[j] if abs(total[j]) < np.inf else np.nan
            most = max(most, lost[j])
        slack[i] = 1.01 * most


@compiled(nogil=True, error_model="numpy")
def norms(
    setting: Any, targets: Any, x: Any, gain: Any, bias: Any, epsilon: float, words: Any, codes: Any, flags: Any,
    apart: Any,
) -> None:  # fmt: skip
    """RMS norm of each row, or, with a centre, layer norm. gain, bias: empty without. flags, apart: as for
    `exponentials`."""
    n = x.shape[1]
    values, work = np.empty(n), np.zeros((_ROWS, n), np.int64)
    for i in range(x.shape[0]):
        times, unsure = 1.0, 0.0
        if setting[CENTRED]:
            times, unsure = np.float64(n), _centre(x[i], values)
        else:
            values[:] = x[i]
        squares = 0.0
        for j in range(n):
            squares += values[j] * values[j]
        root = math.sqrt(squares / (times * times * n) + epsilon) * times
        flags[i] = UNKNOWN
        if not (1.0 / _HUGE < squares < _HUGE and 1.0 / _HUGE < root < _HUGE):
            continue
        error = 16.0 + 2.0 * n + unsure * n / math.sqrt(squares) * 2.0**53
        union = 0
        for j in range(n):
            factor, addend = gain[i, j] if gain.size else 1.0, bias[i, j] if bias.size else 0.0
            union |= _lane(setting, values[j], factor, addend, unsure, root, error, codes, i, work, j)
        flags[i] = union | _round(setting[BITS], targets, work, words, codes, apart, i)


@compiled(forceinline=True)
def _centre(x: Any, values: Any) -> Any:
    """n times the differences from the mean; returns an error of them besides the roundings of two subtractions."""
    n, high, low, size = x.size, 0.0, 0.0, 0.0
    for j in range(n):
        added = high + x[j]
        back = added - high
        low += (high - (added - back)) + (x[j] - back)
        high = added
        size += abs(x[j])
    for j in range(n):
        values[j] = (n * x[j] - high) - low
    return size * n * n * 2.0**-104


@compiled(forceinline=True)
def _lane(
    setting: Any, value: Any, factor: Any, addend: Any, unsure: Any, root: Any, error: Any, codes: Any, i: int,
    work: Any, j: int,
) -> int:  # fmt: skip
    """The prefix of value / root * factor + addend; returns its flags, if the lane is known. Lanes of a factor or
    addend that is not finite are the oracle's."""
    if not (abs(factor) < np.inf and abs(addend) < np.inf):
        work[_PREFIX, j] = 0
        return 0
    zero = (value == 0 or factor == 0) and not setting[CENTRED]
    if zero and addend == 0:  # a zero with its sign
        minus = math.copysign(1.0, value) != math.copysign(1.0, factor)
        return _known(setting, MINUS_ZERO_CODE if minus else ZERO_CODE, codes, i, work, j)  # type: ignore[no-any-return]
    normal = value * factor / root
    result = normal + addend
    size, prefix, unit = abs(result), 0, 0
    if 1.0 / _HUGE < size < _HUGE:
        lost = error + (unsure / abs(value) * 2.0**53 if unsure else 0.0)
        prefix, unit = _decided(size, lost * abs(normal) / size + 4.0, 1, 2 * _TOP, setting[BITS])
    _store(work, j, 1 if result < 0 else 0, prefix, unit, 0)
    return 0
