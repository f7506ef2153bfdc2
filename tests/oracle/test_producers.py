"""Profiles of producers' packages: digests and codes that the packages themselves computed on their CPU paths.

Of nvidia-modelopt 0.47.0, compressed-tensors 0.20.0, gguf 0.19.0, mlx 0.32.4 and amd-quark 0.13, by
`python -m tests.campaigns.producers`, which compares everything; here are a digest of the scales and codes of the
weights in vectors/tensors, and of one row with zeros, ties, underflows and a large value.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softfloat_ref import blocks
from softfloat_ref.oracle.blocks.producers import PRODUCERS
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.blocks.tensor_scales import tensor_scale_of
from softfloat_ref.oracle.codec import decode, to_value

WEIGHTS = Path(__file__).parents[2] / "vectors" / "tensors" / "char_weights.npy"
ROWS = [  # format, profile, digests of the weights and the row, the row's first 16 codes
    ("nvfp4", "modelopt-nvfp4", "d867f15506cd57e5", "a566ac2a6c6516eb", "00000000000800080000080008000007"),
    ("mxfp4", "modelopt-mxfp4", "1b15117309c99ab3", "6cdf0968695fe908", "00000008000800080000080008080005"),
    ("mxfp8", "modelopt-mxfp8", "c89bbd62e69bbf68", "96c949711fc95366", "4c4a4280288046ca3e34aa4fc400397e"),
    ("nvfp4", "compressed-tensors-nvfp4", "d867f15506cd57e5", "b5f521a1fa6e0390", "00000000000800080000080008000007"),
    ("mxfp4", "compressed-tensors-mx", "1af8c831e6afc045", "c9cdec3d50868bee", "00000000000800080000080008000006"),
    (
        "mxfp6_e2m3",
        "compressed-tensors-mx",
        "9ccaae23b7bdb232",
        "f19e57b28cf23264",
        "0101000000200021000020012000 001e",
    ),
    ("mxfp8", "compressed-tensors-mxfp8", "c89bbd62e69bbf68", "1bf283e113cbc17d", "44423a0020803ec2362ca247bc003176"),
    ("mxfp4", "gguf-mxfp4", "f140bb7380efb7ec", "93a2ccb106062279", "00000000000000000000000000000007"),
    ("mxfp4", "mlx-cpu-mxfp4", "fb9a997afb84f157", "e66ea1b2aeb51fde", "00000000000000000000000000000005"),
    ("mxfp8", "mlx-cpu-mxfp8", "c89bbd62e69bbf68", "a81733d9ea5fa0b9", "4c4a4280288046ca3e34aa4fc400397e"),
    ("nvfp4", "mlx-cpu-nvfp4", "b7bc8ba25045635b", "8359b989a0a126a6", "00000000000000000000000000000007"),
    ("mxfp4", "quark-mx", "53b5d788aedfd9b4", "e738dd92af1ec4a6", "00000000000000000000000000000006"),
    ("mxfp6_e2m3", "quark-mx", "6eb291a3af6f9207", "e7e21005d5a2fa1a", "0101000000000021000000010000001e"),
    ("mxfp8", "quark-mxfp8", "99e038ea16c89598", "96c949711fc95366", "4c4a4280288046ca3e34aa4fc400397e"),
    ("nvfp4", "nvfp4-4over6-mse", "59b34bf4016aa16a", "ebf3c83b182e6306", "00000000000800080000080008000006"),
    ("nvfp4", "nvfp4-4over6-mae", "38d99000243d25ee", "ebf3c83b182e6306", "00000000000800080000080008000006"),
    ("nvfp4", "nvfp4-4over6-max", "64b9de1356c7745e", "ebf3c83b182e6306", "00000000000800080000080008000006"),
    ("fp8_e4m3@fp32/128", "deepseek-fp8", "fbdd6458a7a01ca1", "", "4c4a4280288046ca3e34aa4fc400397e"),
]


def row() -> np.ndarray[Any, Any]:
    x = np.zeros((1, 512), np.float32)
    x[0, :16] = [6, 5, 2.5, -0.0, 0.25, -1e-9, 3.5, -5, 1.75, 0.75, -0.3, 7.3, -2.9, 0.0, 1.1, 448]
    x[0, 32:48] = -0.0
    x[0, 64:80] = 1e-4
    x[0, 128:144] = [1.75 * 2**-20, -(2**-22), 1e-12, -1e-12] * 4
    x[0, 256] = 2688
    return x


def digest(q: blocks.BlockArray) -> str:
    return hashlib.sha256(q.scales.tobytes() + q.codes.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("fmt", "profile", "of_weights", "of_row", "codes"), ROWS, ids=lambda x: str(x)[:12])
def test_what_the_packages_computed(fmt: str, profile: str, of_weights: str, of_row: str, codes: str) -> None:
    weights = np.load(WEIGHTS).reshape(-1, 512)
    assert digest(blocks.encode(weights, fmt, profile=profile)) == of_weights
    q = blocks.encode(row(), fmt, profile=profile)
    assert not of_row or digest(q) == of_row
    assert q.codes[0, :16].tobytes() == bytes.fromhex(codes)
    size = q.fmt.size
    values = [to_value(float(v), 0) for v in row()[0]]
    amax = to_value(float(np.abs(row()).max()), 0)
    factor = decode(tensor_scale_of(amax, q.fmt, q.profile), "fp32")
    for i in range(0, 512, size):  # by the scalar oracle
        block = quantize_block(values[i : i + size], q.fmt, q.profile, tensor_scale=factor)
        assert (block.scale, list(block.codes)) == (q.scales[0, i // size], q.codes[0, i : i + size].tolist())


def test_every_producer_has_a_row() -> None:
    assert {p.name for p in PRODUCERS} == {profile for _, profile, *_ in ROWS}


def test_tensor_scales() -> None:
    """modelopt: amax / 2688. compressed-tensors: 2688 times the rounded reciprocal of amax; 1 beyond FP32."""
    x = np.full((1, 16), 448.0, np.float32)
    q = blocks.encode(x, "nvfp4", profile="compressed-tensors-nvfp4")
    assert q.tensor_scale == 6.000000476837158
    assert blocks.encode(x, "nvfp4", profile="modelopt-nvfp4").tensor_scale == float(np.float32(448 / 2688))
    for tiny in (0.0, 1e-37):
        assert blocks.encode(x * 0 + np.float32(tiny), "nvfp4", profile="compressed-tensors-nvfp4").tensor_scale == 1.0


def test_values_back_in_fp32() -> None:
    """Both scales make one FP32 number before an element is multiplied: two roundings."""
    x = np.load(WEIGHTS)[:64]
    for profile, combine in (("modelopt-nvfp4", np.multiply), ("compressed-tensors-nvfp4", np.divide)):
        q = blocks.encode(x, "nvfp4", profile=profile)
        scales = decode_all(q.scales, "ue4m3")
        factors = np.repeat(combine(scales, np.float32(q.tensor_scale)), 16, axis=1)
        assert (q.decode() == decode_all(q.codes, "fp4_e2m1") * factors).all()


# -- four over six ---------------------------------------------------------------------------------------------------

FOURS = ("nvfp4-4over6-mse", "nvfp4-4over6-mae", "nvfp4-4over6-max")


@pytest.mark.parametrize(
    ("values", "scales"),  # under the three; the scale for 6 is 78 in all of them
    [
        ([6.0, 5.0], "7c 7c 7c"),  # 5 / 6 is 3.33 of 4, and an exact tie between 4 and 6 of 6
        ([4.0, 3.0, 2.0], "7c 7c 7c"),  # exact under the scale for 4 alone
        ([6.0, 4.0, 3.0], "78 78 78"),  # exact under the scale for 6 alone
        ([1.0], "78 78 78"),  # no error under either: the rule's
    ],
)
def test_the_scale_with_the_smaller_error(values: list[float], scales: str) -> None:
    x = np.zeros(16, np.float32)
    x[: len(values)] = values
    assert [f"{blocks.encode(x, 'nvfp4', profile=p).scales[0]:02x}" for p in FOURS] == scales.split()


def test_errors_choose_differently() -> None:
    """Blocks in which one of the three measures differs from both others."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((200, 16)).astype(np.float32)
    taken = np.stack([blocks.encode(x, "nvfp4", profile=p).scales[:, 0] for p in FOURS])
    for alone in range(3):
        first, second = (taken[i] for i in range(3) if i != alone)
        assert ((first == second) & (taken[alone] != first)).any()


def test_a_scale_of_zero_has_elements() -> None:
    """As Transformer Engine computes: 1 / 0 becomes FP32's largest number."""
    x = np.zeros(32, np.float32)
    x[0], x[16:19] = 1.0, (2.0**-30, -(2.0**-30), -0.0)
    for profile in FOURS:
        q = blocks.encode(x, "nvfp4", profile=profile)
        assert (q.tensor_scale, q.scales[1], q.codes[16:20].tolist()) == (1.0, 0, [7, 15, 0, 0])
        assert not q.decode()[16:].any()


def test_the_tensor_scale_is_the_largest_magnitude() -> None:
    """value = element * (scale * amax * (1 / reach)), as Transformer Engine dequantizes."""
    x = np.load(WEIGHTS)[:8]
    for profile, top in (("nvfp4-4over6-mae", 1536), ("nvfp4-4over6-mae,tensor_scale=amax", 2688)):
        q = blocks.encode(x, "nvfp4", profile=profile)
        assert q.tensor_scale == float(np.abs(x).max())
        factors = decode_all(q.scales, "ue4m3") * np.float32(q.tensor_scale) * (np.float32(1) / np.float32(top))
        assert (q.decode() == decode_all(q.codes, "fp4_e2m1") * np.repeat(factors, 16, axis=1)).all()


def decode_all(codes: np.ndarray[Any, Any], fmt: str) -> np.ndarray[Any, Any]:
    from softfloat_ref import arrays

    return arrays.decode(codes, fmt).astype(np.float32)
