"""Exchange with ml_dtypes and torch: the same bytes, no copies."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from random_blocks import same

import softfloat_ref as sf
from softfloat_ref import blocks, exchange
from softfloat_ref.base.errors import Error


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e4m3", "float8_e4m3fnuz",
    "float8_e5m2fnuz", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
    "bfloat16", "float16"])  # fmt: skip
def test_ml_dtypes_are_views(name: str) -> None:
    fmt = sf.get_format(name)
    codes = np.arange(1 << fmt.width, dtype=sf.arrays.code_dtype(fmt)).reshape(2, -1)
    theirs = exchange.to_ml_dtypes(codes, fmt)
    assert theirs.dtype == np.dtype(getattr(ml_dtypes, name, name))
    with np.errstate(invalid="ignore"):
        assert np.array_equal(theirs.astype(np.float64), sf.arrays.decode_float64(codes, fmt), equal_nan=True)
    back, own = exchange.from_ml_dtypes(theirs)
    assert own == fmt
    assert (back == codes).all()


def test_exchange_refuses() -> None:
    with pytest.raises(Error, match="ml_dtypes has no type for int8; it has types for fp16"):
        exchange.to_ml_dtypes(np.zeros(3, np.uint8), "int8")
    with pytest.raises(Error, match="unsigned integers of 4 bits"):
        exchange.to_ml_dtypes(np.full(3, 16, np.uint8), "fp4_e2m1")
    with pytest.raises(Error, match="unsigned integers of 4 bits"):
        exchange.to_ml_dtypes(np.zeros(3), "fp4_e2m1")
    with pytest.raises(Error, match="not a float type"):
        exchange.from_ml_dtypes(np.zeros(3, np.int8))
    with pytest.raises(Error, match="an array of fp8_e5m2 where fp8_e4m3 is expected"):
        exchange.from_ml_dtypes(np.zeros(3, ml_dtypes.float8_e5m2), "fp8_e4m3")
    with pytest.raises(Error, match="code 80 does not fit ue4m3"):
        exchange.from_ml_dtypes(np.full(3, -0.0, ml_dtypes.float8_e4m3fn), "ue4m3")
    with pytest.raises(Error, match="code ff does not fit fp4_e2m1"):
        exchange.from_ml_dtypes(np.full(3, 255, np.uint8).view(ml_dtypes.float4_e2m1fn))


@pytest.mark.extra
def test_torch_tensors_are_views() -> None:
    torch = pytest.importorskip("torch")
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "bfloat16",
                 "float16", "float32", "float64"):  # fmt: skip
        fmt = sf.get_format(name)
        codes = np.arange(256, dtype=sf.arrays.code_dtype(fmt)).reshape(4, 64) << max(0, fmt.width - 8)
        tensor = exchange.to_torch(codes, fmt)
        assert tensor.dtype == getattr(torch, name)
        values = tensor.to(torch.float64).numpy()
        assert np.array_equal(values, sf.arrays.decode_float64(codes, fmt), equal_nan=True)
        back, own = exchange.from_torch(tensor)
        assert own == fmt
        assert (back == codes).all()
    codes = np.random.default_rng(1).integers(0, 16, (4, 64), dtype=np.uint8)
    tensor = exchange.to_torch(codes, "fp4_e2m1")
    assert tensor.dtype == torch.float4_e2m1fn_x2
    assert tuple(tensor.shape) == (4, 32)
    assert (exchange.from_torch(tensor)[0] == codes).all()
    assert (exchange.from_torch(exchange.to_torch(codes, "fp4_e2m1")[1:])[0] == codes[1:]).all()
    for bad, message in (((np.zeros(3, np.uint8), "fp4_e2m1"), "in pairs"), ((codes, "fp6_e3m2"), "torch has no type")):
        with pytest.raises(Error, match=message):
            exchange.to_torch(*bad)
    for bad, message in ((np.zeros(3), "is not a torch tensor"), (torch.zeros(3, dtype=torch.int8), "tensor of int8")):
        with pytest.raises(Error, match=message):
            exchange.from_torch(bad)


@pytest.mark.extra
@pytest.mark.parametrize("fmt", ["mxfp8", "mxfp8_e5m2", "mxfp4", "nvfp4"])
def test_torch_blocks(fmt: str) -> None:
    pytest.importorskip("torch")
    x = np.random.default_rng(2).standard_normal((4, 64)).astype(np.float32)
    q = blocks.encode(x, fmt)
    tensors = q.to_torch()
    assert same(blocks.from_torch(tensors, fmt), q)
    assert same(blocks.from_torch([x for x in tensors if x is not None], fmt), q)
    with pytest.raises(Error, match="scales of shape"):
        blocks.from_torch(tensors._replace(scales=tensors.scales[:2]), fmt)
    with pytest.raises(Error, match="scales missing"):
        blocks.from_torch(tensors.elements, fmt)
    with pytest.raises(Error, match="not zero_points"):
        blocks.from_torch(tensors._replace(zero_points=tensors.scales), fmt)


@pytest.mark.extra
def test_the_second_scale_travels_with_tensors() -> None:
    torch = pytest.importorskip("torch")
    q = blocks.encode(np.linspace(-3, 5, 64, dtype=np.float32), "nvfp4")
    tensors = q.to_torch()
    assert tensors.tensor_scale.dtype == torch.float32
    assert tensors.tensor_scale.item() == q.tensor_scale
    assert same(blocks.from_torch(tensors, "nvfp4"), q)
    with pytest.raises(Error, match="scale for the tensor besides those of blocks"):
        blocks.from_torch(tensors[:2], "nvfp4")
    with pytest.raises(Error, match="one float32"):
        blocks.from_torch(tensors._replace(tensor_scale=torch.ones(2)), "nvfp4")


@pytest.mark.extra
def test_torch_tensors_are_quantized_as_they_are() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(3, 70, generator=torch.Generator().manual_seed(1))
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        tensor = x.to(dtype).requires_grad_()
        values = tensor.detach().to(torch.float64).numpy()
        for fmt in ("mxfp4", "mxfp8"):
            assert (blocks.encode(tensor, fmt).codes == blocks.encode(values, fmt).codes).all()
        assert (sf.arrays.encode(tensor, "fp8_e4m3") == sf.arrays.encode(values, "fp8_e4m3")).all()
    assert sf.arrays.encode(torch.arange(5), "fp8_e5m2").tolist() == sf.arrays.encode(np.arange(5), "fp8_e5m2").tolist()
