"""`report`: a model trained here gives the same report from every kind of file, in any number of processes."""

from __future__ import annotations

import csv
import json
import math
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import state_dicts
from command import ok, refused

import softfloat_ref as sf
from softfloat_ref.arrays.error_counts import Errors
from softfloat_ref.arrays.errors import ErrorMeasure
from softfloat_ref.base.executors import Workers
from softfloat_ref.nn.data import Dataset
from softfloat_ref.nn.model_errors import Work
from softfloat_ref.nn.model_files import tensors
from softfloat_ref.nn.train import TrainingRun
from softfloat_ref.nn.training_recipe import read_recipe

FORMATS = ["mxfp8", "nvfp4", "fp8_e4m3", "fp4_e2m1@e8m0/axis", "qint8"]
OPTIONS = [word for fmt in FORMATS for word in ("--fmt", fmt)]


def rows_of(text: str) -> list[str]:
    """The lines of the table of all tensors, behind the answer."""
    return text.partition("\n\n")[2].splitlines()


@pytest.fixture(scope="module")
def model() -> dict[str, np.ndarray]:
    """The parameters of a small network after training, by name."""
    x = np.random.default_rng(1).standard_normal((64, 40)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    table = {
        "model": {"kind": "mlp", "hidden": [48]},
        "data": {"name": "blobs"},
        "training": {"epochs": 2, "batch": 8},
    }
    training = TrainingRun(read_recipe(table), Dataset(x, y, x, y, "classes", 2))
    training.run()
    return {**training.trainer.parameters(), "step": np.int64(16)}


@pytest.fixture(scope="module")
def npz(model: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "m.npz"
    np.savez(path, **model)
    return path


@pytest.mark.full
def test_a_report_has_the_errors_of_each_tensor(model: dict[str, np.ndarray], npz: Path, tmp_path: Path) -> None:
    text = ok("report", str(npz), *OPTIONS, "-o", str(tmp_path / "r.json"), "-o", str(tmp_path / "r.csv"))
    rows = {(x["tensor"], x["format"]): x for x in json.loads((tmp_path / "r.json").read_text())["rows"]}
    weights = {name: x for name, x in model.items() if name != "step"}
    names = [ErrorMeasure.make(f).fmt.name for f in FORMATS]
    assert list(rows) == [(tensor, fmt) for tensor in weights for fmt in names]
    for (tensor, fmt), row in rows.items():
        errors = sf.quantization_error(weights[tensor], fmt)
        assert row["sqnr_db"] == (f"{errors.sqnr}" if math.isinf(errors.sqnr) else float(f"{errors.sqnr:.4f}"))
        known = errors.largest_error, errors.saturated, errors.flushed, errors.amax
        assert (row["max_error"], row["saturated"], row["flushed"], row["amax"]) == known
    with open(tmp_path / "r.csv", newline="") as stream:
        listed = list(csv.DictReader(stream))
    assert [(x["tensor"], x["format"]) for x in listed[:-1]] == list(rows)
    assert (listed[-1]["tensor"], listed[-1]["problem"]) == ("step", "int64 is not a float type")
    assert text.splitlines()[-1] == "skipped step: int64 is not a float type"
    total = sum((sf.quantization_error(x, "mxfp8") for x in weights.values()), start=Errors())
    shown = next(line for line in rows_of(text) if line.startswith("all tensors") and "mxfp8" in line)
    assert f"{total.sqnr:.2f}" in shown


def save(path: Path, model: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    if path.suffix == ".safetensors":
        import safetensors.numpy

        path.write_bytes(safetensors.numpy.save({k: np.asarray(v) for k, v in model.items()}))
    elif path.suffix == ".onnx":
        import onnx
        from onnx import helper, numpy_helper

        values = [numpy_helper.from_array(np.asarray(v), k) for k, v in model.items()]
        onnx.save(helper.make_model(helper.make_graph([], "g", [], [], values)), path)
    elif path.name == "torch.pt":
        import torch

        torch.save({k: torch.from_numpy(np.asarray(v)) for k, v in model.items()}, path)
    else:
        state_dicts.save(path, {k: state_dicts.whole(np.asarray(v)) for k, v in model.items()}, monkeypatch)


FILES = {"m.pt": "numpy", "torch.pt": "torch", "m.safetensors": "safetensors", "m.onnx": "onnx"}


@pytest.mark.full
@pytest.mark.parametrize("file", [pytest.param(f, marks=pytest.mark.extra(p)) for f, p in FILES.items()])
def test_every_kind_of_file_gives_the_same_report(
    file: str, model: dict[str, np.ndarray], npz: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / file, model, monkeypatch)
    reports = []
    for path in (npz, tmp_path / file):
        ok("report", str(path), *OPTIONS, "--sort", "name", "-o", str(tmp_path / "r.json"))
        reports.append(json.loads((tmp_path / "r.json").read_text()))
    assert reports[0]["rows"] == reports[1]["rows"]
    assert reports[0]["totals"] == reports[1]["totals"]
    assert [x["tensor"] for x in reports[1]["skipped"]] == ["step"]


@pytest.mark.full
def test_processes_and_slabs_change_nothing(tmp_path: Path) -> None:
    """Several tasks a tensor; a scale of the whole tensor; random words by position."""
    x = np.random.default_rng(2).standard_normal((400, 3000), np.float32)
    np.savez(tmp_path / "m.npz", a=x, b=x[:40].astype(np.float16))
    formats = ["--fmt", "fp4_e2m1", "--fmt", "fp8_e4m3@e8m0/tensor", "--round", "sr", "--sr-bits", "8", "--seed", "3"]
    shown = []
    for jobs in ("1", "2"):
        files = [str(tmp_path / f"{jobs}.{suffix}") for suffix in ("csv", "json")]
        options = ["--jobs", jobs, "-o", files[0], "-o", files[1]]
        shown.append(
            (ok("report", str(tmp_path / "m.npz"), *formats, *options), *(Path(f).read_bytes() for f in files))
        )
    assert shown[0] == shown[1]


@pytest.mark.full
def test_memory_is_that_of_a_slab(tmp_path: Path) -> None:
    """A tensor of 8 MiB in slabs of 64 KiB, with and without the range of the whole tensor."""
    with open(tmp_path / "x.npy", "wb") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f4", "fortran_order": False, "shape": (1 << 9, 1 << 12)}
        )
        for i in range(1 << 4):
            np.random.default_rng(i).standard_normal(1 << 17, np.float32).tofile(stream)
    measures = [ErrorMeasure.make(x) for x in ("mxfp8", "fp8_e4m3@e8m0/tensor", "fp8_e4m3")]
    stored = tensors(tmp_path / "x.npy")
    small = np.zeros(1 << 16, np.float32)
    for measure in measures:
        sf.quantization_error(small, measure.fmt)  # compiles
    tracemalloc.start()
    try:
        rows = list(Work(stored, measures, slab=1 << 14).rows(Workers()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 22
    assert [row.measured.errors.values for row in rows] == [1 << 21] * 3
    whole = list(Work(stored, measures, slab=1 << 24).rows(Workers()))
    assert [r.measured.errors for r in whole] == [r.measured.errors for r in rows]


def test_order_and_choice(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "m.npz",
        **{"a.weight": np.float32([1, 2, 3.3]), "b.weight": np.float32([500, 1e-9]), "b.bias": np.float32([1])},
    )
    table = rows_of(ok("report", "m.npz", "--fmt", "fp8_e4m3", "--include", "*.weight", cwd=tmp_path))
    assert [line.split()[0] for line in table] == ["tensor", "a.weight", "b.weight", "all"]
    for key, first in (("sqnr", "b.weight"), ("size", "a.weight"), ("name", "a.weight"), ("saturated", "b.weight")):
        one = ok(
            "report", "m.npz", "--fmt", "fp8_e4m3", "--exclude", "*bias", "--sort", key, "--top", "1", cwd=tmp_path
        )
        assert rows_of(one)[1].startswith(first), key
        assert "1 more rows" in one
    np.savez(tmp_path / "n.npz", **{"a.weight": np.float32([1, 2])})
    both = ok("report", "m.npz", "n.npz", "--fmt", "fp8_e4m3", cwd=tmp_path)
    assert "n.npz:a.weight" in both
    assert "exact" in both


@pytest.mark.full
def test_blocks_that_their_axis_does_not_fill_are_noted(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", conv=np.ones((4, 40, 3), np.float32), bias=np.ones(4, np.float32))
    told = "note: blocks of conv (4x40x3) hold 3 values, too few for a full block; --axis 1 makes them longer"
    for fmt, noted in (("mxfp8", True), ("fp4_e2m1@fp32/2", False), ("fp16", False), ("fp8_e4m3@fp32/axis", False)):
        assert (told in ok("report", "m.npz", "--fmt", fmt, cwd=tmp_path).splitlines()) == noted, fmt
    along = ok("report", "m.npz", "--include", "conv", "--fmt", "mxfp8", "--axis", "1", cwd=tmp_path)
    assert "note" not in along


def test_a_tensor_that_a_format_refuses(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", a=np.float32([1, np.nan]), b=np.float32([1, 2]))
    text = ok("report", "m.npz", "--fmt", "msfp12", "-o", "r.json", cwd=tmp_path)
    assert "which profile msfp refuses" in rows_of(text)[1]
    assert "note: msfp12 refuses 1 vector, which its numbers leave out: a (" in text
    assert json.loads((tmp_path / "r.json").read_text())["totals"][0]["values"] == 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("none.npz --fmt fp16", "none.npz: No such file"),
        ("bad.npz --fmt fp16", "bad.npz: not a readable .npz"),
        ("ints.npz --fmt fp16", "nothing to measure: 1 tensors, such as n (int64 is not a float type)"),
        ("m.npz", "give --fmt FORMAT, several times, or --against MODEL"),
        ("m.npz --fmt fp9", "unknown format 'fp9'"),
        ("m.npz --fmt fp16 --axis 0", "--axis is for block formats"),
        ("m.npz --fmt fp16 --profile nvidia", "--profile is for block formats"),
        ("m.npz --fmt fp16 --include b*", "unknown tensor 'b*'; "),
        ("m.npz --fmt fp16 --include a --include b*", "unknown tensor 'b*'; "),
        ("m.npz --fmt fp16 --exclude b*", "unknown tensor 'b*'; "),
        ("m.npz --fmt fp16 --exclude *", "--exclude * leaves no tensor"),
        ("m.npz m.npz --fmt fp16", "m.npz is given twice"),
        ("m.npz --fmt fp16 -o r.csv -o r.csv", "r.csv is given twice"),
        ("m.npz --fmt fp16 --sort best", "unknown order 'best'"),
        ("m.npz --fmt fp16 -o r.txt", "unknown kind of report 'r.txt'"),
        ("m.npz --fmt fp16 -o none/r.csv", "no such folder"),
        ("m.npz --fmt fp16 --round sr --sr-bits 8 --random-bits 1", "--random-bits gives the bits of one array"),
        ("m.npz --fmt fp16 --round sr --sr-bits 8", "random"),
        ("m.npz --fmt mxfp8 --axis 7 -o r.csv", "axis 7 is out of range"),
        ("m.npz --fmt fp16 --jobs 2 --scheduler x", "--jobs is for local processes"),
    ],
)
def test_bad_usage(args: str, message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", a=np.float32([[1, 2]]))
    np.savez(tmp_path / "ints.npz", n=np.arange(3))
    (tmp_path / "bad.npz").write_bytes(b"PK")
    assert message in refused("report", *args.split(), cwd=tmp_path)
    assert not list(tmp_path.glob("r.*"))


def test_files_of_one_name_in_two_folders(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        np.savez(tmp_path / folder / "m.npz", w=np.float32([[1, 2]]))
    rows = rows_of(ok("report", "a/m.npz", "b/m.npz", "--fmt", "fp16", cwd=tmp_path))
    assert [row.split()[0] for row in rows[1:3]] == ["a/m.npz:w", "b/m.npz:w"]


def test_page(npz: Path, tmp_path: Path) -> None:
    pages = []
    for name in ("a.html", "b.html"):
        ok("report", str(npz), *OPTIONS[:4], "-o", str(tmp_path / name))
        pages.append((tmp_path / name).read_text())
    assert pages[0] == pages[1]
    page = pages[0]
    assert page.count("<svg") == page.count("</svg>") >= 5
    assert not re.search(r"https?://(?!www\.w3\.org/)|<link|<img|@import|src=", page)  # self-contained
    ids = [x.partition('"')[0] for x in page.split('id="')[1:]]
    assert len(ids) == len(set(ids))
    assert "int64 is not a float type" in page
    assert "blocks of" not in page
    np.savez(tmp_path / "m.npz", **{"<b>": np.float32([1, 2])})
    ok("report", "m.npz", "--fmt", "fp16", "-o", "c.html", cwd=tmp_path)
    assert "<b>" not in (tmp_path / "c.html").read_text()
