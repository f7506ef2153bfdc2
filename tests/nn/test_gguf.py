"""GGUF: every type of blocks, against what gguf 0.19.0 dequantizes (as hashes; with the package itself where it is
installed); headers that are broken or claim more than the file has."""

from __future__ import annotations

import hashlib
import struct
import time
from pathlib import Path

import numpy as np
import pytest
from command import ok

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.model_files import tensors
from softfloat_ref.nn.model_files.gguf_blocks import BLOCK_TYPES, OTHER_TYPES, PLAIN_TYPES
from softfloat_ref.oracle.formats import get_format

# SHA-256 (first 16 digits) of the float32 values, NaNs as 7fc00000, that gguf 0.19.0 gives for `random_blocks`.
HASHES = {
    "Q4_0": "63a7a3d92d79f26a",
    "Q4_1": "117e1f38f69d61f6",
    "Q5_0": "10e11ed647f1e734",
    "Q5_1": "344e492c4feb11bd",
    "Q8_0": "bbbd0e174791c90e",
    "Q2_K": "ed0217f5eb577b07",
    "Q3_K": "65eee3350d047233",
    "Q4_K": "2bcec359fdbaf2d5",
    "Q5_K": "74ffb44756998181",
    "Q6_K": "2435f9c9784c0090",
    "MXFP4": "e12397e6ad38d710",
    "NVFP4": "9e3d5fd398807d16",
}
ROWS = 7


def random_blocks(kind: int) -> np.ndarray:
    """Rows of blocks of random bytes: every kind of scale, NaN and Inf included. MXFP4 has each scale."""
    own = BLOCK_TYPES[kind]
    data = np.random.default_rng(kind).integers(0, 256, (ROWS, 40 * own.size), dtype=np.uint8)
    if own.name in ("MXFP4", "NVFP4"):
        blocks = data.reshape(-1, own.size)
        blocks[:256, 0] = np.arange(256)
    return data


def digest(values: np.ndarray) -> str:
    bits = np.where(np.isnan(values), np.float32(np.nan), values).astype("<f4")
    return hashlib.sha256(bits.tobytes()).hexdigest()[:16]


def text(x: str) -> bytes:
    return struct.pack("<Q", len(x)) + x.encode()


def gguf_file(
    path: Path, members: dict[str, tuple[int, tuple[int, ...], bytes]], metadata: bytes = b"", count: int = 0
) -> Path:
    """A file of tensors: type, shape, bytes. metadata: entries, and their number."""
    infos, data = b"", b""
    for name, (kind, shape, own) in members.items():
        dims = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        infos += text(name) + dims + struct.pack("<IQ", kind, len(data))
        data += own + bytes(-len(own) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(members), count) + metadata + infos
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


@pytest.mark.parametrize("kind", BLOCK_TYPES)
def test_every_type_of_blocks(kind: int, tmp_path: Path) -> None:
    own, data = BLOCK_TYPES[kind], random_blocks(kind)
    shape = (ROWS, 40 * own.values)
    (t,) = tensors(gguf_file(tmp_path / "m.gguf", {"w": (kind, shape, data.tobytes())}))
    assert (t.shape, t.type, t.skipped) == (shape, own.name, "")
    values = t.read(0, t.size)
    assert digest(values) == HASHES[own.name]
    exact = t.read_exactly(0, t.size)
    with np.errstate(over="ignore"):
        assert np.array_equal(exact.astype(np.float32), values, equal_nan=True)
    row = shape[1]
    for first, count in ((0, 1), (row - 2, 5), (3, 3 * row), (5 * row + 33, 70)):
        assert np.array_equal(t.read(first, count), values[first : first + count], equal_nan=True)
    assert int(t.codes(0, t.size).max()) < 1 << get_format(own.elements).width


@pytest.mark.parametrize("kind", BLOCK_TYPES)
def test_compiled_loops(kind: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the products: where scales are bytes, every one with every element."""
    own = BLOCK_TYPES[kind]
    rows = 1024 if own.scale_bytes else 64
    data = np.random.default_rng(kind).integers(0, 256, (rows, 8 * own.size), dtype=np.uint8)
    blocks = data.reshape(-1, own.size)
    blocks[:, : own.scale_bytes] = (np.arange(len(blocks)) % 256)[:, np.newaxis]
    (t,) = tensors(gguf_file(tmp_path / "m.gguf", {"w": (kind, (rows, 8 * own.values), data.tobytes())}))
    results = {}
    for compiled in (True, False):
        monkeypatch.setattr("softfloat_ref.arrays.kernels.dispatch.use_compiled", lambda *_, x=compiled: x)
        results[compiled] = t.read(0, t.size).view(np.uint32)
    assert np.array_equal(results[True], results[False])


@pytest.mark.extra("gguf")
@pytest.mark.parametrize("kind", BLOCK_TYPES)
def test_what_gguf_itself_gives(kind: int, tmp_path: Path) -> None:
    import gguf

    own, data = BLOCK_TYPES[kind], random_blocks(kind)
    word = gguf.GGMLQuantizationType(kind)
    assert (word.name, gguf.GGML_QUANT_SIZES[word]) == (own.name, (own.values, own.size))
    with np.errstate(all="ignore"):
        expected = gguf.quants.dequantize(data, word).astype(np.float32)
    assert digest(expected) == HASHES[own.name]
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_array("tokenizer.ggml.tokens", ["a", "bb"])
    writer.add_array("numbers", [1.5, 2.5])
    writer.add_tensor("w", data, raw_dtype=word)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (t,) = tensors(tmp_path / "m.gguf")
    assert np.array_equal(t.read(0, t.size).reshape(expected.shape), expected, equal_nan=True)


def test_plain_types_and_others(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    members = {"f": (0, (3, 4), x.tobytes()), "h": (1, (3, 4), x.astype(np.float16).tobytes())}
    members["b"] = (30, (2,), b"\x80\x3f\x00\x40")
    members |= {"n": (26, (3,), bytes(12)), "i": (16, (256,), bytes(66)), "z": (99, (3,), b""), "o": (2, (2, 33), b"")}
    alignment = text("general.alignment") + struct.pack("<II", 4, 32)
    by_name = {t.name: t for t in tensors(gguf_file(tmp_path / "m.gguf", members, alignment, 1))}
    for name in "fh":
        assert np.array_equal(by_name[name].read(0, 12).reshape(3, 4), x)
    assert by_name["b"].read(0, 2).tolist() == [1.0, 2.0]
    assert {k: by_name[k].skipped for k in "nizo"} == {
        "n": "I32 is not a float type",
        "i": "GGUF type IQ2_XXS is not supported",
        "z": "GGUF type type 99 is not supported",
        "o": "rows that are not whole blocks of 32 values",
    }
    assert not PLAIN_TYPES.keys() & (BLOCK_TYPES.keys() | OTHER_TYPES.keys())
    assert "skipped i: GGUF type IQ2_XXS is not supported" in ok(
        "report", str(tmp_path / "m.gguf"), "--fmt", "fp8_e4m3"
    )


HUGE = struct.pack("<Q", 1 << 60)


def head(tensor_count: int, entries: int, body: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensor_count, entries) + body


def entry(kind: int, body: bytes = b"", key: str = "x") -> bytes:
    return head(0, 1, text(key) + struct.pack("<I", kind) + body)


def listed(kind: int) -> bytes:
    """A list that claims 2^60 values of a type."""
    return entry(9, struct.pack("<I", kind) + HUGE)


def info(*dims: int, kind: int = 0, offset: int = 0) -> bytes:
    body = struct.pack(f"<I{len(dims)}Q", len(dims), *dims)
    return head(1, 0, text("w") + body + struct.pack("<IQ", kind, offset))


BROKEN = {
    "empty": (b"", "incomplete: ends in its header"),
    "another kind": (b"GGML" + bytes(40), "does not begin with GGUF"),
    "version 1": (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "GGUF version 1 is not supported"),
    "many tensors": (head(1 << 60, 0), "1152921504606846976 tensors; the limit is"),
    "many entries": (head(0, 1 << 60), "incomplete: ends in its header"),
    "a long name": (head(0, 1, HUGE), "a name of 1152921504606846976 bytes"),
    "a long text": (entry(8, HUGE), "incomplete"),
    "a long list": (listed(4), "incomplete"),
    "a long list of texts": (listed(8), "incomplete"),
    "a long list of lists": (listed(9), "incomplete"),
    "lists in lists": (entry(9, struct.pack("<IQ", 9, 1) * 100), "lists in lists in its metadata"),
    "a value of no type": (entry(77), "metadata of type 77"),
    "an alignment": (entry(4, struct.pack("<I", 3), "general.alignment"), "is not a power of two"),
    "dimensions": (head(1, 0, text("w") + struct.pack("<I", 1 << 30)), "has 1073741824 dimensions"),
    "no values": (info(1 << 40), "ends before the tensor 'w'"),
    "values far away": (info(32, kind=2, offset=(1 << 64) - 1), "ends before the tensor 'w'"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_headers(name: str, tmp_path: Path) -> None:
    data, message = BROKEN[name]
    (tmp_path / "m.gguf").write_bytes(data)
    begin = time.process_time()
    with pytest.raises(Error, match=message) as refusal:
        tensors(tmp_path / "m.gguf")
    assert str(refusal.value).count(str(tmp_path)) == 1
    assert time.process_time() - begin < 2
