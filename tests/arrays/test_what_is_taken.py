"""What conversions take for arrays, codes, bytes, shapes and scales, and one true line for what they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from command import run

import softfloat_ref as sf
from softfloat_ref import affine, array_ops, arrays, blocks
from softfloat_ref.base.errors import Error

X = np.linspace(-3, 5, 128, dtype=np.float32).reshape(4, 32)
SHAPES = ((4, 32), [4, 32], np.array([4, 32]), (np.int64(4), np.uint8(32)))


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, np.asarray])
def test_bytes_and_shapes(kind: Any, shape: Any) -> None:
    """Of Python or numpy, with scales beside them or in a tuple; a shape of any integers."""
    q = blocks.encode(X, "nvfp4")
    p = q.pack()
    data, scales = kind(p.data.tobytes()) if kind is not np.asarray else p.data, p.scales
    for got in (
        blocks.unpack(data, "nvfp4", shape, scales=scales, tensor_scale=p.tensor_scale),
        blocks.unpack((data, scales, p.tensor_scale), "nvfp4", shape),
        blocks.unpack(p, "nvfp4", shape),
    ):
        assert got == q
    a = affine.encode(X, "qint4")
    data = kind(a.pack().data.tobytes()) if kind is not np.asarray else a.pack().data
    assert affine.unpack((data, a.scales, a.zero_points), "qint4", shape) == a
    assert affine.unpack(data, "qint4", shape, scales=a.scales, zero_points=a.zero_points) == a
    assert affine.unpack(a.pack(), "qint4", shape) == a
    s = sf.encode(X, "bf16")
    assert arrays.unpack(kind(s.pack().data), "bf16", shape) == s


def test_a_shape_of_one_integer() -> None:
    s = sf.encode(X[0], "bf16")
    for n in (32, np.int64(32), np.array(32)):
        assert arrays.unpack(s.pack(), "bf16", n) == s


PACKED = blocks.encode(X, "mxfp8").pack()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: blocks.unpack((PACKED.data, PACKED.scales), "mxfp8", X.shape, scales=PACKED.scales),
            "a tuple has its",
        ),
        (lambda: blocks.unpack((PACKED.data, PACKED.scales, None, 1), "mxfp8", X.shape), "a tuple of 4 parts"),
        (lambda: blocks.unpack((), "mxfp8", X.shape), "a tuple of 0 parts"),
        (lambda: blocks.unpack(PACKED, "mxfp8", (4, 32.0)), "a dimension = 32.0: an integer"),
        (lambda: blocks.unpack(PACKED, "mxfp8", None), "shape = None|a dimension = None"),
        (lambda: affine.unpack(PACKED.data, "qint8", (4, "32"), scales=1.0, zero_points=0), "a dimension = '32'"),
        (lambda: affine.encode(X, "qint8", scale=1e-60, zero_point=0), "positive finite number in FP32"),
        (lambda: affine.encode(X, "qint8", scale=1e60, zero_point=0), "positive finite number in FP32"),
        (lambda: blocks.encode(X, "nvfp4", tensor_scale=1e60), "must be an FP32 number"),
        (lambda: arrays.decode(np.array([1.0]), "fp16"), "codes must be integers"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(Error, match=message) as e:
        call()
    assert "\n" not in str(e.value)


def test_scales_of_python_are_rounded_once() -> None:
    """0.1 is no FP32 number: to nearest even, as numpy's cast, before anything is computed."""
    near = np.float32(0.1)
    assert affine.encode(X, "qint8", scale=0.1, zero_point=3) == affine.encode(X, "qint8", scale=near, zero_point=3)
    steps = np.linspace(0.1, 0.9, 4)
    both = [affine.encode(X, "qint8", axis=0, scale=s, zero_point=0) for s in (steps, steps.astype(np.float32))]
    assert both[0] == both[1]
    assert blocks.encode(X, "nvfp4", tensor_scale=0.1) == blocks.encode(X, "nvfp4", tensor_scale=float(near))


@pytest.mark.extra("ml_dtypes")
def test_codes_of_ml_dtypes() -> None:
    import ml_dtypes

    x = np.array([1, -2], ml_dtypes.float8_e4m3fn)
    assert arrays.decode(x, "fp8_e4m3").tolist() == [1, -2]
    assert arrays.from_codes(x, "fp8_e4m3").codes.dtype == np.uint8
    with pytest.raises(Error, match="an array of fp8_e4m3 where fp8_e5m2 is expected"):
        arrays.decode(x, "fp8_e5m2")


@pytest.mark.extra("torch")
def test_codes_of_torch() -> None:
    import torch

    x = torch.tensor([1.0, -2.0]).to(torch.float8_e4m3fn)
    assert arrays.decode(x, "fp8_e4m3").tolist() == [1, -2]
    assert arrays.decode(x.view(torch.uint8), "fp8_e4m3").tolist() == [1, -2]
    assert arrays.decode(torch.ones(2).bfloat16(), "bf16").tolist() == [1, 1]
    assert array_ops.evaluate("add", [x, x], "fp8_e4m3").tolist() == [0x40, 0xC8]
    assert sf.encode(x, "fp8_e5m2").codes.tolist() == [0x3C, 0xC0]
    for wrong, message in (
        (torch.ones(2), "codes|a tensor of"),
        (x.to(torch.float8_e5m2), "where fp8_e4m3 is expected"),
    ):
        with pytest.raises(Error, match=message):
            arrays.decode(wrong, "fp8_e4m3")


@pytest.mark.extra("torch")
@pytest.mark.filterwarnings("ignore")
def test_tensors_that_are_views_or_no_arrays() -> None:
    import torch

    negative = torch.tensor([1 + 2j, -3j]).conj().imag
    assert negative.is_neg()
    assert arrays.decode(arrays.encode(negative, "bf16"), "bf16").tolist() == [-2, 3]
    one = torch.eye(2)
    for tensor, message in (
        (torch.empty(3, device="meta"), "a meta tensor has no values"),
        (torch.empty(3, device="meta", dtype=torch.int32), "a meta tensor has no values"),
        (one.to_sparse(), "a sparse tensor; call .to_dense()"),
        (one.to_sparse_csr(), "a sparse tensor"),
        (torch.quantize_per_tensor(one, 0.1, 0, torch.qint8), "a quantized tensor; call .dequantize()"),
        (torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "a nested tensor"),
    ):
        for call in (
            lambda x: arrays.encode(x, "bf16"),
            lambda x: blocks.encode(x, "mxfp8"),
            lambda x: sf.encode(x, "fp16"),
        ):
            with pytest.raises(Error, match=message):
                call(tensor)


def test_int8_is_spelled_in_one_way() -> None:
    """The name of OCP's element; int8 alone, which users take for integers, warns where values are converted."""
    for call in (
        lambda fmt: sf.encode(0.3, fmt).bits,
        lambda fmt: sf.encode([0.3, 0.5], fmt).codes.tolist(),
        lambda fmt: sf.quantize([0.3, 0.5], fmt).tolist(),
        lambda fmt: sf.decode(np.array([1, 200]), fmt).tolist(),
    ):
        wanted = call("mx_int8")
        with pytest.warns(FutureWarning, match="write mx_int8 for it, or i8 for integers") as warned:
            assert call(" INT8") == wanted
        assert warned[0].filename == __file__
    for fmt in ("i8", "int4", "int16", np.int8, "int8@fp32/axis", "mxint8", sf.get_format("mx_int8")):
        sf.quantize([0.3, 0.5], fmt)  # a warning is an error


def test_int8_on_the_command_line() -> None:
    done = run("quantize", "--fmt", "int8", "--as", "value", "0.3")
    assert (done.returncode, done.stdout) == (0, "0.296875\n")
    assert done.stderr.startswith("softfloat-ref: int8 is OCP's MX element")
    assert run("quantize", "--fmt", "mx_int8", "--as", "value", "0.3").stderr.count("\n") <= done.stderr.count("\n") - 1
    assert "mx_int8" in run("decode", "--fmt", "int8", "80").stderr
