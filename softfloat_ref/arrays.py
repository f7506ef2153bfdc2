"""Conversions of numpy arrays, bit for bit the scalar oracle.

A float64 is cut to a short prefix, two bits longer than the target's significand, with everything below or-ed into
the prefix's last bit (rounding to odd); a table of the prefixes' codes, computed by the oracle, gives the result. The
second rounding is innocuous for every rounding but the stochastic ones; those, and targets whose table would be too
large, take the oracle value by value.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref import exact
from softfloat_ref.codec import check_random, decoder, encoder
from softfloat_ref.errors import Error
from softfloat_ref.formats import CATALOGUE, Format, get_format
from softfloat_ref.policies import POLICIES, Policy, get_policy
from softfloat_ref.sources import RandomSource

Codes = NDArray[np.unsignedinteger[Any]]
Floats = NDArray[np.floating[Any]]

MAX_TABLE: Final = 1 << 19
_CHUNK: Final = 1 << 16  # values at a time: the temporaries stay in the cache
_FP64_MANTISSA: Final = 52
_FP64_BIAS: Final = 1023
_SOURCES: Final = {"f2": CATALOGUE["fp16"], "f4": CATALOGUE["fp32"], "f8": CATALOGUE["fp64"]}


def code_dtype(fmt: Format) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds a code. Raises Error for formats wider than 64 bits."""
    for dtype in (np.uint8, np.uint16, np.uint32, np.uint64):
        if fmt.width <= np.dtype(dtype).itemsize * 8:
            return np.dtype(dtype)
    raise Error(f"{fmt.name} has {fmt.width} bits; arrays hold codes of at most 64")


def as_floats(x: ArrayLike) -> Floats:
    """float16, float32 and float64 as they are, bfloat16 and integers exactly as wider floats.

    Raises Error for any other dtype, and for integers that float64 does not hold.
    """
    array = np.asarray(x)
    if array.dtype.str[1:] in _SOURCES and array.dtype.isnative:
        return array
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind in "iu" or array.dtype.kind == "b":
        wide = array.astype(np.float64)
        if array.dtype.itemsize == 8 and np.any(np.abs(wide) > 2.0**53):
            raise Error(f"array of {array.dtype}: values beyond 2^53 are not exact in float64; convert them first")
        return wide
    if array.dtype.name.startswith(("bfloat16", "float8", "float6", "float4")):  # ml_dtypes
        return array.astype(np.float32)
    raise Error(f"array of {array.dtype}: use float16, float32, float64, bfloat16 or an integer type")


def to_float64(x: Floats) -> NDArray[np.float64]:
    """The values as float64, quietly (a signalling NaN would warn)."""
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64)


def encode(
    x: ArrayLike,
    fmt: str | Format,
    policy: Policy | str | None = None,
    random_bits: ArrayLike | RandomSource | None = None,
) -> Codes:
    """The codes of an array's values, in x's shape; each value is rounded once, from its own precision.

    random_bits: for a stochastic rounding, integers in x's shape, or a source of them by position.
    Raises Error for dtypes and random bits that do not fit.
    """
    fmt, policy = get_format(fmt), get_policy(policy)
    values = as_floats(x)
    out = np.empty(values.shape, code_dtype(fmt))
    source, target = np.ravel(values), out.reshape(-1)
    if policy.flush_inputs:
        source = _flushed(source)
    words = random_words(policy, random_bits, values.shape)
    table = _table_for(fmt, policy, values.size)
    if table is None:
        _encode_by_oracle(source, fmt, policy, words, target)
    else:
        for start in range(0, source.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            target[part] = table.codes[_indices(to_float64(source[part]), table)]
        _encode_nans(source, fmt, policy, target)
    return out


def random_words(
    policy: Policy, random_bits: ArrayLike | RandomSource | None, shape: tuple[int, ...]
) -> list[int] | None:
    """The random word of each value, checked; None where the rounding takes none."""
    if random_bits is None:
        check_random(policy, None)
        return None
    n = policy.random_count
    if n == 0:
        check_random(policy, 0)
    if hasattr(random_bits, "bits"):
        return random_bits.bits(n, 0, int(np.prod(shape)))
    words = np.asarray(random_bits)
    if words.shape != shape or words.dtype.kind not in "iu":
        raise Error(f"random bits must be integers of shape {shape}, not {words.dtype} of shape {words.shape}")
    if words.size and (int(words.min()) < 0 or int(words.max()) >> n):
        raise Error(f"random bits must be unsigned integers of {n} bits")
    return [int(w) for w in words.reshape(-1)]


def _flushed(source: Floats) -> Floats:
    """The values with the subnormals of their own type made zeros of their sign."""
    tiny = np.abs(source) < np.finfo(source.dtype).smallest_normal
    return np.where(tiny, np.copysign(np.zeros((), source.dtype), source), source)


class _Table(NamedTuple):
    """Codes by index: 0 zero, 1 smaller than the first prefix, then the prefixes, then Inf; the same with the sign."""

    codes: Codes
    lowest: int  # the first prefix, as a float64's exponent field and leading mantissa bits
    prefixes: int
    shift: int  # float64 mantissa bits below the prefix


def _table_for(fmt: Format, policy: Policy, size: int) -> _Table | None:
    if policy.rounding.stochastic:
        return None
    first, last = fmt.emin - fmt.mantissa_bits - 2, fmt.emax + 2
    entries = 2 * ((last - first) << (fmt.mantissa_bits + 2))
    if entries > min(MAX_TABLE, 2 * size) or first < 2 - _FP64_BIAS or last > _FP64_BIAS:
        return None
    return _table(fmt, policy)


@lru_cache(maxsize=64)
def _table(fmt: Format, policy: Policy) -> _Table:
    spare = fmt.mantissa_bits + 2
    first, last = fmt.emin - spare, fmt.emax + 2
    encode_value = encoder(fmt, policy)
    prefixes = (last - first) << spare
    codes = np.empty(2 * (prefixes + 3), code_dtype(fmt))
    for sign in (0, 1):
        values = [exact.zero(sign), exact.finite(sign, 1, first - 1)]
        values += [
            exact.finite(sign, (1 << spare) | (i & ((1 << spare) - 1)), first + (i >> spare) - spare)
            for i in range(prefixes)
        ]
        values.append(exact.inf(sign))
        codes[sign * len(values) : (sign + 1) * len(values)] = [encode_value(v, 0)[0] for v in values]
    return _Table(codes, (first + _FP64_BIAS) << spare, prefixes, _FP64_MANTISSA - spare)


def _indices(x: NDArray[np.float64], table: _Table) -> NDArray[np.int64]:
    """Each value's index into the table; NaN gets Inf's."""
    bits = x.view(np.int64)
    magnitude = bits & np.int64((1 << 63) - 1)
    prefix = magnitude >> table.shift
    prefix |= (prefix << table.shift) != magnitude
    index = np.clip(prefix - (table.lowest - 2), 1, table.prefixes + 1)
    index[magnitude == 0] = 0
    index[magnitude >= np.int64(0x7FF << _FP64_MANTISSA)] = table.prefixes + 2
    indices: NDArray[np.int64] = index + (bits < 0) * np.int64(table.prefixes + 3)
    return indices


def _encode_nans(source: Floats, fmt: Format, policy: Policy, out: Codes) -> None:
    nans = np.flatnonzero(np.isnan(source))
    if nans.size:
        patterns, inverse = np.unique(_codes_of(source[nans]), return_inverse=True)
        decode_value, encode_value = decoder(_SOURCES[source.dtype.str[1:]]), encoder(fmt, policy)
        codes = [encode_value(decode_value(int(p)), 0)[0] for p in patterns]
        out[nans] = np.array(codes, out.dtype)[inverse]


def _codes_of(source: Floats) -> Codes:
    return np.ascontiguousarray(source).view(f"u{source.dtype.itemsize}")


def _encode_by_oracle(source: Floats, fmt: Format, policy: Policy, words: list[int] | None, out: Codes) -> None:
    decode_value, encode_value = decoder(_SOURCES[source.dtype.str[1:]]), encoder(fmt, policy)
    codes = _codes_of(source).tolist()
    if words is None:
        out[:] = [encode_value(decode_value(code), 0)[0] for code in codes]
    else:
        out[:] = [encode_value(decode_value(code), r)[0] for code, r in zip(codes, words, strict=True)]


def decode(codes: ArrayLike, fmt: str | Format) -> Floats:
    """The values of an array of codes: float32, or float64 where float32 cannot hold the format.

    Raises Error for codes that are none of the format's, and for formats that float64 cannot hold.
    """
    fmt = get_format(fmt)
    array = np.asarray(codes)
    if array.dtype.kind not in "iu":
        raise Error(f"codes are integers, not {array.dtype}")
    if array.size and (int(array.min()) < 0 or int(array.max()) >> fmt.width):
        raise Error(f"codes of {fmt.name} have {fmt.width} bits; the array has {array.min()} to {array.max()}")
    values: Floats
    if fmt.width <= 16:
        values = _decode_table(fmt)[array]
    else:
        values = _decode_by_oracle(array.reshape(-1).tolist(), fmt).reshape(array.shape)
    return values


@lru_cache(maxsize=64)
def _decode_table(fmt: Format) -> Floats:
    return _decode_by_oracle(range(1 << fmt.width), fmt)


def _decode_by_oracle(codes: Iterable[int], fmt: Format) -> Floats:
    """A conversion to FP32 or FP64, exact; NaN becomes the canonical one."""
    dtype = value_dtype(fmt)
    decode_value, encode_value = decoder(fmt), encoder(_SOURCES[dtype.str[1:]], POLICIES["ieee"])
    patterns = [encode_value(decode_value(code), 0)[0] for code in codes]
    return np.array(patterns, f"u{dtype.itemsize}").view(dtype)


def value_dtype(fmt: Format) -> np.dtype[np.floating[Any]]:
    """float32, or float64, whichever is the first to hold every value. Raises Error where neither does."""
    for dtype, wide in ((np.float32, CATALOGUE["fp32"]), (np.float64, CATALOGUE["fp64"])):
        lowest = fmt.emin - fmt.mantissa_bits
        fits = fmt.mantissa_bits <= wide.mantissa_bits and fmt.emax <= wide.emax
        if fits and lowest >= wide.emin - wide.mantissa_bits:
            return np.dtype(dtype)
    raise Error(f"float64 does not hold every value of {fmt.name}")


def quantize(
    x: ArrayLike,
    fmt: str | Format,
    policy: Policy | str | None = None,
    random_bits: ArrayLike | RandomSource | None = None,
) -> Floats:
    """The values an array has after conversion to the format: decode(encode(x))."""
    return decode(encode(x, fmt, policy, random_bits), fmt)


def saturated(x: ArrayLike, fmt: str | Format) -> int:
    """How many finite values lie beyond the format's largest magnitude of their sign."""
    fmt = get_format(fmt)
    values = to_float64(as_floats(x))
    decode_value = decoder(fmt)
    highest = float(decode_value(fmt.max_code))
    lowest = -highest if not fmt.twos_complement else float(decode_value(fmt.sign_bit))
    return int((np.isfinite(values) & ((values > highest) | (values < (lowest if fmt.signed else 0.0)))).sum())
