"""Products of affine integers: against integers and fractions, one result at a time."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref import affine
from softfloat_ref.base.errors import Error

RNG = np.random.default_rng(4)
X, W = RNG.standard_normal((2, 3, 40)).astype(np.float32), RNG.standard_normal((40, 5)).astype(np.float32)
FORMATS = [("quint8", "qint8"), ("qint8_sym", "qint8_sym"), ("qint4", "quint16"), ("quint5", "qint8_sym_narrow")]


def operands(left: str, right: str, channels: bool) -> tuple[Any, Any]:
    return affine.encode(X, left, axis=1 if channels else None), affine.encode(W, right, axis=1 if channels else None)


def defined(a: Any, b: Any, i: int, j: int, n: int) -> tuple[int, Fraction]:
    """The accumulator of a result, and what its unit is worth."""
    pick = lambda x, at: x[at] if x.ndim else x[()]  # noqa: E731
    za, zb = int(pick(a.zero_points, j)), int(pick(b.zero_points, n))
    products = ((int(p) - za) * (int(q) - zb) for p, q in zip(a.integers[i, j], b.integers[:, n], strict=True))
    return sum(products), Fraction(float(pick(a.scales, j))) * Fraction(float(pick(b.scales, n)))


@pytest.mark.parametrize("channels", [False, True])
@pytest.mark.parametrize(("left", "right"), FORMATS)
def test_products_are_the_definition(left: str, right: str, channels: bool) -> None:
    a, b = operands(left, right, channels)
    bias = RNG.integers(-1000, 1000, 5)
    sums, values = affine.matmul(a, b, c=bias, to="i32"), affine.matmul(a, b, c=bias)
    scale, z = np.float32(0.07), 3
    q = affine.matmul(a, b, c=bias, to="qint8", scale=scale, zero_point=z)
    away = affine.matmul(
        a, b, c=bias, to="qint8", scale=scale, zero_point=z, profile="exact,order=outside,rounding=rna"
    )
    assert sums.dtype == np.int32
    assert values.dtype == np.float32
    assert (np.asarray(q) == q.decode()).all()
    for i, j, n in np.ndindex(2, 3, 5):
        total, unit = defined(a, b, i, j, n)
        total += int(bias[n])
        assert sums[i, j, n] == total
        assert values[i, j, n].view(np.uint32) == sf.encode(total * unit, "fp32").bits
        exact = total * unit / Fraction(float(scale))
        assert q.integers[i, j, n] == min(max(round(exact + z), -128), 127)  # Python rounds to even
        half = int(abs(exact) + Fraction(1, 2)) * (1 if exact >= 0 else -1)
        assert away.integers[i, j, n] == min(max(half + z, -128), 127)
    assert (affine.matmul(a[1], b, to="bf16") == sf.quantize(affine.matmul(a[1], b, to="fp64"), "bf16")).all()


def test_many_sums_use_thresholds() -> None:
    """The sums at which the integer changes are found by bisection: the same as one by one."""
    a = affine.from_codes(RNG.integers(-128, 128, (200, 8)), 0.5, 3, "qint8")
    b = affine.from_codes(RNG.integers(-8, 8, (8, 60)), 0.25, -1, "qint4")
    for fmt in ("qint4", "quint3_sym", "qint2"):
        zero = {"quint3_sym": 4}.get(fmt, 0)
        got = affine.matmul(a, b, to=fmt, scale=100.0, zero_point=zero)
        sums = affine.matmul(a, b, to="i32")
        assert np.unique(sums).size > 32 << got.fmt.bits or fmt == "qint4"
        wanted = affine.encode(sums * 0.125, fmt, scale=100.0, zero_point=zero)
        assert got == wanted


def test_a_layer_is_near_the_product_of_its_values() -> None:
    a, b = operands("quint8", "qint8_sym", True)
    layer = affine.matmul(a, b, to="quint8", scale=np.float32(0.2), zero_point=128).decode()
    assert np.abs(layer - np.clip(X @ W, -25.6, 25.4)).max() < 0.5


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"to": "qint8"}, "needs scale= and zero_point="),
        ({"to": "qint8", "scale": 1.0}, "needs scale= and zero_point="),
        ({"to": "qint8", "scale": 1.0, "zero_point": 300}, "integers from -128 to 127"),
        ({"to": "qint8", "scale": 1.0, "zero_point": 0, "profile": "torch"}, "steps in fp32-fma"),
        ({"scale": 1.0}, "have no effect unless `to` is an affine format"),
        ({"profile": "torch"}, "have no effect unless `to` is an affine format"),
        ({"to": "mxfp8"}, "block format"),
        ({"c": np.zeros(5)}, "c is integers"),
        ({"c": np.zeros(3, np.int32)}, "cannot be broadcast"),
        ({"c": np.array(2**31 - 1)}, "is beyond 32 bits"),
    ],
)
def test_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(Error) as e:
        affine.matmul(*operands("quint8", "qint8", False), **more)
    assert message in str(e.value)


def test_operands_that_do_not_fit() -> None:
    a, b = operands("quint8", "qint8", False)
    for x, y, message in (
        (a, b[:30], "a has 40 columns, b has 30 rows"),
        (affine.encode(X, "qint8", axis=2), b, "a: its scales run along axis 2"),
        (a, affine.encode(W, "qint8", axis=0), "b: its scales run along axis 0"),
        (a[0, 0], b, "a: 1 dimensions"),
        (X, b, "a: ndarray is not an AffineArray"),
        (a, affine.encode(np.ones((3, 40, 2), np.float32), "qint8"), "cannot be broadcast"),
    ):  # fmt: skip
        with pytest.raises(Error) as e:
            affine.matmul(x, y)
        assert message in str(e.value)
