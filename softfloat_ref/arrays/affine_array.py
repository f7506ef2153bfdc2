"""Affine arrays: integers with scales and zero points; made of codes, packed bytes and tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import convert, exchange, packing
from softfloat_ref.arrays.block_layout import check_axis
from softfloat_ref.arrays.convert import Codes
from softfloat_ref.arrays.kernels import affine_dispatch, dispatch
from softfloat_ref.arrays.quantized import AxisIndex, QuantizedArray, axis_after
from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first
from softfloat_ref.oracle.affine import FP32, RULES, AffineFormat, Rule, get_affine_format, get_rule

# Torch's integer types, the narrowest first, with their bounds.
_INTEGERS: Final = (("u1", 0, 255), ("i1", -128, 127), ("i2", -32768, 32767), ("i4", -(2**31), 2**31 - 1))


@dataclass(frozen=True, eq=False, repr=False)
class AffineArray(QuantizedArray):
    """A quantized array. integers: q, int32, in the array's shape; scales (float32) and zero_points (int32): shape (),
    or one entry per channel along `axis`. profile: the rule of the quantization."""

    integers: NDArray[np.int32]
    scales: NDArray[np.float32]
    zero_points: NDArray[np.int32]
    fmt: AffineFormat
    axis: int | None = None
    profile: Rule = RULES["exact"]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.integers.shape

    @property
    def codes(self) -> Codes:
        """The integers as unsigned codes: two's complement, in the format's width."""
        return (self.integers & ((1 << self.fmt.bits) - 1)).astype(np.uint8 if self.fmt.bits <= 8 else np.uint16)

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self.codes, self.scales, self.zero_points

    def _settings(self) -> dict[str, Any]:
        return {"fmt": self.fmt, "axis": self.axis, "profile": self.profile}

    def _facts(self) -> dict[str, Any]:
        one = {"scale": self.scales, "zero_point": self.zero_points} if self.axis is None else {}
        return {**self._settings(), **one}

    @property
    def T(self) -> AffineArray:  # noqa: N802
        """The array with its axes in reverse order."""
        return replace(self, integers=self.integers.T, axis=None if self.axis is None else self.ndim - 1 - self.axis)

    def _part(self, parts: tuple[AxisIndex, ...]) -> AffineArray:
        integers = np.asarray(self.integers[parts])
        if self.axis is None:
            return replace(self, integers=integers)
        along = parts[self.axis]
        scales, zeros = np.asarray(self.scales[along]), np.asarray(self.zero_points[along])
        return replace(self, integers=integers, scales=scales, zero_points=zeros, axis=axis_after(parts, self.axis))

    def decode(self, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """(q - zero point) * scale, the exact product rounded to FP32.

        out: the buffer for the result. Raises Error for a buffer of another shape or type."""
        convert.check_buffer(out, self.shape, np.dtype(np.float32))
        contiguous = self.integers.flags.c_contiguous and (out is None or out.flags.c_contiguous)
        if contiguous and is_compiled(self.integers.size):
            scales, zeros = (np.ascontiguousarray(x.reshape(-1)) for x in (self.scales, self.zero_points))
            return affine_dispatch.dequantize(self.integers, self.axis, scales, zeros, out)
        spread = spread_along(self.ndim, self.axis)
        scale = convert.decode_float64(self.scales.view(np.uint32), FP32)
        steps = self.integers.astype(np.float64) - spread(self.zero_points)
        return convert.store(convert.round_to_fp32(steps * spread(scale)), out)

    def pack(self, layout: str = "dense") -> packing.Packed:
        """The bytes of the codes, each row of the last axis in whole bytes, of the scales (FP32) and of the zero points
        (32 bits, two's complement), low byte first. Raises Error for a layout that does not fit the format."""
        data = packing.pack_rows(self.codes, self.fmt.bits, layout, self.fmt.name)
        words = (np.ascontiguousarray(x, "<" + x.dtype.str[1:]) for x in (self.scales, self.zero_points))
        scales, zeros = (x.reshape(-1).view(np.uint8) for x in words)
        return packing.Packed(data, scales, zero_points=zeros)

    def to_torch(self) -> exchange.Tensors:
        """Integers (of torch's narrowest integer type), scales (float32) and zero points (int32) as torch tensors."""
        kind = find_first(t for t, low, high in _INTEGERS if low <= self.fmt.lowest and self.fmt.highest <= high)
        parts = self.integers.astype(kind), self.scales, self.zero_points
        elements, scales, zeros = map(exchange.array_to_torch, parts)
        return exchange.Tensors(elements, scales, zeros)


def channel_shape(shape: tuple[int, ...], axis: int | None) -> tuple[int, ...]:
    """The shape of the parameters of an array: (), or with an axis one per channel."""
    return () if axis is None else (shape[axis],)


def check_out(out: AffineArray | None, shape: tuple[int, ...], axis: int | None) -> None:
    """Raise Error for an `out` that does not fit."""
    if out is None:
        return
    if not isinstance(out, AffineArray):
        raise Error(f"out must be an AffineArray, not {type(out).__name__}")
    channels = channel_shape(shape, axis)
    for place, wanted, dtype in (
        (out.integers, shape, np.int32),
        (out.scales, channels, np.float32),
        (out.zero_points, channels, np.int32),
    ):
        convert.check_buffer(place, wanted, np.dtype(dtype))


def store_affine(result: AffineArray, out: AffineArray | None) -> AffineArray:
    """The result, stored in the arrays of `out` if given."""
    if out is None:
        return result
    places = (out.integers, out.scales, out.zero_points)
    for place, array in zip(places, (result.integers, result.scales, result.zero_points), strict=True):
        place[...] = array
    return replace(result, integers=places[0], scales=places[1], zero_points=places[2])


def is_compiled(size: int) -> bool:
    """Whether the compiled loops apply to an array of float32 values, or of integers that become such values."""
    return dispatch.use_compiled_soon(size) and not convert.flushes_subnormals()


def spread_along(ndim: int, axis: int | None) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """A function that reshapes one number per channel so that it broadcasts along the axis."""
    if axis is None:
        return lambda x: x
    shape = tuple(-1 if i == axis else 1 for i in range(ndim))
    return lambda x: x.reshape(shape)


def from_codes(
    codes: ArrayLike,
    scales: ArrayLike,
    zero_points: ArrayLike,
    fmt: str | AffineFormat,
    *,
    axis: int | None = None,
    profile: str | Rule = "exact",
) -> AffineArray:
    """An AffineArray from existing codes, checked. codes: unsigned codes, or in a signed type the integers themselves;
    scales, zero_points: one number, or with an axis one per channel. Raises Error if they do not fit the format."""
    fmt, rule = get_affine_format(fmt), get_rule(profile)
    array = np.asarray(codes)
    if array.dtype.kind not in "iu":
        raise Error(f"codes of {fmt.name} are integers, not {array.dtype}")
    wide = array.astype(np.int64)
    if array.dtype.kind == "u" and fmt.signed:
        if wide.size and int(wide.max()) >> fmt.bits:
            raise Error(f"code {int(wide.max()):x} does not fit {fmt.name}, which has {fmt.bits} bits")
        wide -= (wide >> (fmt.bits - 1)) << fmt.bits
    if wide.size and not fmt.lowest <= wide.min() <= wide.max() <= fmt.highest:
        raise Error(f"integers of {fmt.name} are {fmt.lowest} to {fmt.highest}, not {wide.min()} to {wide.max()}")
    axis = None if axis is None else check_axis(array, axis)
    patterns, zeros = checked_parameters(scales, zero_points, fmt, channel_shape(array.shape, axis))
    return AffineArray(wide.astype(np.int32), patterns.view(np.float32), zeros, fmt, axis, rule)


def checked_parameters(
    scale: ArrayLike, zero_point: ArrayLike | None, fmt: AffineFormat, shape: tuple[int, ...]
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Scales (FP32 codes) and zero points that a caller gives, in the shape of the channels, or () without an axis.
    Scales in float64, as Python's, are rounded to FP32 once, to nearest even. Raises Error."""
    wide, zeros = convert.to_float64(scale), np.asarray(zero_point)
    if zeros.dtype.kind not in "iu" or (zeros.size and not fmt.lowest <= zeros.min() <= zeros.max() <= fmt.highest):
        raise Error(f"zero points of {fmt.name} are integers from {fmt.lowest} to {fmt.highest}")
    if not {wide.shape, zeros.shape} <= {(), shape}:
        raise Error(f"scale and zero_point have shape () or {shape}, not {wide.shape} and {zeros.shape}")
    codes = convert.encode(wide, FP32).astype(np.uint32)  # rounded once
    if (codes == 0).any() or (codes >= FP32.inf_code).any():
        raise Error("a scale must be a positive finite number in FP32")
    return np.broadcast_to(codes, shape).copy(), np.broadcast_to(zeros.astype(np.int32), shape).copy()


def unpack(
    data: ArrayLike | packing.Packed,
    fmt: str | AffineFormat,
    shape: tuple[int, ...],
    layout: str = "dense",
    *,
    axis: int | None = None,
    scales: ArrayLike | None = None,
    zero_points: ArrayLike | None = None,
    profile: str | Rule = "exact",
) -> AffineArray:
    """The inverse of AffineArray.pack. data: a Packed, or bytes (of Python, or uint8 of any shape) with scales and
    zero_points as `from_codes` takes them, or a tuple of all of these; shape: of the values. Raises Error for a size
    that does not match the layout."""
    fmt, shape = get_affine_format(fmt), packing.checked_shape(shape)
    if not isinstance(data, packing.Packed):
        whole, scales, zero_points = packing.split_parts(data, (scales, zero_points), "scales, zero_points")
    else:
        if scales is not None or zero_points is not None:
            raise Error("a Packed has its own scales and zero points; leave out scales and zero_points")
        packing.check_parts(data, fmt.name, "scales", "zero_points")
        if data.scales is None or data.zero_points is None:
            raise Error(f"this Packed has no scales or no zero points; {fmt.name} needs both")
        channels = channel_shape(shape, axis)
        scales = packing.words(data.scales, "<f4", channels, "scales")
        zero_points = packing.words(data.zero_points, "<i4", channels, "zero points")
        whole = data.data
    if scales is None or zero_points is None:
        raise Error(f"bytes of {fmt.name} need scales= and zero_points=")
    codes = packing.unpack_rows(whole, shape, fmt.bits, layout, fmt.name)
    return from_codes(codes, scales, zero_points, fmt, axis=axis, profile=profile)


def from_torch(
    tensors: exchange.Tensors | Sequence[Any],
    fmt: str | AffineFormat,
    *,
    axis: int | None = None,
    profile: str | Rule = "exact",
) -> AffineArray:
    """The inverse of AffineArray.to_torch. tensors: integers, scales and zero points. Raises Error if types, shapes or
    numbers do not match the format."""
    parts = exchange.torch_parts(tensors, "elements", "scales", "zero_points")
    integers, scales, zeros = map(exchange.array_from_torch, parts)
    signed = integers.astype(np.int32) if integers.dtype.kind in "iu" else integers
    return from_codes(signed, scales, zeros, fmt, axis=axis, profile=profile)
