"""The compiled conversions of blocks against the scalar oracle."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable

import numpy as np
import pytest

from softfloat_ref import blocks
from softfloat_ref.arrays.block_setting import setting
from softfloat_ref.arrays.kernels import block_dispatch, dispatch
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import CATALOGUE
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import Philox

pytestmark = pytest.mark.usefixtures("compiled")

FP32 = CATALOGUE["fp32"]
EDGES = [1 << k for k in range(23)] + [0x7FFFFF >> k for k in range(24)]  # where roundings turn
MANY = int(os.environ.get("SOFTFLOAT_BLOCKS", "200"))  # blocks of a kind and format
BLOCKS = ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8", "fp8_e4m3@e8m0/16")
RULES = ("torchao-ceil,tail=pad", "torchao-even,tail=pad", "mlx", "ocp,scale_rule=nearest")
PROFILES = ("ocp", *RULES, "ocp,integers=full", "ocp,flush=never", "ocp,scale_high=nan", "microxcaling")


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("name", "rounding", "axis", "way"),
    [
        ("mxfp8_e4m3", "rne", -1, "compiled"),
        ("mxfp8_e4m3", "rne", 0, "compiled"),
        ("mxfp4_e2m1", "sr", -1, "compiled"),
        ("nvfp4", "rne", 1, "general"),
        ("fp8_e4m3@fp32/axis", "rne", 0, "general"),
    ],
)
def test_blocks_overwrite_an_earlier_result(name: str, rounding: str, axis: int, way: str) -> None:
    x, y = np.random.default_rng(8).standard_normal((2, 50, 70)).astype(np.float32)
    policy = Policy(rounding=rounding, sr_bits=8 if rounding == "sr" else None)  # type: ignore[arg-type]
    drawn = Philox(1) if rounding == "sr" else None
    out = blocks.encode(y, name, axis=axis, policy=policy, random_bits=drawn)
    scattered = dataclasses.replace(out, codes=np.empty((50, 140), np.uint8)[:, ::2])
    fresh = blocks.encode(x, name, axis=axis, policy=policy, random_bits=drawn)
    assert not np.array_equal(fresh.codes, out.codes)
    for earlier in (out, scattered):
        result = blocks.encode(x, name, axis=axis, policy=policy, random_bits=drawn, out=earlier)
        assert result.codes is earlier.codes
        assert result.scales is earlier.scales
        assert np.array_equal(result.codes, fresh.codes)
        assert np.array_equal(result.scales, fresh.scales)
        assert result.tensor_scale == fresh.tensor_scale
    plain = policy.replace(rounding="rne", sr_bits=None)
    assert (block_dispatch.plan(result.fmt, result.profile, plain, FP32) is not None) == (way == "compiled")


def test_bad_random_words_leave_an_earlier_result_as_it_was() -> None:
    x, y = np.random.default_rng(8).standard_normal((2, 4, 64)).astype(np.float32)
    policy = Policy("sr", sr_bits=8)
    out = blocks.encode(x, "mxfp8", policy=policy, random_bits=Philox(1))
    before = out.codes.copy(), out.scales.copy()
    for bad in (np.full(y.shape, 256), np.zeros((4, 63), int), None):
        with pytest.raises(Error, match="random"):
            blocks.encode(y, "mxfp8", policy=policy, random_bits=bad, out=out)
    assert np.array_equal(out.codes, before[0])
    assert np.array_equal(out.scales, before[1])


BIASES = ["s1e2m1b-10", "s1e4m3b-3", "s1e2m3b-30", "s1e1m2b-9", "s1e1m2", "fp8_e4m3", "s1e6m1b244", "s0e4m1b210"]


@pytest.mark.full(keep=12)
@pytest.mark.parametrize("element", BIASES)
@pytest.mark.parametrize("rule", ["floor", "ceil", "rceil", "amax"])
@pytest.mark.parametrize("axis", [0, 1])
def test_elements_of_any_bias(element: str, rule: str, axis: int) -> None:
    """The lowest binade of elements may lie above every float32 number, the highest below."""
    fmt, profile, rng = get_block_format(f"{element}@e8m0/32"), f"ocp,scale_rule={rule}", np.random.default_rng(6)
    large = np.where(rng.random((64, 32)) < 0.5, 0x7F7FFFFF, rng.integers(0, 1 << 24, (64, 32))).astype(np.uint32)
    bits = np.concatenate([wild(rng, 64), large, sparse(rng, 64), close(rng, 64)])
    turned = bits if axis else bits.T.copy()
    result, decode = blocks.encode(turned.view(np.float32), fmt, axis=axis, profile=profile), decoder(FP32)
    codes, scales, values = (array if axis else array.T for array in (result.codes, result.scales, result.decode()))
    for operands, own, scale, back in zip(bits.tolist(), codes.tolist(), scales.tolist(), values, strict=True):
        block = quantize_block([decode(code) for code in operands], fmt, profile)
        assert (block.scale, list(block.codes)) == (scale[0], own), operands
        assert dequantize_to_fp32(block.scale, block.codes, fmt, profile) == back.copy().view(np.uint32).tolist()


def test_blocks_do_not_fit_their_place() -> None:
    x = np.ones((4, 64), np.float32)
    out = blocks.encode(x, "mxfp8")
    with pytest.raises(Error, match=r"out must be an array of uint8 of shape \(2, 64\), not uint8 of shape \(4, 64\)"):
        blocks.encode(x[:2], "mxfp8", out=out)
    with pytest.raises(Error, match=r"out must be an array of uint8 of shape \(1, 64\), not uint8 of shape \(4, 2\)"):
        blocks.encode(x, "mxfp8", axis=0, out=out)
    out.scales.flags.writeable = False
    with pytest.raises(Error, match="out is read-only"):
        blocks.encode(x, "mxfp8", out=out)
    with pytest.raises(Error, match="out must be a BlockArray, not ndarray"):
        blocks.encode(x, "mxfp8", out=out.codes)  # type: ignore[arg-type]


def wild(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(0, 1 << 32, (count, 32), np.uint32)


def normal(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.standard_normal((count, 32), np.float32).view(np.uint32)


def close(rng: np.random.Generator, count: int) -> np.ndarray:
    """Exponents near one another, anywhere in the range; half of the fractions at the places where roundings turn."""
    fields = np.clip(rng.integers(0, 255, (count, 1)) - rng.integers(0, 30, (count, 32)), 0, 254).astype(np.uint32)
    turning = rng.choice(np.array([*EDGES, 4194305, 4194303, 5242880, 6291456, 6291457], np.uint32), (count, 32))
    fractions = np.where(rng.random((count, 32)) < 0.5, turning, rng.integers(0, 1 << 23, (count, 32), np.uint32))
    return fields << np.uint32(23) | fractions | rng.integers(0, 2, (count, 32), np.uint32) << np.uint32(31)


def sparse(rng: np.random.Generator, count: int) -> np.ndarray:
    """Mostly zeros, a third of the blocks nothing else, and a few specials and subnormals."""
    bits = np.where(rng.random((count, 32)) < 0.1, normal(rng, count), np.uint32(0))
    bits[rng.random(count) < 0.3] = 0
    for special in (0x7FC00000, 0xFF800000, 1, 0x80000000):
        bits[rng.random((count, 32)) < 0.0005] = special
    return bits


@pytest.mark.full(keep=15)
@pytest.mark.parametrize("name", BLOCKS[:-1])
@pytest.mark.parametrize("kind", [wild, normal, close, sparse])
def test_many_blocks(name: str, kind: Callable[[np.random.Generator, int], np.ndarray]) -> None:
    """Every one against the oracle, a row of any length at a time, there and back."""
    fmt, rng, decode = get_block_format(name), np.random.default_rng(3), decoder(FP32)
    left = MANY
    while left > 0:
        rows = int(rng.choice([1, 2, 8, 70, 128]))
        bits = kind(rng, rows * -(-min(left, 1000) // rows))
        left -= bits.shape[0]
        result = blocks.encode(bits.view(np.float32).reshape(-1, 32 * rows), fmt)
        codes, scales = result.codes.reshape(-1, 32).tolist(), result.scales.reshape(-1).tolist()
        values = result.decode().view(np.uint32).reshape(-1, 32).tolist()
        for operands, own, scale, back in zip(bits.tolist(), codes, scales, values, strict=True):
            block = quantize_block([decode(code) for code in operands], fmt, "ocp")
            assert (block.scale, list(block.codes)) == (scale, own), operands
            assert dequantize_to_fp32(scale, own, fmt) == back


@pytest.mark.full(keep=35)
@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("profile", PROFILES)
def test_blocks(name: str, profile: str) -> None:
    fmt, rng = get_block_format(name), np.random.default_rng(len(name) + len(profile))
    bits = rng.integers(0, 1 << 32, (6, 96), dtype=np.uint64).astype(np.uint32)
    bits[1] = (rng.standard_normal(96) * 2.0 ** rng.integers(-140, 127)).astype(np.float32).view(np.uint32)
    bits[2] &= 0x807FFFFF
    bits[3] = bits[3] & 0x807FFFFF | np.uint32(rng.integers(1, 255) << 23)
    bits[4, ::3] = 0
    decode, policy = decoder(FP32), Policy("rup") if "flush" in profile else None
    bits[5] = np.repeat([0, 0x80000000, 0x00400000], 32)
    short = bits[:, :70].copy()
    for x, axis in (
        (bits, 1),
        (short, 1),
        (np.ascontiguousarray(bits.T), 0),
        (short.reshape(2, 3, 70).swapaxes(1, 2).copy(), 1),
    ):
        q = blocks.encode(x.view(np.float32), fmt, axis=axis, profile=profile, policy=policy)
        lanes, codes, scales, back = (
            np.moveaxis(a, axis, -1).reshape(6, -1) for a in (x, q.codes, q.scales, q.decode().view(np.uint32))
        )
        for lane, code, scale_row, values in zip(lanes, codes, scales, back, strict=True):
            for i, scale in enumerate(scale_row):
                part = slice(i * fmt.size, (i + 1) * fmt.size)
                block = quantize_block([decode(int(v)) for v in lane[part]], fmt, profile, policy)
                assert (block.scale, list(block.codes)) == (scale, code[part].tolist())
                assert dequantize_to_fp32(block.scale, block.codes, fmt, profile) == values[part].tolist()


@pytest.mark.parametrize("name", BLOCKS[:-1])
def test_values_of_rows_of_32(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scale with every element, and blocks without special elements."""
    fmt = get_block_format(name)
    every = np.tile(np.arange(256, dtype=np.uint8) & np.uint8((1 << fmt.element.width) - 1), (256, 1))
    rows = np.concatenate([np.minimum(every, 3), every | np.uint8(1), every], axis=1)
    scales = np.repeat(np.arange(256, dtype=np.uint8)[:, np.newaxis], 24, axis=1)
    scales[:, 9::5] = 120
    both = [_values(rows, scales, fmt, size, monkeypatch) for size in (32, 0)]
    np.testing.assert_array_equal(*both)
    code = rows[200, 300]
    assert both[0][200, 300] == dequantize_to_fp32(int(scales[200, 300 // 32]), [int(code)], fmt)[0]


def _values(
    codes: np.ndarray, scales: np.ndarray, fmt: BlockFormat, size: int, patch: pytest.MonkeyPatch
) -> np.ndarray:
    patch.setattr(block_dispatch, "SIZE", size)
    return blocks.BlockArray(codes, scales, fmt, 1).decode().view(np.uint32)


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("name", BLOCKS[:-1])
def test_rows_of_32_are_the_general_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of every scale, in rows that end in a complete block or not, and the same by the loop for any rows."""
    rng, fmt = np.random.default_rng(4), get_block_format(name)
    bits = rng.integers(0, 1 << 32, (256, 70 * 32), dtype=np.uint64).astype(np.uint32)
    fields = np.arange(256, dtype=np.uint32)[:, np.newaxis]
    bits[:, :1024] = (
        bits[:, :1024] & 0x807FFFFF | np.maximum(fields, rng.integers(0, 12, (256, 1024)) + fields - 12) << 23
    )
    bits[:, 1024:2048] = np.where(rng.random((256, 1024)) < 0.5, bits[:, :1024], bits[:, :1024] & np.uint32(1 << 31))
    for x, profile in itertools.product(
        (bits.view(np.float32), bits[:, :1005].copy().view(np.float32)),
        ("ocp", "torchao-even,tail=pad", "mlx", "ocp,flush=never"),
    ):
        for policy in (None, Policy("rna"), Policy("rtz")):
            monkeypatch.setattr(block_dispatch, "SIZE", 32)
            fast = blocks.encode(x, fmt, axis=-1, profile=profile, policy=policy)
            back = fast.decode()
            monkeypatch.setattr(block_dispatch, "SIZE", 0)
            slow = blocks.encode(x, fmt, axis=-1, profile=profile, policy=policy)
            np.testing.assert_array_equal(fast.scales, slow.scales)
            np.testing.assert_array_equal(fast.codes, slow.codes)
            np.testing.assert_array_equal(back.view(np.uint32), slow.decode().view(np.uint32))


@pytest.mark.parametrize("fmt", ["mxfp8", "mxfp4", "mxint8"])
@pytest.mark.parametrize("shape", [(4000, 27), (1, 33), (0, 5), (3, 40_001), (700, 95)])
def test_short_blocks_at_the_end_of_rows(fmt: str, shape: tuple[int, int]) -> None:
    """Rows filled up with zeros a part at a time, against the loop that takes short blocks as they are."""
    rng, plan = np.random.default_rng(5), setting(fmt, None, None).plan
    assert plan is not None
    bits = (rng.normal(size=shape) * 2.0 ** rng.integers(-140, 100, (shape[0], 1))).astype(np.float32).view(np.uint32)
    bits[rng.random(shape) < 0.001] = 0x7FC00001
    from softfloat_ref.arrays.kernels.block_loops import quantize_rows

    codes, scales, redo = block_dispatch.quantize(bits, 1, 32, plan)
    wanted = np.empty_like(codes), np.empty_like(scales), np.zeros_like(redo)
    quantize_rows(dispatch.read_only(bits), 32, *plan[:-1], *wanted)
    done = wanted[2] == 0
    assert (redo == wanted[2]).all()
    assert (scales == wanted[1])[done].all()
    assert (codes == wanted[0])[np.repeat(done, 32, axis=1)[:, : shape[1]]].all()


@pytest.mark.full(keep=8)
@pytest.mark.parametrize("name", ["mxfp8", "mxfp4", "mxint8", "nvfp4", "fp8_e4m3@fp32/128", "fp6_e3m2@e8m0/16"])
@pytest.mark.parametrize("shape", [(3, 40, 5), (2, 70, 27), (1, 33, 1100), (40, 1300), (9, 4100), (300, 2)])
def test_narrow_arrays_and_short_rows(name: str, shape: tuple[int, ...]) -> None:
    """Of which the loops take several rows at a time; against numpy's way, there and back."""
    rng = np.random.default_rng(6)
    x = (rng.standard_normal(shape) * 2.0 ** rng.integers(-9, 9, (*shape[:-1], 1))).astype(np.float32)
    x[rng.random(shape) < 0.0005] = np.nan
    x[rng.random(shape) < 0.0005] = np.inf
    for axis in range(x.ndim):
        result, wanted = blocks.encode(x, name, axis=axis), blocks.encode(x.astype(np.float64), name, axis=axis)
        np.testing.assert_array_equal(result.codes, wanted.codes)
        np.testing.assert_array_equal(result.scales, wanted.scales)
        other = dataclasses.replace(result, codes=np.asfortranarray(result.codes))
        assert result._is_compiled() or name == "fp8_e4m3@fp32/128"
        assert not other._is_compiled()
        np.testing.assert_array_equal(result.decode().view(np.uint32), other.decode().view(np.uint32))
