"""Selects the compiled loop for a conversion, and builds its tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels import plans
from softfloat_ref.arrays.slabs import run_slices
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import NanMissing, Policy
from softfloat_ref.oracle.sources import WORD_BITS, Philox, RandomSource

FP16: Final = CATALOGUE["fp16"]
FP32: Final = CATALOGUE["fp32"]
FP64: Final = CATALOGUE["fp64"]
COMPILED_AFTER: Final = 1 << 22  # values after which loading the loops pays; compiling them takes ten times as long
_SLOW_CALL_VALUES: Final = 1 << 16  # values that a slow call counts for
ONE_BY_ONE: Final = 32  # values that a value counts for which Python's integers compute
_LOADED_FROM: Final = 256  # values for which calling a loaded loop pays
CHUNK: Final = 1 << 16  # values at a time where temporaries are needed: they stay in the cache
_LOOPS_MODULE: Final = "softfloat_ref.arrays.kernels.convert"

Array = NDArray[Any]
_NO_WORDS: Final = np.zeros(0, np.uint32)
_NO_FLAGS: Final = np.zeros(0, np.uint8)


class _Uncompiled:
    """The number of values converted without the compiled loops so far."""

    values = 0


def use_compiled(size: int, weight: int = 1) -> bool:
    """Whether to use the compiled loops: they are loaded, or there are or were so many values that loading them pays.
    weight: the time that a value takes without them, in that of a numpy expression."""
    if _LOOPS_MODULE in sys.modules:
        return size >= _LOADED_FROM
    _Uncompiled.values += size * weight
    return _Uncompiled.values >= COMPILED_AFTER


def use_compiled_soon(size: int) -> bool:
    """The same for conversions that take hundreds of microseconds without the loops, however small the array is."""
    if _LOOPS_MODULE not in sys.modules:
        _Uncompiled.values += _SLOW_CALL_VALUES
    return use_compiled(size)


def read_only(x: Array) -> Array:
    """A read-only view of the array: Numba would compile all loops again for writable arrays."""
    view = x.view()
    view.flags.writeable = False
    return view


def in_three(array: Array, axis: int | None) -> Array:
    """A contiguous array in shape (outer, axis, inner); without an axis (1, 1, size)."""
    if axis is None:
        return array.reshape(1, 1, -1)
    return array.reshape(prod(array.shape[:axis]), array.shape[axis], prod(array.shape[axis + 1 :]))


def can_encode(source: Format, fmt: Format, policy: Policy) -> bool:
    """Whether a compiled loop converts the source (an IEEE format of up to 64 bits) to the format."""
    ieee = source.nan == "ieee" and source.subnormals == "gradual" and source.mantissa_bits > 1
    return ieee and (plans.is_plain(fmt, policy, source) or plans.is_generic(fmt, policy))


def can_flag(source: Format, fmt: Format, policy: Policy) -> bool:
    """Whether the compiled loop can return flags with the codes."""
    return can_encode(source, fmt, policy) and plans.is_generic(fmt, policy) and has_single_nan(fmt, policy)


def encode(
    x: Array, source: Format, fmt: Format, policy: Policy, words: Array | None, out: Array, threads: int = 1
) -> None:
    """Encode a flat array of bits; requires `can_encode`."""
    x = read_only(x)
    loop = conversion_loop(source, fmt, policy) if words is None else None
    patch = not has_single_nan(fmt, policy) and (source.width > 16 or words is not None)  # tables are patched already

    def work(part: slice) -> None:
        if loop is not None:
            loop.kernel(x[part], out[part], *loop.rest)
        elif words is not None and plans.is_stochastic(fmt, policy, source):
            loop_with_words = words_loop(source, fmt, policy)
            loop_with_words.kernel(
                x[part], as_word_type(words[part], policy.random_count), out[part], *loop_with_words.rest
            )
        else:
            round_codes(x[part], source, fmt, policy, None if words is None else words[part], out[part], _NO_FLAGS)
        if patch:
            _patch_nans(x[part], source, fmt, policy, out[part])

    run_slices(x.size, 1, threads, work)


def draw_words(source: RandomSource, n: int, start: int, count: int, compiled: bool) -> Array:
    """Random words of n bits from position `start`. compiled: whether compiled code may be loaded."""
    if compiled and type(source) is Philox and 0 < n <= WORD_BITS:
        from softfloat_ref.arrays.kernels.random_words import words

        return words(source, n, start, count)
    return source.array(n, start, count)


def as_word_type(words: Array, n: int) -> Array:
    """Random words of n bits in the type that `draw_words` returns; a loop would be compiled for every other type."""
    return words.astype(np.uint32 if n <= WORD_BITS // 2 else np.uint64, copy=False)


def round_codes(
    x: Array, source: Format, fmt: Format, policy: Policy, words: Array | None, out: Array, flags: Array
) -> int:
    """Codes by round_pack, and flags if `flags` is not empty; returns the union of all flags."""
    loop = generic_loop(source, fmt, policy)
    word_array = _NO_WORDS if words is None else as_word_type(words, policy.random_count)
    return int(loop.kernel(read_only(x), out, flags, word_array, *loop.rest))


class ConversionLoop(NamedTuple):
    """A compiled loop, and its arguments after the arrays of operands and results."""

    kernel: Any
    rest: tuple[Any, ...]


def generic_loop(source: Format, fmt: Format, policy: Policy) -> ConversionLoop:
    """The loop of any conversion, by round_pack: of bits, codes, flags and words."""
    from softfloat_ref.arrays.kernels.convert import rounded_codes

    numbers = np.array([source.mantissa_bits, source.bias, source.width, policy.flush_inputs], np.int64)
    return ConversionLoop(rounded_codes, (numbers, *plans.generic(fmt, policy)))


def words_loop(source: Format, fmt: Format, policy: Policy) -> ConversionLoop:
    """The loop of a conversion with random words: of bits, words and codes. Requires `plans.is_stochastic`."""
    from softfloat_ref.arrays.kernels.convert import stochastic_codes32

    return ConversionLoop(stochastic_codes32, (_plain(fmt, policy, source), int(policy.rounding), policy.random_count))


def conversion_loop(source: Format, fmt: Format, policy: Policy) -> ConversionLoop:
    """The loop of a conversion without random words: of bits and codes."""
    from softfloat_ref.arrays.kernels import convert

    if source.width <= 16:
        return ConversionLoop(convert.table_values, (_code_table(source, fmt, policy),))
    nearest = _nearest(fmt, policy, False) if source is FP32 else None
    if nearest is not None:
        return nearest
    widening = plans.widening_numbers(fmt, policy, source)
    if widening is not None:
        return ConversionLoop(convert.widened_codes, (np.array(widening, np.uint64),))
    if source is FP32 and plans.is_near(fmt, policy):
        return ConversionLoop(convert.near_codes32, (_near(fmt, policy, False),))
    if source in (FP32, FP64) and plans.is_plain(fmt, policy, source):
        kernel = convert.plain_codes32 if source is FP32 else convert.plain_codes64
        return ConversionLoop(kernel, (_plain(fmt, policy, source),))
    if source is FP32 and plans.is_plain(fmt, policy, FP64):
        return ConversionLoop(
            _codes_by_fp64, (conversion_loop(FP32, FP64, _exactly(policy)), _plain(fmt, policy, FP64))
        )
    if source is FP32 and plans.fits_table(fmt, policy):
        return ConversionLoop(convert.table_codes, (_upper_table(fmt, policy),))
    any_format = generic_loop(source, fmt, policy)
    return ConversionLoop(any_format.kernel, (_NO_FLAGS, _NO_WORDS, *any_format.rest))


def _exactly(policy: Policy) -> Policy:
    """The policy of a conversion that rounds nothing, before one by the policy."""
    return Policy(flush_inputs=policy.flush_inputs)


def _codes_by_fp64(x: Array, out: Array, widen: ConversionLoop, plain: Any) -> None:
    """float32 bits to codes that the loop from float64 knows."""
    from softfloat_ref.arrays.kernels.convert import plain_codes64

    wide = np.empty(min(x.size, CHUNK), np.uint64)
    for start in range(0, x.size, CHUNK):
        part = slice(start, min(start + CHUNK, x.size))
        own = wide[: part.stop - part.start]
        widen.kernel(x[part], own, *widen.rest)
        plain_codes64(read_only(own), out[part], plain)


def _patch_nans(x: Array, source: Format, fmt: Format, policy: Policy, out: Array) -> None:
    """Convert NaNs one by one with the oracle, since their payload matters or they are errors."""
    decode, code = decoder(source), encoder(fmt, policy)
    mask, last = x.dtype.type(source.magnitude_mask), x.dtype.type(source.max_code + source.infinity)
    for start in range(0, x.size, CHUNK):
        part = x[start : start + CHUNK]
        for at in np.flatnonzero((part & mask) > last).tolist():
            out[start + at] = code(decode(int(part[at])), 0)[0]


@lru_cache(maxsize=64)
def _upper_table(fmt: Format, policy: Policy) -> Array:
    """The code for each upper half of a float32; an odd half stands for all values between its neighbours."""
    halves = np.arange(1 << plans.UPPER, dtype=np.uint32) << np.uint32(plans.UPPER)
    table = np.zeros(halves.size, np.uint8 if fmt.width <= 8 else np.uint16)
    round_codes(halves, FP32, fmt, policy, None, table, _NO_FLAGS)
    return table


@lru_cache(maxsize=64)
def _code_table(source: Format, fmt: Format, policy: Policy) -> Array:
    """The codes for all codes of a source format of up to 16 bits."""
    codes = np.arange(1 << source.width, dtype=np.uint16)
    table = np.zeros(codes.size, f"u{max(1 << (fmt.width - 1).bit_length(), 8) // 8}")
    round_codes(codes, source, fmt, policy, None, table, _NO_FLAGS)
    if not has_single_nan(fmt, policy):
        _patch_nans(codes, source, fmt, policy, table)
    return table


@lru_cache(maxsize=64)
def _plain(fmt: Format, policy: Policy, source: Format) -> Any:
    from softfloat_ref.arrays.kernels.convert import U32, U64, Plain

    kind = U32 if source is FP32 else U64
    return Plain(*(kind(x) for x in plans.plain_numbers(fmt, policy, source)))


@lru_cache(maxsize=64)
def _near(fmt: Format, policy: Policy, values: bool) -> Any:
    from softfloat_ref.arrays.kernels.convert import U32, Near

    return Near(*(U32(x) for x in plans.near_numbers(fmt, policy, values)))


@lru_cache(maxsize=64)
def _nearest(fmt: Format, policy: Policy, values: bool) -> ConversionLoop | None:
    """The loop of kernels/nearest.py for a conversion from float32; None if there is none."""
    from softfloat_ref.arrays.kernels import nearest

    fields = plans.nearest_numbers(fmt, policy, values)
    if fields is None:
        return None
    numbers = nearest.Nearest(*fields)
    if plans.is_near(fmt, policy):
        unit = 1 << (plans.FP32.mantissa_bits - fmt.mantissa_bits) if values else 1
        if numbers.inf != numbers.limit + unit or (numbers.half and numbers.beyond != numbers.inf):
            return None  # overflow does not give the code after the largest finite
        loop = nearest.same_exponents_values32 if values else nearest.same_exponents_codes32
    elif numbers.least <= nearest.ALL:
        return None
    elif values:
        loop = nearest.nearest_values32
    elif _is_the_processors(numbers):
        loop = nearest.half_codes32
    else:
        wide = fmt.mantissa_bits > 0 and fmt.emax - fmt.emin > nearest.WIDE  # the wide loop needs a parity bit
        loop = nearest.wide_codes32 if wide else nearest.nearest_codes32
    return ConversionLoop(loop, (np.array(numbers, np.uint32),))


def _is_the_processors(numbers: Any) -> bool:
    """Whether that is the processor's conversion to FP16, but for the code of NaN."""
    from softfloat_ref.arrays.kernels import jit, nearest

    half = nearest.Nearest(*(plans.nearest_numbers(FP16, Policy(), False) or ()))
    return jit.has_half() and bool(numbers._replace(nan=half.nan) == half)


@lru_cache(maxsize=64)
def _value_numbers(fmt: Format, policy: Policy) -> Any:
    from softfloat_ref.arrays.kernels.convert import U32, Plain

    return Plain(*(U32(x) for x in plans.value_numbers(fmt, policy)))


def can_quantize(source: Format, fmt: Format, policy: Policy) -> bool:
    """Whether float32 values can be rounded in place."""
    return source is FP32 and values_loop(fmt, policy) is not None


def quantize(x: Array, source: Format, fmt: Format, policy: Policy, out: Array, threads: int = 1) -> bool:
    """Write the bits of converted float32 values to `out`; does nothing and returns False unless `can_quantize`."""
    value_loop = values_loop(fmt, policy) if source is FP32 else None
    if value_loop is None:
        return False
    x, (kernel, rest) = read_only(x), value_loop
    if threads == 1:
        kernel(x, out, *rest)
    else:
        run_slices(x.size, 1, threads, lambda part: kernel(x[part], out[part], *rest))
    return True


@lru_cache(maxsize=64)
def values_loop(fmt: Format, policy: Policy) -> ConversionLoop | None:
    """The loop that rounds float32 values in place: of their bits and those of the results; None if there is none."""
    if not (plans.is_plain(fmt, policy, FP32) and has_single_nan(fmt, policy)):
        return None
    from softfloat_ref.arrays.kernels.convert import near_values32, plain_values32

    if plans.is_near(fmt, policy):
        return _nearest(fmt, policy, True) or ConversionLoop(near_values32, (_near(fmt, policy, True),))
    return _nearest(fmt, policy, True) or ConversionLoop(plain_values32, (_value_numbers(fmt, policy),))


@lru_cache(maxsize=256)
def stochastic_loop(fmt: Format, policy: Policy) -> Callable[[Array, Philox, Array, Array], None] | None:
    """A loop for the bits of float32 values, a source, the value of each code and the place of the results; None if no
    loop draws the words itself."""
    if not (plans.is_stochastic(fmt, policy, FP32) and has_single_nan(fmt, policy)):
        return None
    from softfloat_ref.arrays.kernels.stochastic import stochastic_values32

    numbers = np.array(plans.plain_numbers(fmt, policy, FP32), np.uint32)
    n, mode = policy.random_count, int(policy.rounding)
    drop = np.uint64(WORD_BITS - n)

    def loop(x: Array, source: Philox, values: Array, out: Array) -> None:
        seed, stream = np.uint64(source.seed), np.uint64(source.stream)
        stochastic_values32(read_only(x), seed, stream, drop, numbers, mode, n, values, out)

    return loop


def decode(codes: Array, fmt: Format, wide: Format, out: Array, threads: int = 1) -> bool:
    """Write the values of codes of a format of more than 16 bits to floats, which hold them all; does nothing and
    returns False if no loop does it. wide: FP32 or FP64, the type of `out`."""
    loop = _decoding_loop(fmt, wide)
    if loop is None:
        return False
    codes = read_only(codes)
    places = out if fmt.twos_complement else out.view(f"u{out.itemsize}")

    def work(part: slice) -> None:
        if loop.kernel(codes[part], places[part], *loop.rest):  # some are NaNs
            _patch_nans(codes[part], fmt, wide, plans.KEEP_NAN, places[part])

    run_slices(codes.size, 1, threads, work)
    return True


@lru_cache(maxsize=64)
def _decoding_loop(fmt: Format, wide: Format) -> ConversionLoop | None:
    from softfloat_ref.arrays.kernels import convert

    if fmt.twos_complement:
        least = exact.top(decoder(fmt)(1))
        drop = 64 - fmt.width if fmt.signed else 0
        return ConversionLoop(convert.decoded_integers, (drop, 2.0**least)) if least >= wide.emin else None
    numbers = plans.widening_numbers(wide, plans.KEEP_NAN, fmt)
    return None if numbers is None else ConversionLoop(convert.widened_codes, (np.array(numbers, np.uint64),))


def gather(codes: Array, table: Array, out: Array, threads: int = 1) -> None:
    """table[codes], for codes that are known to be valid indices."""
    from softfloat_ref.arrays.kernels.convert import table_values

    codes = read_only(codes)
    run_slices(codes.size, 1, threads, lambda part: table_values(codes[part], out[part], table))


def has_single_nan(fmt: Format, policy: Policy) -> bool:
    """Whether every NaN is converted to the same code and none is an error."""
    if not fmt.has_nan and (fmt.is_integer or policy.nan_missing == NanMissing.ERROR):
        return False
    return plans.nan_is_one(fmt, policy)
