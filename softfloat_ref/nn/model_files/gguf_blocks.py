"""The blocks of ggml's types: where a block has its scales and elements, by the definitions in ggml-common.h."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import packing
from softfloat_ref.nn.model_files.tensors import numbers
from softfloat_ref.oracle.formats import CATALOGUE

Array = NDArray[Any]
_FP16: Final = CATALOGUE["fp16"]


class Blocks(NamedTuple):
    """Some blocks, one a row: codes of elements; by group of elements, a float64 scale, and what is subtracted."""

    codes: Array
    scales: Array
    minima: Array | None = None


class BlockType(NamedTuple):
    """A type of ggml. values, size: elements and bytes of a block; elements: their format; split: bytes (blocks, size)
    to Blocks; zero: what is subtracted from every element; drops_sign: whether a zero element has none; scale_bytes:
    the number of scales, each a byte, that precede four-bit elements in halves; 0 of other blocks."""

    name: str
    values: int
    size: int
    elements: str
    split: Callable[[Array], Blocks]
    zero: int = 0
    drops_sign: bool = False
    scale_bytes: int = 0


def _half(data: Array) -> Array:
    """FP16 numbers, low byte first."""
    return numbers(np.ascontiguousarray(data).view("<u2").astype(np.uint16), _FP16)


def _halves(data: Array, group: int) -> Array:
    """Nibbles of groups, each with its first half in the low ones."""
    parts = data.reshape(len(data), -1, group // 2)
    return packing.ELEMENT_LAYOUTS["halves"].unpack(parts, group, 4).reshape(len(data), -1)


def _bits(data: Array, planes: int, group: int) -> Array:
    """Elements of 8 / planes bits: of each group of bytes, first those in the lowest bits, then the next ones."""
    width = 8 // planes
    parts = data.reshape(len(data), -1, 1, group) >> (np.arange(planes, dtype=np.uint8) * width).reshape(1, 1, -1, 1)
    return (parts & np.uint8((1 << width) - 1)).reshape(len(data), -1)


def _high(data: Array) -> Array:
    """The fifth bits of 32 elements, a bit each."""
    return np.unpackbits(data, axis=1, bitorder="little") << np.uint8(4)


def _q4_0(data: Array) -> Blocks:
    return Blocks(_halves(data[:, 2:], 32), _half(data[:, :2]))


def _q4_1(data: Array) -> Blocks:
    return Blocks(_halves(data[:, 4:], 32), _half(data[:, :2]), -_half(data[:, 2:4]))


def _q5_0(data: Array) -> Blocks:
    return Blocks(_halves(data[:, 6:], 32) | _high(data[:, 2:6]), _half(data[:, :2]))


def _q5_1(data: Array) -> Blocks:
    return Blocks(_halves(data[:, 8:], 32) | _high(data[:, 4:8]), _half(data[:, :2]), -_half(data[:, 2:4]))


def _q8_0(data: Array) -> Blocks:
    return Blocks(data[:, 2:], _half(data[:, :2]))


def _six_bits(data: Array) -> tuple[Array, Array]:
    """The eight scales and minima of six bits in 12 bytes of Q4_K and Q5_K."""
    low, middle, high = data[:, :4], data[:, 4:8], data[:, 8:]
    scales = np.concatenate([low & 0x3F, (high & 0x0F) | ((low >> 2) & 0x30)], axis=1)
    return scales, np.concatenate([middle & 0x3F, (high >> 4) | ((middle >> 2) & 0x30)], axis=1)


def _q4_k(data: Array) -> Blocks:
    scales, minima = _six_bits(data[:, 4:16])
    return Blocks(_halves(data[:, 16:], 64), _half(data[:, :2]) * scales, _half(data[:, 2:4]) * minima)


def _q5_k(data: Array) -> Blocks:
    scales, minima = _six_bits(data[:, 4:16])
    codes = _halves(data[:, 48:], 64) | _bits(data[:, 16:48], 8, 32) << np.uint8(4)
    return Blocks(codes, _half(data[:, :2]) * scales, _half(data[:, 2:4]) * minima)


def _q6_k(data: Array) -> Blocks:
    low, high = _bits(data[:, :128], 2, 64), _bits(data[:, 128:192], 4, 32)
    return Blocks(low | high << np.uint8(4), _half(data[:, 208:]) * data[:, 192:208].view(np.int8))


def _q2_k(data: Array) -> Blocks:
    scales = data[:, :16]
    codes, d, minimum = _bits(data[:, 16:80], 4, 32), _half(data[:, 80:82]), _half(data[:, 82:])
    return Blocks(codes, d * (scales & 0x0F), minimum * (scales >> 4))


def _q3_k(data: Array) -> Blocks:
    codes = _bits(data[:, 32:96], 4, 32) | _bits(data[:, :32], 8, 32) << np.uint8(2)
    low, high = _bits(data[:, 96:104], 2, 8), _bits(data[:, 104:108], 4, 4)
    return Blocks(codes, _half(data[:, 108:]) * ((low | high << np.uint8(4)).astype(np.int8) - 32))


def _mxfp4(data: Array) -> Blocks:
    """The scale is 2^(byte - 127) for every byte: ggml has no NaN there."""
    return Blocks(_halves(data[:, 1:], 32), np.ldexp(1.0, data[:, :1].astype(np.int64) - 127))


def _nvfp4(data: Array) -> Blocks:
    """Four groups of 16. The scales are E4M3 without a sign, whose bit is ignored; 7f, not ff, is zero."""
    scales = data[:, :4]
    magnitudes = scales & np.uint8(0x7F)
    exponents = np.maximum(magnitudes >> 3, 1).astype(np.int64) - 10
    units = np.where(magnitudes >> 3, 8, 0) + (magnitudes & 7)
    return Blocks(
        _halves(data[:, 4:], 16), np.where(scales == 0x7F, 0.0, np.ldexp(units.astype(np.float64), exponents))
    )


BLOCK_TYPES: Final[dict[int, BlockType]] = {
    2: BlockType("Q4_0", 32, 18, "u4", _q4_0, 8),
    3: BlockType("Q4_1", 32, 20, "u4", _q4_1),
    6: BlockType("Q5_0", 32, 22, "u5", _q5_0, 16),
    7: BlockType("Q5_1", 32, 24, "u5", _q5_1),
    8: BlockType("Q8_0", 32, 34, "i8", _q8_0),
    10: BlockType("Q2_K", 256, 84, "u2", _q2_k),
    11: BlockType("Q3_K", 256, 110, "u3", _q3_k, 4),
    12: BlockType("Q4_K", 256, 144, "u4", _q4_k),
    13: BlockType("Q5_K", 256, 176, "u5", _q5_k),
    14: BlockType("Q6_K", 256, 210, "u6", _q6_k, 32),
    39: BlockType("MXFP4", 32, 17, "fp4_e2m1", _mxfp4, drops_sign=True, scale_bytes=1),
    40: BlockType("NVFP4", 64, 36, "fp4_e2m1", _nvfp4, drops_sign=True, scale_bytes=4),
}
# Types without blocks, by our names of formats.
PLAIN_TYPES: Final = {
    0: ("F32", "fp32"), 1: ("F16", "fp16"), 24: ("I8", "i8"), 25: ("I16", "i16"), 26: ("I32", "i32"),
    27: ("I64", "i64"), 28: ("F64", "fp64"), 30: ("BF16", "bf16"),
}  # fmt: skip
# Types that are known by name only.
OTHER_TYPES: Final = {
    9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S",
    22: "IQ2_S", 23: "IQ4_XS", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0",
}  # fmt: skip
