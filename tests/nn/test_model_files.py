"""Tensors of models' files: the same values from every kind, without unpickling; broken files get one line."""

from __future__ import annotations

import json
import os
import pickle
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import state_dicts

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.model_files import ModelTensor, tensors

W = np.random.default_rng(1).normal(size=(6, 40)).astype(np.float32)
H = W[:2].astype(np.float16)
D = W.astype(np.float64)


def values(t: ModelTensor) -> np.ndarray:
    """The values, read in two parts."""
    half = t.size // 3
    return np.concatenate([t.read(0, half), t.read(half, t.size - half)]).reshape(t.shape)


def test_npz(tmp_path: Path) -> None:
    arrays = {"w": W, "h": H, "d": D, "big": W.astype(">f4"), "f": np.asfortranarray(W), "n": np.arange(3),
              "zero": W[:0], "scalar": np.float32(1), "text": np.array(["a"])}  # fmt: skip
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "m.npz", o=np.array([{}], object), **arrays)
        by_name = {t.name: t for t in tensors(tmp_path / "m.npz")}
        for name in ("w", "h", "d", "big", "f"):
            assert np.array_equal(values(by_name[name]), arrays[name])
            assert values(by_name[name]).dtype == arrays[name].dtype.newbyteorder("=")
        skipped = {name: by_name[name].skipped for name in ("n", "zero", "scalar", "o")}
        assert skipped == {"n": "int64 is not a float type", "zero": "empty", "scalar": "0-dimensional",
                           "o": "Python objects, which are never unpickled"}  # fmt: skip
        assert (by_name["w"].data is None) == (save is np.savez)
    np.save(tmp_path / "w.npy", W)
    np.save(tmp_path / "f.npy", np.asfortranarray(W))
    for name in ("w", "f"):
        (one,) = tensors(tmp_path / f"{name}.npy")
        assert np.array_equal(values(one), W)


def test_state_dicts_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = W.reshape(-1)
    state = {
        "model": {"w": state_dicts.whole(W), "h": state_dicts.whole(H), "n": state_dicts.whole(np.arange(4))},
        "views": [state_dicts.Tensor(flat, (40, 6), (1, 40)), state_dicts.Tensor(flat, (2, 40), (40, 1), 80)],
        "repeated": state_dicts.Tensor(flat, (1000, 1000), (0, 0)),
        "epoch": 3,
        "note": ("a", 1.5, None, True, 1 << 70),
    }
    state_dicts.save(tmp_path / "m.pt", state, monkeypatch)
    by_name = {t.name: t for t in tensors(tmp_path / "m.pt")}
    assert list(by_name) == ["model.w", "model.h", "model.n", "views.0", "views.1", "repeated"]
    for name, array in (("model.w", W), ("model.h", H), ("views.0", W.T), ("views.1", W[2:4])):
        assert np.array_equal(values(by_name[name]), array)
    assert by_name["model.n"].skipped == "long is not a float type"
    assert by_name["repeated"].skipped == "a view with strides (0, 0), in which values repeat"
    assert by_name["model.w"].data is None


class Attack:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("attacked",)


def test_no_pickle_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    state_dicts.save(tmp_path / "m.pt", {"w": state_dicts.whole(W), "x": Attack()}, monkeypatch)
    assert [t.name for t in tensors(tmp_path / "m.pt")] == ["w"]
    state_dicts.save(tmp_path / "a.pt", Attack(), monkeypatch)
    with pytest.raises(Error, match="holds no tensors by name"):
        tensors(tmp_path / "a.pt")
    np.save(tmp_path / "o.npy", np.array([Attack()], object), allow_pickle=True)
    assert tensors("o.npy")[0].skipped == "Python objects, which are never unpickled"
    assert not (tmp_path / "attacked").exists()


@pytest.mark.extra("safetensors")
def test_safetensors(tmp_path: Path) -> None:
    import safetensors.numpy

    data = safetensors.numpy.save({"w": W, "d": D, "h": H, "n": np.arange(3)}, {"note": "kept"})
    (tmp_path / "m.safetensors").write_bytes(data)
    by_name = {t.name: t for t in tensors(tmp_path / "m.safetensors")}
    for name, array in (("w", W), ("d", D), ("h", H)):
        assert np.array_equal(values(by_name[name]), array)
    assert by_name["n"].skipped == "I64 is not a float type"


def header(text: str, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(text)) + text.encode() + data


@pytest.mark.extra("safetensors")
def test_bf16_and_fp8_codes(tmp_path: Path) -> None:
    codes = bytes([0x80, 0x3F, 0x01, 0x00]) + bytes([0x7E, 0x81])
    places = {"b": ("BF16", [2], [0, 4]), "f": ("F8_E4M3", [1, 2], [4, 6])}
    table = json.dumps({k: dict(zip(("dtype", "shape", "data_offsets"), v, strict=True)) for k, v in places.items()})
    (tmp_path / "m.safetensors").write_bytes(header(table, codes))
    b, f = tensors(tmp_path / "m.safetensors")
    assert (b.fmt, b.read(0, 2).tolist()) == ("bf16", [1.0, 2.0**-133])
    assert (f.fmt, f.read(0, 2).tolist()) == ("fp8_e4m3", [448.0, -(2.0**-9)])


@pytest.mark.extra("torch")
@pytest.mark.extra("safetensors")
def test_what_torch_writes(tmp_path: Path) -> None:
    import safetensors.torch
    import torch

    w = torch.from_numpy(W)
    state = {"w": w, "p": torch.nn.Parameter(w), "b": w.bfloat16(), "f": w.to(torch.float8_e5m2), "h": w.half()}
    torch.save({**state, "t": w.t(), "n": torch.arange(3)}, tmp_path / "m.pt")
    safetensors.torch.save_file({k: v.detach().clone() for k, v in state.items()}, tmp_path / "m.safetensors")
    for file in ("m.pt", "m.safetensors"):
        by_name = {t.name: t for t in tensors(tmp_path / file)}
        for name, tensor in state.items():
            assert np.array_equal(values(by_name[name]).astype(np.float32), tensor.detach().float().numpy()), name
    assert np.array_equal(values({t.name: t for t in tensors(tmp_path / "m.pt")}["t"]), W.T)
    torch.save(torch.nn.Linear(2, 2), tmp_path / "whole.pt")
    torch.save(state, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    for file, message in (("whole.pt", "holds no tensors by name"), ("old.pt", "not a zip archive")):
        with pytest.raises(Error, match=message):
            tensors(tmp_path / file)


@pytest.mark.extra("torch")
def test_torchscript(tmp_path: Path) -> None:
    import torch

    class Inner(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 3)
            self.register_buffer("steps", torch.arange(3))
            self.short = torch.nn.Parameter(torch.ones(2, 2, dtype=torch.float16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x) + self.short.float().sum()

    model = torch.nn.Sequential(Inner(), torch.nn.ReLU())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated
        torch.jit.save(torch.jit.script(model), tmp_path / "m.pt")
    by_name = {t.name: t for t in tensors(tmp_path / "m.pt")}
    for name, tensor in model.state_dict().items():
        assert np.array_equal(by_name[name].codes(0, tensor.numel()).reshape(tensor.shape), codes_of(tensor)), name
    assert by_name["0.steps"].skipped == "long is not a float type"


def codes_of(tensor: Any) -> np.ndarray:
    array = tensor.detach().numpy()
    return array.view(f"u{array.itemsize}")


@pytest.mark.extra("torch")
def test_types_of_torch_for_elements_and_scales(tmp_path: Path) -> None:
    import torch

    data = torch.arange(32, dtype=torch.uint8).reshape(2, 16)
    state = {"e": data.view(torch.float8_e8m0fnu), "p": data.view(torch.float4_e2m1fn_x2), "u": data, "i": data.int()}
    torch.save(state, tmp_path / "m.pt")
    by_name = {t.name: t for t in tensors(tmp_path / "m.pt")}
    assert by_name["p"].shape == (2, 32)
    assert by_name["p"].codes(0, 64).tolist() == [x for b in range(32) for x in (b & 15, b >> 4)]
    assert by_name["e"].codes(0, 32).tolist() == list(range(32))
    assert by_name["e"].skipped.startswith("float8_e8m0fnu: scales of blocks")
    assert [by_name[x].skipped for x in "ui"] == ["byte is not a float type", "int is not a float type"]


@pytest.mark.extra("onnx")
def test_onnx(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    typed = helper.make_tensor("typed", TensorProto.FLOAT, [2], [1.5, -2.0])
    half = helper.make_tensor("b", TensorProto.BFLOAT16, [2], [1.5, -2.0])
    listed = [numpy_helper.from_array(x, n) for n, x in (("w", W), ("h", H), ("d", D), ("n", np.arange(3)))]
    model = helper.make_model(helper.make_graph([], "g", [], [], [*listed, typed, half]))
    onnx.save(model, tmp_path / "m.onnx")
    onnx.save(model, tmp_path / "e.onnx", save_as_external_data=True, location="e.data", size_threshold=100)
    for file in ("m.onnx", "e.onnx"):
        by_name = {t.name: t for t in tensors(tmp_path / file)}
        for name, array in (("w", W), ("h", H), ("d", D), ("typed", [1.5, -2]), ("b", [1.5, -2])):
            assert np.array_equal(values(by_name[name]), array), name
        assert by_name["n"].skipped == "INT64 is not a float type"
    assert by_name["w"].path.endswith("e.data")
    broken = onnx.load(tmp_path / "e.onnx", load_external_data=False)
    broken.graph.initializer[0].external_data[0].value = "../e.data"
    onnx.save(broken, tmp_path / "b.onnx")
    with pytest.raises(Error, match="not a file in the model's folder"):
        tensors(tmp_path / "b.onnx")


BROKEN = {
    "cut.npz": ("npz", "not a readable"),
    "cut.pt": ("pt", "not a zip archive"),
    "text.npz": (b"hello", "not a readable"),
    "text.npy": (b"hello", "does not begin with the header"),
    "text.pt": (b"hello", "not a zip archive"),
    "pickle.pt": (pickle.dumps({"w": 1}), "not a zip archive"),
    "text.safetensors": (b"hello, world", "damaged safetensors"),
    "huge.safetensors": (header('{"w":{"dtype":"F32","shape":[99],"data_offsets":[0,396]}}'), "damaged safetensors"),
    "text.onnx": (b"hello", "not a readable ONNX"),
    "a.gguf": (b"", "ends in its header"),
    "a.tflite": (b"", "unknown kind of model .a.tflite."),
    "none.npz": (None, "No such file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.endswith((".safetensors", ".onnx")):
        pytest.importorskip(name.rpartition(".")[2])
    content, message = BROKEN[name]
    if content == "npz":
        np.savez(tmp_path / name, w=W)
    elif content == "pt":
        state_dicts.save(tmp_path / name, {"w": state_dicts.whole(W)}, monkeypatch)
    if isinstance(content, str):
        content = (tmp_path / name).read_bytes()[:200]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(Error, match=message) as refusal:
        tensors(tmp_path / name)
    assert "\n" not in str(refusal.value)


def test_broken_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.pt"
    state_dicts.save(path, {"w": state_dicts.Tensor(W.reshape(-1), (6, 41), (41, 1))}, monkeypatch)
    with pytest.raises(Error, match="the values of 'w' are not in the file"):
        tensors(path)
    state_dicts.save(path, {"w": state_dicts.whole(W)}, monkeypatch, zipfile.ZIP_DEFLATED)
    with pytest.raises(Error, match="compressed archive"):
        tensors(path)
    np.savez(tmp_path / "w.npz", w=W)
    (one,) = tensors(tmp_path / "w.npz")
    (tmp_path / "w.npz").write_bytes((tmp_path / "w.npz").read_bytes()[:300])
    with pytest.raises(Error, match="became shorter"):
        one.read(0, one.size)
