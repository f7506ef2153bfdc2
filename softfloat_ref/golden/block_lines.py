"""Vectors of block conversions in bulk: the oracle's lines, by arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref import blocks
from softfloat_ref.arrays import code_dtype
from softfloat_ref.block_formats import BlockFormat
from softfloat_ref.errors import Error
from softfloat_ref.golden.sets import Line, VectorSet

_WIDTHS: Final = {5: 16, 8: 32, 11: 64}  # of numpy's floats, by the exponent bits of `sets.ARRAY_VALUES`


def lines(vectors: VectorSet, cases: Sequence[Line]) -> list[Line] | None:
    """The cases, of a set `in_arrays`, with what comes out; None where some have no defined result."""
    assert vectors.block is not None
    table = np.array(cases, np.uint64)
    make = _values if vectors.op == "dequantize" else _codes
    try:
        made = make(vectors, table, vectors.block)
    except Error:  # of one block; which, the oracle says
        return None
    return [tuple(line) for line in np.hstack([table, made]).tolist()]


def _values(vectors: VectorSet, table: NDArray[np.uint64], block: BlockFormat) -> NDArray[Any]:
    scales = table[:, :1].astype(code_dtype(block.scale))
    codes = table[:, 1:].astype(code_dtype(block.element))
    return blocks.BlockArray(codes, scales, block, 1, vectors.profile).dequantize().view(np.uint32).astype(np.uint64)


def _codes(vectors: VectorSet, table: NDArray[np.uint64], block: BlockFormat) -> NDArray[Any]:
    values, size = vectors.formats[0], block.size
    width = _WIDTHS[values.exponent_bits]
    bits = table[:, :size] << np.uint64(width - values.width)  # bf16 and tf32 are the upper bits of fp32
    words = table[:, size:] if vectors.policy.random_count else None
    x = bits.astype(f"u{width // 8}").view(f"f{width // 8}")
    made = blocks.quantize(x, block, 1, vectors.profile, vectors.policy, words)
    return np.hstack([made.scales.astype(np.uint64), made.codes.astype(np.uint64)])
