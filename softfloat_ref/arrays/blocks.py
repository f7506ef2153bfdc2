"""Block formats over numpy arrays, bit-identical to the scalar oracle in oracle/blocks.

Scales come from a table of thresholds that the oracle computes (every rule is monotone in the largest magnitude).
Elements come from convert.encode, whose input is the exact quotient, or the quotient rounded to odd with spare bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.block_array import (
    FP32,
    FP64,
    ONE,
    BlockArray,
    Layout,
    check_axis,
    from_codes,
    from_torch,
    given_tensor_scale,
    load,
    save,
    unpack,
)
from softfloat_ref.arrays.convert import Codes
from softfloat_ref.arrays.kernels import block_dispatch, dispatch
from softfloat_ref.arrays.matmul import matmul
from softfloat_ref.base.bisection import changes
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.profiles import Profile
from softfloat_ref.oracle.blocks.quantize import (
    element_policy,
    fp32_quotient,
    quantize_block,
    resolve,
    scale_of,
    special_element,
    tensor_scale_of,
)
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.codec import decode, decoder, to_value
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import RandomSource

__all__ = [
    "FP32",
    "ONE",
    "BlockArray",
    "check_axis",
    "from_codes",
    "from_torch",
    "load",
    "matmul",
    "odd_quotient",
    "quantize",
    "saturated",
    "save",
    "scale_rows",
    "unpack",
]

Places = tuple[Codes | None, Codes | None]
_INF64: Final = np.int64(FP64.inf_code)
_SIGN64: Final = np.int64(FP64.magnitude_mask)
_QUOTIENT_BITS: Final = 24  # fraction bits of an inexact quotient; 25 bits times a divisor of 28 bits are exact
_EXPONENT_LIMIT: Final = 900  # quotients beyond 2^+-900 round like those at this limit


def quantize(
    x: ArrayLike,
    fmt: str | BlockFormat,
    axis: int = -1,
    profile: str | Profile | None = None,
    policy: Policy | str | None = None,
    random_bits: ArrayLike | RandomSource | None = None,
    tensor_scale: float | None = None,
    *,
    out: BlockArray | None = None,
    threads: int = 1,
) -> BlockArray:
    """Quantize an array in blocks along an axis. If the block size does not divide the axis, the last block is short.

    profile: by default the format's own. policy: how elements are rounded. random_bits: for stochastic rounding,
    integers in x's shape, or a RandomSource. tensor_scale: the second-level scale, by default computed from the largest
    magnitude in the tensor. out: an earlier result, whose codes and scales are overwritten and become those of the new
    one. threads: number of threads of the compiled loops; the result does not depend on it. Raises Error for a
    0-dimensional array, an axis out of range, dtypes that do not fit, and an `out` of another shape or type.
    """
    fmt, profile = resolve(get_block_format(fmt), profile)
    policy = element_policy(policy, profile)
    source = convert.as_source(x)
    axis = check_axis(source.codes, axis)
    layout = Layout(source.codes.shape, axis, fmt, profile)
    places = _places(out, layout, fmt)
    compiled = tensor_scale is None and dispatch.use_compiled(source.codes.size)
    scaling = _scaling(fmt, profile, policy, source) if compiled and policy.random_count else None
    drawn = scaling is not None and isinstance(random_bits, RandomSource)  # drawn by _stochastic, a chunk at a time
    words = None if drawn else convert.random_words(policy, random_bits, source.codes.shape)
    if scaling is not None:
        given = random_bits if drawn else words
        return _settled(_stochastic(source.codes, axis, fmt, profile, policy, scaling, given, places, threads), out)
    if compiled and (plan := block_dispatch.plan(fmt, profile, policy, source.fmt)):
        return _settled(_compiled(source.codes, axis, fmt, profile, policy, plan, places, threads), out)
    values = convert.to_float64(source, flush=policy.flush_inputs)
    factor = _tensor_scale(values, tensor_scale, fmt, profile)
    job = _Job(fmt, profile, policy, factor, source.fmt, layout.tail)
    scales, codes = job.run(layout.split(values), None if words is None else layout.split(words))
    return _settled(
        BlockArray(layout.join(codes), layout.rows_to_scales(scales), fmt, axis, profile, job.tensor_scale), out
    )


def _places(out: BlockArray | None, layout: Layout, fmt: BlockFormat) -> Places:
    """The buffers of `out` for codes and scales; None without `out`. Raises Error for arrays that do not fit."""
    if out is None:
        return None, None
    if not isinstance(out, BlockArray):
        raise Error(f"out must be a BlockArray, not {type(out).__name__}")
    return (
        convert.output_buffer(out.codes, layout.shape, convert.code_dtype(fmt.element)),
        convert.output_buffer(out.scales, layout.scales_shape, convert.code_dtype(fmt.scale)),
    )


def _settled(made: BlockArray, out: BlockArray | None) -> BlockArray:
    """The result, stored in the arrays of `out` if given."""
    if out is None:
        return made
    for place, found in ((out.codes, made.codes), (out.scales, made.scales)):
        if place is not found:
            place[...] = found
    return replace(made, codes=out.codes, scales=out.scales)


def _compiled(
    bits: Codes, axis: int, fmt: BlockFormat, profile: Profile, policy: Policy, plan: block_dispatch.Plan,
    places: Places, threads: int,
) -> BlockArray:  # fmt: skip
    """Quantize in the compiled loop; the oracle computes the blocks that the loop does not support."""
    codes, scales, redo = block_dispatch.quantize(bits, axis, fmt.size, plan, *places, threads)
    decode_value = decoder(FP32, policy.flush_inputs)
    for where in np.argwhere(redo) if redo.any() else ():
        at = tuple(where.tolist())
        part = (*at[:axis], slice(at[axis] * fmt.size, (at[axis] + 1) * fmt.size), *at[axis + 1 :])
        found = quantize_block([decode_value(code) for code in bits[part].tolist()], fmt, profile, policy)
        scales[at], codes[part] = found.scale, found.codes
    return BlockArray(codes, scales, fmt, axis, profile)


def _scaling(fmt: BlockFormat, profile: Profile, policy: Policy, source: convert.Source) -> block_dispatch.Plan | None:
    """The plan by which the compiled loop finds the scales for stochastic rounding; None if it cannot."""
    plan = block_dispatch.plan(fmt, profile, _nearest(policy), source.fmt)
    return plan if plan and np.isfinite(source.codes.view(np.float32)).all() else None


def _nearest(policy: Policy) -> Policy:
    return policy.replace(rounding="rne", sr_bits=None)


def _stochastic(
    bits: Codes, axis: int, fmt: BlockFormat, profile: Profile, policy: Policy, plan: block_dispatch.Plan,
    random_bits: Any, places: Places, threads: int,
) -> BlockArray:  # fmt: skip
    """Find the scales in the compiled loop, as they do not depend on element rounding; then round each quotient once.

    Quotients are exact in float32 except below its normal range. Those lie so far below the elements' range that
    stochastic rounding treats them like zero.
    """
    scaled = _compiled(bits, axis, fmt, profile, _nearest(policy), plan, places, threads)
    flush = policy.flush_inputs or profile.flush == "element"
    quotients = np.empty(bits.shape, np.float32)
    table = 1 / convert.decode_float64(np.arange(1 << fmt.scale.width), fmt.scale)
    block_dispatch.rescale(bits.view(np.float32), scaled.scales, axis, fmt.size, table, flush, quotients)
    plain = policy.replace(flush_inputs=False)
    codes = convert.encode(quotients, fmt.element, plain, random_bits, out=scaled.codes, threads=threads)
    return BlockArray(codes, scaled.scales, fmt, axis, profile)


def _tensor_scale(values: NDArray[np.float64], given: float | None, fmt: BlockFormat, profile: Profile) -> int:
    """The FP32 code of the second-level scale."""
    if given is not None:
        return given_tensor_scale(given)
    if profile.tensor_scale == "none":
        return ONE
    finite = np.abs(values[np.isfinite(values)])
    amax = float(finite.max()) if finite.size else 0.0
    return tensor_scale_of(to_value(amax, 0) if amax else None, fmt, profile)


@dataclass(frozen=True)
class _Job:
    """The quantization of one array of float64 values of shape (..., blocks, size)."""

    fmt: BlockFormat
    profile: Profile
    policy: Policy
    tensor_scale: int
    source: Format  # the format of the input before its conversion to float64
    tail: int  # values in the last block of each row

    @property
    def factor(self) -> Value:
        return decode(self.tensor_scale, FP32)

    def run(self, blocks: NDArray[np.float64], words: NDArray[Any] | None) -> tuple[Codes, Codes]:
        """Scales (..., blocks) and codes (..., blocks, size)."""
        blocks = self._flush(blocks)
        if self.profile.negative_zero == "drop-given":
            blocks = np.where(blocks == 0, 0.0, blocks)
        amax = (blocks.view(np.int64) & _SIGN64).max(axis=-1, initial=0)
        special = amax >= _INF64
        scales = self._scales(np.where(special, 0, amax))
        if self._needs_oracle(blocks):
            by_oracle = np.ones_like(special)
            codes = np.zeros(blocks.shape, convert.code_dtype(self.fmt.element))
        else:
            clean = np.where(special[..., np.newaxis], 0.0, blocks) if special.any() else blocks
            quotients = self._divided(clean, scales)
            codes = convert.encode(quotients, self.fmt.element, self.policy, words)
            self._drop_signs(codes)
            # Besides blocks with specials: a scale that overflowed to Inf or NaN, and a NaN that 0 * Inf produced.
            odd = ~np.isfinite(self._decoded(scales)) | np.isnan(quotients).any(axis=-1)
            by_oracle = special & (not self._simple_specials()) | ~special & odd
        simple = special & ~by_oracle
        scales[simple] = max(self.fmt.scale.canonical_nan, 0)
        codes[simple] = special_element(self.fmt, self.policy)
        for where in np.argwhere(by_oracle):
            at = tuple(where.tolist())
            part = slice(self.tail if at[-1] == special.shape[-1] - 1 else None)
            scales[at], codes[at][part] = self._one(blocks[at][part], None if words is None else words[at][part])
        return scales, codes

    def _flush(self, blocks: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.profile.flush == "never":
            return blocks
        tiny = np.abs(blocks) < 2.0**self.profile.flush_below
        if self.profile.flush == "block":
            tiny = np.broadcast_to(tiny.all(axis=-1, keepdims=True), tiny.shape)
        return np.where(tiny, np.copysign(0.0, blocks), blocks)

    def _simple_specials(self) -> bool:
        profile = self.profile
        return profile.nan == profile.inf == "block" and profile.special_codes == "nan"

    def _one(self, block: NDArray[np.float64], words: NDArray[Any] | None) -> tuple[int, list[int]]:
        values = [to_value(v, 0) for v in block.tolist()]
        given = None if words is None else words.tolist()
        found = quantize_block(values, self.fmt, self.profile, self.policy, given, self.factor)
        return found.scale, list(found.codes)

    def _needs_oracle(self, blocks: NDArray[np.float64]) -> bool:
        """Whether inexact quotients would have too few bits for the elements."""
        if self._exact_quotients():
            return False
        if self.profile.arithmetic == "fp32-reciprocal":
            return self.source.width > FP32.width
        if not self._moderate():
            return True
        wide = self.fmt.scale.precision + self.factor.significand.bit_length() > FP64.precision - _QUOTIENT_BITS - 1
        return wide or self.fmt.element.mantissa_bits + self.policy.random_count + 3 > _QUOTIENT_BITS

    def _moderate(self) -> bool:
        """Whether exponents stay well within float64's range."""
        element, scale = self.fmt.element, self.fmt.scale
        return max(map(abs, (element.emin, element.emax, scale.emin, scale.emax))) <= _EXPONENT_LIMIT // 3

    def _exact_quotients(self) -> bool:
        """Whether every quotient is exact in float64: scales are powers of two, values no wider than FP32."""
        return (
            self.fmt.scale.mantissa_bits == 0
            and self._moderate()
            and self.tensor_scale == ONE
            and self.profile.arithmetic == "exact"
            and self.source.width <= FP32.width
        )

    def _divided(self, blocks: NDArray[np.float64], scales: Codes) -> NDArray[np.float64]:
        """The blocks divided by their scales: exact, or rounded to odd with spare bits; zero under a scale of zero."""
        if self.profile.arithmetic == "fp32-reciprocal":
            with np.errstate(invalid="ignore"):  # 0 * Inf, where 1 / tensor scale is beyond FP32
                products = blocks * self._reciprocals(scales)[..., np.newaxis]
            return convert.round_to_fp32(products).astype(np.float64)
        divisors = self._decoded(scales)[..., np.newaxis]
        divisors = np.where(np.isfinite(divisors), divisors, 1.0)  # Inf and NaN scales are handled in `run`
        zero = divisors == 0
        divisors = np.where(zero, 1.0, divisors * float(self.factor))
        found = blocks / divisors if self._exact_quotients() else odd_quotient(blocks, divisors)
        return np.where(zero, np.copysign(0.0, blocks), found)

    def _decoded(self, scales: Codes) -> NDArray[np.float64]:
        return convert.decode_float64(scales, self.fmt.scale)

    def _reciprocals(self, scales: Codes) -> NDArray[np.float64]:
        """1 / tensor scale / scale, each division rounded to FP32."""
        distinct, inverse = np.unique(scales, return_inverse=True)
        start = fp32_quotient(exact.finite(0, 1, 0), self.factor)
        decoded = map(decoder(self.fmt.scale), distinct.tolist())
        found = [float(fp32_quotient(start, s)) if s.is_finite and not s.is_zero else 0.0 for s in decoded]
        return np.array(found)[inverse].reshape(scales.shape)

    def _drop_signs(self, codes: Codes) -> None:
        if self.profile.negative_zero == "drop" and self.fmt.element.negative_zero:
            codes[codes == self.fmt.element.sign_bit] = 0

    def _scales(self, amax: NDArray[np.int64]) -> Codes:
        """The codes of the scales for largest magnitudes, which are given as float64 bits."""
        if self.fmt.scale.width > 8 or amax.size < 256:
            return self._scales_by_oracle(amax)
        starts, codes = _thresholds(self.fmt, self.profile, self.tensor_scale)
        return codes[np.searchsorted(starts, amax, "right")]

    def _scales_by_oracle(self, amax: NDArray[np.int64]) -> Codes:
        patterns, inverse = np.unique(amax, return_inverse=True)
        found = [_scale(int(p), self.fmt, self.profile, self.factor) for p in patterns]
        codes: Codes = np.array(found, convert.code_dtype(self.fmt.scale))[inverse].reshape(amax.shape)
        return codes


def _scale(bits: int, fmt: BlockFormat, profile: Profile, factor: Value) -> int:
    """The code of the scale for a largest magnitude, given as float64 bits."""
    return scale_of(decoder(FP64)(bits) if bits else None, fmt, profile, factor)


@lru_cache(maxsize=64)
def _thresholds(fmt: BlockFormat, profile: Profile, tensor_scale: int) -> tuple[NDArray[np.int64], Codes]:
    """The float64 bits of the magnitudes at which the scale's code changes, and the code from each of them on.

    Every rule is monotone, so bisection with the oracle finds them.
    """
    factor = decode(tensor_scale, FP32)

    def code(bits: int) -> int:
        return _scale(bits, fmt, profile, factor)

    starts, codes = zip(*changes(code, 1, FP64.max_code), strict=True)
    return np.array(starts, np.int64), np.array([code(0), *codes], convert.code_dtype(fmt.scale))


def odd_quotient(x: NDArray[np.float64], divisors: NDArray[np.float64]) -> NDArray[np.float64]:
    """x / divisors to 25 bits, with a sticky bit below them if inexact. divisors: positive, of at most 28 bits.

    This is rounding to odd, so a second rounding to fewer bits is correct. The product of quotient and divisor is exact
    in float64; it shows whether the quotient is too large or inexact.
    """
    fractions, exponents = np.frexp(np.abs(x))
    parts, shifts = np.frexp(divisors)
    unit = np.int64(1 << (FP64.mantissa_bits - _QUOTIENT_BITS))
    bits = (fractions / parts).view(np.int64) & -unit
    product = bits.view(np.float64) * parts
    bits -= np.where(product > fractions, unit, 0)
    bits |= np.where(product != fractions, unit >> 2, 0)
    places = np.clip(exponents - shifts, -_EXPONENT_LIMIT, _EXPONENT_LIMIT)
    found = np.where(fractions == 0, 0.0, np.ldexp(bits.view(np.float64), places))
    return np.copysign(found, x)


def saturated(x: ArrayLike, quantized: BlockArray) -> int:
    """The number of finite values beyond scale times the largest element."""
    values = convert.to_float64(x)
    limit = float(largest(quantized.fmt.element)) * float(decode(quantized.tensor_scale, FP32))
    with np.errstate(over="ignore"):
        limits = convert.decode_float64(quantized.spread_scales(), quantized.fmt.scale) * limit
    return int((np.isfinite(values) & (np.abs(values) > limits)).sum())


def scale_rows(codes: Codes, scales: Codes) -> list[list[int] | None]:
    """The scales of each row of the last axis; None per row if blocks run along another axis."""
    if scales.size == 1:
        return [[int(scales.reshape(-1)[0])]] * (codes.size // codes.shape[-1])
    if codes.shape[:-1] != scales.shape[:-1]:
        return [None] * (codes.size // codes.shape[-1])
    return [[int(s) for s in row] for row in scales.reshape(-1, scales.shape[-1])]
