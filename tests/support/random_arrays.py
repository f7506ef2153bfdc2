"""Arrays of random codes in formats of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from random_blocks import FORMATS as BLOCKS

from softfloat_ref import affine, arrays, blocks
from softfloat_ref.arrays.block_layout import BlockLayout
from softfloat_ref.arrays.exponents import find_format
from softfloat_ref.oracle.affine import AffineFormat
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.quantize import resolve
from softfloat_ref.oracle.formats import CATALOGUE

SCALARS = [*(x for x, f in CATALOGUE.items() if f.width <= 64), "i8", "u3", "binary8p3se", "s1e8m10b127"]
AFFINE = ["qint8", "quint8", "qint4", "quint5", "qint2_sym", "quint16", "qint12_narrow", "quint8_sym"]
EVERY = [*SCALARS, *BLOCKS, "nvfp4", *AFFINE]


def random_array(fmt: str, shape: tuple[int, ...], axis: int | None, seed: int) -> arrays.QuantizedArray:
    """An array of random codes, scales and zero points; axis: of the blocks or channels."""
    found, rng = find_format(fmt), np.random.default_rng(seed)
    if isinstance(found, AffineFormat):
        integers = rng.integers(found.lowest, found.highest + 1, shape)
        count = () if axis is None else (shape[axis],)
        scales = np.exp2(rng.uniform(-140, 120, count)).astype(np.float32)
        zeros = rng.integers(found.lowest, found.highest + 1, count)
        return affine.from_codes(integers, scales, zeros, found, axis=axis, profile=["exact", "torch-fake"][seed % 2])
    if not isinstance(found, BlockFormat):
        return arrays.from_codes(_words(rng, shape, found.width), found)
    resolved, profile = resolve(found, None)
    at = (0 if axis is None else axis) % len(shape)
    scales = _words(rng, BlockLayout(shape, at, resolved, profile).scales_shape, found.scale.width)
    second = float(np.float32(np.exp2(rng.uniform(-100, 100)))) if profile.tensor_scale != "none" else None
    return blocks.from_codes(_words(rng, shape, found.element.width), scales, found, axis=at, tensor_scale=second)


def _words(rng: np.random.Generator, shape: tuple[int, ...], width: int) -> Any:
    return rng.integers(0, 1 << width, shape, dtype=np.uint64)


shapes = st.lists(st.integers(0, 40), min_size=1, max_size=3).map(tuple)


@st.composite
def random_arrays(draw: st.DrawFn, names: list[str] = EVERY) -> arrays.QuantizedArray:
    """Arrays of every format, shape and axis."""
    shape = draw(shapes)
    axis = draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    return random_array(draw(st.sampled_from(names)), shape, axis, draw(st.integers(0, 1 << 30)))
