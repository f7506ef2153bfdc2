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
from softfloat_ref.formats import CATALOGUE
from softfloat_ref.golden.sets import Line, VectorSet

_DTYPES: Final = {CATALOGUE[f"fp{width}"]: np.dtype(f"f{width // 8}") for width in (16, 32, 64)}


def lines(vectors: VectorSet, cases: Sequence[Line]) -> list[Line] | None:
    """The cases with what comes out; None where some have no defined result, or arrays do not do the conversion."""
    assert vectors.block is not None
    table = np.array(cases, np.uint64)
    try:
        made = (
            _values(vectors, table, vectors.block)
            if vectors.op == "dequantize"
            else _codes(vectors, table, vectors.block)
        )
    except Error:  # of one block; which, the oracle says
        return None
    return None if made is None else [tuple(line) for line in np.hstack([table, made]).tolist()]


def _values(vectors: VectorSet, table: NDArray[np.uint64], block: BlockFormat) -> NDArray[Any] | None:
    if vectors.out != blocks.FP32:
        return None
    scales = table[:, :1].astype(code_dtype(block.scale))
    codes = table[:, 1:].astype(code_dtype(block.element))
    return blocks.BlockArray(codes, scales, block, 1, vectors.profile).dequantize().view(np.uint32).astype(np.uint64)


def _codes(vectors: VectorSet, table: NDArray[np.uint64], block: BlockFormat) -> NDArray[Any] | None:
    dtype = _DTYPES.get(vectors.formats[0])
    if dtype is None:
        return None
    size = block.size
    x = table[:, :size].astype(f"u{dtype.itemsize}").view(dtype)
    words = table[:, size:] if vectors.policy.random_count else None
    made = blocks.quantize(x, block, 1, vectors.profile, vectors.policy, words)
    return np.hstack([made.scales.astype(np.uint64), made.codes.astype(np.uint64)])
