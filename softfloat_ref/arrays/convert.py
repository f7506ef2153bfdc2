"""Conversions of numpy arrays, bit-identical to the scalar oracle.

Large arrays run in the compiled loops of kernels/. Smaller arrays use a table that the oracle fills (kernels/prefixes):
a float64 is cut to a prefix two bits longer than the target's significand, with a sticky bit below (rounding to odd),
so that rounding the prefix is correct except for stochastic roundings. The oracle computes all other cases value by
value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import exchange, slabs
from softfloat_ref.arrays.kernels import dispatch, prefixes
from softfloat_ref.arrays.kernels.plans import KEEP_NAN
from softfloat_ref.arrays.random_bits import RandomBits, random_words, resolve_bits, shape_of
from softfloat_ref.arrays.slabs import run_slices, thread_count
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import check_random, decoder, encoder
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.sources import RandomSource, is_source

Codes = NDArray[np.unsignedinteger[Any]]
Floats = NDArray[np.floating[Any]]
Number = TypeVar("Number", bound=np.generic)

_CHUNK_SIZE: Final = 1 << 16  # values at a time: the temporaries stay in the cache
_FP32: Final = CATALOGUE["fp32"]
_FP64: Final = CATALOGUE["fp64"]
_BY_DTYPE: Final = {"f4": _FP32, "f8": _FP64}
_FLOAT_NAMES: Final = ("float16", "float32", "float64", "bfloat16", "float8", "float6", "float4")
MAX_INTEGER: Final = 1 << 53


def code_dtype(fmt: Format) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds a code. Raises Error for formats wider than 64 bits."""
    for dtype in (np.uint8, np.uint16, np.uint32, np.uint64):
        if fmt.width <= np.dtype(dtype).itemsize * 8:
            return np.dtype(dtype)
    raise Error(f"{fmt.name} has {fmt.width} bits; arrays hold codes of at most 64")


class Source(NamedTuple):
    """An array as codes of a format: its own bits, so that nothing is rounded before the conversion."""

    codes: Codes
    fmt: Format


def as_source(x: ArrayLike | Source) -> Source:
    """The codes of an array of floats (float16, float32, float64, bfloat16 or another ml_dtypes type) or of a torch
    tensor of floats; integers become exact float64.

    Raises Error for any other dtype, for integers that do not fit float64, and for masked or ragged input.
    """
    if type(x) is np.ndarray and x.dtype.char in "fd" and x.dtype.isnative and x.flags.c_contiguous:
        return Source(x.view(np.uint32), _FP32) if x.dtype.char == "f" else Source(x.view(np.uint64), _FP64)
    if isinstance(x, Source):
        return x
    if isinstance(x, np.ma.MaskedArray):
        raise Error("a masked array may have missing values; call .filled()")
    if exchange.is_torch(x):
        if x.is_floating_point():  # type: ignore[union-attr]
            return Source(*exchange.from_torch(x))
        x = exchange.array_from_torch(x)
    try:
        array = np.asarray(x)
    except ValueError:
        raise Error("rows of different lengths do not form an array") from None
    name = array.dtype.name
    if array.dtype.kind in "iub" or name.startswith(("int", "uint")):  # ml_dtypes' integers have no such kind
        _check_integers(array)
        array, name = array.astype(np.float64), "float64"
    if not name.startswith(_FLOAT_NAMES):
        more = "; exchange.from_longdouble gives its codes" if array.dtype == np.longdouble else ""
        raise Error(f"array of {array.dtype}: use float16, float32, float64, bfloat16 or an integer type{more}")
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("=") if array.dtype.kind == "f" else None)
    return Source(native.view(f"u{array.dtype.itemsize}").reshape(array.shape), get_format(name))


def _check_integers(array: NDArray[Any]) -> None:
    if array.dtype.itemsize == 8 and array.size and max(abs(int(array.min())), abs(int(array.max()))) > MAX_INTEGER:
        raise Error(f"array of {array.dtype}: values beyond 2^53 are not exact in float64; convert them first")


def to_float64(x: ArrayLike | Source, flush: bool = False) -> NDArray[np.float64]:
    """The values as float64, exactly. flush: subnormals of the input's own type become zeros with their sign."""
    source = x if isinstance(x, Source) else as_source(x)
    if source.fmt.width <= 16:
        table: NDArray[np.float64] = _value_table(source.fmt, _FP64, flush)[source.codes]
        return table
    fmt, codes = source.fmt, source.codes
    with np.errstate(invalid="ignore"):  # signalling NaNs are quieted
        values: NDArray[np.float64] = codes.view(f"f{codes.dtype.itemsize}").astype(np.float64)
    if fmt is _FP64 and not flush:
        return values
    # Subnormals are converted as integers, because -ffast-math libraries may make this process flush them.
    magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
    small = (magnitude >> codes.dtype.type(fmt.mantissa_bits)) == 0
    units = (
        np.zeros(int(small.sum()))
        if flush
        else np.ldexp(magnitude[small].astype(np.float64), fmt.emin - fmt.mantissa_bits)
    )
    values[small] = np.where(codes[small] > magnitude[small], -units, units)
    return values


def encode(
    x: ArrayLike,
    fmt: str | Format,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    *,
    seed: int | None = None,
    key: str | None = None,
    out: Codes | None = None,
    threads: int = 1,
) -> Codes:
    """The codes of an array's values, in x's shape; each value is rounded once, directly from its own type.

    random_bits: for stochastic rounding, integers in x's shape, a source or its text, or a Generator of numpy. seed,
    key: instead of these, an integer and the tensor's name. out: the buffer for the codes, in x's shape and of type
    `code_dtype`. threads: the number of threads; the codes do not depend on it. Raises Error for dtypes, random bits or
    an `out` that do not fit.
    """
    fmt, policy, threads = get_format(fmt), get_policy(policy), thread_count(threads)
    random_bits = resolve_bits(random_bits, policy, x, seed, key)
    if slabs.needs_copy(x, out):
        return _by_slabs(
            x, random_bits, out, code_dtype(fmt), lambda v, r, o: encode(v, fmt, policy, r, out=o, threads=threads)
        )
    source = as_source(x)
    buffer = output_buffer(out, source.codes.shape, code_dtype(fmt))
    target = buffer.reshape(-1)  # a view: it is contiguous
    flat = Source(source.codes.reshape(-1), source.fmt)
    if policy.random_count == 0 and random_bits is None:
        _encode_flat(flat, fmt, policy, target, threads)
    else:
        _encode_stochastic(flat, fmt, policy, random_bits, source.codes.shape, target, threads)
    return store(buffer, out)


def encode_flags(
    x: ArrayLike,
    fmt: str | Format,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    *,
    seed: int | None = None,
    key: str | None = None,
) -> tuple[Codes, Codes]:
    """`encode`, and the flags of each element: uint8 with TestFloat's bits; or them together to get all raised flags.

    Raises Error as `encode` does.
    """
    fmt, policy = get_format(fmt), get_policy(policy)
    random_bits = resolve_bits(random_bits, policy, x, seed, key)
    source = as_source(x)
    flat = source.codes.reshape(-1)
    words = random_words(policy, random_bits, source.codes.shape)
    drawn = None if words is None else words.reshape(-1)
    codes, flags = np.empty(flat.size, code_dtype(fmt)), np.zeros(flat.size, np.uint8)
    compiled = dispatch.use_compiled(flat.size, dispatch.ONE_BY_ONE) and dispatch.can_flag(source.fmt, fmt, policy)
    if compiled:
        dispatch.round_codes(flat, source.fmt, fmt, policy, drawn, codes, flags)
    else:
        _encode_one_by_one(Source(flat, source.fmt), fmt, policy, drawn, codes, flags)
    return codes.reshape(source.codes.shape), flags.reshape(source.codes.shape)


def _encode_one_by_one(
    source: Source, fmt: Format, policy: Policy, words: NDArray[Any] | None, codes: Codes, flags: Codes
) -> None:
    decode_value, encode_value = decoder(source.fmt, policy.flush_inputs), encoder(fmt, policy)
    known: dict[tuple[int, int], tuple[int, int]] = {}
    drawn = [0] * codes.size if words is None else words.tolist()
    for i, case in enumerate(zip(source.codes.tolist(), drawn, strict=True)):
        if case not in known:
            known[case] = encode_value(decode_value(case[0]), case[1])
        codes[i], flags[i] = known[case]


def _by_slabs(x: Any, random_bits: Any, out: Any, dtype: np.dtype[Any], convert: Callable[..., Any]) -> NDArray[Any]:
    """Apply `convert` slab by slab to an array that must be copied. Raises Error for arguments that do not fit."""
    if x.dtype.kind == "i":
        _check_integers(x)
    if random_bits is not None and not is_source(random_bits):
        random_bits = np.asarray(random_bits)
        if random_bits.shape != x.shape:
            raise Error(f"random bits must be integers of shape {x.shape}, not of shape {random_bits.shape}")
    check_buffer(out, x.shape, dtype)
    buffer = np.empty(x.shape, dtype) if out is None else out
    slabs.by_slabs(x, random_bits, buffer, convert)
    return buffer


def output_buffer(out: NDArray[Any] | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """A contiguous buffer for results: `out` if it is one, else new. Raises Error if `out` does not fit."""
    check_buffer(out, shape, dtype)
    return out if out is not None and out.flags.c_contiguous else np.empty(shape, dtype)


def check_buffer(out: NDArray[Any] | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise Error if `out` is given and is no writable array of that shape and type."""
    if out is not None and (not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype):
        kind = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise Error(f"out must be an array of {dtype} of shape {shape}, not {kind}")
    if out is not None and not out.flags.writeable:
        raise Error("out is read-only; give a writable array")


def store(result: NDArray[Number], out: NDArray[Number] | None) -> NDArray[Number]:
    """A result in the buffer that was given for it and checked, if any."""
    if out is None or result is out:
        return result
    out[...] = result
    return out


def _encode_flat(flat: Source, fmt: Format, policy: Policy, target: Codes, threads: int) -> None:
    size = target.size
    if _use_compiled(flat, fmt, policy) and dispatch.can_encode(flat.fmt, fmt, policy):
        dispatch.encode(flat.codes, flat.fmt, fmt, policy, None, target, threads)
    elif flat.fmt.width <= 16 or (table := prefixes.table_for(fmt, policy, size, target.dtype)) is None:
        target[:] = _encode_distinct(flat, fmt, policy)
    else:
        for start in range(0, size, _CHUNK_SIZE):
            part = slice(start, start + _CHUNK_SIZE)
            values = to_float64(Source(flat.codes[part], flat.fmt), policy.flush_inputs)
            target[part] = table.codes[prefixes.indices(values, table)]
            nans = np.flatnonzero(np.isnan(values)) + start
            target[nans] = _encode_distinct(Source(flat.codes[nans], flat.fmt), fmt, policy)


def _use_compiled(flat: Source, fmt: Format, policy: Policy) -> bool:
    """Whether to encode values without random words by a compiled loop."""
    size = flat.codes.size
    quick = flat.fmt.width <= 16 or prefixes.is_small(fmt, policy, size)
    return dispatch.use_compiled(size, 1 if quick else dispatch.ONE_BY_ONE)


def _encode_stochastic(
    flat: Source,
    fmt: Format,
    policy: Policy,
    random_bits: ArrayLike | RandomSource | None,
    shape: tuple[int, ...],
    target: Codes,
    threads: int,
) -> None:
    """Encode with random words; a RandomSource generates them a chunk at a time."""
    encode_chunk = _with_words(flat, fmt, policy, random_bits, shape)

    def work(part: slice) -> None:
        for start in range(part.start, part.stop, _CHUNK_SIZE):
            chunk = slice(start, min(start + _CHUNK_SIZE, part.stop))
            encode_chunk(chunk, target[chunk])

    run_slices(target.size, 1, threads, work)


def _with_words(
    flat: Source,
    fmt: Format,
    policy: Policy,
    random_bits: ArrayLike | RandomSource | None,
    shape: tuple[int, ...],
) -> Callable[[slice, Codes], None]:
    """A function that encodes a chunk of the values, with its random words, into an array. Raises Error."""
    n, words = policy.random_count, None
    if n == 0:
        check_random(policy, 0)
    if not is_source(random_bits):
        checked = random_words(policy, random_bits, shape)
        assert checked is not None  # random_words raises if they are missing
        words = checked.reshape(-1)
    possible = dispatch.can_encode(flat.fmt, fmt, policy)
    compiled = possible and dispatch.use_compiled(flat.codes.size, dispatch.ONE_BY_ONE)

    def encode_chunk(chunk: slice, target: Codes) -> None:
        if is_source(random_bits):
            drawn = dispatch.draw_words(random_bits, n, chunk.start, chunk.stop - chunk.start, compiled)
        else:
            assert words is not None
            drawn = words[chunk]
        if compiled:
            dispatch.encode(flat.codes[chunk], flat.fmt, fmt, policy, drawn, target)
        else:
            flags = np.empty(target.size, np.uint8)
            _encode_one_by_one(Source(flat.codes[chunk], flat.fmt), fmt, policy, drawn, target, flags)

    return encode_chunk


def _encode_distinct(source: Source, fmt: Format, policy: Policy) -> Codes:
    """The codes from the oracle, called once for each distinct input code."""
    decode_value, encode_value = decoder(source.fmt, policy.flush_inputs), encoder(fmt, policy)
    patterns, inverse = np.unique(source.codes, return_inverse=True)
    codes = [encode_value(decode_value(code), 0)[0] for code in patterns.tolist()]
    return np.array(codes, code_dtype(fmt))[inverse]


def decode(codes: ArrayLike, fmt: str | Format, *, out: Floats | None = None, threads: int = 1) -> Floats:
    """The values of an array of codes: float32, or float64 if float32 cannot represent every value of the format.

    out, threads: as for `encode`. Raises Error for codes that are not valid in the format, for formats that float64
    cannot represent, and for an `out` that does not fit.
    """
    fmt, threads = get_format(fmt), thread_count(threads)
    dtype = value_dtype(fmt)
    array = checked_codes(codes, fmt)
    buffer = output_buffer(out, array.shape, dtype)
    if fmt in (_FP32, _FP64):
        buffer.view(f"u{dtype.itemsize}")[...] = array
    elif fmt.width <= 16 and array.dtype.kind == "u" and dispatch.use_compiled(array.size):
        table = _value_table(fmt, _BY_DTYPE[dtype.str[1:]], False)
        dispatch.gather(np.ravel(array), table, buffer.reshape(-1), threads)
    elif not (fmt.width > 16 and _decode_compiled(array, fmt, buffer, threads)):
        buffer[...] = _values(array, fmt, _BY_DTYPE[dtype.str[1:]])
    return store(buffer, out)


def decode_float64(codes: ArrayLike, fmt: str | Format) -> NDArray[np.float64]:
    """The values of an array of codes as float64. Raises Error as `decode` does."""
    fmt = get_format(fmt)
    value_dtype(fmt)
    array = checked_codes(codes, fmt)
    buffer = np.empty(array.shape)
    if fmt.width > 16 and _decode_compiled(array, fmt, buffer):
        return buffer
    values: NDArray[np.float64] = _values(array, fmt, _FP64)
    return values


def _decode_compiled(codes: NDArray[Any], fmt: Format, buffer: Floats, threads: int = 1) -> bool:
    """Write the values of codes of more than 16 bits to a contiguous buffer by a compiled loop, if that pays."""
    if not dispatch.use_compiled(codes.size, dispatch.ONE_BY_ONE):
        return False
    wide = _BY_DTYPE[buffer.dtype.str[1:]]
    return dispatch.decode(np.ravel(codes), fmt, wide, buffer.reshape(-1), threads)


def checked_codes(codes: ArrayLike, fmt: Format) -> NDArray[Any]:
    """The codes as an array of integers. Raises Error for anything that is not a code of the format."""
    if not exchange.is_torch(codes):
        shape_of(codes)  # refuses rows of different lengths
    array = exchange.as_codes(codes, fmt)
    if array.size == 0:
        return array.astype(code_dtype(fmt))
    if array.dtype.kind not in "iu":
        raise Error(f"codes must be integers, not {array.dtype}")
    if array.dtype.kind == "u" and array.dtype.itemsize * 8 <= fmt.width:
        return array
    if (array.dtype.kind == "i" and int(array.min()) < 0) or int(array.max()) >> fmt.width:
        raise Error(f"codes of {fmt.name} have {fmt.width} bits; the array has {array.min()} to {array.max()}")
    return array


def _values(codes: NDArray[Any], fmt: Format, wide: Format) -> Any:
    if fmt.width <= 16:
        return _value_table(fmt, wide, False)[codes]
    return _by_oracle(codes.reshape(-1).tolist(), fmt, wide, False).reshape(codes.shape)


@lru_cache(maxsize=64)
def _value_table(fmt: Format, wide: Format, flush: bool) -> Any:
    return _by_oracle(range(1 << fmt.width), fmt, wide, flush)


def _by_oracle(codes: Iterable[int], fmt: Format, wide: Format, flush: bool) -> Any:
    """An exact conversion to FP32 or FP64; a NaN keeps its sign and payload and becomes quiet."""
    decode_value, encode_value = decoder(fmt, flush), encoder(wide, KEEP_NAN)
    patterns = [encode_value(decode_value(code), 0)[0] for code in codes]
    return np.array(patterns, f"u{wide.width // 8}").view(f"f{wide.width // 8}")


def round_to_fp32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """float64 values rounded to FP32 (nearest, ties to even) by a cast. The oracle computes the FP32 subnormals,
    because -ffast-math libraries may make this process flush them."""
    with np.errstate(over="ignore", under="ignore"):
        rounded: NDArray[np.float32] = values.astype(np.float32)
    small = (values != 0) & (np.abs(values) < 2.0**_FP32.emin)
    if small.any():
        codes = _encode_distinct(as_source(values[small]), _FP32, Policy())
        rounded.view(np.uint32)[small] = codes
    return rounded


def through_fp32(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64 values rounded to FP32, as float64 again; a cast could flush subnormals."""
    return to_float64(round_to_fp32(values))


def flushes_subnormals() -> bool:
    """Whether this process flushes FP32 subnormals to zero, which -ffast-math libraries can enable."""
    return bool(np.float32(2.0**_FP32.emin) * np.float32(0.5) == 0)


@lru_cache(maxsize=256)
def value_dtype(fmt: Format) -> np.dtype[np.floating[Any]]:
    """float32 if it can represent every value of the format, else float64. Raises Error if neither can."""
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
    random_bits: RandomBits | None = None,
    *,
    seed: int | None = None,
    key: str | None = None,
    out: Floats | None = None,
    threads: int = 1,
) -> Floats:
    """The values of an array after conversion to the format: decode(encode(x)), in the type that decode returns.

    out, threads: as for `encode`.
    """
    fmt, policy, threads = get_format(fmt), get_policy(policy), thread_count(threads)
    random_bits = resolve_bits(random_bits, policy, x, seed, key)
    dtype = value_dtype(fmt)
    if slabs.needs_copy(x, out):
        return _by_slabs(
            x, random_bits, out, dtype, lambda v, r, o: quantize(v, fmt, policy, r, out=o, threads=threads)
        )
    source = as_source(x)
    buffer = output_buffer(out, source.codes.shape, dtype)
    size, target = buffer.size, buffer.reshape(-1)
    plain = policy.random_count == 0 and random_bits is None and dtype == np.float32
    flat = Source(source.codes.reshape(-1), source.fmt)
    fast = plain and _use_compiled(flat, fmt, policy)
    if not (fast and dispatch.quantize(*flat, fmt, policy, target.view(np.uint32), threads)) and size:
        _quantize_chunks(flat, fmt, policy, random_bits, buffer, threads)
    return store(buffer, out)


def _quantize_chunks(
    flat: Source,
    fmt: Format,
    policy: Policy,
    random_bits: ArrayLike | RandomSource | None,
    buffer: Floats,
    threads: int,
) -> None:
    """Encode and decode a chunk at a time, so that the codes stay in the cache."""
    target, dtype = buffer.reshape(-1), code_dtype(fmt)
    encode_chunk = None
    if policy.random_count or random_bits is not None:
        encode_chunk = _with_words(flat, fmt, policy, random_bits, buffer.shape)

    def work(part: slice) -> None:
        codes = np.empty(min(_CHUNK_SIZE, part.stop - part.start), dtype)
        for start in range(part.start, part.stop, _CHUNK_SIZE):
            chunk = slice(start, min(start + _CHUNK_SIZE, part.stop))
            own = codes[: chunk.stop - chunk.start]
            if encode_chunk is None:
                _encode_flat(Source(flat.codes[chunk], flat.fmt), fmt, policy, own, 1)
            else:
                encode_chunk(chunk, own)
            decode(own, fmt, out=target[chunk])

    run_slices(target.size, 1, threads, work)
