"""Arrays of blocks under any profile are the scalar oracle."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from profile_definition import NAMES, anywhere, cases, check, defined, line, shuffled

from softfloat_ref import blocks
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import AXIS, TENSOR, get_block_format
from softfloat_ref.oracle.blocks.profiles import PROFILES
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.codec import decode, to_value
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import Philox


def tensor(dtype: type, rows: int = 6) -> np.ndarray[Any, Any]:
    """Two blocks of 32 a row, over all exponents, with specials."""
    rng = np.random.default_rng(9)
    low, high = (-24, 15) if dtype == np.float16 else (-150, 127)
    exponents = np.linspace(low, high, rows).astype(int)[:, np.newaxis] + rng.integers(-10, 1, (rows, 64))
    if dtype == np.float64:
        exponents[1], exponents[-2] = -400, 400
    with np.errstate(over="ignore", under="ignore"):
        x = (rng.standard_normal((rows, 64)) * 2.0**exponents).astype(dtype)
    x[0, 5], x[1, 40], x[2, 1], x[3, :32], x[4, 32:], x[5, 48:] = np.nan, np.inf, -np.inf, -0.0, 0.0, np.nan
    x[5, :16] = np.inf
    return x


def lanes(array: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    moved = np.moveaxis(array, axis, -1)
    return moved.reshape(-1, moved.shape[-1])


def check_array(x: np.ndarray[Any, Any], q: blocks.BlockArray, words: np.ndarray[Any, Any] | None = None,
                policy: Policy | None = None) -> int:  # fmt: skip
    """Every block against the scalar oracle; how many there were."""
    axis = q.axis
    if q.fmt.size == TENSOR or (q.profile.tail == "flatten" and q.fmt.size != AXIS):
        flat = [np.moveaxis(a, axis, -1).reshape(1, -1) for a in (x, q.codes, q.decode())]
        rows, codes, values = flat
        scales = q.scales.reshape(1, -1)
        drawn = None if words is None else np.moveaxis(words, axis, -1).reshape(1, -1)
    else:
        rows, codes, values, scales = (lanes(a, axis) for a in (x, q.codes, q.decode(), q.scales))
        drawn = None if words is None else lanes(words, axis)
    size = q.fmt.size if q.fmt.size > 0 else rows.shape[1]
    factor, count = q.factor, 0
    for r, row in enumerate(rows):
        for i, scale in enumerate(scales[r].tolist()):
            part = slice(i * size, i * size + size)
            numbers = [to_value(float(v), 0) for v in row[part]]
            bits = None if drawn is None else drawn[r, part].tolist()
            block = quantize_block(numbers, q.fmt, q.profile, policy, bits, factor)
            assert (block.scale, list(block.codes)) == (scale, codes[r, part].tolist()), (
                q.fmt.name,
                q.profile,
                row[part],
            )
            expected_values = dequantize_to_fp32(scale, block.codes, q.fmt, q.profile, factor)
            assert values[r, part].copy().view(np.uint32).tolist() == expected_values
            count += 1
    return count


@pytest.mark.full(keep=5)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_arrays_are_the_oracle(name: str, dtype: type) -> None:
    x = tensor(dtype)
    for profile in map(anywhere, PROFILES):
        if "error" in (profile.nan, profile.inf):
            with pytest.raises(Error, match="holds a NaN or Inf"):
                blocks.encode(x, name, profile=profile)
            assert check_array(np.nan_to_num(x), blocks.encode(np.nan_to_num(x), name, profile=profile))
        else:
            assert check_array(x, blocks.encode(x, name, profile=profile))


@pytest.mark.full(keep=4)
@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_drawn_profiles_are_the_oracle(name: str) -> None:
    rng = np.random.default_rng(11)
    x = tensor(np.float32)
    for profile in (shuffled(rng) for _ in range(25)):
        clean = np.nan_to_num(x) if "error" in (profile.nan, profile.inf) else x
        check_array(clean, blocks.encode(clean, name, profile=profile))


@pytest.mark.full(keep=6)
@pytest.mark.parametrize("tail", ["pad", "flatten"])
@pytest.mark.parametrize(
    "name", ["mxfp4", "nvfp4", "mxint8", "fp8_e4m3@fp32/axis", "fp8_e5m2@e8m0/tensor", "int8@ue4m3/7"]
)
def test_axes_and_tails(name: str, tail: str) -> None:
    rng = np.random.default_rng(4)
    x = (rng.standard_normal((3, 38, 5)) * np.exp2(rng.integers(-20, 20, (3, 38, 5)))).astype(np.float32)
    for axis in range(-3, 3):
        for profile in (f"ocp,tail={tail}", f"nvfp4,tail={tail}", f"p3109,tail={tail}"):
            q = blocks.encode(x, name, axis=axis, profile=anywhere(profile))
            assert check_array(x, q)
            assert q.codes.shape == x.shape
            assert q.spread_scales().shape == x.shape
    if get_block_format(name).size > 0:
        with pytest.raises(Error, match="refuses it"):
            blocks.encode(x, name, axis=1, profile="ocp,tail=refuse")


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    "name", ["fp8_e4m3@fp32/axis", "int8@fp32/tensor", "fp4_e2m1@bf16/7", "bf16@fp64/16", "fp16@fp16/4"]
)
def test_wide_scales(name: str) -> None:
    x = np.nan_to_num(tensor(np.float32))
    for profile in PROFILES:
        assert check_array(x, blocks.encode(x, name, profile=anywhere(profile).replace(tail="pad")))


def test_nothing_crosses_rows() -> None:
    """Two rows of 40: a huge value changes its own block only, unless the profile says that blocks run on."""
    x = np.ones((2, 40), np.float32)
    x[0, 39] = 1e30
    assert blocks.encode(x, "mxfp8").scales.tolist() == [[119, 218], [119, 119]]
    flat = blocks.encode(x, "mxfp8", profile="ocp,tail=flatten")
    assert flat.scales.tolist() == [119, 218, 119]
    assert blocks.encode(x.T, "mxfp8", axis=0).scales.T.tolist() == [[119, 218], [119, 119]]


def test_random_bits_by_position() -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((3, 38, 5)).astype(np.float32)
    for name, mode, axis in itertools.product(
        ("mxfp4", "nvfp4", "fp8_e5m2@e8m0/tensor"), ("sr", "sr-b", "sr-c"), (0, 1, 2)
    ):
        policy = Policy(mode, sr_bits=5)
        words = np.array(Philox(3).bits(5, 0, x.size)).reshape(x.shape)
        q = blocks.encode(x, name, axis=axis, policy=policy, random_bits=words)
        assert check_array(x, q, words, policy)
        same = blocks.encode(x, name, axis=axis, policy=policy, random_bits=Philox(3))
        assert (same.codes == q.codes).all()


@pytest.mark.full(keep=27)
@pytest.mark.parametrize("scale", [1.0, 0.3, 2.0**-149, 2.0**-128, 2.0**-127, 2.0**100, 3.0, 3.4028234663852886e38])
@pytest.mark.parametrize("profile", ["nvfp4", "nvfp4-torchao", "nvfp4,scale_low=smallest", "p3109", "ocp"])
def test_tensor_scales(profile: str, scale: float) -> None:
    tensor_scale = float(np.float32(scale))
    x = np.concatenate([tensor(np.float32), tensor(np.float32) * np.float32(2.0**-60)])
    for name in ("nvfp4", "mxfp8", "fp6_e3m2@ue5m3/16"):
        assert check_array(x, blocks.encode(x, name, profile=anywhere(profile), tensor_scale=tensor_scale))
        d = defined(name, profile, Fraction(tensor_scale))
        for block in cases(d, np.random.default_rng(8), 10, wide=False):
            check(d, block)


@pytest.mark.parametrize("scale", [1.0, 0.3, 3.0, 1e-20])
@pytest.mark.parametrize("name", ["nvfp4", "fp8_e4m3@ue5m3/16", "fp6_e2m3@fp8_e5m2/16", "mxfp6"])
def test_quotients_next_to_ties(name: str, scale: float) -> None:
    """Values one float64 away from a tie times both scales: the quotient's bits beyond the 24th decide."""
    d = defined(name, "ocp,scale_rule=rne,flush=never", Fraction(float(np.float32(scale))))
    elements = line(d.fmt.element, False).values[:-1]
    ties = [(a + b) / 2 for a, b in itertools.pairwise(elements)][-14:]
    rows = []
    for code in (*range(1, 12), 0x3F, 0x43, 0x4A):
        unit = decode(code, d.fmt.scale).as_fraction() * d.tensor_scale
        near = [float(t * unit) for t in ties]
        for toward in (0.0, np.inf):
            row = np.nextafter(near, toward).tolist()
            rows.append([float(d.largest * unit), *row, *[0.0] * (15 - len(row))])
    x = np.array(rows)
    assert check_array(x, blocks.encode(x, d.fmt, profile=d.profile, tensor_scale=float(d.tensor_scale))) >= 28


def test_values_that_are_cut() -> None:
    """Rationals that are no binary fractions decide beyond their 256 bits."""
    third = Fraction(1, 3 << 260)
    above, below = to_value(448 + third, 256), to_value(448 - third, 256)
    assert [quantize_block([v], "mxfp8", "nvidia").scale for v in (above, below)] == [0x80, 0x7F]
    tie = [to_value(448, 0), to_value(Fraction(17, 16) + third, 256), to_value(Fraction(17, 16) - third, 256)]
    assert quantize_block(tie, "mxfp8").codes == (0x7E, 0x39, 0x38)
    assert (
        quantize_block([to_value(6, 0), to_value(Fraction(5, 2) + third, 256)], "nvfp4", "nvfp4-torchao").codes[1] == 4
    )


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf"), 1e300, 1e-60, "1", None.__class__, [1.0]])
def test_bad_tensor_scales(bad: Any) -> None:
    with pytest.raises(Error):
        blocks.encode(np.ones(16, np.float32), "nvfp4", tensor_scale=bad)
