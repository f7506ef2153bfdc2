"""`unpack`, `report --against`, and other commands on a quantized model."""

from __future__ import annotations

import csv
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from command import ok, refused, run

import softfloat_ref as sf

X = (np.random.default_rng(1).normal(size=(24, 96)) * 0.1).astype(np.float32)


def checkpoint(path: Path, x: np.ndarray = X, profile: str | None = None, **more: np.ndarray) -> sf.blocks.BlockArray:
    q = sf.blocks.encode(x, "mxfp4", profile=profile)
    blocks = q.pack("low-first").data.reshape(*x.shape[:-1], x.shape[-1] // 32, 16)
    np.savez(path, w_blocks=blocks, w_scales=q.scales, **more)
    return q


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_values_parts_and_the_rest(folder: Path) -> None:
    q = checkpoint(folder / "m.npz", norm=np.ones(5, np.float16), steps=np.int64([3, 4]))
    shown = ok("unpack", "m.npz")
    assert shown.splitlines() == [
        "tensor  shape  stored      layout         bits   MB",
        "w       24x96  mxfp4_e2m1  mxfp4-gpt-oss  4.25   0.001",
        "norm    5      fp16                       16     0.000",
        "steps   2      i64                        64     0.000",
        "all     2311                              4.327  0.001",
    ]
    ok("unpack", "m.npz", "-o", "v.npz")
    with np.load("v.npz") as v:
        assert list(v) == ["w", "norm", "steps"]
        assert v["w"].dtype == np.float32
        assert np.array_equal(v["w"], q.decode())
        assert (v["norm"].dtype, v["steps"].tolist()) == (np.float16, [3, 4])
    ok("unpack", "m.npz", "-o", "p.npz", "--parts")
    with np.load("p.npz") as p:
        assert np.array_equal(p["w.codes"], q.codes)
        assert np.array_equal(p["w.scales"], q.scales)
    ok("unpack", "m.npz", "-o", "e.npy", "--exact", "--tensor", "w")
    assert np.array_equal(np.load("e.npy"), q.decode().astype(np.float64))
    once = (folder / "v.npz").read_bytes()
    ok("unpack", "m.npz", "-o", "v.npz")
    assert (folder / "v.npz").read_bytes() == once
    model = sf.read_model("m.npz")
    assert list(model) == ["w", "norm", "steps"]
    assert np.array_equal(model["w"].values(), q.decode())
    assert model["steps"].values().tolist() == [3, 4]
    with pytest.raises(KeyError, match="unknown tensor 'v'"):
        model["v"]


@pytest.mark.extra("safetensors")
def test_safetensors_are_written(folder: Path) -> None:
    import safetensors.numpy

    q = checkpoint(folder / "m.npz", norm=np.ones(5, np.float16), steps=np.int64([3, 4]))
    ok("unpack", "m.npz", "-o", "v.safetensors")
    written = safetensors.numpy.load_file("v.safetensors")
    assert np.array_equal(written["w"], q.decode())
    assert written["norm"].dtype == np.float16
    assert ok("unpack", "v.safetensors").splitlines()[1].split() == ["w", "24x96", "fp32", "32", "0.009"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["m.npz", "--parts"], "give -o FILE"),
        (["m.npz", "--exact"], "give -o FILE"),
        (["m.npz", "-o", "x.npz", "--parts", "--exact"], "are for values"),
        (["m.npz", "-o", "x.npz", "--exact", "--arithmetic", "producer"], "has no roundings"),
        (["m.npz", "-o", "x.npy"], "holds one array, not 2"),
        (["m.npz", "-o", "x.bin"], "unknown kind of file"),
        (["m.npz", "-o", "no/x.npz"], "no such folder"),
        (["m.npz", "--tensor", "z*"], "unknown tensor 'z\\*'"),
        (["m.npz", "--layouts", "none.toml"], "none.toml"),
        (["m.npz", "--stored", "fp99"], "unknown format"),
        (["m.npz", "--lines", "7", "--tensor", "w"], "are not lines of 7"),
        (["m.npz", "--lines", "16", "--tensor", "w", "--parts"], "blocks of 32 elements, not of 16"),
        (["m.npz", "--lines", "5", "--tensor", "norm", "--parts"], "has no blocks of codes"),
        (["m.npz", "--lines", "5"], "is for one tensor, not 2 tensors"),
        (["m.npz", "--lines", "5", "-o", "x.npz"], "leave out -o"),
        (["none.npz"], "No such file"),
    ],
)
def test_bad_usage(args: list[str], message: str, folder: Path) -> None:
    checkpoint(folder / "m.npz", norm=np.ones(5, np.float16))
    done = refused("unpack", *args)
    assert message.replace("\\", "") in done
    assert not list(folder.glob("x.*"))


def test_lines_are_what_units_answer(folder: Path) -> None:
    """A checkpoint's blocks through the scalar oracle: dequantized, and quantized again from its original."""
    q = checkpoint(folder / "m.npz")
    np.savez("original.npz", w=X)
    blocks = ok("unpack", "m.npz", "--lines", "32", "--parts")
    assert blocks.splitlines()[0].split()[0] == f"{int(q.scales[0, 0]):02x}"
    answers = run("eval", "dequantize", "--fmt", "mxfp4", "-", stdin=blocks).stdout.splitlines()
    got = np.array([[int(c, 16) for c in line.split()[33:65]] for line in answers], np.uint32).view(np.float32)
    assert np.array_equal(got.reshape(24, 96), q.decode())
    values = ok("unpack", "original.npz", "--lines", "32")
    again = run("eval", "quantize", "--fmt", "mxfp4", "-", stdin=values).stdout.splitlines()
    assert [" ".join(x.split()[32:65]).lower() for x in again] == blocks.splitlines()


def test_quantize_takes_a_tensor_of_a_model(folder: Path) -> None:
    q = checkpoint(folder / "m.npz", other=np.ones((2, 4), np.float32))
    ok("quantize", "-i", "m.npz", "--tensor", "w", "--fmt", "fp8_e4m3", "-o", "q.npy")
    assert np.array_equal(np.load("q.npy"), sf.quantize(q.decode(), "fp8_e4m3"))
    assert "2 tensors, such as w, to quantize" in refused("quantize", "-i", "m.npz", "--fmt", "fp16")
    assert "unknown tensor in m.npz: 'v'" in refused("quantize", "-i", "m.npz", "--tensor", "v", "--fmt", "fp16")


def test_decode_shows_codes_of_a_model(folder: Path) -> None:
    q = checkpoint(folder / "m.npz", norm=np.float16([1, 2]))
    lines = ok("decode", "-i", "m.npz", "--tensor", "w", "-n", "40").splitlines()
    assert lines[0] == "w  24x96  mxfp4_e2m1"
    assert [x.split()[0] for x in lines[1:]] == [f"{c:x}" for c in q.codes[0, :40]]
    assert [float(x.split()[-1]) for x in lines[1:]] == q.decode()[0, :40].tolist()
    shown = json.loads(ok("decode", "-i", "m.npz", "--tensor", "norm", "--as", "json"))
    assert [x["value"] for x in shown["codes"]] == ["1.0", "2.0"]
    assert ok("decode", "-i", "m.npz", "--tensor", "norm", "--as", "value") == "1.0\n2.0\n"
    assert "leave out CODES" in refused("decode", "-i", "m.npz", "--tensor", "w", "7c")
    assert "give -i MODEL" in refused("decode", "--fmt", "fp16", "-n", "3", "7c")
    assert "give --fmt FORMAT and CODES" in refused("decode")


# -- comparisons -------------------------------------------------------------------------------------------------------


def test_against_the_original(folder: Path) -> None:
    q = checkpoint(folder / "m.npz", other=np.ones(3, np.float32))
    np.savez("original.npz", w=X, more=X)
    shown = ok("report", "m.npz", "--against", "original.npz", "-o", "r.json", "-o", "r.csv")
    errors = sf.quantization_error(X, "mxfp4")
    (row,) = json.loads(Path("r.json").read_text())
    assert (row["sqnr_db"], row["max_error"]) == (float(f"{errors.sqnr:.4f}"), errors.largest_error)
    assert row["different_values"] == int((q.decode() != X).sum())
    assert (row["different_codes"], row["different_scales"], row["bits"]) == (None, None, 4.25)
    with open("r.csv") as f:
        assert next(csv.DictReader(f))["sqnr_db"] == str(row["sqnr_db"])
    lines = shown.splitlines()
    assert lines[0] == (
        f"m.npz keeps {errors.sqnr:.1f} dB over 1 matrix of original.npz: 4.286 bits per value, 0.0012 MB, against 32 "
        "bits, 0.018 MB."
    )
    assert lines[1:6] == [
        "m.npz: 2307 values, 4.286 bits each, 0.001 MB",
        "original.npz: 4608 values, 32 bits each, 0.018 MB",
        "note: only in m.npz: other",
        "note: only in original.npz: more",
        "",
    ]
    assert [x.split()[0] for x in lines[6:]] == ["tensor", "w"]


def test_two_producers(folder: Path) -> None:
    mine, theirs = checkpoint(folder / "a.npz"), checkpoint(folder / "b.npz", profile="nvidia")
    ok("report", "a.npz", "--against", "b.npz", "-o", "r.json")
    (row,) = json.loads(Path("r.json").read_text())
    assert row["different_codes"] == int((mine.codes != theirs.codes).sum()) > 0
    assert row["different_scales"] == int((mine.scales != theirs.scales).sum()) > 0
    assert row["different_values"] == int((mine.decode() != theirs.decode()).sum())
    same = ok("report", "a.npz", "--against", "a.npz")
    assert same.startswith("The same values in 1 matrix of a.npz and a.npz, code for code and scale for scale: ")
    assert same.splitlines()[-1].split()[-5:] == ["exact", "0", "0", "0", "0"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "give --fmt FORMAT, several times, or --against MODEL"),
        (["--fmt", "fp16", "--against", "b.npz"], "not both"),
        (["--against", "b.npz", "-o", "x.txt"], "unknown kind of comparison"),
        (["--against", "b.npz", "--sort", "flushed"], "not flushed"),
        (["--against", "b.npz", "--axis", "0"], "--axis is for --fmt"),
        (["--against", "b.npz", "--jobs", "2"], "--jobs is for --fmt"),
        (["--against", "c.npz"], "no tensor in common"),
    ],
)
def test_bad_comparisons(args: list[str], message: str, folder: Path) -> None:
    checkpoint(folder / "a.npz")
    checkpoint(folder / "b.npz")
    np.savez("c.npz", v=X)
    assert message in refused("report", "a.npz", *args)


def test_another_shape_is_a_problem(folder: Path) -> None:
    checkpoint(folder / "a.npz")
    np.savez("b.npz", w=X.T)
    shown = ok("report", "a.npz", "--against", "b.npz", "-o", "r.html")
    assert shown.startswith("No tensor of a.npz can be compared with b.npz: 4.25 bits per value, ")
    assert "\nnote: not compared: w (shape 24x96 against 96x24)\n" in shown
    assert "shape 24x96 against 96x24" in shown.splitlines()[-1]
    assert "shape 24x96 against 96x24" in Path("r.html").read_text()


@pytest.mark.full
def test_memory_does_not_grow_with_the_model(folder: Path) -> None:
    checkpoint(folder / "m.npz", np.ones((8192, 1024), np.float32))
    ok("unpack", "m.npz", "-o", "v.npz")
    tracemalloc.start()
    ok("unpack", "m.npz", "-o", "v.npz")
    assert tracemalloc.get_traced_memory()[1] < 1 << 24  # the values have 32 MiB
    tracemalloc.stop()
