"""Models' files that claim, nest or share more than they hold: refused in one line, in little time and memory."""

from __future__ import annotations

import json
import struct
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import state_dicts
from command import ok, refused
from fuzz.mutate import archived

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.nn.model_files import tensors

W = np.arange(6, dtype=np.float32).reshape(2, 3)
ESCAPE = "\x1b[31m\nw\u202e"
SHOWN = r"\x1b[31m\nw\u202e"


@contextmanager
def little(seconds: float = 1.0, memory: int = 1 << 24) -> Iterator[None]:
    """At most so much time of a processor, and so many bytes."""
    begin = time.process_time()
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < memory
    finally:
        tracemalloc.stop()
    assert time.process_time() - begin < 8 * seconds  # tracing takes its own


# -- pickles: by their instructions ------------------------------------------------------------------------------------


def text(x: str) -> bytes:
    data = x.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<L", len(data)) + data


def put(i: int) -> bytes:
    return b"r" + struct.pack("<L", i)


def get(i: int) -> bytes:
    return b"j" + struct.pack("<L", i)


def storage(kind: str = "FloatStorage", key: bytes = text("0"), count: bytes = b"K\6") -> bytes:
    return b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + key + text("cpu") + count + b"tQ"


def tensor(
    of: bytes = storage(), first: bytes = b"K\0", shape: bytes = b"K\2K\3\x86", strides: bytes = b"K\3K\1\x86"
) -> bytes:
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + of + first + shape + strides + b"\x89NtR"


def shared(levels: int, one: bytes = b"]") -> bytes:
    """Lists of the one before, twice; or tuples, of which the first is ()."""
    steps = (
        (get(i) + get(i) + b"\x86" if one == b")" else b"]" + get(i) + b"a" + get(i) + b"a") + put(i + 1) + b"0"
        for i in range(levels)
    )
    return one + put(0) + b"0" + b"".join(steps) + get(levels)


def pt(path: Path, body: bytes, values: int = 6) -> Path:
    members = {"m/data.pkl": b"\x80\x02" + body + b".", "m/byteorder": b"little", "m/data/0": bytes(4 * values)}
    path.write_bytes(archived(members))
    return path


LONG = b"\x8b" + struct.pack("<L", 100_000) + b"\x7f" * 100_000  # an integer of 800,000 bits
SHARED = b"]" + put(0) + b"(" + b"K\1" * 50_000 + b"e0"  # a list of many
PICKLES = {
    "lists that share their parts": (shared(30), "nested more than 20 deep"),
    "lists that share their parts, less deep": (b"(" + shared(19) * 9 + b"t", "more than 10000000 entries"),
    "a list in itself": (b"]" + put(0) + get(0) + b"a", "nested more than 20 deep"),
    "tuples as keys": (b"}" + shared(60, b")") + tensor() + b"s", "whose keys are of type tuple"),
    "tuples as keys of many": (b"}(" + shared(60, b")") + tensor() + b"u", "whose keys are of type tuple"),
    "tuples as keys of a new table": (b"(" + shared(60, b")") + tensor() + b"d", "whose keys are of type tuple"),
    "tuples as keys of an ordered table": (
        b"ccollections\nOrderedDict\n]]" + shared(60, b")") + b"a" + tensor() + b"aa\x85R",
        "whose keys are of type tuple",
    ),
    "tuples in a set": (b"\x8f(" + shared(60, b")") + b"\x90", "no tensors|nested more than"),
    "tuples in a frozen set": (b"(" + shared(60, b")") + b"\x91", "no tensors|nested more than"),
    "a long tuple as a key": (b"}" + b"(" + b"K\1" * 9 + b"t" + tensor() + b"s", "keys are of type tuple, or long"),
    "a long integer as a key": (b"}" + LONG + tensor() + b"s", "keys are of type int, or long"),
    "a long text as a key": (b"}" + text("x" * 10_001) + tensor() + b"s", "keys are of type str, or long"),
    "a list as a key": (b"}]" + tensor() + b"s", "keys are of type list"),
    "a table as a key": (b"}}" + tensor() + b"s", "keys are of type dict"),
    "marks": (b"(" * 100_000, "not a readable PyTorch file"),
    "marks and their tuples": (b"(" * 100_000 + b"t" * 100_000, "nested more than 20 deep"),
    "marks that are dropped": (b"(" * 100_000 + b"1" * 99_999, "not a readable PyTorch file"),
    "lists in lists": (b"]" * 100_000 + b"a" * 99_999, "nested more than 20 deep"),
    "a place of the memo": (b"N" + put(0x7FFFFFFF), "no tensors"),
    "bytes that are not there": (b"\x8e" + struct.pack("<Q", 1 << 40), "not a readable PyTorch file"),
    "a byte array that is not there": (b"\x96" + struct.pack("<Q", 1 << 40), "not a readable PyTorch file"),
    "a frame that is not there": (b"\x95" + struct.pack("<Q", 1 << 40) + b"N", "no tensors"),
    "an extension": (b"\x82\1", "an instruction EXT1, which state dicts do not have"),
    "an instance": (b"(ios\nsystem\n", "an instruction INST"),
    "an object": (b"(cos\nsystem\no", "an instruction OBJ"),
    "no instruction": (b"\xff", "an instruction 0xff"),
    "a call": (b"cos\nsystem\n" + text("true") + b"\x85R", "no tensors"),
    "no storage": (tensor(b"N"), "'tensor' has no storage"),
    "a storage of another kind": (tensor(b"NQ"), "'tensor' has no storage"),
    "a storage with a key of tuples": (tensor(storage(key=shared(60, b")"))), "'tensor' has no storage"),
    "a storage that claims more": (tensor(storage(count=b"M\x58\2")), "'tensor' claims 600 values, but has 24 bytes"),
    "of a type that is not measured": (
        tensor(storage("LongStorage", count=b"M\x58\2")),
        "'tensor' claims 600 values, but has 24 bytes",
    ),
    "a storage that claims less than none": (tensor(storage(count=b"J\xff\xff\xff\xff")), "has no valid number"),
    "a storage that claims a long number": (tensor(storage(count=LONG)), "has no valid number"),
    "a storage that claims tuples": (tensor(storage(count=shared(60, b")"))), "has no valid number"),
    "a storage that is missing": (tensor(storage(key=text("1"))), "no item named"),
    "values beyond the storage": (tensor(first=b"K\1"), "the values of 'tensor' are not in the file"),
    "values before the storage": (tensor(first=b"J\xff\xff\xff\xff"), "the values of 'tensor' are not in the file"),
}


@pytest.mark.full(keep=6)
@pytest.mark.parametrize("name", PICKLES)
def test_pickles_that_are_refused(name: str, tmp_path: Path) -> None:
    body, message = PICKLES[name]
    with little(), pytest.raises(Error, match=f"m.pt: .*({message})") as refusal:
        tensors(pt(tmp_path / "m.pt", body))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "shape", "strides"),
    [
        ("tuples", shared(60, b")"), b"K\3K\1\x86"),
        ("as many strides as dimensions", b"K\2K\3\x86", b"K\1\x85"),
        ("tuples of strides", b"K\2K\3\x86", shared(60, b")")),
        ("long", LONG + b"\x85", b"K\1\x85"),
        ("many dimensions", b"(" + b"K\1" * 33 + b"t", b"(" + b"K\1" * 33 + b"t"),
        ("less than none", b"J\xff\xff\xff\xff\x85", b"K\1\x85"),
        ("more than memory has", b"\x8a\x05\0\0\0\0\1" * 2 + b"\x86", b"K\0K\0\x86"),
    ],
)
def test_shapes_that_are_none(name: str, shape: bytes, strides: bytes, tmp_path: Path) -> None:
    """Such a tensor is skipped, and why is short."""
    with little():
        (described,) = tensors(pt(tmp_path / "m.pt", tensor(shape=shape, strides=strides)))
    assert "shape" in described.skipped
    assert len(described.skipped) < 120


def test_lists_that_are_called_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time costs as much as the list is long."""
    monkeypatch.setattr("softfloat_ref.nn.model_files.pickles._Instructions.left", 200_000)
    body = SHARED + b"".join(b"ccollections\nOrderedDict\n" + get(0) + b"\x85R0" for _ in range(9))
    with little(), pytest.raises(Error, match=r"instructions|unpack"):
        tensors(pt(tmp_path / "m.pt", body))
    pairs = b"]" + put(0) + b"(" + (b"K\1K\2\x86") * 20_000 + b"e0]"
    calls = b"".join(b"ccollections\nOrderedDict\n" + get(0) + b"\x85Ra" for _ in range(9))
    with little(), pytest.raises(Error, match="a pickle of more than 5000000 instructions"):
        tensors(pt(tmp_path / "m.pt", pairs + calls))


def test_instructions_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pt(tmp_path / "m.pt", b"}" + text("w") + tensor() + b"s")
    monkeypatch.setattr("softfloat_ref.nn.model_files.pickles._Instructions.left", 40)
    assert len(tensors(path)) == 1
    monkeypatch.setattr("softfloat_ref.nn.model_files.pickles._Instructions.left", 18)
    with pytest.raises(Error, match="instructions"):
        tensors(path)


def test_a_size_of_pickles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PICKLE", 100)
    with pytest.raises(Error, match=r"m/data.pkl: \d+ bytes; the limit is 100"):
        tensors(pt(tmp_path / "m.pt", b"]" * 100 + b"a" * 99))


def test_what_tables_share_is_seen_once_for_each_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few instructions lead to a million tensors."""
    lists = b"".join(b"]" + get(i) + b"a" + get(i) + b"a" + put(i + 1) for i in range(10))
    path = pt(tmp_path / "m.pt", tensor() + put(0) + lists)
    assert len(tensors(path)) == 1 << 10
    monkeypatch.setattr(limits, "TENSORS", 1000)
    with pytest.raises(Error, match="more than 1000 tensors"):
        tensors(path)
    monkeypatch.setattr("softfloat_ref.nn.model_files.pytorch._Walk.__init__.__defaults__", (5000,))
    with pytest.raises(Error, match="entries and characters of names"):
        tensors(path)


def test_copies_of_values_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each view that is not in one piece has its values in memory."""
    view = tensor(shape=b"K\3K\2\x86", strides=b"K\1K\3\x86")
    path = pt(tmp_path / "m.pt", b"]" + view + put(0) + b"a" + (get(0) + b"a") * 49)
    assert len(tensors(path)) == 50
    monkeypatch.setattr(limits, "UNPACKED", 100)
    monkeypatch.setattr(limits, "EXPANSION", 1)
    with pytest.raises(Error, match="tensors that share values, of"):
        tensors(path)


def test_plain_keys_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ordinary tables, whatever protocol wrote them."""
    one = state_dicts.whole(W)
    state: dict[Any, Any] = {"a": one, 3: one, ("b", 1): one, None: one, True: one, 1.5: one, "e": {"f": [one]}}
    state_dicts.save(tmp_path / "m.pt", state, monkeypatch)
    names = ["a", "3", "('b', 1)", "None", "True", "1.5", "e.f.0"]
    assert [t.name for t in tensors(tmp_path / "m.pt")] == names


# -- names -------------------------------------------------------------------------------------------------------------


def named(kind: str, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a tensor of a name."""
    path = folder / f"m.{kind}"
    if kind == "pt":
        return pt(path, b"}" + text(name) + tensor() + b"s")
    if kind == "npz":
        np.savez(path, **{name: W})
    elif kind == "safetensors":
        pytest.importorskip("safetensors.numpy").save_file({name: W}, path)
    else:
        onnx = pytest.importorskip("onnx")
        graph = onnx.helper.make_graph([], "g", [], [], [onnx.numpy_helper.from_array(W, name)])
        onnx.save(onnx.helper.make_model(graph), path)
    return path


@pytest.mark.parametrize("kind", ["pt", "npz", "safetensors", "onnx"])
def test_names_are_shown_escaped(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = named(kind, tmp_path, ESCAPE, monkeypatch)
    if kind == "safetensors":  # JSON with hidden characters is refused
        with pytest.raises(Error, match=r"hidden character, \\x1b"):
            tensors(path)
        return
    assert [t.name for t in tensors(path)] == [SHOWN]
    outputs = [x for end in ("csv", "json") for x in ("-o", f"r.{end}")]
    shown = ok("report", path.name, "--fmt", "fp16", *outputs, cwd=tmp_path)
    assert SHOWN in shown
    files = [(tmp_path / f"r.{end}").read_text() for end in ("csv", "json")]
    assert not any(hidden in x for hidden in "\x1b\u202e" for x in (shown, *files))
    assert json.loads(files[1])["rows"][0]["tensor"] == SHOWN
    assert "\x1b" not in refused("report", path.name, "--fmt", "fp16", "--include", "none", cwd=tmp_path)


@pytest.mark.extra("matplotlib")
def test_names_are_shown_escaped_in_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named("npz", tmp_path, ESCAPE, monkeypatch)
    ok("report", "m.npz", "--fmt", "fp16", "-o", "r.json", "-o", "r.html", cwd=tmp_path)
    assert not any(hidden in (tmp_path / "r.html").read_text() for hidden in "\x1b\u202e")
    assert SHOWN in ok("plot", "sqnr", "r.json", cwd=tmp_path)


@pytest.mark.parametrize("kind", ["pt", "npz", "onnx"])
def test_long_names_are_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = named(kind, tmp_path, "x" * (limits.KEY + 1), monkeypatch)
    with pytest.raises(Error, match=r"10001 characters|of type str, or long"):
        tensors(path)


# -- other kinds -------------------------------------------------------------------------------------------------------


def safetensors(path: Path, head: bytes, size: int | None = None) -> Path:
    path.write_bytes((len(head) if size is None else size).to_bytes(8, "little") + head + bytes(24))
    return path


HEADS = {
    "a size": (b"{}", 1 << 40, "a header of 1099511627776 bytes; the limit is"),
    "nested": (b"[" * 10_000, None, "nested more than 64 deep"),
    "twice": (b'{"w": 1, "w": 2}', None, "'w' is given twice"),
    "no table": (b"[]", None, "its header is not a table"),
    "offsets": (b'{"w":{"dtype":"F32","shape":[6],"data_offsets":[0,1099511627776]}}', None, "damaged"),
    "a shape": (b'{"w":{"dtype":"F32","shape":[1099511627776],"data_offsets":[0,24]}}', None, "damaged"),
}


@pytest.mark.extra("safetensors")
@pytest.mark.parametrize("name", HEADS)
def test_headers_that_claim(name: str, tmp_path: Path) -> None:
    head, size, message = HEADS[name]
    with little(), pytest.raises(Error, match=f"m.safetensors: .*{message}"):
        tensors(safetensors(tmp_path / "m.safetensors", head, size))


def test_an_array_that_claims(tmp_path: Path) -> None:
    for order in ("True", "False"):
        head = f"{{'descr': '<f4', 'fortran_order': {order}, 'shape': (1099511627776,), }}\n".encode()
        (tmp_path / "m.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + bytes(24))
        with little(), pytest.raises(Error, match="ends before the tensor 'm'"):
            tensors(tmp_path / "m.npy")


def test_models_of_zeros_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed array is a thousandth of what it becomes."""
    np.savez_compressed(tmp_path / "m.npz", w=np.zeros((100, 100), np.float32))
    assert len(tensors(tmp_path / "m.npz")) == 1
    monkeypatch.setattr(limits, "UNPACKED", 10_000)
    with little(), pytest.raises(Error, match="its compressed members become 40128 bytes; the limit is 10000"):
        tensors(tmp_path / "m.npz")


def test_models_have_a_limit_of_tensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "m.npz", **{f"w{i}": W for i in range(5)})
    monkeypatch.setattr(limits, "TENSORS", 4)
    with pytest.raises(Error, match=r"m.npz: more than 4 tensors"):
        tensors(tmp_path / "m.npz")


@pytest.mark.extra("onnx")
def test_onnx_tensors_that_claim(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto

    one = TensorProto(dims=[1 << 40], data_type=TensorProto.FLOAT, name="w\x1b", raw_data=bytes(24))
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [], [one])), tmp_path / "m.onnx")
    with little(), pytest.raises(Error, match=r"the values of 'w\\x1b' do not fit its type and shape"):
        tensors(tmp_path / "m.onnx")
