"""decode: bits to exact values; encode: exact values to bits and flags. The scalar oracle."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.flags import INEXACT, INVALID, OVERFLOW, UNDERFLOW, Flags
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import (
    Integers,
    NanMissing,
    Overflow,
    Policy,
    Specials,
    Tininess,
    Unnormals,
    get_policy,
    rounding_name,
)
from softfloat_ref.oracle.rounding import (
    FLUSH_BEFORE,
    FLUSH_OFF,
    FLUSH_ON,
    TININESS_AFTER,
    TININESS_BEFORE,
    Target,
    round_pack,
    with_sign,
)


class Encoded(NamedTuple):
    """A code and the flags raised by computing it."""

    bits: int
    flags: Flags


FLAGS: Final = tuple(Flags(i) for i in range(32))  # creating a Flags takes longer than an entire encode

Decoder = Callable[[int], Value]
Encoder = Callable[[Value, int], tuple[int, int]]


# -- decode --------------------------------------------------------------------------------------------------------


def tf32_from_register(bits: int) -> int:
    """The 19-bit tf32 code of a 32-bit register, whose low 13 bits the hardware ignores."""
    return check_code(bits, CATALOGUE["fp32"]) >> 13


def decode(bits: int, fmt: str | Format) -> Value:
    """The exact value of a code. Raises Error if `bits` is not a code of the format."""
    fmt = get_format(fmt)
    return decoder(fmt)(check_code(bits, fmt))


def check_code(bits: int, fmt: Format) -> int:
    """The code as a plain int. Raises Error if it is not an integer, negative or too wide."""
    try:
        code = operator.index(bits)
    except TypeError:
        raise Error(f"a code of {fmt.name} must be an integer, not {bits!r}") from None
    if code < 0 or code >> fmt.width:
        sign = "-" if code < 0 else ""
        raise Error(f"code {sign}{abs(code):x} does not fit {fmt.name}, which has {fmt.width} bits")
    return code


@lru_cache(maxsize=512)
def decoder(fmt: Format, flush: bool = False, unnormals: Unnormals = Unnormals.INVALID) -> Decoder:
    """The function that decodes checked codes of a format. flush: subnormals become zeros with their sign (DAZ)."""
    if fmt.explicit_bit:
        return lambda code: _decode_explicit(code, fmt, flush, unnormals == Unnormals.VALUE)
    if fmt.width > 16:
        return lambda code: _decode(code, fmt, flush)
    known: dict[int, Value] = {}

    def decode_known(code: int) -> Value:
        value = known.get(code)
        if value is None:
            value = known[code] = _decode(code, fmt, flush)
        return value

    return decode_known


def _decode(code: int, fmt: Format, flush: bool) -> Value:
    if fmt.is_nan(code):
        return _decode_nan(code, fmt)
    if fmt.twos_complement:
        sign = int(code & fmt.sign_bit != 0)
        return Value(FINITE, sign, (1 << fmt.width) - code if sign else code, 1 - fmt.bias - fmt.mantissa_bits)
    sign = int(code & fmt.sign_bit != 0)
    magnitude = code & fmt.magnitude_mask
    if magnitude == fmt.inf_code:
        return Value(INF, sign)
    if flush and fmt.subnormals == "gradual" and magnitude < fmt.min_normal_code:
        return Value(FINITE, sign)
    significand, exponent = fmt.magnitude(magnitude)
    return Value(FINITE, sign, significand, exponent) if significand else Value(FINITE, sign)


def _decode_explicit(code: int, fmt: Format, flush: bool, as_value: bool) -> Value:
    """The value of a code whose integer bit is stored. as_value: codes that x87 does not support have one."""
    m = fmt.mantissa_bits
    sign = int(code & fmt.sign_bit != 0)
    field = (code & fmt.magnitude_mask) >> (m + 1)
    significand = code & ((2 << m) - 1)
    if field and not significand >> m and not as_value:
        return Value(NAN, sign, 0, -1, 0, True)
    if field == (1 << fmt.exponent_bits) - 1:
        fraction = significand & ((1 << m) - 1)
        return _decode_nan(code, fmt) if fraction else Value(INF, sign)
    if not significand:
        return Value(FINITE, sign)
    raised = field - 1 if field else 0
    if flush and raised + significand.bit_length() <= m:
        return Value(FINITE, sign)
    return Value(FINITE, sign, significand, raised + fmt.emin - m)


def _decode_nan(code: int, fmt: Format) -> Value:
    if fmt.nan != "ieee":
        return Value(NAN, int(fmt.nan == "top" and code & fmt.sign_bit != 0))
    below_quiet = max(fmt.mantissa_bits - 1, 0)
    payload = code & ((1 << below_quiet) - 1)
    signaling = fmt.signaling and not code & fmt.quiet_bit
    return Value(NAN, int(code & fmt.sign_bit != 0), payload, below_quiet, 0, signaling)


# -- the target of a rounding --------------------------------------------------------------------------------------


@lru_cache(maxsize=2048)
def target(fmt: Format, policy: Policy) -> Target:
    """The Target of `round_pack` for a format under a policy; of one that stores its integer bit, for the format that
    hides it, of the precision that is rounded to."""
    fmt = policy.rounded_format(fmt)
    beyond = _beyond(fmt, policy)
    largest = _largest(fmt, policy)
    field = int(not fmt.zero and policy.e8m0_rule.field)  # the lowest binade is like FP32's subnormals
    return Target(
        mode=int(policy.rounding),
        random_count=policy.random_count,
        mantissa_bits=fmt.mantissa_bits,
        emin=fmt.emin + field,
        emax=max(fmt.emax, fmt.emin),  # up to emin, the code decides whether a value fits
        code_offset=fmt.code_offset - (field << fmt.mantissa_bits),
        code_parity=int(fmt.p3109 or (not fmt.zero and policy.e8m0_rule.even_code)),
        gap=int(fmt.gap),
        least=0 if fmt.twos_complement else _least_normal(fmt),
        min_code=fmt.min_code,
        zero=int(fmt.zero),
        max_code=fmt.max_code,
        max_negative_code=fmt.max_negative_code if fmt.zero else -2,  # without a zero, no negative value fits
        drop_sign=int(not fmt.zero and policy.lacking_for(fmt) == "magnitude"),
        negate_from=1 << fmt.width if fmt.twos_complement and fmt.signed else 0,
        sign_bit=fmt.sign_bit,
        negative_zero=int(fmt.negative_zero and policy.specials != Specials.P3109),  # which has one zero
        beyond_positive=beyond[0],
        beyond_negative=beyond[1],
        largest_positive=largest[0],
        largest_negative=largest[1],
        odd_beyond=_odd_beyond(fmt),
        overflow_flags=INVALID if fmt.is_integer else OVERFLOW | INEXACT,
        tininess={Tininess.AFTER: TININESS_AFTER, Tininess.BEFORE: TININESS_BEFORE}[policy.tininess],
        flush=_flush(fmt, policy),
    )


def _odd_beyond(fmt: Format) -> int:
    """The signs for which round to odd overflows: to P3109's Inf if its code is odd; for negative unsigned values."""
    positive = fmt.p3109 and fmt.infinity and fmt.max_code % 2 == 0
    negative = positive if fmt.signed else not fmt.twos_complement
    return int(positive) | int(negative) << 1


def _flush(fmt: Format, policy: Policy) -> int:
    if not policy.flush_outputs or not fmt.zero:
        return FLUSH_OFF
    return {Tininess.AFTER: FLUSH_ON, Tininess.BEFORE: FLUSH_BEFORE}[policy.flush_rule]


def _least_normal(fmt: Format) -> int:
    """The smallest normal significand: 2^mantissa_bits, or one more if zero uses that code."""
    return (1 << fmt.mantissa_bits) + int(fmt.subnormals == "normal" and fmt.zero)


def _largest(fmt: Format, policy: Policy) -> tuple[int, int]:
    """Complete codes of the largest finite value of each sign; for integers, of the overflow result."""
    if fmt.is_integer:
        return _integer_overflow(fmt, policy)
    if not fmt.zero:
        beyond = fmt.has_nan and policy.overflow_for(fmt) == Overflow.SAT_NONE
        top = fmt.canonical_nan if beyond else fmt.max_code
        return top, _negative(fmt, policy, top)
    if fmt.twos_complement:
        return fmt.max_code, (1 << fmt.width) - fmt.max_negative_code
    return fmt.max_code, fmt.max_code | fmt.sign_bit if fmt.signed else 0


def _negative(fmt: Format, policy: Policy, positive: int) -> int:
    """The code for a negative value in a format without zero and sign. positive: for an overflow of its magnitude."""
    lacking = policy.lacking_for(fmt)
    if lacking == "nan" and fmt.has_nan:
        return fmt.canonical_nan
    return positive if lacking == "magnitude" else fmt.min_code


def _beyond(fmt: Format, policy: Policy) -> tuple[int, int]:
    """Complete codes for a finite overflow of each sign that the rounding mode does not hold at the largest finite."""
    return _largest(fmt, policy) if policy.overflow_for(fmt) != Overflow.SAT_NONE else _unsaturated(fmt, policy)


def _unsaturated(fmt: Format, policy: Policy) -> tuple[int, int]:
    """Complete codes for Inf of each sign, or its replacement, without saturation."""
    largest = _largest(fmt, policy)
    if not fmt.signed and not fmt.twos_complement:  # negative values cannot be represented: NaN (P3109 4.7.5)
        nan = policy.nan_rule.code(fmt) if fmt.has_nan else 0
        plus = {"inf": fmt.inf_code, "nan": nan}.get(fmt.overflow, largest[0])
        return plus, nan if fmt.zero else _negative(fmt, policy, plus)
    if fmt.overflow == "inf":
        return fmt.inf_code, fmt.inf_code | fmt.sign_bit
    if fmt.overflow == "nan":
        return policy.nan_rule.of_overflow(fmt)
    return largest


def _integer_overflow(fmt: Format, policy: Policy) -> tuple[int, int]:
    """The results for values above and below an integer format's range."""
    if policy.integers == Integers.X86:
        indefinite = fmt.sign_bit if fmt.signed else fmt.max_code
        return indefinite, indefinite
    return fmt.max_code, fmt.sign_bit


# -- encode --------------------------------------------------------------------------------------------------------

Number = int | float | Fraction | Value | Any  # also mpq, Decimal, numpy scalars: anything with an exact ratio


def encode(x: Number, fmt: str | Format, policy: Policy | str | None = None, random_bits: int | None = None) -> Encoded:
    """Round a number, taken as exact, to a format: its code and flags.

    x: int, float, Fraction, gmpy2 mpq, Decimal, numpy scalar or Value. random_bits: for stochastic rounding, an integer
    of policy.sr_bits bits. Raises Error for any other type, for missing or unneeded random bits, and for a NaN if the
    policy makes that an error.
    """
    fmt = get_format(fmt)
    if type(policy) is not Policy:
        policy = get_policy(policy)
    r = check_random(policy, random_bits)
    value = x if type(x) is Value else to_value(x, needed_bits(fmt, policy))
    bits, flags = encoder(fmt, policy)(value, r)
    return Encoded(bits, FLAGS[flags])


def check_random(policy: Policy, random_bits: int | None) -> int:
    """The random bits to use: the given ones, checked, or 0 if the rounding needs none."""
    n = policy.random_count
    if random_bits is None:
        if n:
            raise Error(f"rounding {rounding_name(policy.rounding)} takes {n} random bits; none were given")
        return 0
    if not n:
        raise Error(f"rounding {rounding_name(policy.rounding)} takes no random bits, but some were given")
    r = operator.index(random_bits) if hasattr(random_bits, "__index__") else -1
    if r < 0 or r >> n:
        raise Error(f"random bits {random_bits!r} are not an unsigned integer of {n} bits")
    return r


def needed_bits(fmt: Format, policy: Policy) -> int:
    """How many bits a cut value (a quotient, a root, 1/3) needs, besides its sticky bit, to be rounded correctly."""
    return fmt.precision + policy.random_count + 4


def to_value(x: Number, bits: int) -> Value:
    """Any number as a Value: exact if dyadic, else cut to at least `bits` bits, with a sticky bit."""
    if isinstance(x, Value):
        return x
    if isinstance(x, float):
        return _decode(int.from_bytes(struct.pack(">d", x)), FP64, False)
    try:
        numerator, denominator = _ratio(x)
    except (ValueError, OverflowError):  # numpy, Decimal and mpfr raise these for NaN and Inf
        return _decode_text(str(x))
    except (TypeError, AttributeError):
        if shape := getattr(x, "shape", ()):
            raise Error(
                f"an array of shape {shape} is not a number; encode and quantize of softfloat_ref take arrays"
            ) from None
        raise Error(f"{x!r} is not a number; use int, float, Fraction, mpq, Decimal or Value") from None
    if numerator == 0:
        return exact.zero(int(_is_negative_zero(x)))
    return exact.from_fraction(Fraction(numerator, denominator), bits)


FP64: Final = CATALOGUE["fp64"]


def _decode_text(text: str) -> Value:
    """NaNs and infinities of other libraries, from their text."""
    sign, word = int(text.startswith("-")), text.lstrip("+-").lower()
    if word.startswith("inf"):
        return Value(INF, sign)
    return Value(NAN, sign, 0, 0, 0, word.startswith("snan"))


def _ratio(x: Any) -> tuple[int, int]:
    if isinstance(x, (str, bytes)):
        raise TypeError
    if hasattr(x, "numerator"):
        return int(x.numerator), int(x.denominator)
    numerator, denominator = x.as_integer_ratio()
    return int(numerator), int(denominator)


def _is_negative_zero(x: Any) -> bool:
    return not isinstance(x, (int, Fraction)) and math.copysign(1.0, float(x)) < 0


@lru_cache(maxsize=2048)
def encoder(fmt: Format, policy: Policy) -> Encoder:
    """The function that rounds exact values to a format: (value, random bits) -> (code, flags as an int)."""
    t = target(fmt, policy)
    zeros = _encode_zero(fmt, policy, t)
    infinities = _encode_infinities(fmt, policy)

    def encode_value(x: Value, random_bits: int = 0) -> tuple[int, int]:
        kind, sign, significand, exponent, sticky, _ = x
        if kind == FINITE:
            if significand:
                return round_pack(sign, significand, exponent, significand.bit_length(), sticky, random_bits, t)
            return zeros[sign]
        return infinities[sign] if kind == INF else encode_nan(x, fmt, policy)

    def encode_explicit(x: Value, random_bits: int = 0) -> tuple[int, int]:
        if x.kind == NAN:
            return encode_nan(x, fmt, policy)
        code, flags = encode_value(x, random_bits)
        return complete_code(code, fmt, t), flags

    return encode_explicit if fmt.explicit_bit else encode_value


def complete_code(code: int, fmt: Format, t: Target) -> int:
    """The code of a format for what `round_pack` gives: with its integer bit, and the bits beyond its precision."""
    return fmt.stored(code << (fmt.mantissa_bits - t.mantissa_bits)) if fmt.explicit_bit else code


def _encode_zero(fmt: Format, policy: Policy, t: Target) -> tuple[tuple[int, int], tuple[int, int]]:
    if fmt.zero:
        return (0, 0), (with_sign(1, 0, t), 0)
    lowest = fmt.canonical_nan if fmt.has_nan and policy.lacking_for(fmt) == "nan" else fmt.min_code
    return ((lowest, UNDERFLOW | INEXACT),) * 2


def _encode_infinities(fmt: Format, policy: Policy) -> tuple[tuple[int, int], tuple[int, int]]:
    fmt = policy.rounded_format(fmt)
    saturate = policy.overflow_for(fmt) == Overflow.SAT_FINITE
    plus, minus = _largest(fmt, policy) if saturate else _unsaturated(fmt, policy)
    if policy.overflow_for(fmt) == Overflow.SAT_PROPAGATE and not fmt.signed and fmt.overflow != "nan":
        minus = _largest(fmt, policy)[1]  # P3109 4.7.5: there is no -Inf to propagate
    flags = INVALID if fmt.is_integer else 0
    return (plus, flags), (minus, flags)


def encode_nan(x: Value, fmt: Format, policy: Policy) -> tuple[int, int]:
    """The result for a NaN: a generated NaN, or the operand made quiet, with its payload aligned at the quiet bit."""
    flags = INVALID if x.signaling else 0
    if not fmt.has_nan:
        return _nan_replacement(x, fmt, policy), INVALID
    rule = policy.nan_rule
    if rule.propagate == "no" or x.exponent < 0 or rule.has_code(fmt):
        return rule.code(fmt), flags
    if fmt.nan == "negative-zero":
        return fmt.canonical_nan, flags
    sign = fmt.sign_bit if x.sign else 0
    if rule.no_payload:
        return rule.code(fmt) | sign, flags
    if fmt.nan == "top":
        return fmt.magnitude_mask | sign, flags
    room = fmt.mantissa_bits - 1
    shift = room - x.exponent
    payload = x.significand << shift if shift >= 0 else x.significand >> -shift
    return fmt.inf_code | fmt.quiet_bit | payload | sign, flags


def _nan_replacement(x: Value, fmt: Format, policy: Policy) -> int:
    if fmt.is_integer:
        return _nan_to_integer(x, fmt, policy)
    match policy.nan_missing:
        case NanMissing.MAX:
            return fmt.max_code
        case NanMissing.ZERO:
            return 0
    raise Undefined(f"{fmt.name} has no NaN to encode (nan_missing = error; max and zero are the other choices)")


def _nan_to_integer(x: Value, fmt: Format, policy: Policy) -> int:
    match policy.integers:
        case Integers.ARM:
            return 0
        case Integers.PTX:
            from_fp64 = x.exponent == FP64.mantissa_bits - 1
            return 1 << (fmt.width - 1) if from_fp64 or fmt.width > 32 else 0
    return _integer_overflow(fmt, policy)[0]
