"""Products of arrays with leading dimensions, of vectors and values, in other formats; epilogues."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref import arrays, blocks
from softfloat_ref.base.errors import Error

RNG = np.random.default_rng(3)
A, B = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 1, 3, 64), (5, 64, 4)))


def matrices(fmt: str, shape: tuple[int, ...]) -> Any:
    return sf.get_format(fmt), RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.full
@pytest.mark.parametrize("acc", ["mx-fp32", "fp32-sequential", "exact"])
@pytest.mark.parametrize("fmt", ["mxfp8", "nvfp4", "fp8_e4m3"])
def test_leading_dimensions_broadcast(fmt: str, acc: str) -> None:
    options = {} if fmt == "fp8_e4m3" else {"axis": -2}
    a, b = sf.encode(A, fmt), sf.encode(B, fmt, **options)  # type: ignore[arg-type]
    results = blocks.matmul(a, b, acc)
    assert results.shape == (2, 5, 3, 4)
    for i, j in np.ndindex(2, 5):
        assert (results[i, j] == blocks.matmul(a[i, 0], b[j], acc)).all()
    c = RNG.standard_normal((5, 1, 4)).astype(np.float32)
    added = blocks.matmul(a, b, acc, c=c)
    assert (added[1, 2] == blocks.matmul(a[1, 0], b[2], acc, c=np.broadcast_to(c[2], (3, 4)))).all()
    row = blocks.matmul(a[1, 0, 2], b[3], acc)
    assert row.shape == (4,)
    assert (row == results[1, 3, 2]).all()


@pytest.mark.parametrize("fmt", ["mxfp4", "nvfp4", "fp16", "fp8_e5m2"])
def test_vectors_are_dot_products(fmt: str) -> None:
    x, y = (sf.encode(RNG.standard_normal((2, 3, 70)).astype(np.float32), fmt) for _ in range(2))
    results = blocks.dot(x, y, "fp32-sequential")
    assert results.shape == (2, 3)
    for at in np.ndindex(2, 3):
        a: Any = x[at[0]][at[1]]
        b: Any = y[at[0]][at[1]]
        options = {"fmt": fmt} if isinstance(a, arrays.ScalarArray) else {}
        p, q = (v.codes if options else v for v in (a, b))
        bits = sf.dot(p, q, acc="fp32-sequential", **options).bits  # type: ignore[arg-type]
        assert int(results[at].view(np.uint32)) == bits
        assert blocks.dot(a, b, "fp32-sequential") == blocks.matmul(a, b, "fp32-sequential") == results[at]
    assert blocks.dot(x[0], y[0, :1]).shape == (3,)
    c = np.float32([1, 2, 3])
    assert blocks.dot(x, y, c=c)[1, 2] == blocks.dot(x[1, 2] if fmt[0] == "f" else x[1][2], y[1][2], c=np.float32(3))


@pytest.mark.parametrize("fmt", ["mxfp8", "nvfp4", "fp8_e4m3", "bf16", ("mxfp8", "mxfp4"), ("fp8_e5m2", "fp8_e4m3")])
def test_values_are_rounded_to_the_formats(fmt: Any) -> None:
    left, right = fmt if isinstance(fmt, tuple) else (fmt, fmt)
    x, y = A[0, 0], B[0]
    options = {"axis": 0} if isinstance(sf.encode(y, right), blocks.BlockArray) else {}
    a, b = sf.encode(x, left), sf.encode(y, right, **options)  # type: ignore[arg-type]
    expected = blocks.matmul(a, b, "fp32-pairwise")
    assert (blocks.matmul(x, y, "fp32-pairwise", fmt=fmt) == expected).all()
    assert (blocks.matmul(x.tolist(), b, "fp32-pairwise", fmt=(left, None)) == expected).all()
    assert (
        blocks.matmul(x[1], y, "fp32-pairwise", fmt=fmt) == blocks.matmul(sf.encode(x[1], left), b, "fp32-pairwise")
    ).all()


def test_arrays_of_a_type_are_its_codes() -> None:
    x, y = A[0, 0].astype(ml_dtypes.float8_e4m3fn), B[0].astype(ml_dtypes.bfloat16)
    codes = x.view(np.uint8), y.view(np.uint16)
    expected = blocks.matmul(*codes, "exact", fmt=("fp8_e4m3", "bf16"))
    assert (blocks.matmul(x, y, "exact") == expected).all()
    assert (blocks.matmul(codes[0], y, "exact", fmt=("fp8_e4m3", None)) == expected).all()


@pytest.mark.parametrize("to", ["fp16", "bf16", "fp64", "fp32"])
@pytest.mark.parametrize("acc", ["exact", "fp32-sequential", "fp16-sequential", "mx-fp32", "nvidia-h100"])
def test_results_in_other_formats(acc: str, to: str) -> None:
    a, b = (sf.encode(x, "fp16") for x in (A[0, 0], B[0]))
    try:
        wanted = [[sf.dot(r.codes, s.codes, "fp16", acc=acc, to=to).bits for s in b.T] for r in a]
    except Error:
        with pytest.raises(Error):
            blocks.matmul(a, b, acc, to=to)
        return
    results = blocks.matmul(a, b, acc, to=to)
    expected = arrays.decode(np.array(wanted, np.uint64), to)
    assert results.dtype == expected.dtype
    assert (results == expected).all()
    c = arrays.quantize(RNG.standard_normal((3, 4)), to)
    codes = arrays.encode(c, to).tolist()
    wanted = [
        [sf.dot(r.codes, s.codes, "fp16", codes[i][j], acc, to).bits for j, s in enumerate(b.T)]
        for i, r in enumerate(a)
    ]
    assert (blocks.matmul(a, b, acc, to=to, c=c) == arrays.decode(np.array(wanted, np.uint64), to)).all()


def test_tensor_scales_in_an_epilogue() -> None:
    """Units that take only block scales: their result, times both tensor scales rounded to FP32."""
    a, b = blocks.encode(A[0, 0], "nvfp4"), blocks.encode(B[0], "nvfp4", axis=0)
    ones = [blocks.from_codes(x.codes, x.scales, "nvfp4", axis=x.axis, tensor_scale=1.0) for x in (a, b)]
    assert a.tensor_scale is not None
    assert b.tensor_scale is not None
    alpha = sf.encode(Fraction(a.tensor_scale) * Fraction(b.tensor_scale), "fp32")
    factor = sf.decode(alpha.bits, "fp32").as_fraction()
    raw = blocks.matmul(*ones, "nvidia-b200-fp4")
    for to in ("fp32", "bf16"):
        results = blocks.matmul(a, b, "nvidia-b200-fp4", to=to)
        for x, y in zip(raw.reshape(-1).tolist(), results.reshape(-1).tolist(), strict=True):
            assert y == float(sf.decode(sf.encode(Fraction(x) * factor, to).bits, to))
    with pytest.raises(Error, match="would scale c too"):
        blocks.matmul(a, b, "nvidia-b200-fp4", c=np.ones((3, 4), np.float32))
    assert not (blocks.matmul(a, b, "nvidia-b200-fp4") == raw).any()


def test_products_of_nothing() -> None:
    empty = sf.encode(np.zeros((2, 3, 0), np.float32), "fp16")
    c = np.float32([1, 2])
    assert blocks.matmul(empty, empty.T[..., :0].codes.reshape(0, 2), fmt=(None, "fp16")).shape == (2, 3, 2)
    assert (blocks.matmul(empty, np.zeros((0, 2), np.uint16), fmt=(None, "fp16"), c=c)[1, 2] == c).all()


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: blocks.matmul(A, B[:, :3], fmt="fp16"), "a has 64 columns, b has 3 rows"),
        (lambda: blocks.matmul(A[0, 0], 3.0, fmt="fp16"), "b: a number; give a vector or a matrix"),
        (lambda: blocks.matmul(np.zeros((2, 3, 4)), np.zeros((3, 4, 2)), fmt="fp16"), "dimensions (2,) and (3,)"),
        (lambda: blocks.matmul(A, B, fmt="fp16", c=np.zeros(3, np.float32)), "c of shape (3,) cannot be broadcast"),
        (lambda: blocks.matmul(A, B, fmt="fp16", c=np.full(4, 0.1)), "c has values that fp32 does not hold"),
        (lambda: blocks.matmul(A[0, 0], B[0], fmt="qint8"), "affine format"),
        (lambda: blocks.matmul(sf.encode(A[0, 0], "qint8"), B[0]), "multiplied by affine.matmul"),
        (lambda: blocks.matmul(sf.encode(A[0, 0], "fp16"), B[0], fmt="fp16"), "ScalarArray has its own format"),
        (lambda: blocks.matmul(np.zeros((2, 2), np.uint8), B[0]), "give a BlockArray, values, or codes and fmt="),
        (lambda: blocks.matmul(np.zeros((2, 32), np.uint8), B[0], fmt="mxfp8"), "codes of mxfp8 need their scales"),
        (lambda: blocks.dot(A, B, fmt="fp16"), "a has 64 elements along its last axis, b has 4"),
        (lambda: blocks.dot(B[:3], B[:2], fmt="fp16"), "cannot be broadcast"),
    ],
)  # fmt: skip
def test_refused(work: Any, message: str) -> None:
    with pytest.raises(Error) as e:
        work()
    assert message in str(e.value)
