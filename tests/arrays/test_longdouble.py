"""Numpy's long doubles as codes of extf80, where they are x87's: their bytes, also of what is not canonical."""

from __future__ import annotations

import platform
from random import Random

import numpy as np
import pytest

from softfloat_ref import arrays
from softfloat_ref.base.errors import Error
from softfloat_ref.exchange import from_longdouble, to_longdouble
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.formats import get_format

F = get_format("extf80")
X87 = platform.machine() in ("x86_64", "AMD64", "i686") and np.finfo(np.longdouble).nmant == 63
on_x86 = pytest.mark.skipif(not X87, reason="needs long doubles of x87")


@on_x86
def test_values_are_those_of_the_codes() -> None:
    """Of numpy's own numbers: encoded exactly, and by powers of two and ratios."""
    x = np.array([1, -2.5, 0, -0.0, 1e-4940, np.inf], np.longdouble)
    x = np.append(x, [np.longdouble(1) / 3, np.finfo(np.longdouble).max, np.finfo(np.longdouble).tiny])
    codes = from_longdouble(x)
    assert [int(c) for c in codes] == [encode(v, F).bits for v in x]
    assert codes[6] == 0x3FFDAAAAAAAAAAAAAAAB
    assert all(decode(c, F).as_fraction() == v.as_integer_ratio()[0] for c, v in zip(codes, x, strict=True) if v == 1)


@on_x86
def test_every_code_comes_back() -> None:
    rng = Random(4)
    codes = [rng.getrandbits(80) for _ in range(200)] + [0, F.sign_bit, F.inf_code + 1, F.inf_code ^ 1 << 63]
    for shape in ((204,), (2, 102), (17, 3, 4)):
        shaped = np.array([*codes, None], object)[:-1].reshape(shape)
        x = to_longdouble(shaped)
        assert x.shape == shape
        assert x.dtype == np.longdouble
        assert (from_longdouble(x) == shaped).all()
        assert (from_longdouble(x.T) == shaped.T).all()
        assert (from_longdouble(x[::-1]) == shaped[::-1]).all()
    assert to_longdouble([0x3FFF << 64 | 1 << 63, 1]).tolist()[0] == 1
    assert to_longdouble(np.uint64(1)).shape == ()
    assert from_longdouble(np.zeros((0, 3), np.longdouble)).shape == (0, 3)
    x = to_longdouble([0])
    x[0] = 2  # it can be written


@on_x86
@pytest.mark.parametrize("codes", [[1 << 80], [-1], [1.5], ["1"], [None]])
def test_what_is_no_code_is_refused(codes: list[object]) -> None:
    with pytest.raises(Error):
        to_longdouble(codes)


@on_x86
def test_other_types_are_refused() -> None:
    with pytest.raises(Error, match=r"not numpy\.longdouble"):
        from_longdouble(np.ones(2))
    with pytest.raises(Error, match="from_longdouble gives its codes"):
        arrays.encode(np.ones(2, np.longdouble), "fp32")


def test_machines_without_x87_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.byteorder", "big")
    for function, x in ((from_longdouble, np.ones(1, np.longdouble)), (to_longdouble, [1])):
        with pytest.raises(Error, match="only on x86"):
            function(x)
