"""`quantization_error`: the error of an array in a format, and of arrays larger than memory the same from boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import affine, blocks, boxes, convert, error_blocks, exchange
from softfloat_ref.arrays.affine_array import channel_shape
from softfloat_ref.arrays.block_array import BlockArray
from softfloat_ref.arrays.block_layout import check_axis
from softfloat_ref.arrays.boxes import Box
from softfloat_ref.arrays.error_blocks import BlockBins
from softfloat_ref.arrays.error_counts import Errors, compare_values
from softfloat_ref.arrays.exponents import AnyFormat, find_format
from softfloat_ref.arrays.random_bits import resolve_bits
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.affine import AffineFormat, get_rule
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.quantize import resolve
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.blocks.tensor_scales import tensor_scale_of
from softfloat_ref.oracle.codec import decode, decoder, to_value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.sources import RandomSource, is_source

_FP32: Final = CATALOGUE["fp32"]
_AFFINE_BITS: Final = _FP32.width + 32  # of a scale and a zero point

Array = NDArray[Any]
Reader = Callable[[int, int], Array]  # values from a position on, of the array in C order


class ValueRange(NamedTuple):
    """What a scale of a whole array depends on: the ends of its finite values, if there are any, NaN and Inf."""

    low: float = math.inf
    high: float = -math.inf
    nan: bool = False
    inf: bool = False

    def __add__(self, other: ValueRange) -> ValueRange:  # type: ignore[override]
        ends = min(self.low, other.low), max(self.high, other.high)
        return ValueRange(*ends, self.nan or other.nan, self.inf or other.inf)

    @property
    def amax(self) -> float:
        """The largest finite magnitude; 0 without finite values."""
        return max(abs(self.low), abs(self.high)) if self.low <= self.high else 0.0

    def witnesses(self) -> list[float]:
        """Values that have this range."""
        ends = [self.low, self.high] if self.low <= self.high else []
        return ends + [math.nan] * self.nan + [math.inf] * self.inf


class MeasuredErrors(NamedTuple):
    """The errors of an array or a box, and what a picture of its blocks needs, if that was wanted."""

    errors: Errors
    bins: BlockBins | None = None

    def __add__(self, other: MeasuredErrors) -> MeasuredErrors:  # type: ignore[override]
        bins = self.bins + other.bins if self.bins and other.bins else self.bins or other.bins
        return MeasuredErrors(self.errors + other.errors, bins)


@dataclass(frozen=True)
class ErrorMeasure:
    """A quantization whose errors are measured. axis: of blocks (None: the last), or of an affine format's channels
    (None: one scale); profile: of a block format, or an affine format's rule."""

    fmt: AnyFormat
    policy: Policy | str | None = None
    source: RandomSource | None = None
    axis: int | None = None
    profile: Any = None

    @staticmethod
    def make(
        fmt: str | AnyFormat,
        policy: Policy | str | None = None,
        source: RandomSource | None = None,
        axis: int | None = None,
        profile: Any = None,
    ) -> ErrorMeasure:
        """With format and profile resolved. Raises Error for names that do not exist, and for arguments without effect
        on the format."""
        resolved = find_format(fmt)
        if isinstance(resolved, BlockFormat):
            resolved, profile = resolve(resolved, profile)
        elif isinstance(resolved, AffineFormat):
            profile = get_rule("exact" if profile is None else profile)
        elif profile is not None or axis is not None:
            raise Error(f"{'axis' if profile is None else 'profile'}: {resolved.name} is a scalar format and has none")
        return ErrorMeasure(resolved, policy, source, axis, profile)

    def plan(self, shape: tuple[int, ...]) -> boxes.BoxPlan:
        """How an array is divided. Raises Error for a shape that the format does not take."""
        if self.axis is not None or isinstance(self.fmt, BlockFormat):
            check_axis(np.broadcast_to(np.uint8(0), shape), -1 if self.axis is None else self.axis)
        return boxes.plan(shape, self.fmt, self.axis, self.profile if isinstance(self.fmt, BlockFormat) else None)

    def stored_bits(self, shape: tuple[int, ...]) -> int:
        """The bits of an array in the format: its codes, the scales in whole bytes, and scales of the whole array, as
        `pack` writes them, but without padding. Raises Error for a shape that the format does not take."""
        fmt, size = self.fmt, prod(shape)
        if isinstance(fmt, Format):
            return size * fmt.width
        if isinstance(fmt, AffineFormat):
            return size * fmt.bits + prod(channel_shape(shape, self.axis)) * _AFFINE_BITS
        scale = 8 * convert.code_dtype(fmt.scale).itemsize
        return size * fmt.element.width + self.plan(shape).blocks * scale + bool(self.profile.two_levels) * _FP32.width

    def range_of(self, x: Array) -> ValueRange:
        """The range of a part of an array."""
        values = convert.to_float64(x, flush=get_policy(self.policy).flush_inputs)
        finite = values[np.isfinite(values)]
        ends = (float(finite.min()), float(finite.max())) if finite.size else (math.inf, -math.inf)
        return ValueRange(*ends, bool(np.isnan(values).any()), bool(np.isinf(values).any()))

    def box(
        self, read: Reader, plan: boxes.BoxPlan, box: Box, whole: ValueRange | None = None, bins: int = 0
    ) -> MeasuredErrors:
        """The errors of a box. whole: the range of the array, if the plan is ranged and this is not its only box."""
        runs = list(box.runs(plan.view))
        x, words = _joined(read(*run) for run in runs), None
        if self.source is not None:
            n, source = get_policy(self.policy).random_count, self.source
            words = _joined(source.array(n, *run) for run in runs)
        shape = plan.shape or (box.shape if plan.view.inner > 1 else box.shape[:2])
        x, words = x.reshape(shape), None if words is None else words.reshape(shape)
        quantized = self._quantized(x, words, plan, whole)
        values = convert.to_float64(x)
        errors = compare_values(values, quantized.values.astype(np.float64))
        over = quantized.beyond(values)
        errors = replace(errors, saturated=int(over.sum()))
        if quantized.blocked is None:
            return MeasuredErrors(errors)
        part = error_blocks.PlacedBox(plan, box, whole.amax if whole and plan.blocks == 1 else None)
        return MeasuredErrors(*error_blocks.measure_blocks(errors, values, over, quantized.blocked, part, bins))

    def _quantized(self, x: Array, words: Array | None, plan: boxes.BoxPlan, whole: ValueRange | None) -> _Quantized:
        fmt = self.fmt
        if isinstance(fmt, Format):
            return _Quantized(convert.quantize(x, fmt, self.policy, words), *reach(fmt))
        shared = whole is not None and (isinstance(fmt, AffineFormat) or fmt.size < 1)
        array, drawn = _with_witnesses(x, words, whole) if shared and whole else (x, words)
        if isinstance(fmt, AffineFormat):
            axis = None if self.axis is None else self.axis if plan.shape else 1
            q = affine.encode(array, fmt, axis=axis, profile=self.profile, policy=self.policy, random_bits=drawn)
            return _Quantized(q.decode().reshape(-1)[: x.size].reshape(x.shape) if shared else q.decode())
        axis = 1 if plan.shape is None else -1 if self.axis is None else self.axis
        factor = None if whole is None else self._tensor_scale(fmt, whole)
        blocked = blocks.encode(
            array,
            fmt,
            axis=0 if shared else axis,
            profile=self.profile,
            policy=self.policy,
            random_bits=drawn,
            tensor_scale=factor,
        )
        if shared:
            blocked = replace(blocked, codes=blocked.codes[: x.size].reshape(x.shape), axis=1)
            blocked = replace(blocked, scales=blocked.scales.reshape((1,) * x.ndim))
        return _Quantized(blocked.decode(), blocked=blocked)

    def _tensor_scale(self, fmt: BlockFormat, whole: ValueRange) -> float | None:
        if not self.profile.two_levels:
            return None
        return float(decode(tensor_scale_of(to_value(whole.amax, 0) if whole.amax else None, fmt, self.profile), _FP32))


class _Quantized(NamedTuple):
    """The values of a box after quantization. low, high: what a scalar format reaches."""

    values: Array
    low: float = -math.inf
    high: float = math.inf
    blocked: BlockArray | None = None

    def beyond(self, x: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which values saturated; an affine format's scale covers all."""
        if self.blocked is not None:
            return blocks.beyond(x, self.blocked)
        saturated: NDArray[np.bool_] = np.isfinite(self.values) & ((x > self.high) | (x < self.low))
        return saturated


def reach(fmt: Format) -> tuple[float, float]:
    """The smallest and the largest finite value; for an unsigned format, as if it had a sign."""
    high = float(largest(fmt))
    return float(decoder(fmt)(fmt.sign_bit)) if fmt.twos_complement and fmt.signed else -high, high


def _joined(parts: Iterable[Array]) -> Array:
    arrays = list(parts)
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _with_witnesses(x: Array, words: Array | None, whole: ValueRange) -> tuple[Array, Array | None]:
    """A flat array, and its random words, with values behind it that give it the range of the whole array."""
    more = np.array(whole.witnesses()).astype(x.dtype)
    extended = None if words is None else np.concatenate([words.reshape(-1), np.zeros(more.size, words.dtype)])
    return np.concatenate([x.reshape(-1), more]), extended


def measure_errors(
    measure: ErrorMeasure, read: Reader, shape: tuple[int, ...], slab: int = boxes.SLAB, bins: int = 0
) -> MeasuredErrors:
    """The errors of an array that is read in parts. Raises Error as quantization does."""
    plan = measure.plan(shape)
    parts, whole = list(boxes.boxes(plan, slab)), None
    if plan.ranged and len(parts) > 1:
        whole = sum((measure.range_of(read(*run)) for box in parts for run in box.runs(plan.view)), start=ValueRange())
    total = MeasuredErrors(Errors())
    for box in parts:
        total += measure.box(read, plan, box, whole, bins)
    return total


def quantization_error(
    x: ArrayLike,
    fmt: str | AnyFormat,
    policy: Policy | str | None = None,
    random_bits: RandomSource | str | None = None,
    *,
    seed: int | None = None,
    key: str | None = None,
    axis: int | None = None,
    profile: Any = None,
) -> Errors:
    """The errors of an array's values in a scalar, block or affine format (`softfloat_ref.quantization_error`).

    Arguments as for `quantize`; random_bits: a random source or its text. The result does not depend on how the array
    is stored. Raises Error as `quantize` does, and for an empty array.
    """
    random_bits = resolve_bits(random_bits, get_policy(policy), x, seed, key)  # type: ignore[assignment]
    if random_bits is not None and not is_source(random_bits):
        raise Error("random_bits must be a random source, for example sources.Philox(seed)")
    array = _as_array(x)
    if not array.size:
        raise Error(f"an empty array of shape {array.shape} has no errors")
    flat = array.reshape(-1)
    measure = ErrorMeasure.make(fmt, policy, random_bits, axis, profile)
    return measure_errors(measure, lambda first, count: flat[first : first + count], array.shape or (1,)).errors


def _as_array(x: ArrayLike) -> Array:
    """An array of numpy or ml_dtypes floats or integers, in C order. Raises Error as conversions do."""
    if exchange.is_torch(x):
        codes, fmt = convert.as_source(x)
        return convert.decode(codes, fmt)
    if isinstance(x, np.ma.MaskedArray) or not isinstance(x, np.ndarray):
        convert.as_source(x)  # refuses what is not an array of numbers
    return np.ascontiguousarray(x)
