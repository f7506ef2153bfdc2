"""Checkpoints of Flax, as its MessagePack writes them; broken ones get one line."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.model_files import tensors

X = np.random.default_rng(1).normal(size=(3, 70)).astype(np.float32)


def text(x: str) -> bytes:
    return bytes([0xA0 | len(x)]) + x.encode()


def array(x: np.ndarray) -> bytes:
    """As flax.serialization packs it: the shortest form of every length."""
    data = x.tobytes()
    shape = b"".join(bytes([n]) for n in x.shape)
    size = b"\xc4" + bytes([len(data)]) if len(data) < 256 else b"\xc5" + struct.pack(">H", len(data))
    body = b"\x93" + bytes([0x90 | x.ndim]) + shape + text(x.dtype.name) + size + data
    head = b"\xc7" + bytes([len(body)]) if len(body) < 256 else b"\xc8" + struct.pack(">H", len(body))
    return head + b"\x01" + body


def table(**entries: bytes) -> bytes:
    return bytes([0x80 | len(entries)]) + b"".join(text(k) + v for k, v in entries.items())


ARRAYS = {
    "kernel": X,
    "half": X.astype(np.float16),
    "bf": X.astype(ml_dtypes.bfloat16),
    "f8": X.astype(ml_dtypes.float8_e4m3fn),
    "small": np.arange(3, dtype=np.int32),
}


def whole() -> bytes:
    inner = table(**{k: array(v) for k, v in ARRAYS.items()})
    return table(params=table(dense=inner), step=b"\xcd\x01\x00", note=text("x"), rate=b"\xcb" + bytes(8), on=b"\xc3")


def test_arrays(tmp_path: Path) -> None:
    (tmp_path / "m.msgpack").write_bytes(whole())
    by_name = {t.name: t for t in tensors(tmp_path / "m.msgpack")}
    assert list(by_name) == [f"params.dense.{k}" for k in ARRAYS]
    for name, x in ARRAYS.items():
        t = by_name[f"params.dense.{name}"]
        assert t.shape == x.shape
        assert np.array_equal(t.values().astype(np.float64), x.astype(np.float64))


@pytest.mark.extra("flax")
def test_what_flax_writes(tmp_path: Path) -> None:
    from flax import serialization

    arrays: Any = {"params": {"dense": dict(ARRAYS)}, "step": 3, "list": {"0": X[:1]}}
    (tmp_path / "m.msgpack").write_bytes(serialization.msgpack_serialize(arrays))
    by_name = {t.name: t for t in tensors(tmp_path / "m.msgpack")}
    for name, x in ARRAYS.items():
        assert np.array_equal(by_name[f"params.dense.{name}"].values().astype(np.float64), x.astype(np.float64))


BROKEN = {
    "empty": (b"", "incomplete"),
    "nothing": (b"\x80", "has no tensors"),
    "no such byte": (b"\xc1", "a byte c1"),
    "a long table": (b"\xdf\xff\xff\xff\xff", "incomplete"),
    "a long list": (b"\xdd\xff\xff\xff\xff", "incomplete"),
    "a long text": (b"\x81\xa1x\xdb\xff\xff\xff\xff", "incomplete"),
    "a long key": (b"\x81\xdb\xff\xff\xff\xff", "a key that is not a text"),
    "a number as key": (b"\x81\x01\x01", "a key that is not a text"),
    "a long array": (b"\x81\xa1x\xc9\xff\xff\xff\xff\x01", "incomplete: ends in the array 'x'"),
    "lists in lists": (b"\x91" * 1000, "nested more than 20 deep"),
    "no array": (b"\x81\xa1x\xd6\x01\x00\x00\x00\x00", "is not a shape, a type and bytes"),
    "chunks": (table(w=table(__msgpack_chunked_array__=b"\xc3")), "'w' is in chunks"),
    "other bytes": (table(w=array(X).replace(b"\x92\x03\x46", b"\x92\x03\x45")), "do not fit shape"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(name: str, tmp_path: Path) -> None:
    data, message = BROKEN[name]
    (tmp_path / "m.msgpack").write_bytes(data)
    with pytest.raises(Error, match=message) as refusal:
        tensors(tmp_path / "m.msgpack")
    assert str(refusal.value).startswith(str(tmp_path))


@pytest.mark.parametrize("length", [1, 9, 40, 300, 1000])
def test_cut_files(length: int, tmp_path: Path) -> None:
    (tmp_path / "m.msgpack").write_bytes(whole()[:length])
    with pytest.raises(Error, match="incomplete"):
        tensors(tmp_path / "m.msgpack")
