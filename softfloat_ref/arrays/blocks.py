"""Block formats over numpy arrays: the public module `softfloat_ref.blocks`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.block_array import BlockArray, from_codes, from_torch, unpack
from softfloat_ref.arrays.block_encoding import encode, quantize
from softfloat_ref.arrays.convert import Codes
from softfloat_ref.arrays.files import load_kind, save
from softfloat_ref.arrays.products import dot, matmul
from softfloat_ref.oracle.blocks.scale_rules import largest

__all__ = [
    "BlockArray",
    "dot",
    "encode",
    "from_codes",
    "from_torch",
    "load",
    "matmul",
    "quantize",
    "saturated",
    "save",
    "unpack",
]


def load(path: str | Path) -> BlockArray:
    """Read a block array that `save` wrote; nothing is unpickled. Raises Error for any other file."""
    array: BlockArray = load_kind(path, "block")
    return array


def saturated(x: ArrayLike, quantized: BlockArray) -> int:
    """The number of finite values beyond scale times the largest element."""
    return int(beyond(x, quantized).sum())


def beyond(x: ArrayLike, quantized: BlockArray) -> NDArray[np.bool_]:
    """Which finite values are beyond scale times the largest element."""
    values = convert.to_float64(x)
    with np.errstate(over="ignore"):
        scales = convert.decode_float64(quantized.spread_scales(), quantized.fmt.scale)
        scales = quantized.with_tensor_scale(scales)
        limits = scales * float(largest(quantized.fmt.element))
    over: NDArray[np.bool_] = np.isfinite(values) & (np.abs(values) > limits)
    return over


def scale_rows(codes: Codes, scales: Codes) -> list[list[int] | None]:
    """The scales of each row of the last axis; None per row if blocks run along another axis."""
    if scales.size == 1:
        return [[int(scales.reshape(-1)[0])]] * (codes.size // codes.shape[-1])
    if codes.shape[:-1] != scales.shape[:-1]:
        return [None] * (codes.size // codes.shape[-1])
    return [[int(s) for s in row] for row in scales.reshape(-1, scales.shape[-1])]


def __dir__() -> list[str]:
    return sorted(__all__)
