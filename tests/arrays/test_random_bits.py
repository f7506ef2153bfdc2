"""Random bits of arrays: integers, a source, its text, a Generator, or a seed and the tensor's name."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref import array_ops, arrays
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.sources import Philox, keyed

BITS = 9
POLICY = sf.get_policy(None, rounding="sr", sr_bits=BITS)
X = np.random.default_rng(1).standard_normal((6, 64)).astype(np.float32)
FORMATS = ["fp8_e4m3", "bf16", "mxfp4", "nvfp4", "fp6_e3m2@e8m0/7", "qint8", "quint4"]


def source_of(text: str) -> Philox:
    """What the documentation says."""
    return Philox(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))


@pytest.mark.parametrize("size", [1, 200])  # the latter in compiled loops
@pytest.mark.parametrize("fmt", FORMATS)
def test_every_way_is_the_same_words(fmt: str, size: int) -> None:
    x = np.tile(X, (size, 1))
    source = source_of("7/w")
    words = source.array(BITS, 0, x.size).reshape(x.shape)
    expected = sf.encode(x, fmt, POLICY, words)
    ways: list[dict[str, Any]] = [{"random_bits": source}, {"random_bits": source.spec()}, {"seed": 7, "key": "w"}]
    for options in [*ways, {"seed": np.int64(7), "key": "w"}]:
        assert sf.encode(x, fmt, POLICY, **options) == expected
        assert (sf.quantize(x, fmt, POLICY, **options) == expected.decode()).all()
    strided = np.asfortranarray(x)
    assert (sf.quantize(strided, fmt, POLICY, seed=7, key="w") == expected.decode()).all()


@pytest.mark.parametrize("fmt", FORMATS)
def test_tensors_of_one_seed_have_words_of_their_own(fmt: str) -> None:
    first, second = (sf.encode(X, fmt, POLICY, seed=7, key=key) for key in ("w", "b"))
    assert first != second
    assert first != sf.encode(X, fmt, POLICY, seed=8, key="w")
    assert first == sf.encode(X, fmt, POLICY, seed=7, key="w")


@pytest.mark.parametrize("fmt", FORMATS)
def test_generators_draw_integers(fmt: str) -> None:
    generator = np.random.default_rng(5)
    first, second = (sf.encode(X, fmt, POLICY, generator) for _ in range(2))
    again = np.random.default_rng(5)
    for q in (first, second):
        words = again.integers(0, (1 << BITS) - 1, X.shape, np.uint64, endpoint=True)
        assert q == sf.encode(X, fmt, POLICY, words)
    assert first != second


def test_generators_draw_up_to_64_bits() -> None:
    policy = sf.get_policy(None, rounding="sr", sr_bits=64)
    words = np.random.default_rng(2).integers(0, 2**64 - 1, X.shape, np.uint64, endpoint=True)
    assert (arrays.encode(X, "bf16", policy, np.random.default_rng(2)) == arrays.encode(X, "bf16", policy, words)).all()


def test_flags_and_operations() -> None:
    words = keyed(3, "w").array(BITS, 0, X.size).reshape(X.shape)
    expected = arrays.encode_flags(X, "fp8_e4m3", POLICY, words)
    for result, wanted in zip(arrays.encode_flags(X, "fp8_e4m3", POLICY, seed=3, key="w"), expected, strict=True):
        assert (result == wanted).all()
    codes = X.view(np.uint32)
    sums = array_ops.evaluate("add", [codes, codes], "fp32", "fp8_e5m2", POLICY, words)
    assert (array_ops.evaluate("add", [codes, codes], "fp32", "fp8_e5m2", POLICY, seed=3, key="w") == sums).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 1}, "seed=1 needs key=, the name of this tensor"),
        ({"key": "w"}, "key= has no effect without seed="),
        ({"seed": 1, "key": "w", "random_bits": "philox:seed=1"}, "give either seed and key, or random_bits"),
        ({"seed": 1.5, "key": "w"}, "seed is an integer and key a name"),
        ({"seed": True, "key": "w"}, "seed is an integer and key a name"),
        ({"seed": 1, "key": 2}, "seed is an integer and key a name"),
        ({"random_bits": "filox"}, "unknown random source 'filox'"),
        ({}, "random"),
    ],
)
@pytest.mark.parametrize("fmt", ["fp8_e4m3", "mxfp4", "qint8"])
def test_refused(fmt: str, options: dict[str, Any], message: str) -> None:
    for work in (sf.encode, sf.quantize):
        with pytest.raises(Error) as e:
            work(X, fmt, POLICY, **options)
        assert message in str(e.value)


@pytest.mark.parametrize("fmt", ["fp8_e4m3", "mxfp4", "qint8"])
def test_random_bits_without_effect_are_refused(fmt: str) -> None:
    for options in (
        {"seed": 1, "key": "w"},
        {"random_bits": "philox:seed=1"},
        {"random_bits": np.random.default_rng(1)},
    ):
        with pytest.raises(Error, match="no random bits"):
            sf.quantize(X, fmt, **options)  # type: ignore[arg-type]


def test_errors() -> None:
    expected = sf.quantization_error(X, "mxfp4", POLICY, keyed(3, "w"))
    assert sf.quantization_error(X, "mxfp4", POLICY, seed=3, key="w") == expected
    assert sf.quantization_error(X, "mxfp4", POLICY, keyed(3, "w").spec()) == expected
    with pytest.raises(Error, match="must be a random source"):
        sf.quantization_error(X, "mxfp4", POLICY, np.random.default_rng(1))  # type: ignore[arg-type]
