"""Block arrays: codes and scales with their format; made of codes, packed bytes, tensors and files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import convert, exchange, packing
from softfloat_ref.arrays.block_layout import BlockLayout, TileLayout, block_layout, check_axis
from softfloat_ref.arrays.convert import Codes
from softfloat_ref.arrays.kernels import block_dispatch, dispatch
from softfloat_ref.arrays.quantized import AxisIndex, QuantizedArray, axis_after
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import AXIS, TENSOR, BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.profile import OCP, Profile
from softfloat_ref.oracle.blocks.quantize import resolve
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE, inverse_reach, reach, tensor_scale_code
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE

FP32: Final = CATALOGUE["fp32"]
FP64: Final = CATALOGUE["fp64"]
_NO_FACTOR: Final = decode(FP32_ONE, FP32)
MAX_DIMENSIONS: Final = 32
_MAX_FP32: Final = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False, repr=False)
class BlockArray(QuantizedArray):
    """A quantized array. codes: one unsigned code per element, in the array's shape. scales: the array's shape with the
    number of blocks in place of the axis; of size 1 for a single scale; one-dimensional for blocks that span rows.
    tensor_scale: the value of the second-level scale, an FP32 number; None if there is none."""

    codes: Codes
    scales: Codes
    fmt: BlockFormat
    axis: int
    profile: Profile = OCP
    tensor_scale: float | None = None

    @property
    def factor(self) -> Value:
        """The second-level scale as an exact value; 1 if there is none."""
        return _NO_FACTOR if self.tensor_scale is None else decode(tensor_scale_bits(self.tensor_scale), FP32)

    def with_tensor_scale(self, scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of scales with the second-level scale, to a float's precision."""
        factor = float(self.factor)
        if self.profile.arithmetic == "fp32-amax":
            return scales * factor / float(reach(self.fmt, self.profile))
        return scales / factor if self.profile.arithmetic == "fp32-inverse" else scales * factor

    def _arrays(self) -> tuple[Codes, ...]:
        return self.codes, self.scales

    def _settings(self) -> dict[str, Any]:
        return {k: getattr(self, k) for k in ("fmt", "axis", "profile", "tensor_scale")}

    @property
    def _layout(self) -> BlockLayout:
        return block_layout(self.shape, self.axis, self.fmt, self.profile)

    def in_rows(self) -> BlockArray:
        """The same values in blocks of one row, each with the scale of its block: for products along `axis`."""
        layout = self._layout
        if not isinstance(layout, TileLayout):
            return self
        scales = np.repeat(self.scales, self.fmt.rows, axis=layout.across)
        scales = np.take(scales, range(self.shape[layout.across]), axis=layout.across)
        fmt = replace(self.fmt, size=self.fmt.columns, rows=1)
        return replace(self, scales=scales, fmt=fmt)

    @property
    def T(self) -> BlockArray:  # noqa: N802
        """The array with its axes in reverse order; the blocks run along the same values. Raises Error for blocks that
        span rows of an array of more than two axes, which would then be in another order."""
        if (self._spans_rows or self.fmt.rows > 1) and self.ndim > 2:
            raise Error(f"blocks that span rows follow the order of {self.ndim} axes: decode before you transpose")
        return replace(self, codes=self.codes.T, scales=self.scales.T, axis=self.ndim - 1 - self.axis)

    @property
    def _spans_rows(self) -> bool:
        return self.profile.tail == "flatten" and self.fmt.size not in (AXIS, TENSOR)

    def _part(self, parts: tuple[AxisIndex, ...]) -> BlockArray:
        axis, codes = axis_after(parts, self.axis), self.codes[parts]
        if self.fmt.size == TENSOR and codes.ndim:
            count = min(codes.size, 1)
            scales = self.scales.reshape(-1)[:count].reshape((count,) * codes.ndim)
            return replace(self, codes=codes, scales=scales, axis=codes.ndim - 1 if axis is None else axis)
        along = parts[self.axis]
        if axis is None or self._spans_rows or not isinstance(along, slice):
            raise Error(
                f"an index of axis {self.axis} would cut its blocks: give a slice, or index .codes or .decode()"
            )
        cut = [*parts]
        cut[self.axis] = self._blocks_of(along)
        layout = self._layout
        if isinstance(layout, TileLayout):
            if not isinstance(rows := parts[layout.across], slice) or codes.ndim < self.ndim:
                raise Error(f"an index of axis {layout.across} would cut its blocks: give a slice, or index .codes")
            cut[layout.across] = self._blocks_of(rows, layout.across, self.fmt.rows)
        return replace(self, codes=codes, scales=self.scales[tuple(cut)], axis=axis)

    def _blocks_of(self, along: slice, axis: int | None = None, size: int | None = None) -> slice:
        """The blocks of a slice of their axis, or of another. Raises Error if it cuts a block."""
        axis = self.axis if axis is None else axis
        length = self.shape[axis]
        start, stop, step = along.indices(length)
        if self.fmt.size == AXIS:
            return slice(0, min(len(range(start, stop, step)), 1))
        size = self.fmt.columns if size is None else size
        if start >= stop:
            return slice(0, 0)
        if step != 1 or start % size or (stop % size and stop != length):
            raise Error(f"a slice of axis {axis} starts and ends at multiples of {size}, as its blocks do")
        return slice(start // size, -(-stop // size))

    def pack(self, layout: str = "dense") -> packing.Packed:
        """The bytes of codes and scales, with the axis of the blocks moved last; docs/packing.md defines the layouts.

        A short block is padded with zero codes. Raises Error for a layout that does not fit the format."""
        blocks = self._layout
        codes, scales = blocks.split(self.codes), blocks.scales_to_rows(self.scales)
        packed = packing.pack(codes, scales, self.fmt.element.width, self.fmt.scale.width, layout)
        return packed._replace(tensor_scale=self.tensor_scale)

    def to_torch(self) -> exchange.Tensors:
        """Elements, scales and second-level scale as torch tensors. Raises Error as `exchange.to_torch` does."""
        second = self.tensor_scale and exchange.array_to_torch(np.array(self.tensor_scale, np.float32))
        elements = exchange.to_torch(self.codes, self.fmt.element)
        return exchange.Tensors(elements, exchange.to_torch(self.scales, self.fmt.scale), tensor_scale=second)

    def spread_scales(self) -> Codes:
        """The scale of each element, in the shape of the codes."""
        if not self.codes.size:
            return np.zeros(self.shape, self.scales.dtype)
        if self.fmt.size in (AXIS, TENSOR):
            return np.broadcast_to(self.scales, self.shape)
        if self.profile.tail == "flatten":
            moved = np.moveaxis(self.codes, self.axis, -1).shape
            flat = np.repeat(self.scales, self.fmt.size)[: self.codes.size].reshape(moved)
            return np.moveaxis(flat, -1, self.axis)
        if self.fmt.rows > 1:
            return self.in_rows().spread_scales()
        scales = np.repeat(self.scales, self.fmt.size, axis=self.axis)
        return np.take(scales, range(self.codes.shape[self.axis]), axis=self.axis)

    def decode(self, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """The values: each exact product of scale and element, rounded to FP32.

        out: the buffer for the result. Raises Error for a buffer of another shape or type."""
        return convert.store(self._decoded(convert.output_buffer(out, self.shape, np.dtype(np.float32))), out)

    def _decoded(self, place: NDArray[np.float32]) -> NDArray[np.float32]:
        """The values, in `place` or in a new array."""
        if self.fmt.rows > 1:
            return self._decoded_tiles()
        element, scale = self.fmt.element, self.fmt.scale
        bits = FP64.precision - element.precision - scale.precision  # of a factor that leaves products exact
        alone = self.tensor_scale is None and scale.width <= 8 and self.profile.arithmetic != "fp32-amax"
        if self.profile.divides_in_fp32 and not alone:
            return self._decoded_in_fp32(place)
        if bits < FP32.precision and self.factor.significand.bit_length() > bits:
            return self._decoded_by_oracle(self.spread_scales(), self.factor)
        factor = 1.0 if self.tensor_scale is None else _float32(tensor_scale_bits(self.tensor_scale))
        if self._is_compiled():
            return self._decoded_compiled(factor, place)
        spread = self.spread_scales()
        elements, scales = convert.decode_float64(self.codes, element), convert.decode_float64(spread, scale)
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):  # invalid: 0 * Inf
            product = elements * scales * factor
        product = np.where(np.isnan(product), np.nan, product)  # one NaN, whatever the payload of the product
        values = convert.round_to_fp32(product)
        if self.profile.dequantize_overflow == "saturate":
            over = np.isinf(values) & np.isfinite(elements) & np.isfinite(scales)
            values.view(np.uint32)[over] -= np.uint32(1)
        return values

    def _decoded_tiles(self) -> NDArray[np.float32]:
        """The values of blocks of several rows: each as a row of its own."""
        layout = self._layout
        codes, scales = layout.split(self.codes), np.ascontiguousarray(layout.scales_to_rows(self.scales))
        rows = replace(self, codes=codes, scales=scales[..., np.newaxis], fmt=self.fmt.in_one_row, axis=codes.ndim - 1)
        return layout.join(rows.decode().view(np.uint32)).view(np.float32)

    def _factors_in_fp32(self) -> NDArray[np.float64]:
        """What FP32 makes of both scales, for each block."""
        with np.errstate(all="ignore"):
            single = convert.decode_float64(self.scales, self.fmt.scale).astype(np.float32)
            return fp32_factors(single, self.factor, self.fmt, self.profile).astype(np.float64)

    def _decoded_in_fp32(self, place: NDArray[np.float32]) -> NDArray[np.float32]:
        """The values where both scales make one number in FP32, which multiplies the elements; in `place` or in a new
        array."""
        element = self.fmt.element
        exactly = element.precision + FP32.precision <= FP64.precision
        if self.profile.dequantize_overflow == "saturate" or not (exactly and self.fmt.scale.width <= FP32.width):
            return self._decoded_by_oracle(self.spread_scales(), self.factor)
        factors = self._factors_in_fp32()
        rows = self.axis == self.ndim - 1 and self.fmt.size > 0 and self.profile.tail != "flatten"
        if rows and self.codes.flags.c_contiguous and dispatch.use_compiled(self.codes.size) and element.width <= 16:
            codes, length = convert.checked_codes(self.codes, element), max(self.shape[-1], 1)
            table = convert.decode_float64(np.arange(1 << element.width), element)
            factors = factors.reshape(-1, factors.shape[-1])
            block_dispatch.scale_rows(
                codes.reshape(-1, length), factors, self.fmt.size, table, place.reshape(-1, length)
            )
            return place
        with np.errstate(all="ignore"):
            spread = replace(self, scales=factors).spread_scales()  # type: ignore[arg-type]
            product = convert.decode_float64(self.codes, element) * spread
        return convert.round_to_fp32(np.where(np.isnan(product), np.nan, product))

    def _is_compiled(self) -> bool:
        contiguous = self.codes.flags.c_contiguous and self.codes.dtype == self.scales.dtype == np.uint8
        return (
            contiguous
            and dispatch.use_compiled(self.codes.size)
            and block_dispatch.can_dequantize(self.fmt)
            and self.profile.tail != "flatten"
            and self.profile.dequantize_overflow == "inf"
            and not convert.flushes_subnormals()
        )

    def _decoded_compiled(self, factor: float, out: NDArray[np.float32]) -> NDArray[np.float32]:
        """Dequantize in the compiled loop: products are exact in float64, so converting to float32 rounds them once."""
        codes = convert.checked_codes(self.codes, self.fmt.element)
        scales = np.ascontiguousarray(convert.checked_codes(self.scales, self.fmt.scale))
        block_dispatch.dequantize(codes, scales, self.axis, self.fmt, _value_tables(self.fmt, factor), out)
        return out

    def _decoded_by_oracle(self, spread: Codes, factor: Value) -> NDArray[np.float32]:
        pairs = zip(spread.reshape(-1).tolist(), self.codes.reshape(-1).tolist(), strict=True)
        values = [dequantize_to_fp32(s, [c], self.fmt, self.profile, factor)[0] for s, c in pairs]
        return np.array(values, np.uint32).view(np.float32).reshape(self.shape)


def fp32_factors(
    scales: NDArray[np.float32], tensor_scale: Value, fmt: BlockFormat, profile: Profile
) -> NDArray[np.float32]:
    """What multiplies elements where FP32 steps make one number of both scales, as `block_factor` does."""
    second = np.float32(float(tensor_scale))
    if profile.arithmetic == "fp32-inverse":
        return scales / second
    if profile.arithmetic == "fp32-amax":
        return scales * second * np.float32(float(inverse_reach(fmt, profile)))
    return scales * second


@lru_cache(maxsize=32)
def _value_tables(fmt: BlockFormat, factor: float) -> block_dispatch.ValueTables:
    """The tables of the compiled loop: values of elements, and of scales times the second-level scale."""
    if factor != 1:
        return block_dispatch.scaled_tables(_value_tables(fmt, 1.0), factor)
    elements, factors = (convert.decode_float64(np.arange(1 << f.width), f) for f in (fmt.element, fmt.scale))
    return block_dispatch.value_tables(fmt, elements, factors)


def tensor_scale_bits(value: Any) -> int:
    """The FP32 code of a second-level scale, given as its value. Raises Error unless it is a positive finite FP32
    number."""
    single = np.float32(value) if type(value) is float and abs(value) <= _MAX_FP32 else None  # what an encoding has
    exactly = single is not None and float(single) == value
    code = int(single.view(np.uint32)) if single is not None and exactly else tensor_scale_code(value)
    if not 0 < code < FP32.inf_code:
        raise Error(f"a tensor scale must be a positive finite number, not {value!r}")
    return code


def checked_tensor_scale(value: Any, fmt: BlockFormat, profile: Profile) -> float | None:
    """The second-level scale of codes that exist, checked. Raises Error if it is missing."""
    if value is None and profile.two_levels:
        raise Error(f"{fmt.name} has a scale for the tensor besides those of blocks; give its value as tensor_scale=")
    return None if value is None else tensor_scale_value(tensor_scale_bits(value), profile)


def tensor_scale_value(code: int, profile: Profile) -> float | None:
    """The value of a second-level scale; None for a 1 that the profile does not ask for, which has no effect."""
    return None if code == FP32_ONE and not profile.two_levels else _float32(code)


def _float32(code: int) -> float:
    return float(np.uint32(code).view(np.float32))


def from_codes(
    codes: Codes,
    scales: Codes,
    fmt: str | BlockFormat,
    *,
    axis: int = -1,
    profile: str | Profile | None = None,
    tensor_scale: float | None = None,
) -> BlockArray:
    """A BlockArray from existing codes and scales, checked. tensor_scale: the value of the second-level scale, which
    NVFP4 must have. Raises Error if they do not fit the format."""
    fmt, profile = resolve(get_block_format(fmt), profile)
    codes, scales = convert.checked_codes(codes, fmt.element), convert.checked_codes(scales, fmt.scale)
    axis = check_axis(codes, axis)
    shape = block_layout(codes.shape, axis, fmt, profile).scales_shape
    if scales.shape != shape:
        raise Error(f"scales of shape {scales.shape}; codes of shape {codes.shape} have scales of shape {shape}")
    second = checked_tensor_scale(tensor_scale, fmt, profile)
    kinds = convert.code_dtype(fmt.element), convert.code_dtype(fmt.scale)
    return BlockArray(codes.astype(kinds[0]), scales.astype(kinds[1]), fmt, axis, profile, second)


def unpack(
    data: ArrayLike | packing.Packed,
    fmt: str | BlockFormat,
    shape: tuple[int, ...],
    layout: str = "dense",
    *,
    axis: int = -1,
    scales: ArrayLike | None = None,
    profile: str | Profile | None = None,
    tensor_scale: float | None = None,
) -> BlockArray:
    """The inverse of BlockArray.pack. data: a Packed, or bytes (of Python, or uint8 of any shape), with scales and
    tensor_scale where the layout and the format have them, or a tuple of all of these; shape: of the values. Raises
    Error for a size that does not match the layout, for bytes that are not codes, and for a second-level scale that is
    missing."""
    if isinstance(data, packing.Packed):
        if scales is not None or tensor_scale is not None:
            raise Error("a Packed has its own scales; leave out scales and tensor_scale")
        packing.check_parts(data, str(getattr(fmt, "name", fmt)), "scales", "tensor_scale")
        whole, apart, tensor_scale = data.data, data.scales, data.tensor_scale
    else:
        parts = packing.split_parts(data, (scales, tensor_scale), "scales, tensor_scale")
        whole, apart, tensor_scale = packing.as_bytes(parts[0]), *parts[1:]
    fmt, profile = resolve(get_block_format(fmt), profile)
    shape = packing.checked_shape(shape)
    if len(shape) > MAX_DIMENSIONS or not all(0 <= n < 1 << 62 for n in shape) or math.prod(shape) > 8 * whole.size:
        raise Error(f"{whole.size} bytes of packed data cannot hold an array of shape {shape}")
    axis = check_axis(np.broadcast_to(np.uint8(0), shape), axis)
    blocks = block_layout(shape, axis, fmt, profile)
    widths = fmt.element.width, fmt.scale.width
    codes, block_scales = packing.unpack(whole, apart, (*blocks.lead, blocks.count, blocks.size), *widths, layout)
    elements, own = blocks.join(codes), blocks.rows_to_scales(block_scales)
    return from_codes(elements, own, fmt, axis=axis, profile=profile, tensor_scale=tensor_scale)


def from_torch(
    tensors: exchange.Tensors | Sequence[Any],
    fmt: str | BlockFormat,
    *,
    axis: int = -1,
    profile: str | Profile | None = None,
) -> BlockArray:
    """The inverse of BlockArray.to_torch. tensors: elements, scales and, for NVFP4, the second-level scale, a tensor of
    one FP32 number. Raises Error if types or shapes do not match the format, and for a scale that is missing."""
    fmt = get_block_format(fmt)
    elements, scales, second = exchange.torch_parts(tensors, "elements", "scales", "?tensor_scale")
    codes, codes_of_scales = exchange.from_torch(elements, fmt.element)[0], exchange.from_torch(scales, fmt.scale)[0]
    number = None if second is None else exchange.number_from_torch(second, "tensor_scale")
    return from_codes(codes, codes_of_scales, fmt, axis=axis, profile=profile, tensor_scale=number)
