"""Tensors as arrays and back, and their values after quantization to a format of any kind.

The work is done on the CPU: a tensor of another device is copied there and back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch._subclasses import FakeTensor

from softfloat_ref.arrays import affine, blocks, convert
from softfloat_ref.arrays.exponents import AnyFormat
from softfloat_ref.arrays.kinds import check_options
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.formats import Format

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]
Inside = NDArray[np.bool_]
NARROW: Final = (torch.float32, torch.bfloat16, torch.float16)  # float32 holds their values
FLOATS: Final = (*NARROW, torch.float64)


def check_layout(x: Any, what: str) -> None:
    """Raise Error for what is not a dense tensor."""
    if not isinstance(x, torch.Tensor):
        raise Error(f"{what}: {type(x).__name__} is not a torch tensor")
    if x.is_nested or x.layout is not torch.strided:
        layout = "nested" if x.is_nested else x.layout
        raise Error(f"{what}: a tensor of layout {layout}; use a dense tensor with values")


def check(x: Any, what: str, dtypes: tuple[Any, ...] = FLOATS) -> None:
    """Raise Error for what is not a dense tensor of such floats, with values."""
    check_layout(x, what)
    check_type(x, what, dtypes)
    if isinstance(x, FakeTensor) or torch._C._functorch.is_functorch_wrapped_tensor(x):
        raise Error(f"{what}: a tensor of torch.func or vmap, which has no values here; leave them out")
    if x.is_meta:
        raise Error(f"{what}: a tensor of the meta device, which has no values; use a dense tensor with values")


def check_type(x: Any, what: str, dtypes: tuple[Any, ...] = FLOATS) -> None:
    """Raise Error for another type of tensor."""
    if x.dtype not in dtypes:
        names = ", ".join(str(d).removeprefix("torch.") for d in dtypes)
        raise Error(f"{what}: a tensor of {str(x.dtype).removeprefix('torch.')}; use one of {names}")


def _plain(x: Any) -> Any:
    """The tensor without its history, on the CPU, contiguous."""
    return x.detach().cpu().resolve_neg().contiguous()


def exact(x: Any, what: str) -> Any:
    """What the array layer takes: an array in the tensor's own type, which may share its memory; or, of bfloat16, the
    tensor."""
    check_type(x, what)
    plain = _plain(x)
    return plain if plain.dtype == torch.bfloat16 else plain.numpy()


def float32(x: Any, what: str) -> Array:
    """The values as a float32 array, which may share the tensor's memory."""
    check(x, what, NARROW)
    array: Array = _plain(x).float().numpy()
    return array


def like(values: Array, x: Any) -> Any:
    """An array as a tensor of x's type, to nearest even where that is narrower, on x's device."""
    return torch.from_numpy(np.asarray(values, order="C")).to(device=x.device, dtype=x.dtype)


# -- values in a format ------------------------------------------------------------------------------------------------


class QuantizedValues(NamedTuple):
    """The values, float32 (float64 for formats that float32 does not hold), and, if asked for, which were inside."""

    values: Floats
    inside: Inside | None


def values_in(
    fmt: AnyFormat, x: Any, policy: Any, random_bits: Any, inside: bool, options: Mapping[str, Any]
) -> QuantizedValues:
    """The values in a format of x, an array or a tensor of floats, after one rounding each.

    inside: also say which values were within the range; options: those of the kind that are given. Raises Error.
    """
    options = check_options(fmt, **options)
    if isinstance(fmt, Format):
        values = convert.quantize(x, fmt, policy, random_bits)
        limits = bounds(fmt)
    elif isinstance(fmt, BlockFormat):
        encoded = blocks.encode(x, fmt, policy, random_bits, **options)
        values, limits = encoded.decode(), _block_bounds(encoded) if inside else (0.0, 0.0)
    else:
        if not inside:
            return QuantizedValues(affine.quantize(x, fmt, policy, random_bits, **options), None)
        integers = affine.encode(x, fmt, policy, random_bits, **options)
        values, limits = integers.decode(), _affine_bounds(integers)
    return QuantizedValues(values, _within(x, values, *limits) if inside else None)


def _within(x: Any, values: Floats, low: Any, high: Any) -> Inside:
    """Which values are within the bounds, themselves and after quantization finite numbers."""
    original = convert.to_float64(x)
    return np.asarray((original >= low) & (original <= high) & np.isfinite(original) & np.isfinite(values))


def bounds(fmt: Format) -> tuple[float, float]:
    """The smallest and the largest finite value of a format that float64 holds; zero is an unsigned format's lowest."""
    low = math.ldexp(*fmt.magnitude(fmt.max_negative_code)) if fmt.signed else 0.0
    return -low, math.ldexp(*fmt.magnitude(fmt.max_code))


def _block_bounds(array: blocks.BlockArray) -> tuple[Any, Any]:
    """The smallest and the largest value that each element could have under its scales; exact in float64."""
    low, high = bounds(array.fmt.element)
    factor = float(array.factor)
    with np.errstate(over="ignore", invalid="ignore"):
        scales = convert.decode_float64(array.spread_scales(), array.fmt.scale) * factor
        return scales * low, scales * high


def _affine_bounds(array: affine.AffineArray) -> tuple[Any, Any]:
    """The values of the smallest and the largest integer; exact in float64."""
    shape = [1] * array.integers.ndim
    if array.axis is not None:
        shape[array.axis] = -1
    scale, zero = array.scales.astype(np.float64).reshape(shape), array.zero_points.astype(np.float64).reshape(shape)
    return (array.fmt.lowest - zero) * scale, (array.fmt.highest - zero) * scale
