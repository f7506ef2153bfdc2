"""Arrays of blocks of random codes, and whether two are the same."""

from __future__ import annotations

import numpy as np

from softfloat_ref import blocks
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS

FORMATS = [
    *BLOCK_FORMATS,
    "fp8_e4m3@e8m0/7",
    "fp4_e2m1@ue5m3/5",
    "s1e2m2finite@e8m0/9",
    "bf16@fp32/axis",
    "s1e4m7@fp16/3",
    "fp6_e3m2@e8m0/tensor",
    "flexfp_e5m13",
]


SHAPES = [(1,), (70,), (3, 64), (2, 5, 33), (4, 1, 16), (0,), (0, 3), (3, 0)]


def random_array(fmt: str, shape: tuple[int, ...], axis: int, profile: str | None = None) -> blocks.BlockArray:
    """Random codes and scales, not only those that a quantization makes."""
    rng = np.random.default_rng(len(shape))
    made = blocks.encode(np.zeros(shape, np.float32), fmt, axis=axis, profile=profile)
    draw = lambda a, f: rng.integers(0, 1 << f.width, a.shape, dtype=np.uint64).astype(a.dtype)  # noqa: E731
    codes, scales = draw(made.codes, made.fmt.element), draw(made.scales, made.fmt.scale)
    return blocks.BlockArray(codes, scales, made.fmt, made.axis, made.profile, made.tensor_scale)


def same(a: blocks.BlockArray, b: blocks.BlockArray) -> bool:
    return a == b
