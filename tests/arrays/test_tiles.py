"""Blocks of several rows, such as 128 x 128 and 16 x 16: arrays against the scalar oracle on each tile."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from profile_definition import anywhere

from softfloat_ref import blocks
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.accumulate import dot
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import define_block_format, get_block_format
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.codec import to_value
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.units import DotUnit

NAMES = ["fp8_e4m3@fp32/4x8", "fp4_e2m1@ue4m3/4x4", "fp4_e2m1@e8m0/2x16", "int8@e8m0/3x5", "fp8_e5m2@e8m0/4x1"]
PROFILES = ["ocp", "nvfp4", "deepseek-fp8", "modelopt-nvfp4", "compressed-tensors-nvfp4", "p3109", "gguf-mxfp4"]


def matrix(shape: tuple[int, ...], seed: int = 3) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal(shape) * np.exp2(rng.integers(-9, 9, shape))).astype(np.float32)
    x.reshape(-1)[[0, 17, 40]] = np.nan, np.inf, -0.0
    return x


def check(x: np.ndarray[Any, Any], q: blocks.BlockArray, words: np.ndarray[Any, Any] | None = None,
          policy: Policy | None = None) -> int:  # fmt: skip
    """Every tile by the scalar oracle; how many there were. x: of two axes, with blocks' rows along the other one."""
    if q.axis == 0:
        x, q, words = x.T, q.T, None if words is None else words.T
    height, width, values = q.fmt.rows, q.fmt.columns, q.decode()
    count = 0
    for i, j in itertools.product(range(q.scales.shape[0]), range(q.scales.shape[1])):
        part = slice(i * height, (i + 1) * height), slice(j * width, (j + 1) * width)
        numbers = [to_value(float(v), 0) for v in x[part].reshape(-1)]
        drawn = None if words is None else words[part].reshape(-1).tolist()
        block = quantize_block(numbers, q.fmt, q.profile, policy, drawn, q.factor)
        assert (block.scale, list(block.codes)) == (q.scales[i, j], q.codes[part].reshape(-1).tolist())
        worth = dequantize_to_fp32(block.scale, block.codes, q.fmt, q.profile, q.factor)
        assert values[part].copy().view(np.uint32).reshape(-1).tolist() == worth
        count += 1
    return count


@pytest.mark.full(keep=9)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", NAMES)
def test_tiles_are_blocks_of_the_oracle(name: str, profile: str) -> None:
    x = matrix((9, 21))
    for axis in (0, 1):
        assert check(x, blocks.encode(x, name, axis=axis, profile=anywhere(profile))) > 1
    whole = get_block_format(name)
    x = matrix((2 * whole.rows, 2 * whole.columns + 30 * whole.columns))
    assert check(x, blocks.encode(x, name, profile=anywhere(profile))) == 64


@pytest.mark.usefixtures("compiled")
def test_large_tiles() -> None:
    x = matrix((300, 260))
    q = blocks.encode(x, "fp8_e4m3@fp32/128x128", profile="deepseek-fp8,nan=element,inf=element")
    assert q.scales.shape == (3, 3)
    finite = np.where(np.isfinite(x), np.abs(x), 0)
    amax = [[finite[i : i + 128, j : j + 128].max() for j in range(0, 260, 128)] for i in range(0, 300, 128)]
    assert (q.scales.view(np.float32) == np.array(amax, np.float32) / np.float32(448)).all()


def test_more_axes() -> None:
    x = matrix((2, 6, 3, 10))
    for axis in range(4):
        q = blocks.encode(x, "fp4_e2m1@e8m0/2x4", axis=axis)
        across = axis - 1 if axis else 1
        moved = np.moveaxis(x, (across, axis), (-2, -1))
        codes = np.moveaxis(q.codes, (across, axis), (-2, -1)).reshape(-1, *moved.shape[-2:])
        scales = np.moveaxis(q.scales, (across, axis), (-2, -1))
        for k, part in enumerate(moved.reshape(-1, *moved.shape[-2:])):
            one = blocks.encode(part, "fp4_e2m1@e8m0/2x4")
            assert (one.codes == codes[k]).all()
            assert (one.scales == scales.reshape(-1, *one.scales.shape)[k]).all()


def test_random_bits_belong_to_values() -> None:
    x = np.nan_to_num(matrix((6, 10)), posinf=1.0)
    words = np.random.default_rng(1).integers(0, 16, x.shape)
    policy = Policy("sr", sr_bits=4)
    q = blocks.encode(x, "fp4_e2m1@e8m0/4x4", policy, words)
    assert check(x, q, words, policy) == 6


def test_parts_transposes_and_packing() -> None:
    x = matrix((8, 12))
    q = blocks.encode(x, "fp4_e2m1@e8m0/4x4")
    part = q[4:, 4:8]
    assert part.scales.shape == (1, 1)
    assert np.array_equal(part.decode(), q.decode()[4:, 4:8], equal_nan=True)
    assert np.array_equal(q.T.decode(), q.decode().T, equal_nan=True)
    back = blocks.unpack(q.pack(), q.fmt, q.shape, profile=q.profile)
    assert (back.codes == q.codes).all()
    assert (back.scales == q.scales).all()
    rows = q.in_rows()
    assert rows.scales.shape == (8, 3)
    assert np.array_equal(rows.decode(), q.decode(), equal_nan=True)
    for index in ((slice(2, 6), slice(None)), (slice(None), slice(0, 6)), (0, slice(None)), (slice(None), 3)):
        with pytest.raises(Error, match="blocks"):
            q[index]


def test_a_product_has_the_scale_of_each_row() -> None:
    x, y = (np.nan_to_num(matrix((8, 8), seed), posinf=2.0) for seed in (1, 2))
    a, b = blocks.encode(x, "fp8_e4m3@fp32/4x4"), blocks.encode(y, "fp8_e4m3@fp32/4x4", axis=0)
    product = blocks.matmul(a, b)
    assert (product == blocks.matmul(a.in_rows(), b.in_rows())).all()


def test_what_blocks_of_rows_refuse() -> None:
    x = matrix((6, 10))
    for shape, profile, message in (
        ((60,), "ocp", "two axes"),
        ((6, 10), "ocp,tail=refuse", "not a multiple of 4"),
        ((6, 10), "ocp,tail=flatten", "do not continue across rows"),
    ):
        with pytest.raises(Error, match=message):
            blocks.encode(x.reshape(shape), "fp4_e2m1@e8m0/4x4", profile=profile)


def test_definitions() -> None:
    fmt = get_block_format("fp8_e4m3@fp32/128x128")
    assert (fmt.size, fmt.rows, fmt.columns, fmt.size_name) == (16384, 128, 128, "128x128")
    assert define_block_format(fmt.to_dict()) == fmt
    table = {"element": "fp4_e2m1", "scale": "ue4m3", "size": "16x16", "profile": "nvfp4"}
    assert define_block_format(table, "mine").rows == 16


def test_dot_products_take_blocks_of_one_row() -> None:
    with pytest.raises(Error, match="blocks of one row"):
        DotUnit.make("fp8_e4m3@fp32/2x2")
    with pytest.raises(Error, match="blocks of one row"):
        dot([0x38] * 4, [0x38] * 4, "fp8_e4m3@fp32/2x2", scales=([1], [1]))
