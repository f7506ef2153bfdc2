"""How arrays are quantized in blocks, bit-identical to the scalar oracle in oracle/blocks.

Scales come from a table of thresholds that the oracle computes (every rule is monotone in the largest magnitude).
Elements come from convert.encode, whose input is the exact quotient, or the quotient rounded to odd with spare bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.block_array import (
    FP32,
    FP64,
    BlockArray,
    fp32_factors,
    tensor_scale_bits,
    tensor_scale_value,
)
from softfloat_ref.arrays.block_layout import BlockLayout, TileLayout, block_layout, check_axis
from softfloat_ref.arrays.block_setting import BlockSetting, in_one_row, setting
from softfloat_ref.arrays.convert import Codes
from softfloat_ref.arrays.kernels import block_dispatch, dispatch, divided, divided_slabs
from softfloat_ref.arrays.odd import QUOTIENT_BITS, odd_quotient
from softfloat_ref.arrays.random_bits import RandomBits, random_words, resolve_bits, shape_of, words_at
from softfloat_ref.arrays.slabs import thread_count
from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import changes
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.fp32_steps import fp32_quotient
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.quantize import quantize_block, special_element
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.blocks.scales import scale_of, scale_of_steps
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE, encode_scale, reach, reciprocal_scale, tensor_scale_of
from softfloat_ref.oracle.codec import decode, decoder, to_value
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import RandomSource, is_source

Places = tuple[Codes | None, Codes | None]
_ZEROS: Final = {"drop-given": 0.0, "set-given": -0.0}
_INF64: Final = np.int64(FP64.inf_code)
_SIGN64: Final = np.int64(FP64.magnitude_mask)


def quantize(
    x: ArrayLike,
    fmt: str | BlockFormat,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    *,
    seed: int | None = None,
    key: str | None = None,
    axis: int = -1,
    profile: str | Profile | None = None,
    tensor_scale: float | None = None,
    out: NDArray[np.float32] | None = None,
    threads: int = 1,
) -> NDArray[np.float32]:
    """The values of an array after quantization: encode(...).decode(out)."""
    options: dict[str, Any] = {"axis": axis, "profile": profile, "tensor_scale": tensor_scale, "threads": threads}
    options |= {"seed": seed, "key": key}
    convert.check_buffer(out, shape_of(x), np.dtype(np.float32))
    return encode(x, fmt, policy, random_bits, **options).decode(out)


def encode(
    x: ArrayLike,
    fmt: str | BlockFormat,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    *,
    seed: int | None = None,
    key: str | None = None,
    axis: int = -1,
    profile: str | Profile | None = None,
    tensor_scale: float | None = None,
    out: BlockArray | None = None,
    threads: int = 1,
) -> BlockArray:
    """Quantize an array in blocks along an axis. If the block size does not divide the axis, the last block is short.

    profile: by default the format's own. policy: how elements are rounded. random_bits, seed, key: for stochastic
    rounding, as for `arrays.encode`. tensor_scale: the value of the second-level scale, by default computed from the
    largest magnitude in the tensor. out: an earlier result, whose codes and scales are overwritten and become those of
    the new one. threads: number of threads of the compiled loops; the result does not depend on it. Raises Error for a
    0-dimensional array, an axis out of range, dtypes that do not fit, and an `out` of another shape or type.
    """
    chosen, threads = setting(fmt, profile, policy), thread_count(threads)
    random_bits = resolve_bits(random_bits, chosen.policy, x, seed, key)
    return encode_by(chosen, x, random_bits, axis=axis, tensor_scale=tensor_scale, out=out, threads=threads)


def encode_by(
    chosen: BlockSetting,
    x: ArrayLike | convert.Source,
    random_bits: ArrayLike | RandomSource | None = None,
    *,
    axis: int = -1,
    tensor_scale: float | None = None,
    out: BlockArray | None = None,
    threads: int = 1,
) -> BlockArray:
    """`encode` by a setting. Raises Error as `encode` does."""
    fmt, profile, policy = chosen.fmt, chosen.profile, chosen.policy
    source = convert.as_source(x)
    axis = check_axis(source.codes, axis)
    layout = block_layout(source.codes.shape, axis, fmt, profile)
    places = _places(out, layout, fmt)
    if isinstance(layout, TileLayout) and profile.no_finite != "special":  # for which padding counts
        return _store_blocks(_tiled(source, layout, chosen, random_bits, tensor_scale, threads), out)
    drawn = policy.random_count > 0 and is_source(random_bits)  # by _divided, a slab at a time
    words = None if drawn else random_words(policy, random_bits, source.codes.shape)
    compiled = dispatch.use_compiled_soon(source.codes.size) and source.fmt is FP32 and not convert.flushes_subnormals()
    if compiled and tensor_scale is None and chosen.plan:
        return _store_blocks(_compiled(source.codes, axis, chosen, places, threads), out)
    factor = _tensor_scale(source, tensor_scale, chosen, compiled)
    if compiled and layout.in_order and (plan := chosen.divided(factor)):
        word_source = words_at(policy, cast("RandomSource", random_bits) if drawn else words)
        return _store_blocks(_divided(source.codes, layout, chosen, plan, factor, word_source, places, threads), out)
    if drawn:
        words = random_words(policy, random_bits, source.codes.shape)
    values = convert.to_float64(source, flush=policy.flush_inputs)
    job = _BlockJob(fmt, profile, policy, factor, source.fmt, layout)
    scales, codes = job.run(layout.split(values), None if words is None else layout.split(words))
    second = tensor_scale_value(factor, profile)
    return _store_blocks(BlockArray(layout.join(codes), layout.rows_to_scales(scales), fmt, axis, profile, second), out)


def _tiled(
    source: convert.Source, layout: TileLayout, chosen: BlockSetting, random_bits: ArrayLike | RandomSource | None,
    tensor_scale: float | None, threads: int,
) -> BlockArray:  # fmt: skip
    """Quantize blocks of several rows: each as a row of its own, padded with zeros, which change nothing."""
    words = random_words(chosen.policy, random_bits, source.codes.shape)
    rows = source._replace(codes=layout.split(source.codes))
    drawn = None if words is None else layout.split(words)
    flat = encode_by(in_one_row(chosen), rows, drawn, tensor_scale=tensor_scale, threads=threads)
    scales = layout.rows_to_scales(flat.scales[..., 0])
    fmt, profile = chosen.fmt, chosen.profile
    return BlockArray(layout.join(flat.codes), scales, fmt, layout.axis, profile, flat.tensor_scale)


def _places(out: BlockArray | None, layout: BlockLayout, fmt: BlockFormat) -> Places:
    """The buffers of `out` for codes and scales; None without `out`. Raises Error for arrays that do not fit."""
    if out is None:
        return None, None
    if not isinstance(out, BlockArray):
        raise Error(f"out must be a BlockArray, not {type(out).__name__}")
    return (
        convert.output_buffer(out.codes, layout.shape, convert.code_dtype(fmt.element)),
        convert.output_buffer(out.scales, layout.scales_shape, convert.code_dtype(fmt.scale)),
    )


def _store_blocks(result: BlockArray, out: BlockArray | None) -> BlockArray:
    """The result, stored in the arrays of `out` if given."""
    if out is None:
        return result
    codes, scales = convert.store(result.codes, out.codes), convert.store(result.scales, out.scales)
    return replace(result, codes=codes, scales=scales)


def _compiled(bits: Codes, axis: int, chosen: BlockSetting, places: Places, threads: int) -> BlockArray:
    """Quantize in the compiled loop; the oracle computes the blocks that the loop does not support."""
    fmt, plan = chosen.fmt, chosen.plan
    assert plan is not None
    codes, scales, redo = block_dispatch.quantize(bits, axis, fmt.size, plan, *places, threads)
    if np.count_nonzero(redo):  # faster than any() for few blocks
        _leave_to_oracle(bits, axis, fmt.size, redo, chosen, FP32_ONE, None, codes, scales)
    return BlockArray(codes, scales, fmt, axis, chosen.profile)


def _divided(
    bits: Codes, layout: BlockLayout, chosen: BlockSetting, plan: divided.DividedPlan, tensor_scale: int,
    words: divided_slabs.Words | None, places: Places, threads: int,
) -> BlockArray:  # fmt: skip
    """The same in the compiled loop for scales of any format and stochastic roundings."""
    fmt = chosen.fmt
    codes = np.empty(layout.shape, chosen.dtypes[0]) if places[0] is None else places[0]
    scales = np.empty(layout.scales_shape, chosen.dtypes[1]) if places[1] is None else places[1]
    x, elements, block_scales = layout.in_three(bits), layout.in_three(codes), layout.in_three(scales)
    redo = divided_slabs.quantize(x, layout.size, plan, words, elements, block_scales, threads)
    if np.count_nonzero(redo):  # faster than any() for few blocks
        _leave_to_oracle(x, 1, layout.size, redo, chosen, tensor_scale, words, elements, block_scales)
    second = tensor_scale_value(tensor_scale, chosen.profile)
    return BlockArray(codes, scales, fmt, layout.axis, chosen.profile, second)


def _leave_to_oracle(
    bits: Codes, axis: int, size: int, redo: Codes, chosen: BlockSetting, tensor_scale: int,
    words: divided_slabs.Words | None, codes: Codes, scales: Codes,
) -> None:  # fmt: skip
    """Quantize by the oracle the blocks along an axis that a compiled loop does not support."""
    decode_value, factor = decoder(FP32, chosen.policy.flush_inputs), decode(tensor_scale, FP32)
    step = math.prod(bits.shape[axis + 1 :])
    for where in np.argwhere(redo):
        at = tuple(where.tolist())
        part = (*at[:axis], slice(at[axis] * size, (at[axis] + 1) * size), *at[axis + 1 :])
        values = [decode_value(code) for code in bits[part].tolist()]
        start = np.ravel_multi_index((*at[:axis], at[axis] * size, *at[axis + 1 :]), bits.shape)
        drawn = words and [int(words(start + i * step, 1)[0]) for i in range(len(values))]
        block = chosen.block(values, drawn, factor)
        scales[at], codes[part] = block.scale, block.codes


def _tensor_scale(source: convert.Source, value: float | None, chosen: BlockSetting, compiled: bool) -> int:
    """The FP32 code of the second-level scale. compiled: whether compiled code may be used."""
    if value is not None:
        return tensor_scale_bits(value)
    if not chosen.profile.two_levels:
        return FP32_ONE
    if compiled:
        return chosen.tensor_scale(divided_slabs.largest_finite(source.codes))
    values = convert.to_float64(source, flush=chosen.policy.flush_inputs)
    finite = np.abs(values[np.isfinite(values)])
    top = float(finite.max()) if finite.size else 0.0
    return tensor_scale_of(to_value(top, 0) if top else None, chosen.fmt, chosen.profile)


@dataclass(frozen=True)
class _BlockJob:
    """The quantization of one array of float64 values of shape (..., blocks, size)."""

    fmt: BlockFormat
    profile: Profile
    policy: Policy
    tensor_scale: int  # the FP32 code
    source: Format  # the format of the input before its conversion to float64
    layout: BlockLayout

    @cached_property
    def factor(self) -> Value:
        return decode(self.tensor_scale, FP32)

    def run(self, blocks: NDArray[np.float64], words: NDArray[Any] | None) -> tuple[Codes, Codes]:
        """Scales (..., blocks) and codes (..., blocks, size)."""
        blocks = self._flush(blocks)
        if self.profile.negative_zero in _ZEROS:
            blocks = np.where(blocks == 0, _ZEROS[self.profile.negative_zero], blocks)
        amax = (blocks.view(np.int64) & _SIGN64).max(axis=-1, initial=0)
        special = amax >= _INF64
        scales = self._scales(np.where(special, 0, amax))
        if self.profile.scale_search != "none":
            scales = self._searched(blocks, scales, amax, special, words)
        if self._needs_oracle(blocks):
            by_oracle = np.ones_like(special)
            codes = np.zeros(blocks.shape, convert.code_dtype(self.fmt.element))
        else:
            clean = np.where(special[..., np.newaxis], 0.0, blocks) if special.any() else blocks
            quotients = self._divided(clean, scales)
            codes = self._elements(quotients, words)
            # Besides blocks with specials: a scale that overflowed to Inf or NaN, and a NaN that 0 * Inf produced.
            odd = ~np.isfinite(self._decoded(scales)) | np.isnan(quotients).any(axis=-1)
            by_oracle = special & (not divided.marks_blocks(self.profile)) | ~special & odd
        simple = special & ~by_oracle
        scales[simple] = max(self.fmt.scale.canonical_nan, 0)
        codes[simple] = special_element(self.fmt, self.policy, self.profile)
        for where in np.argwhere(by_oracle):
            at = tuple(where.tolist())
            part = self.layout.lanes(at)
            scales[at], codes[at][part] = self._one(blocks[at][part], None if words is None else words[at][part])
        return scales, codes

    def _elements(self, quotients: NDArray[np.float64], words: NDArray[Any] | None) -> Codes:
        codes = convert.encode(quotients, self.fmt.element, self.policy, words)
        if self.profile.negative_zero == "drop" and self.fmt.element.negative_zero:
            codes[codes == self.fmt.element.sign_bit] = 0
        return codes

    def _searched(
        self, blocks: NDArray[np.float64], scales: Codes, amax: NDArray[np.int64], special: NDArray[np.bool_],
        words: NDArray[Any] | None,
    ) -> Codes:  # fmt: skip
        """The scales with the smaller error; where the oracle is to quantize a block, any."""
        if self._needs_oracle(blocks):
            return scales
        clean = np.where(special[..., np.newaxis], 0.0, blocks)
        usual = ~special & (amax > 0)
        others = self._scales_in_fp32(np.where(usual, amax, 0), expanded=True)
        errors = [self._errors(clean, own, words) for own in (scales, others)]
        chosen: Codes = np.where(usual & (errors[1] < errors[0]), others, scales)
        return chosen

    def _errors(self, blocks: NDArray[np.float64], scales: Codes, words: NDArray[Any] | None) -> NDArray[np.float32]:
        """The errors of blocks under scales: FP32 steps in the order of lanes, as in oracle/blocks/scale_search.py."""
        codes = self._elements(self._divided(blocks, scales), words)
        elements = convert.decode_float64(codes, self.fmt.element)
        values, decoded = blocks.astype(np.float32), self._decoded(scales)
        with np.errstate(all="ignore"):
            if self.profile.arithmetic == "fp32-amax":
                products = (elements * decoded[..., np.newaxis]).astype(np.float32) * np.float32(float(self.factor))
                back = products / np.float32(float(reach(self.fmt, self.profile)))
            else:
                factors = fp32_factors(decoded.astype(np.float32), self.factor, self.fmt, self.profile)
                back = (elements * factors[..., np.newaxis].astype(np.float64)).astype(np.float32)
            off = np.abs(back - values)
            off = off * off if self.profile.scale_search == "mse" else off
            total = np.zeros(off.shape[:-1], np.float32)
            for lane in range(off.shape[-1]):
                total = (
                    np.maximum(total, off[..., lane]) if self.profile.scale_search == "max" else total + off[..., lane]
                )
        return np.where(np.isnan(total), np.float32(np.inf), total)

    def _flush(self, blocks: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.profile.flush == "never":
            return blocks
        tiny = np.abs(blocks) < 2.0**self.profile.flush_below
        if self.profile.flush == "block":
            tiny = np.broadcast_to(tiny.all(axis=-1, keepdims=True), tiny.shape)
        return np.where(tiny, np.copysign(0.0, blocks), blocks)

    def _one(self, block: NDArray[np.float64], words: NDArray[Any] | None) -> tuple[int, list[int]]:
        values = [to_value(v, 0) for v in block.tolist()]
        drawn = None if words is None else words.tolist()
        result = quantize_block(values, self.fmt, self.profile, self.policy, drawn, self.factor)
        return result.scale, list(result.codes)

    def _needs_oracle(self, blocks: NDArray[np.float64]) -> bool:
        """Whether inexact quotients would have too few bits for the elements."""
        if self.profile.scale_search != "none":
            in_arrays = self.profile.divides_in_fp32 and self.profile.scale_rule == "rne"
            if not in_arrays or not divided.is_in_fp32(reach(self.fmt, self.profile)):
                return True
        if self._exact_quotients():
            return False
        if self.profile.arithmetic != "exact":
            wide = self.profile.divides_in_fp32 and self.fmt.scale.width > FP32.width
            return wide or self.source.width > FP32.width
        if not divided.is_moderate(self.fmt.element, self.fmt.scale):
            return True
        wide = self.fmt.scale.precision + divided.short_bits(self.factor) > FP64.precision - QUOTIENT_BITS - 1
        return wide or self.fmt.element.mantissa_bits + self.policy.random_count + 3 > QUOTIENT_BITS

    def _exact_quotients(self) -> bool:
        """Whether every quotient is exact in float64: scales are powers of two, values no wider than FP32."""
        return (
            self.fmt.scale.mantissa_bits == 0
            and divided.is_moderate(self.fmt.element, self.fmt.scale)
            and self.tensor_scale == FP32_ONE
            and self.profile.arithmetic == "exact"
            and self.source.width <= FP32.width
        )

    def _divided(self, blocks: NDArray[np.float64], scales: Codes) -> NDArray[np.float64]:
        """The blocks divided by their scales: exact, or rounded to odd with spare bits; zero under a scale of zero."""
        if self.profile.arithmetic == "fp32-reciprocal":
            with np.errstate(invalid="ignore"):  # 0 * Inf, where 1 / tensor scale is beyond FP32
                products = blocks * self._reciprocals(scales)[..., np.newaxis]
            return convert.through_fp32(products)
        if self.profile.divides_in_fp32:
            return self._divided_in_fp32(blocks, scales)
        divisors = self._decoded(scales)[..., np.newaxis]
        divisors = np.where(np.isfinite(divisors), divisors, 1.0)  # Inf and NaN scales are handled in `run`
        zero = divisors == 0
        divisors = np.where(zero, 1.0, divisors * float(self.factor))
        quotients = blocks / divisors if self._exact_quotients() else odd_quotient(blocks, divisors)
        return np.where(zero, np.copysign(0.0, blocks), quotients)

    def _divided_in_fp32(self, blocks: NDArray[np.float64], scales: Codes) -> NDArray[np.float64]:
        """FP32 values divided in FP32 by the scales' product or quotient, which is rounded to FP32 before."""
        single, zero = self._decoded(scales).astype(np.float32), np.float32(0)
        with np.errstate(all="ignore"):
            if self.profile.arithmetic == "fp32-amax":
                zero = np.float32(np.nan)  # no scale is: values are multiplied by the largest number instead
                quotients = blocks.astype(np.float32) * self._reciprocals(scales).astype(np.float32)[..., np.newaxis]
            else:
                by = fp32_factors(single, self.factor, self.fmt, self.profile)
                quotients = blocks.astype(np.float32) / by[..., np.newaxis]
        if self.profile.negative_zero in _ZEROS:
            quotients = np.where(quotients == 0, np.float32(_ZEROS[self.profile.negative_zero]), quotients)
        quotients = np.where(single[..., np.newaxis] == zero, np.copysign(np.float32(0), blocks), quotients)
        return quotients.astype(np.float64)

    def _decoded(self, scales: Codes) -> NDArray[np.float64]:
        return convert.decode_float64(scales, self.fmt.scale)

    def _reciprocals(self, scales: Codes) -> NDArray[np.float64]:
        """1 / tensor scale / scale, each division rounded to FP32; or as fp32-amax has it."""
        distinct, inverse = np.unique(scales, return_inverse=True)
        if self.profile.arithmetic == "fp32-amax":
            values = map(decoder(self.fmt.scale), distinct.tolist())
            steps = [reciprocal_scale(s, self.fmt, self.profile, self.factor) if s.is_finite else s for s in values]
            return np.array([float(x) for x in steps])[inverse].reshape(scales.shape)
        start = fp32_quotient(exact.finite(0, 1, 0), self.factor)
        decoded = map(decoder(self.fmt.scale), distinct.tolist())
        reciprocals = [float(fp32_quotient(start, s)) if s.is_finite and not s.is_zero else 0.0 for s in decoded]
        return np.array(reciprocals)[inverse].reshape(scales.shape)

    def _scales(self, amax: NDArray[np.int64]) -> Codes:
        """The codes of the scales for largest magnitudes, which are given as float64 bits."""
        if self.profile.divides_in_fp32 and self.profile.scale_rule == "rne" and self.source.width <= FP32.width:
            return self._scales_in_fp32(amax)
        if self.fmt.scale.width <= 8 and amax.size >= 256 and self.profile.scale_low != "eighth":
            starts, codes = _thresholds(self.fmt, self.profile, self.tensor_scale)
            return codes[np.searchsorted(starts, amax, "right")]
        patterns, inverse = np.unique(amax, return_inverse=True)
        distinct = [_scale(int(p), self.fmt, self.profile, self.factor) for p in patterns]
        return np.array(distinct, convert.code_dtype(self.fmt.scale))[inverse].reshape(amax.shape)

    def _scales_in_fp32(self, amax: NDArray[np.int64], expanded: bool = False) -> Codes:
        """The same where FP32 steps find the number that is rounded to a scale. expanded: times 3/2."""
        top, second = np.float32(float(largest(self.fmt.element))), np.float32(float(self.factor))
        if self.profile.arithmetic == "fp32-amax":
            second = np.float32(float(encode_scale(self.fmt, self.profile, self.factor)))
        with np.errstate(all="ignore"):
            single = amax.view(np.float64).astype(np.float32)
            multiplied = self.profile.arithmetic in ("fp32-inverse", "fp32-amax")
            wanted = single / top * second if multiplied else single / (top * second)
            wanted = wanted * np.float32(1.5) if expanded else wanted
        distinct, back = np.unique(wanted, return_inverse=True)
        codes = [scale_of_steps(to_value(x, 0), self.fmt.scale, self.profile) for x in distinct.tolist()]
        return np.array(codes, convert.code_dtype(self.fmt.scale))[back].reshape(amax.shape)


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
