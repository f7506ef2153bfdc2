"""The numbers and tables of the compiled loops for a format under a policy, computed by the scalar oracle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.op_plans import signed_word
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder, target
from softfloat_ref.oracle.exact import NAN, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import Target, goes_beyond, rounds_up

FP32: Final = CATALOGUE["fp32"]
FP64: Final = CATALOGUE["fp64"]
UPPER: Final = 16  # upper bits of a float32 that index a table
FAR: Final = 1 << (FP32.width - 1 - FP32.mantissa_bits)  # above all binades of float32; nearest.py accepts none higher
SCALE_AT: Final = FP32.mantissa_bits + 1  # in an entry of block_dispatch's table, the bit where the scale begins
LEAST, BEYOND, INF = 2, 7, 8  # fields of nearest.Nearest
# Of kernels/divided_loops.py:
RANGE: Final = 120  # quotients beyond 2^+-RANGE are limited to it
RULES: Final = 12  # fields of DividedPlan.rules:
FLUSH, ZERO_SCALE, NAN_SCALE, LOWEST, KIND, DROP, NAN_CODE, DIVIDE, SHIFT, NEGATE, IN_FP32, INSTEAD = range(RULES)
# flush subnormals; the scale of a block of zeros; that of a block with specials (-1: left to the oracle), and its
# elements' code; the least other scale; the kind of scales; the sign of zeros; whether elements are divided, not
# multiplied; mantissa bits that FP32 has and the scale lacks; whether -x is ~x + 1; whether quotients are rounded to
# FP32, and by what; the scale in place of one that rounds to zero
QUOTIENT, POWER, RECIPROCAL, DIVISION, INVERSE = range(5)  # kinds of scales
BY_PRODUCT, BY_QUOTIENT, BY_RECIPROCAL = 1, 2, 3  # values of IN_FP32: both scales' product, their quotient, or the
# reciprocal of the product with 1 / the number that finds the scale, with which values are multiplied
MSE, MAE, MAX = 1, 2, 3  # kinds of errors by which a scale is searched
KEEP, DROP_GIVEN, DROP_ALL, SET_GIVEN = range(4)  # signs of zeros: all kept; those of input zeros dropped; all dropped;
# input zeros negative
KEEP_NAN: Final = Policy(nan="propagate")


def decisions(t: Target) -> int:
    """The rounding decision as a truth table: bit 8 negative + 4 odd + 2 guard + sticky."""
    return sum(rounds_up(t.mode, case >> 3, case >> 2 & 1, case >> 1 & 1, case & 1, 0, 0) << case for case in range(16))


def is_plain(fmt: Format, policy: Policy, source: Format) -> bool:
    """Whether the branch-free loops support a conversion from FP32 or FP64: `is_regular` and not stochastic."""
    return not policy.rounding.stochastic and is_regular(fmt, policy, source)


def is_stochastic(fmt: Format, policy: Policy, source: Format) -> bool:
    """Whether the stochastic loop supports a conversion, which must be from FP32."""
    n = policy.random_count
    return 0 < n <= 32 and source is FP32 and is_regular(fmt, policy, source)


def is_regular(fmt: Format, policy: Policy, source: Format) -> bool:
    """Whether results are not flushed, the target has a zero and gradual subnormals, parity is that of the significand,
    and the target's exponent range, precision and width lie within the source's."""
    return (
        fmt.zero
        and fmt.subnormals == "gradual"
        and not policy.flush_outputs
        and (fmt.mantissa_bits > 0 or not fmt.p3109)
        and fmt.emin >= source.emin
        and fmt.mantissa_bits < source.mantissa_bits
        and fmt.width <= min(source.width, 32)
        and fmt.emax <= source.emax
    )


def fits_table(fmt: Format, policy: Policy) -> bool:
    """Whether the upper half of a float32 with a sticky bit decides the result: two spare bits, also for subnormals.

    Flushing needs one more bit: tininess below the lowest normal number is decided at full precision.
    """
    spare = FP32.mantissa_bits - UPPER - 2
    lowest = FP32.emin - FP32.mantissa_bits + UPPER + 2 + policy.flush_outputs
    return not policy.rounding.stochastic and fmt.mantissa_bits <= spare and fmt.emin - fmt.mantissa_bits >= lowest


def nan_is_one(fmt: Format, policy: Policy) -> bool:
    """Whether every NaN becomes the same code."""
    rule = policy.nan_rule
    return not fmt.has_nan or fmt.nan == "negative-zero" or rule.propagate == "no" or rule.has_code(fmt)


def is_near(fmt: Format, policy: Policy) -> bool:
    """Whether a target differs from FP32 only in its mantissa bits, nothing is flushed, and zeros keep their sign."""
    like = fmt.mantissa_bits > 0 and fmt.nan == "ieee" and target(fmt, policy).negative_zero != 0
    same = like and fmt.exponent_bits == FP32.exponent_bits and fmt.bias == FP32.bias
    return same and not policy.flush_inputs and not fmt.p3109 and is_plain(fmt, policy, FP32)


def near_numbers(fmt: Format, policy: Policy, values: bool) -> list[int]:
    """The fields of convert.Near for codes, or for bits of values."""
    numbers = value_numbers(fmt, policy) if values else plain_numbers(fmt, policy, FP32)
    table, spare = decisions(target(fmt, policy)), FP32.mantissa_bits - fmt.mantissa_bits
    adds = [_addend(table >> case, spare) for case in (0, 4, 8, 12)]
    return [spare, *adds, numbers[5], *numbers[7:12]]


def _addend(cases: int, spare: int) -> int:
    """The addend to the discarded bits that carries exactly when bit 2 guard + sticky of `cases` is set."""
    half = 1 << (spare - 1)
    least = next((first for case, first in ((1, 1), (2, half), (3, half + 1)) if cases >> case & 1), 2 * half)
    return 2 * half - least


def nearest_numbers(fmt: Format, policy: Policy, values: bool) -> list[int] | None:
    """The fields of nearest.Nearest for codes, or for bits of values; None if its loops do not apply."""
    fields = None if fmt.twos_complement else _nearest_numbers(fmt, policy, values)
    sign = FP32.sign_bit if values else fmt.sign_bit
    numbers = value_numbers(fmt, policy) if fields and values else plain_numbers(fmt, policy, FP32)
    pairs = (numbers[7:9], numbers[9:11], (0, numbers[15]))
    return fields if fields and sign and all(pair[1] == pair[0] | sign for pair in pairs) else None


def nearest_magnitudes(fmt: Format, policy: Policy) -> list[int] | None:
    """The same for codes of finite magnitudes, to which the caller gives their signs: -x is ~x + 1 for integers."""
    fields = _nearest_numbers(fmt, policy, False)
    numbers = plain_numbers(fmt, policy, FP32)
    mask = (1 << fmt.width) - 1
    negated = -numbers[7] & mask if fmt.twos_complement else numbers[7] | fmt.sign_bit
    zero = not fmt.signed or numbers[15] == (0 if fmt.twos_complement else fmt.sign_bit)
    return fields if fields and zero and (not fmt.signed or numbers[8] == negated) else None


def _nearest_numbers(fmt: Format, policy: Policy, values: bool) -> list[int] | None:
    """The numbers for magnitudes, if both signs have the same limits."""
    added = _symmetric_addends(decisions(target(fmt, policy)))
    if added is None or not is_plain(fmt, policy, FP32):
        return None
    numbers = value_numbers(fmt, policy) if values else plain_numbers(fmt, policy, FP32)
    sign = FP32.sign_bit if values else fmt.sign_bit
    limits, beyond, inf = numbers[5:7], numbers[7], numbers[9]
    if (fmt.signed and limits[0] != limits[1]) or (beyond | inf) & sign:
        return None
    shift = FP32.sign_bit.bit_length() - sign.bit_length()
    span = max(value_numbers(fmt, policy)[5] - (numbers[2] << FP32.mantissa_bits), 0)  # 0 if no number is normal
    return [*numbers[:3], *added, limits[0], beyond, inf, numbers[11], shift, numbers[16], span]


def _symmetric_addends(table: int) -> tuple[int, int, int] | None:
    """half, extra and odd of nearest.Nearest from a truth table; None if no such numbers exist."""
    if table & 0xFF != table >> 8:
        return None
    addends = []
    for cases in (table, table >> 4):
        short, longer = _addend(cases, 10), _addend(cases, 11)
        half = (longer - short) >> 9
        addends.append((half, short - (half << 9)))
    (half, extra), (half_odd, extra_odd) = addends
    if half not in (0, 1) or half_odd != half or extra_odd - extra not in (0, 1):
        return None
    return half, extra % (1 << FP32.width), extra_odd - extra


def plain_numbers(fmt: Format, policy: Policy, source: Format) -> list[int]:
    """The fields of convert.Plain for codes."""
    t = target(fmt, policy)
    encode = encoder(fmt, policy)
    beyond = [_beyond(t, negative) for negative in (0, 1)]
    two = fmt.twos_complement and fmt.signed
    return [
        source.mantissa_bits - fmt.mantissa_bits,
        fmt.mantissa_bits,
        fmt.emin - source.emin + 1,
        int(policy.flush_inputs),
        decisions(t),
        t.max_code,
        t.max_negative_code,
        *beyond,
        encode(exact.inf(0), 0)[0],
        encode(exact.inf(1), 0)[0],
        _nan_code(fmt, policy),
        1 if two else fmt.sign_bit,  # -x is ~x + 1
        (1 << source.width) - 1 if two else 0,
        (1 << fmt.width) - 1,
        encode(exact.zero(1), 0)[0],
        0,
    ]


def target_numbers(t: Target, source: Format) -> list[int]:
    """The fields of convert.Plain for a target with gradual subnormals, finite numbers, and zero for -0."""
    place = source.mantissa_bits - t.mantissa_bits, t.mantissa_bits, t.emin - source.emin + 1, 0, decisions(t)
    beyond = [_beyond(t, negative) for negative in (0, 1)]
    return [*place, t.max_code, t.max_negative_code, *beyond, 0, 0, 0, t.sign_bit, 0, 2 * t.sign_bit - 1, 0, 0]


def value_numbers(fmt: Format, policy: Policy) -> list[int]:
    """The fields of convert.Plain from float32 to the bits of float32 values."""
    codes = plain_numbers(fmt, policy, FP32)
    t = target(fmt, policy)
    decode, encode = decoder(fmt), encoder(FP32, KEEP_NAN)

    def bits(code: int) -> int:
        return encode(decode(code), 0)[0]

    def magnitude(code: int) -> int:
        """The float32 bits of a magnitude code's value; 0 for a negative code, which stands for no value."""
        significand, exponent = fmt.magnitude(code) if code >= 0 else (0, 0)
        return encode(exact.finite(0, significand, exponent), 0)[0] if significand else 0

    limits = [magnitude(t.max_code), magnitude(t.max_negative_code)]
    specials = [bits(code) for code in codes[7:12]]
    smallest = encode(exact.finite(0, 1, fmt.emin - fmt.mantissa_bits), 0)[0]
    return [*codes[:5], *limits, *specials, 0, 0, 0, bits(codes[15]), smallest]


def _beyond(t: Target, negative: int) -> int:
    """The complete code for a finite overflow."""
    if goes_beyond(t.mode, negative, t.odd_beyond):
        return t.beyond_negative if negative else t.beyond_positive
    return t.largest_negative if negative else t.largest_positive


def _nan_code(fmt: Format, policy: Policy) -> int:
    """The code for a NaN without payload; 0 if NaN is an error, which the caller then raises value by value."""
    try:
        return encoder(fmt, policy)(Value(NAN, 0), 0)[0]
    except ValueError:
        return 0


class Generic(NamedTuple):
    """The last arguments of convert.rounded_codes."""

    targets: NDArray[np.int64]
    zeros: NDArray[np.int64]
    infinities: NDArray[np.int64]
    nan: NDArray[np.int64]


def is_generic(fmt: Format, policy: Policy) -> bool:
    """Whether round_pack converts to the format within 64-bit integers."""
    n = policy.random_count
    whole = fmt.max_code + 2 < 1 << 63 and (fmt.width < 64 or not fmt.twos_complement)
    fits = fmt.mantissa_bits + n + 3 <= 62 and fmt.width <= 64 and whole and abs(fmt.emin) < 1 << 20
    return fits and not (fmt.gap and fmt.mantissa_bits > 9)


@lru_cache(maxsize=256)
def generic(fmt: Format, policy: Policy) -> Generic:
    """The last arguments of `rounded_codes`."""
    encode = encoder(fmt, policy)
    quiet, signaling = _pair(encode, Value(NAN, 0)), _pair(encode, Value(NAN, 0, signaling=True))
    return Generic(
        np.array([[signed_word(int(x)) for x in target(fmt, policy)]], np.int64),
        np.array([_signed_pair(encode(exact.zero(s), 0)) for s in (0, 1)], np.int64),
        np.array([_signed_pair(encode(exact.inf(s), 0)) for s in (0, 1)], np.int64),
        np.array([*_signed_pair(quiet), signaling[1]], np.int64),
    )


def _signed_pair(encoded: Sequence[int]) -> Sequence[int]:
    return signed_word(encoded[0]), encoded[1]


def _pair(encode: Any, x: Value) -> Sequence[int]:
    try:
        return encode(x, 0)  # type: ignore[no-any-return]
    except ValueError:
        return 0, 0


# -- conversions that round nothing ------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def widening_numbers(fmt: Format, policy: Policy, source: Format) -> tuple[int, ...] | None:
    """The fields of convert.Widening; None if some number of the source is none of the target, or its loop does not
    apply."""
    floats = not (source.twos_complement or fmt.twos_complement) and fmt.signed >= source.signed
    gradual = source.subnormals == fmt.subnormals == "gradual" and source.mantissa_bits > 0
    same = fmt.emin == source.emin  # subnormals remain subnormals; or all become normal
    low = same or fmt.emin <= source.emin - source.mantissa_bits
    narrow = source.mantissa_bits <= fmt.mantissa_bits and max(fmt.width, source.width) <= 64
    if not (floats and gradual and low and narrow) or fmt.emax < source.emax:
        return None
    flushed = policy.flush_outputs and same
    encode, decode = encoder(fmt, policy), decoder(source)
    if flushed or policy.random_count or encode(decode(source.max_code), 0)[1]:
        return None
    m, hidden = fmt.mantissa_bits, 1 if same else source.min_normal_code
    numbers = [
        source.magnitude_mask,
        max(hidden, policy.flush_inputs * source.min_normal_code),
        m - source.mantissa_bits,
        source.emin - fmt.emin << m,
        m,
        (source.emin - source.mantissa_bits) - fmt.emin - 1 << m,
        policy.flush_inputs,
        source.max_code,
        source.inf_code,
        fmt.sign_bit,
        encode(exact.zero(0), 0)[0],
        _pair(encode, decode(source.sign_bit))[0],
        *[encode(exact.inf(s), 0)[0] if source.infinity else 0 for s in (0, 1)],
        _nan_code(fmt, policy),
    ]
    return tuple(int(x) % (1 << 64) for x in numbers)
