"""Block arrays: codes and scales with their format, how an array is divided into blocks, packing and files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import block_files, convert, exchange, packing
from softfloat_ref.arrays.convert import Codes
from softfloat_ref.arrays.kernels import block_dispatch, dispatch
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.formats import AXIS, TENSOR, BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.profiles import OCP, Profile
from softfloat_ref.oracle.blocks.quantize import FP32_ONE, dequantize_to_fp32, resolve
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE

FP32: Final = CATALOGUE["fp32"]
FP64: Final = CATALOGUE["fp64"]
ONE: Final = FP32_ONE
MAX_DIMENSIONS: Final = 32


@dataclass(frozen=True)
class BlockArray:
    """A quantized array. codes: one unsigned code per element, in the array's shape. scales: the array's shape with the
    number of blocks in place of the axis; of size 1 for a single scale; one-dimensional for blocks that span rows.
    tensor_scale: the FP32 code of the second-level scale."""

    codes: Codes
    scales: Codes
    fmt: BlockFormat
    axis: int
    profile: Profile = OCP
    tensor_scale: int = ONE

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.codes.shape

    def pack(self, layout: str = "dense") -> packing.Packed:
        """The bytes of codes and scales, with the axis of the blocks moved last; docs/packing.md defines the layouts.

        A short block is padded with zero codes. Raises Error for a layout that does not fit the format."""
        blocks = Layout(self.shape, self.axis, self.fmt, self.profile)
        codes, scales = blocks.split(self.codes), blocks.scales_to_rows(self.scales)
        return packing.pack(codes, scales, self.fmt.element.width, self.fmt.scale.width, layout)

    def to_torch(self) -> tuple[Any, Any]:
        """Elements and scales as torch tensors with the same bits. Raises Error as `exchange.to_torch` does."""
        return exchange.to_torch(self.codes, self.fmt.element), exchange.to_torch(self.scales, self.fmt.scale)

    def spread_scales(self) -> Codes:
        """The scale of each element, in the shape of the codes."""
        if self.fmt.size in (AXIS, TENSOR):
            return np.broadcast_to(self.scales, self.shape)
        if self.profile.tail == "flatten":
            moved = np.moveaxis(self.codes, self.axis, -1).shape
            flat = np.repeat(self.scales, self.fmt.size)[: self.codes.size].reshape(moved)
            return np.moveaxis(flat, -1, self.axis)
        scales = np.repeat(self.scales, self.fmt.size, axis=self.axis)
        return np.take(scales, range(self.codes.shape[self.axis]), axis=self.axis)

    def dequantize(self, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """The values: each exact product of scale and element, rounded to FP32.

        out: the buffer for the result. Raises Error for a buffer of another shape or type."""
        made = self._dequantize(convert.output_buffer(out, self.shape, np.dtype(np.float32)))
        if out is None or made is out:
            return made
        out[...] = made
        return out

    def _dequantize(self, place: NDArray[np.float32]) -> NDArray[np.float32]:
        """The values, in `place` or in a new array."""
        factor, element, scale = decode(self.tensor_scale, FP32), self.fmt.element, self.fmt.scale
        if element.precision + scale.precision + factor.significand.bit_length() > FP64.precision:
            return self._dequantize_by_oracle(self.spread_scales(), factor)
        if self._is_compiled():
            return self._dequantize_compiled(float(factor), place)
        spread = self.spread_scales()
        elements, scales = convert.decode_float64(self.codes, element), convert.decode_float64(spread, scale)
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):  # invalid: 0 * Inf
            product = elements * scales * float(factor)
        product = np.where(np.isnan(product), np.nan, product)  # one NaN, whatever the payload of the product
        values = convert.round_to_fp32(product)
        if self.profile.dequantize_overflow == "saturate":
            over = np.isinf(values) & np.isfinite(elements) & np.isfinite(scales)
            values.view(np.uint32)[over] -= np.uint32(1)
        return values

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

    def _dequantize_compiled(self, factor: float, out: NDArray[np.float32]) -> NDArray[np.float32]:
        """Dequantize in the compiled loop: products are exact in float64, so converting to float32 rounds them once."""
        codes = convert.checked_codes(self.codes, self.fmt.element)
        scales = np.ascontiguousarray(convert.checked_codes(self.scales, self.fmt.scale))
        block_dispatch.dequantize(codes, scales, self.axis, self.fmt, _value_tables(self.fmt, factor), out)
        return out

    def _dequantize_by_oracle(self, spread: Codes, factor: Value) -> NDArray[np.float32]:
        pairs = zip(spread.reshape(-1).tolist(), self.codes.reshape(-1).tolist(), strict=True)
        found = [dequantize_to_fp32(s, [c], self.fmt, self.profile, factor)[0] for s, c in pairs]
        return np.array(found, np.uint32).view(np.float32).reshape(self.shape)


@lru_cache(maxsize=32)
def _value_tables(fmt: BlockFormat, factor: float) -> block_dispatch.ValueTables:
    """The tables of the compiled loop: values of elements, and of scales times the second-level scale."""
    table, factors = (convert.decode_float64(np.arange(1 << f.width), f) for f in (fmt.element, fmt.scale))
    return block_dispatch.value_tables(fmt, table, factors * factor)


def check_axis(values: NDArray[Any], axis: int) -> int:
    """The axis as a nonnegative number. Raises Error if it is out of range."""
    if values.ndim == 0:
        raise Error("a 0-dimensional array has no axis for blocks; reshape it to (1,)")
    if not isinstance(axis, int) or not -values.ndim <= axis < values.ndim:
        raise Error(f"axis {axis} is out of range for an array of {values.ndim} dimensions")
    return axis % values.ndim


class Layout:
    """How an array is divided into blocks and put back together."""

    def __init__(self, shape: tuple[int, ...], axis: int, fmt: BlockFormat, profile: Profile) -> None:
        self.shape, self.axis = shape, axis
        self.moved = (*shape[:axis], *shape[axis + 1 :], shape[axis])
        self.whole = fmt.size == TENSOR
        self.flat = self.whole or (profile.tail == "flatten" and fmt.size != AXIS)
        length = int(np.prod(shape)) if self.flat else shape[axis]
        self.size = fmt.size if fmt.size > 0 else max(length, 1)
        if profile.tail == "refuse" and length % self.size:
            raise Error(
                f"axis {axis} has {length} values, not a multiple of {self.size}: profile {profile.name} refuses it"
            )
        self.length, self.count = length, -(-length // self.size)
        self.tail = length - (self.count - 1) * self.size  # values in the last block

    def split(self, values: NDArray[Any]) -> NDArray[Any]:
        """(..., axis, ...) to (..., blocks, size), padded with zeros."""
        rows = np.moveaxis(values, self.axis, -1)
        rows = rows.reshape(-1) if self.flat else rows
        if self.length != self.count * self.size:
            padded = np.zeros((*rows.shape[:-1], self.count * self.size), values.dtype)
            padded[..., : self.length] = rows
            rows = padded
        return np.ascontiguousarray(rows).reshape(*rows.shape[:-1], self.count, self.size)

    def join(self, codes: Codes) -> Codes:
        """The inverse of split."""
        rows = codes.reshape(*codes.shape[:-2], self.count * self.size)[..., : self.length]
        return np.ascontiguousarray(np.moveaxis(rows.reshape(self.moved), -1, self.axis))

    def rows_to_scales(self, scales: Codes) -> Codes:
        """Scales of shape (..., blocks) with the array's order of axes."""
        if self.whole:
            return scales[:1].reshape((1,) * len(self.shape)) if self.length else scales.reshape((0,) * len(self.shape))
        return scales if self.flat else np.moveaxis(scales, -1, self.axis)

    def scales_to_rows(self, scales: Codes) -> Codes:
        """The inverse of `rows_to_scales`."""
        return scales.reshape(-1) if self.flat else np.moveaxis(scales, self.axis, -1)

    @property
    def scales_shape(self) -> tuple[int, ...]:
        """The shape of the result of `rows_to_scales`."""
        if self.whole:
            return (1 if self.length else 0,) * len(self.shape)
        return (self.count,) if self.flat else (*self.shape[: self.axis], self.count, *self.shape[self.axis + 1 :])


def given_tensor_scale(given: float) -> int:
    """The FP32 code of a second-level scale. Raises Error unless it is a positive finite FP32 number."""
    code, flags = encode(given, FP32)
    if flags or not 0 < code < FP32.inf_code:
        raise Error(f"a tensor scale must be a positive finite FP32 number, not {given!r}")
    return code


def from_codes(
    codes: Codes,
    scales: Codes,
    fmt: str | BlockFormat,
    axis: int = -1,
    profile: str | Profile | None = None,
    tensor_scale: float | None = None,
) -> BlockArray:
    """A BlockArray from existing codes and scales, checked. Raises Error if they do not fit the format."""
    fmt, profile = resolve(get_block_format(fmt), profile)
    codes, scales = convert.checked_codes(codes, fmt.element), convert.checked_codes(scales, fmt.scale)
    axis = check_axis(codes, axis)
    shape = Layout(codes.shape, axis, fmt, profile).scales_shape
    if scales.shape != shape:
        raise Error(f"scales of shape {scales.shape}; codes of shape {codes.shape} have scales of shape {shape}")
    second = ONE if tensor_scale is None else given_tensor_scale(tensor_scale)
    kinds = convert.code_dtype(fmt.element), convert.code_dtype(fmt.scale)
    return BlockArray(codes.astype(kinds[0]), scales.astype(kinds[1]), fmt, axis, profile, second)


def unpack(
    data: ArrayLike | packing.Packed,
    fmt: str | BlockFormat,
    shape: tuple[int, ...],
    axis: int = -1,
    layout: str = "dense",
    *,
    scales: ArrayLike | None = None,
    profile: str | Profile | None = None,
    tensor_scale: float | None = None,
) -> BlockArray:
    """The inverse of BlockArray.pack. data: bytes (uint8) of any shape, or a Packed; shape: of the values. Raises Error
    for a size that does not match the layout, and for bytes that are not codes."""
    whole, apart = data if isinstance(data, packing.Packed) else (np.asarray(data), scales)
    fmt, profile = resolve(get_block_format(fmt), profile)
    shape = tuple(shape)
    possible = len(shape) <= MAX_DIMENSIONS and all(isinstance(n, int) and 0 <= n < 1 << 62 for n in shape)
    if not possible or math.prod(shape) > 8 * whole.size:
        raise Error(f"{whole.size} bytes of packed data cannot hold an array of shape {shape}")
    axis = check_axis(np.broadcast_to(np.uint8(0), shape), axis)
    blocks = Layout(shape, axis, fmt, profile)
    lead = () if blocks.flat else blocks.moved[:-1]
    widths = fmt.element.width, fmt.scale.width
    codes, found = packing.unpack(whole, apart, (*lead, blocks.count, blocks.size), *widths, layout)
    return from_codes(blocks.join(codes), blocks.rows_to_scales(found), fmt, axis, profile, tensor_scale)


def save(path: str | Path, quantized: BlockArray) -> None:
    """Write codes, scales and the full definitions of format and profile to an .npz file. Raises Error."""
    q = quantized
    block_files.save(path, block_files.Parts(q.codes, q.scales, q.fmt, q.axis, q.profile, q.tensor_scale))


def load(path: str | Path) -> BlockArray:
    """Read a file that `save` wrote; nothing is unpickled. Raises Error for any other file."""
    parts = block_files.load(path)
    try:
        return from_codes(*parts[:-1], float(decode(parts.tensor_scale, FP32)))
    except Error as e:
        raise Error(f"{path}: {e}") from None


def from_torch(
    elements: Any,
    scales: Any,
    fmt: str | BlockFormat,
    axis: int = -1,
    profile: str | Profile | None = None,
    tensor_scale: float | None = None,
) -> BlockArray:
    """A BlockArray with the bits of two torch tensors. Raises Error if types or shapes do not match the format."""
    fmt = get_block_format(fmt)
    codes, codes_of_scales = exchange.from_torch(elements, fmt.element)[0], exchange.from_torch(scales, fmt.scale)[0]
    return from_codes(codes, codes_of_scales, fmt, axis, profile, tensor_scale)
