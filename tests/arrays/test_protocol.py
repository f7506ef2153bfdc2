"""Arrays of every kind of format have one protocol: what numpy's arrays do, and every exchange that comes back."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_arrays import AFFINE, EVERY, SCALARS, random_array, random_arrays

import softfloat_ref as sf
from softfloat_ref import affine, arrays, blocks, exchange
from softfloat_ref.arrays import packing
from softfloat_ref.arrays.affine_array import AffineArray
from softfloat_ref.arrays.scalar_array import ScalarArray
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.formats import BlockFormat

X = np.random.default_rng(1).standard_normal((4, 64)).astype(np.float32)
KINDS = ["fp8_e4m3", "fp64", "mxfp8", "nvfp4", "bf16@fp32/axis", "fp6_e3m2@e8m0/tensor", "qint8", "quint4"]


def width(q: Any) -> int:
    return (
        q.fmt.bits if isinstance(q, AffineArray) else q.fmt.width if isinstance(q, ScalarArray) else q.fmt.element.width
    )


def layouts(q: Any) -> list[str]:
    """The layouts that an array takes."""
    names = [x.name for x in packing.ELEMENT_LAYOUTS.values() if x.width in (0, width(q))]
    if not isinstance(q, blocks.BlockArray):
        return names
    places = [x for x in packing.SCALE_LAYOUTS if x != "swizzled" or q.fmt.scale.width <= 8]
    return [f"{e}+{s}" for e in names for s in places]


def again(q: Any, packed: packing.Packed, layout: str) -> Any:
    if isinstance(q, ScalarArray):
        return arrays.unpack(packed, q.fmt, q.shape, layout)
    module: Any = affine if isinstance(q, AffineArray) else blocks
    return module.unpack(packed, q.fmt, q.shape, axis=q.axis, layout=layout, profile=q.profile)


def has_no_type(package: str, work: Callable[[], Any]) -> bool:
    """Whether a format has no type in a package, which is said."""
    try:
        work()
    except Error as e:
        return f"{package} has no type for" in str(e)
    return False


# -- every format, every exchange --------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(q=random_arrays(), choice=st.integers(0, 100))
def test_packed_bytes_come_back(q: Any, choice: int) -> None:
    names = layouts(q)
    name = names[choice % len(names)]
    assert again(q, q.pack(name), name) == q


@pytest.mark.parametrize("fmt", EVERY)
def test_files_of_every_format_come_back(fmt: str, tmp_path: Path) -> None:
    for seed, (shape, axis) in enumerate((((70,), None), ((3, 35), 1), ((2, 0, 3), 0), ((2, 33, 3), 1))):
        q = random_array(fmt, shape, axis, seed)
        arrays.save(tmp_path / "q.npz", q)
        array = arrays.load(tmp_path / "q.npz")
        assert array == q
        first = (tmp_path / "q.npz").read_bytes()
        arrays.save(tmp_path / "q.npz", array)
        assert (tmp_path / "q.npz").read_bytes() == first


@settings(max_examples=200, deadline=None)
@given(q=random_arrays([x for x in EVERY if x not in ("i64", "u64")]))  # float64 does not hold these
def test_values_are_those_of_the_parts(q: Any) -> None:
    """Transposed and sliced codes decode to the transposed and sliced values; a file and codes are the array again."""
    with np.errstate(all="ignore"):
        values = np.asarray(q)
        assert len(q) == len(values)
        assert q.nbytes >= q.size
        assert (q.ndim, q.size, q.shape, q.dtype) == (values.ndim, values.size, values.shape, values.dtype)
        if not (isinstance(q, blocks.BlockArray) and q.profile.tail == "flatten"):
            assert q == q.T.T
            np.testing.assert_array_equal(q.T.decode(), values.T)
        if q.ndim > 1 and getattr(q, "axis", None) != 0:
            np.testing.assert_array_equal(q[1:].decode(), values[1:])
            for mine, theirs in zip(q, values, strict=True):
                np.testing.assert_array_equal(mine.decode(), theirs)
        out = np.empty_like(values)
        assert q.decode(out=out) is out
        np.testing.assert_array_equal(out, values)


def test_empty_arrays_have_values() -> None:
    for fmt, shape in itertools.product(KINDS, ((0,), (0, 1), (3, 0), (0, 0, 2))):
        assert sf.encode(np.zeros(shape, np.float32), fmt).decode().shape == shape


@pytest.mark.extra
@pytest.mark.parametrize("fmt", EVERY)
def test_tensors_come_back(fmt: str) -> None:
    pytest.importorskip("torch")
    for seed, (shape, axis) in enumerate((((64,), None), ((3, 32), 1), ((2, 33, 4), 1))):
        q: Any = random_array(fmt, shape, axis, seed)
        if has_no_type("torch", q.to_torch):
            return
        tensors = q.to_torch()
        if isinstance(q, ScalarArray):
            assert arrays.from_torch(tensors, q.fmt) == q
            assert arrays.from_torch(tensors.elements, q.fmt) == q
        elif isinstance(q, AffineArray):
            assert affine.from_torch(tensors, q.fmt, axis=q.axis, profile=q.profile) == q
        else:
            assert blocks.from_torch(tensors, q.fmt, axis=q.axis) == q


@pytest.mark.parametrize("fmt", SCALARS)
def test_types_of_ml_dtypes_come_back(fmt: str) -> None:
    q: Any = random_array(fmt, (3, 20), None, 1)
    if has_no_type("ml_dtypes", lambda: exchange.to_ml_dtypes(q.codes, q.fmt)):
        return
    array = exchange.to_ml_dtypes(q.codes, q.fmt)
    assert arrays.from_codes(*exchange.from_ml_dtypes(array, q.fmt)) == q


# -- equality, parts, looks --------------------------------------------------------------------------------------------


def test_arrays_are_equal_bit_for_bit() -> None:
    some = [sf.encode(X, fmt) for fmt in KINDS]
    for (i, a), (j, b) in itertools.product(enumerate(some), repeat=2):
        assert (a == b) is (i == j)
    q = sf.encode(X, "nvfp4")
    others = [
        sf.encode(X, "nvfp4", tensor_scale=0.5),
        sf.encode(X.T, "nvfp4", axis=0),
        sf.encode(X, "nvfp4", profile="nvfp4-torchao"),
        blocks.from_codes(q.codes ^ 8, q.scales, "nvfp4", tensor_scale=q.tensor_scale),  # type: ignore[union-attr]
        q[:2],
    ]
    assert q not in others
    zeros = [sf.encode(np.array([x]), "fp32") for x in (0.0, -0.0)]
    assert zeros[0] != zeros[1]
    assert q != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(q)


def test_parts_keep_whole_blocks() -> None:
    q = sf.encode(X, "mxfp8")
    assert (q[1:3, 32:].decode() == q.decode()[1:3, 32:]).all()
    assert q[..., :32] == q[:, :32]
    assert q[2].shape == (64,)
    assert q[-1] == q[3]
    assert q[3:1].shape == (0, 64)
    assert q[:, 64:].decode().shape == (4, 0)
    rows = sf.encode(X, "bf16@fp32/axis")
    assert (rows[:, 3:60:7].decode() == rows.decode()[:, 3:60:7]).all()
    whole = sf.encode(X, "fp6_e3m2@e8m0/tensor")
    assert (whole[1, ::-2].decode() == whole.decode()[1, ::-2]).all()
    channels = sf.encode(X, "qint8", axis=0)
    assert (channels[1:3].decode() == channels.decode()[1:3]).all()
    assert (channels[2].decode() == channels.decode()[2]).all()
    assert sf.encode(X, "fp8_e4m3")[1, 2].decode().shape == ()
    for wrong in ((slice(None), 3), (0, slice(1, 33)), (0, slice(0, 33)), (0, slice(None, None, 2))):
        with pytest.raises(Error, match="block"):
            q[wrong]
    with pytest.raises(Error, match=r"index \.codes or \.decode"):
        q[[0, 1]]
    with pytest.raises(Error, match="made of integers, slices"):
        q[None]
    for out_of_range in (4, -5, (0, 0, 0), (..., ...)):
        with pytest.raises(IndexError):
            q[out_of_range]
    with pytest.raises(TypeError, match="without axes"):
        len(sf.encode(np.array(1.0), "fp16"))
    flat = sf.encode(X.reshape(4, 4, 16), "mxfp4", profile="ocp,tail=flatten")
    with pytest.raises(Error, match="cut its blocks"):
        flat[0]
    with pytest.raises(Error, match="decode before you transpose"):
        _ = flat.T
    assert (sf.encode(X[:, :40], "mxfp4", profile="ocp,tail=flatten").T.decode().shape) == (40, 4)


def test_numpy_takes_the_values() -> None:
    for fmt in KINDS:
        q = sf.encode(X, fmt)
        values = q.decode()
        assert (np.asarray(q) == values).all()
        assert np.asarray(q, np.float64).dtype == np.float64
        assert (sf.quantize(X, fmt) == values).all()
        assert np.abs(q).max() == np.abs(values).max()  # type: ignore[call-overload]
        with pytest.raises(ValueError, match="without a copy"):
            q.__array__(copy=False)


@pytest.mark.parametrize("fmt", KINDS)
def test_arrays_look_short(fmt: str) -> None:
    q = sf.encode(X, fmt)
    assert repr(q).startswith(f"{type(q).__name__}({q.fmt.name}, shape=(4, 64)")
    assert len(repr(q)) < 120
    assert "\n" not in repr(q)
    page = q._repr_html_()
    assert "<td>(4, 64)</td>" in page
    assert f"{q.decode()[0, 1]:.6g} ({int(q.codes[0, 1]):0{2 * q.codes.dtype.itemsize}x})" in page
    assert len(page) < 3000


def test_repr_shows_what_one_scale_is() -> None:
    assert (
        repr(sf.encode([0.0, 2.55], "quint8"))
        == "AffineArray(quint8, shape=(2,), profile=exact, scale=0.01, zero_point=0)"
    )
    assert (
        repr(sf.encode([2688.0], "nvfp4")) == "BlockArray(nvfp4, shape=(1,), axis=0, profile=nvfp4, tensor_scale=1.0)"
    )
    named = BlockFormat("<b>", sf.get_format("fp16"), sf.get_format("e8m0"), 4)
    assert "<b>" not in blocks.encode(X, named)._repr_html_()


# -- buffers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", KINDS)
@pytest.mark.parametrize("size", [1, 64])
def test_results_go_to_the_arrays_of_an_earlier_one(fmt: str, size: int) -> None:
    want, out = sf.encode(X[:, :size], fmt), sf.encode(np.ones((4, size), np.float32), fmt)
    got = sf.encode(X[:, :size], fmt, out=out)
    assert got == want
    assert all(x is y for x, y in zip(_places(got), _places(out), strict=True))
    for wrong in (sf.encode(X, "qint8" if fmt[0] != "q" else "fp16"), np.zeros((4, size), np.float32)):
        with pytest.raises(Error, match="out must be a"):
            sf.encode(X[:, :size], fmt, out=wrong)
    with pytest.raises(Error, match=r"out must be an array of .* of shape"):
        sf.encode(X[:2, :size], fmt, out=out)


def _places(q: Any) -> list[Any]:
    names = ("integers", "scales", "zero_points") if isinstance(q, AffineArray) else ("codes", "scales")
    return [getattr(q, name) for name in names if hasattr(q, name)]


def test_buffers_of_products_and_operations() -> None:
    q = sf.encode(X, "qint8")
    works: list[tuple[Callable[..., Any], Any]] = [
        (lambda **o: blocks.matmul(X, X.T, fmt="mxfp8", **o), np.empty((4, 4), np.float32)),
        (lambda **o: blocks.matmul(X[0], X.T, fmt="fp16", to="fp64", **o), np.empty(4)),
        (lambda **o: blocks.dot(X, X, fmt="fp16", **o), np.empty(4, np.float32)),
        (lambda **o: affine.matmul(q, q.T, **o), np.empty((4, 4), np.float32)),
        (lambda **o: affine.matmul(q, q.T, to="i32", **o), np.empty((4, 4), np.int32)),
        (lambda **o: sf.array_ops.evaluate("neg", [np.arange(9)], "fp8_e4m3", **o), np.empty(9, np.uint8)),
    ]
    for work, out in works:
        want = work()
        assert work(out=out) is out
        np.testing.assert_array_equal(out, want)
        with pytest.raises(Error, match="out must be an array of"):
            work(out=np.empty((3, 7), out.dtype))
    assert sf.array_ops.evaluate("sqrt", [np.arange(9)], "fp8_e4m3", flags="each", out=out)[0] is out
    a = sf.arrays.encode(X, "fp16")
    want = sf.array_ops.evaluate("add", [a, a[::-1]], "fp16")
    assert np.array_equal(sf.array_ops.evaluate("add", [a, a[::-1]], "fp16", out=a), want)  # out is an operand
    again = affine.matmul(q, q.T, to="quint8", scale=0.5, zero_point=3)
    more = affine.matmul(q, q.T, to="quint8", scale=0.25, zero_point=7, out=again)
    assert more.integers is again.integers
    assert more == affine.matmul(q, q.T, to="quint8", scale=0.25, zero_point=7)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: sf.quantize(X, "fp16", axis=0), "axis has no effect on fp16, which is a scalar format"),
        (lambda: sf.quantize(X, "fp16", profile="ocp"), "profile has no effect on fp16"),
        (lambda: sf.quantize(X, "mxfp8", scale=1.0), "scale has no effect on mxfp8_e4m3, which is a block format"),
        (lambda: sf.encode(X, "qint8", tensor_scale=1.0), "tensor_scale has no effect on qint8"),
        (lambda: sf.quantize(X, "mxfp8", out=np.zeros(3, np.float32)), "out must be an array of float32"),
        (lambda: sf.quantize(X, "qint8", out=np.zeros(3, np.float32)), "out must be an array of float32"),
        (lambda: sf.encode(X, "qint8").pack("dense+front"), "places scales of blocks; qint8 has none"),
        (lambda: sf.encode(X, "fp16").pack("low-first"), "elements of 4 bits, not 16"),
        (lambda: arrays.unpack(np.zeros(3, np.uint8), "fp16", (2,)), "have 3 bytes; this shape and layout have 4"),
        (lambda: arrays.unpack(sf.encode(X, "mxfp8").pack(), "fp8_e4m3", (4, 64)), "has scales, which fp8_e4m3"),
        (lambda: affine.unpack(sf.encode(X, "fp16").pack(), "qint8", (4, 64)), "no scales or no zero points"),
        (lambda: affine.unpack(sf.encode(X, "nvfp4").pack(), "qint8", (4, 64)), "has tensor_scale, which qint8"),
        (lambda: affine.unpack(np.zeros(3, np.uint8), "qint8", (3,)), "need scales= and zero_points="),
        (lambda: affine.from_codes([300], 1.0, 0, "qint8"), "integers of qint8 are -128 to 127"),
        (lambda: affine.from_codes(np.array([16], np.uint8), 1.0, 0, "qint4"), "code 10 does not fit qint4"),
        (lambda: affine.from_codes([0.5], 1.0, 0, "qint8"), "are integers, not float64"),
        (lambda: affine.from_codes([1], [1.0], 0, "qint8"), "have shape ()"),
        (lambda: arrays.save("x.npz", np.zeros(3)), "ndarray is not an array of codes with a format"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_refused(work: Any, message: str) -> None:
    with pytest.raises(Error) as e:
        work()
    assert message in str(e.value)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    arrays.save(tmp_path / "q.npz", sf.encode(X, "qint8"))
    with pytest.raises(Error, match=r"AffineArray\(qint8.* where a BlockArray is expected"):
        blocks.load(tmp_path / "q.npz")
    blocks.save(tmp_path / "q.npz", sf.encode(X, "mxfp8"))
    with pytest.raises(Error, match="where a AffineArray is expected"):
        affine.load(tmp_path / "q.npz")


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    """Kind 1: blocks only, the tensor scale as an FP32 code."""
    import json

    for fmt in ("nvfp4", "mxfp4"):
        q = blocks.encode(X, fmt)
        second = np.array(1 if q.tensor_scale is None else q.tensor_scale, np.float32).view(np.uint32)
        table = {"kind": "softfloat_ref blocks 1", "axis": 1, "format": q.fmt.to_dict(), "profile": q.profile.to_dict()}
        text = np.frombuffer(json.dumps(table).encode(), np.uint8)
        np.savez(tmp_path / "old.npz", codes=q.codes, scales=q.scales, tensor_scale=second, definition=text)
        assert blocks.load(tmp_path / "old.npz") == q


def test_signed_codes_of_affine_integers() -> None:
    """Unsigned codes and the integers themselves are the same array."""
    for fmt in AFFINE:
        q: Any = random_array(fmt, (30,), None, 3)
        for codes in (q.codes, q.integers, q.integers.astype(np.int64)):
            assert affine.from_codes(codes, q.scales, q.zero_points, fmt, profile=q.profile) == q


def test_only_the_start_of_a_large_array_is_decoded_to_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    q = sf.encode(np.zeros((1 << 10, 1 << 11), np.float32), "mxfp8")
    sizes = []
    decode = blocks.BlockArray.decode
    monkeypatch.setattr(blocks.BlockArray, "decode", lambda a, out=None: sizes.append(a.size) or decode(a, out))
    assert "values (codes) ..." in q._repr_html_()
    assert sizes == [6 << 11]
    assert "values" not in q.T._repr_html_()
    assert "values" not in sf.encode([1], "i64")._repr_html_()
