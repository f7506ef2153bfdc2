"""Packings of weights that need more than bytes along the last axis: AWQ, GPTQ, MLX's affine mode, NVIDIA's tiles of
scales, ONNX Runtime's MatMulNBits. Files made bit by bit here, values by the definition in rationals."""

from __future__ import annotations

import json
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_quantized_models import save

import softfloat_ref as sf
from softfloat_ref.base.errors import Error
from softfloat_ref.nn.model_files import tensors
from softfloat_ref.nn.model_files.layouts import layout_table
from softfloat_ref.nn.model_files.quantized import QuantizedTensor

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(8)
IN, OUT, GROUP = 64, 24, 16
ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # AWQ: the element in each nibble of a word, the lowest first
needs_safetensors = pytest.mark.extra("safetensors")


def words(codes: Array, bits: int, order: tuple[int, ...] | None = None) -> Array:
    """Rows of codes as streams of bits in words of 32 bits, the first ones in the lowest bits; or in another order of
    each word."""
    count = 32 // bits
    out = []
    for row in codes.tolist():
        if order is not None:
            row = [row[i + k] for i in range(0, len(row), count) for k in order]
        stream = sum(c << (bits * k) for k, c in enumerate(row))
        out.append([stream >> i & 0xFFFFFFFF for i in range(0, len(row) * bits, 32)])
    return np.array(out, np.uint32)


def streams(codes: Array, bits: int) -> bytes:
    """Rows of codes, each a little-endian stream of bits in whole bytes."""
    numbers = (sum(int(c) << (bits * k) for k, c in enumerate(row)) for row in codes)
    return b"".join(x.to_bytes(-(-codes.shape[1] * bits // 8), "little") for x in numbers)


def i32(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    return "i32", array.shape, array.astype("<u4").tobytes()


def fp16(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    return "fp16", array.shape, array.astype("<f2").tobytes()


def check(t: Any, codes: Array, zero: Any, scale: Any, bias: Any = None) -> None:
    """The values of a tensor are (code - zero) * scale + bias, exact and rounded once, whole and in parts."""
    assert isinstance(t, QuantizedTensor), t.skipped
    assert not t.skipped
    assert t.shape == codes.shape
    assert np.array_equal(t.codes(0, t.size).reshape(t.shape), codes)
    whole, exactly = t.values(), t.values(exactly=True)
    for i, j in np.ndindex(codes.shape):
        value = (Fraction(int(codes[i, j])) - Fraction(float(zero(i, j)))) * Fraction(float(scale(i, j)))
        value += Fraction(float(bias(i, j))) if bias else 0
        assert whole[i, j] == np.uint32(sf.encode(value, "fp32").bits).view(np.float32), (i, j)
        assert exactly[i, j] == float(value)
    flat, length = whole.reshape(-1), t.shape[1]
    for first, count in ((0, 1), (t.size - 1, 1), (3, 6), (length - 3, 8), (length + 5, length + 9), (9, t.size - 20)):
        assert np.array_equal(t.read(first, count), flat[first : first + count])


def gptq(bits: int, groups: Array, seed: int = 1) -> tuple[dict[str, Any], Array, Array, Array]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 1 << bits, (IN, OUT))
    zeros = rng.integers(0, 1 << bits, (IN // GROUP, OUT))
    scales = rng.normal(size=zeros.shape).astype(np.float16)
    members = {
        "m.qweight": i32(words(codes.T, bits).T),
        "m.qzeros": i32(words(zeros, bits)),
        "m.scales": fp16(scales),
        "m.g_idx": i32(groups),
    }
    return members, codes, zeros, scales


@needs_safetensors
@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize(("name", "more"), [("gptq", 1), ("gptq-v2", 0)])
@pytest.mark.parametrize("ordered", [True, False])
def test_gptq(bits: int, name: str, more: int, ordered: bool, tmp_path: Path) -> None:
    """Elements down the columns, zero points along the rows; groups in the order of the inputs, or in any."""
    groups = np.arange(IN) // GROUP if ordered else RNG.permutation(np.arange(IN) // GROUP)
    members, codes, zeros, scales = gptq(bits, groups)
    own = tmp_path / "own.toml"
    own.write_text(f'[layouts.mine]\nlike = "{name}"\nelements = "u{bits}"\n')
    (t,) = tensors(save(tmp_path / "m.safetensors", members), [own])
    assert t.name == "m.weight"
    check(t, codes, lambda i, j: zeros[groups[i], j] + more, lambda i, j: scales[groups[i], j])


@needs_safetensors
@pytest.mark.parametrize(("row", "stored"), [
    (9, (7 << 27, 0, 0)), (10, (3 << 30, 1, 0)), (11, (0, 7 << 1, 0)), (20, (0, 7 << 28, 0)), (21, (0, 1 << 31, 3)),
    (22, (0, 0, 7 << 2)), (31, (0, 0, 7 << 29)),
])  # fmt: skip
def test_gptq_of_three_bits_across_words(row: int, stored: tuple[int, ...], tmp_path: Path) -> None:
    """32 elements in three words: the places in which AutoGPTQ stores each, two of them in parts of two words."""
    members = gptq(3, np.arange(IN) // GROUP)[0]
    members["m.qweight"] = i32(np.array([*stored, 0, 0, 0], np.uint32)[:, np.newaxis] * np.ones(OUT, np.uint32))
    own = tmp_path / "own.toml"
    own.write_text('[layouts.mine]\nlike = "gptq"\nelements = "u3"\n')
    (t,) = tensors(save(tmp_path / "m.safetensors", members), [own])
    assert isinstance(t, QuantizedTensor)
    codes = t.codes(0, t.size).reshape(t.shape)
    assert np.array_equal(codes, np.where(np.arange(IN) == row, 7, 0)[:, np.newaxis] * np.ones(OUT))


@needs_safetensors
def test_what_a_file_does_not_tell_is_asked_for(tmp_path: Path) -> None:
    """GPTQ has two meanings of its zero points, and MLX does not store bits and groups: no values without a name."""
    path = save(tmp_path / "m.safetensors", gptq(4, np.arange(IN) // GROUP)[0])
    t = next(t for t in tensors(path) if t.name == "m.qweight")
    assert "may be gptq or gptq-v2, which its tensors do not tell; name it with --layouts" in t.skipped
    wrong = gptq(4, np.full(IN, 4))[0]  # a group that there is not
    t = next(t for t in tensors(save(tmp_path / "m.safetensors", wrong)) if t.name == "m.qweight")
    assert "no layout fits" in t.skipped


@needs_safetensors
def test_awq(tmp_path: Path) -> None:
    codes, zeros = RNG.integers(0, 16, (IN, OUT)), RNG.integers(0, 16, (IN // GROUP, OUT))
    scales = RNG.normal(size=zeros.shape).astype(np.float16)
    members = {
        "m.qweight": i32(words(codes, 4, ORDER)),
        "m.qzeros": i32(words(zeros, 4, ORDER)),
        "m.scales": fp16(scales),
    }
    (t,) = tensors(save(tmp_path / "m.safetensors", members))
    assert (t.name, t.fmt) == ("m.weight", "u4@fp16/16x1")
    check(t, codes, lambda i, j: zeros[i // GROUP, j], lambda i, j: scales[i // GROUP, j])


@needs_safetensors
@pytest.mark.parametrize(("bits", "group"), [(4, 64), (8, 32), (2, 64), (3, 32), (6, 32)])
def test_mlx_affine(bits: int, group: int, tmp_path: Path) -> None:
    """A little-endian stream of bits along a row; each group has a scale and what is added to its values."""
    codes = RNG.integers(0, 1 << bits, (5, 128))
    scales, biases = (RNG.normal(size=(5, 128 // group)).astype(np.float32) for _ in range(2))
    members = {
        "m.weight": ("u32", (5, 128 * bits // 32), streams(codes, bits)),
        "m.scales": ("fp32", scales.shape, scales.tobytes()),
        "m.biases": ("fp32", biases.shape, biases.tobytes()),
    }
    path, own = save(tmp_path / "m.safetensors", members), tmp_path / "own.toml"
    assert not any(isinstance(t, QuantizedTensor) for t in tensors(path))
    own.write_text(f'[layouts.mine]\nlike = "mlx-affine"\nelements = "u{bits}"\nblock = [1, {group}]\n')
    (t,) = tensors(path, [own])
    check(t, codes, lambda i, j: 0, lambda i, j: scales[i, j // group], lambda i, j: biases[i, j // group])


@needs_safetensors
def test_a_sum_is_rounded_once(tmp_path: Path) -> None:
    """192 (1 + 2^-23) is halfway between two FP32 numbers; FP64 loses the 2^-60 by which the sum is less."""
    members = {
        "m.weight": ("u32", (1, 8), bytes([192] * 32)),
        "m.scales": ("fp32", (1, 1), np.float32(1 + 2.0**-23).tobytes()),
        "m.biases": ("fp32", (1, 1), np.float32(-(2.0**-60)).tobytes()),
    }
    own = tmp_path / "own.toml"
    own.write_text('[layouts.mine]\nlike = "mlx-affine"\nelements = "u8"\nblock = [1, 32]\n')
    (t,) = tensors(save(tmp_path / "m.safetensors", members), [own])
    assert t.values()[0, 0] == np.float32(192 + 2.0**-16)
    assert t.values(exactly=True)[0, 0] == 192 * (1 + 2.0**-23)
    assert t.values(arithmetic="producer")[0, 0] == np.float32(192 + 2.0**-15)  # MLX: the product is rounded first


@needs_safetensors
@pytest.mark.parametrize("shape", [(130, 80), (128, 64), (3, 16), (300, 336)])
def test_swizzled_scales(shape: tuple[int, int], tmp_path: Path) -> None:
    """NVIDIA's tiles: the scale of row r and block c is byte (r % 32) 16 + (r // 32) 4 + c of its tile of 128 by 4."""
    rows, blocks = shape[0], shape[1] // 16
    codes, scales = RNG.integers(0, 16, shape), RNG.integers(1, 0x7E, (rows, blocks))
    across = -(-blocks // 4)
    tiled = np.zeros(-(-rows // 128) * across * 512, np.uint8)
    for r, c in np.ndindex(rows, blocks):
        tile = r // 128 * across + c // 4
        tiled[tile * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scales[r, c]
    packed = (codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8)
    members = {
        "m.weight": ("u8", packed.shape, packed.tobytes()),
        "m.weight_scale": ("fp8_e4m3", (-(-rows // 128) * 128, across * 4), tiled.tobytes()),
        "m.weight_scale_2": ("fp32", (1,), struct.pack("<f", 0.5)),
    }
    own = tmp_path / "own.toml"
    own.write_text('[layouts.mine]\nlike = "nvfp4-modelopt"\nscale_order = "swizzled"\n')
    (t,) = tensors(save(tmp_path / "m.safetensors", members), [own])
    wanted = decoded(codes, "fp4_e2m1") * np.repeat(decoded(scales, "fp8_e4m3"), 16, axis=1) / 2
    assert isinstance(t, QuantizedTensor)
    assert np.array_equal(t.values(), wanted)
    assert np.array_equal(t.read(shape[1] * (rows - 1) + 1, 9), wanted[-1, 1:10])


def decoded(codes: Array, fmt: str) -> Array:
    from softfloat_ref import arrays

    return arrays.decode(codes.astype(np.uint8), fmt).astype(np.float32)


@needs_safetensors
def test_swizzled_scales_by_their_metadata(tmp_path: Path) -> None:
    """torchao says which scales are swizzled; in order, the same bytes are other values."""
    codes, scales = RNG.integers(0, 256, (128, 32)), RNG.integers(1, 0x7E, (128, 4))
    from softfloat_ref.arrays import packing

    tiled = packing.swizzle(scales.astype(np.uint8))
    members = {
        "m._weight_qdata": ("u8", codes.shape, codes.astype(np.uint8).tobytes()),
        "m._weight_scale": ("fp8_e4m3", scales.shape, tiled.tobytes()),
        "m._weight_per_tensor_scale": ("fp32", (), struct.pack("<f", 0.25)),
    }
    data = save(tmp_path / "m.safetensors", members).read_bytes()
    size = int.from_bytes(data[:8], "little")
    note = json.dumps({"_type": "NVFP4Tensor", "_data": {"is_swizzled_scales": True}})
    text = json.dumps({**json.loads(data[8 : 8 + size]), "__metadata__": {"m.weight": note}}).encode()
    (tmp_path / "s.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])
    (t,) = tensors(tmp_path / "s.safetensors")
    elements = decoded(np.stack([codes & 15, codes >> 4], axis=-1).reshape(128, 64), "fp4_e2m1")
    wanted = elements * np.repeat(decoded(scales, "fp8_e4m3"), 16, axis=1) / 4
    assert isinstance(t, QuantizedTensor)
    assert np.array_equal(t.values(), wanted)
    (other,) = tensors(tmp_path / "m.safetensors")
    assert not np.array_equal(other.values(), wanted)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('like = "gptq"\npacking = "dense"\n', "pack_along = rows needs elements = ..., and neither packing nor merge"),
        ('like = "awq"\nzero_packing = "other"\n', "unknown zero_packing of layout 'x'"),
        ('like = "awq"\nscale_order = "tiles"\n', "unknown scale_order of layout 'x'"),
    ],
)
def test_broken_layouts(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(f"[layouts.x]\n{text}")
    with pytest.raises(Error, match=message):
        layout_table([tmp_path / "own.toml"])


# -- MatMulNBits -------------------------------------------------------------------------------------------------------


def matmul_nbits(
    path: Path, bits: int, size: int, shape: tuple[int, int], zeros: str, flat: bool = False
) -> tuple[Path, Array, Array, Array]:
    """A model of one product; its codes (outputs, whole blocks of inputs), scales and zero points."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    n, k = shape
    blocks = -(-k // size)
    codes, scales = RNG.integers(0, 1 << bits, (n, blocks * size)), RNG.normal(size=(n, blocks)).astype(np.float32)
    points = RNG.integers(0, 1 << bits, (n, blocks)) if zeros else np.full((n, blocks), 1 << (bits - 1))
    data = np.frombuffer(streams(codes, bits), np.uint8).reshape(n, blocks, size * bits // 8)
    tensors = {"B": data, "scales": scales.reshape(-1) if flat else scales}
    if zeros == "packed":
        own = np.frombuffer(streams(points, bits), np.uint8)
        tensors["zeros"] = own if flat else own.reshape(n, -1)
    elif zeros:
        tensors["zeros"] = points.astype(np.float32)
    node = helper.make_node("MatMulNBits", ["A", *tensors], ["Y"], domain="com.microsoft", K=k, N=n, bits=bits,
                            block_size=size)  # fmt: skip
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("A", TensorProto.FLOAT, [k, k])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [k, n])],
        [numpy_helper.from_array(np.ascontiguousarray(x), name) for name, x in tensors.items()],
    )  # fmt: skip
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
    return path, codes[:, :k], scales, points


@pytest.mark.extra("onnx")
@pytest.mark.parametrize("zeros", ["", "packed", "float"])
@pytest.mark.parametrize(
    ("bits", "size", "shape", "flat"),
    [(4, 32, (6, 64), True), (4, 16, (3, 40), False), (8, 32, (4, 96), True), (2, 16, (5, 48), False)],
)
def test_matmul_nbits(
    bits: int, size: int, shape: tuple[int, int], flat: bool, zeros: str, tmp_path: Path
) -> None:  # fmt: skip
    """Blocks along the inputs, the last perhaps short; zero points that share bytes, floats, or half the range."""
    path, codes, scales, points = matmul_nbits(tmp_path / "m.onnx", bits, size, shape, zeros, flat)
    (t,) = tensors(path)
    assert t.name == "B"
    check(t, codes, lambda i, j: points[i, j // size], lambda i, j: scales[i, j // size])


@pytest.mark.extra("onnx")
@pytest.mark.extra("onnxruntime")
@pytest.mark.parametrize("zeros", ["", "packed"])
@pytest.mark.parametrize(("bits", "size", "shape"), [(4, 32, (96, 128)), (4, 16, (64, 80)), (8, 32, (64, 96))])
def test_what_onnxruntime_multiplies_by(
    bits: int, size: int, shape: tuple[int, int], zeros: str, tmp_path: Path
) -> None:
    """Its product with the identity is the matrix."""
    import onnxruntime

    path = matmul_nbits(tmp_path / "m.onnx", bits, size, shape, zeros, flat=True)[0]
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (product,) = session.run(None, {"A": np.eye(shape[1], dtype=np.float32)})
    (t,) = tensors(path)
    assert np.array_equal(t.values().T, product)
