"""What `report --against` answers first, and its page: two producers, a model and its original, equal models."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command import ok
from test_report_answer import Page

import softfloat_ref as sf

LAYERS = 3
NAMES = [f"layers.{i}.mlp.{kind}_proj.weight" for i in range(LAYERS) for kind in ("up", "down")]
BIAS = np.float32([1, 2, 3, 4])
LAYOUT = """
[layouts.mine]
codes = { name = "packed", formats = ["u8"] }
scales = { name = "scale", formats = ["u8"] }
tensor_scale = { name = "second", formats = ["fp32"] }
scale = "fp8_e4m3"
elements = "fp4_e2m1"
packing = "low-first"
block = [1, 16]
result = "weight"
"""


def weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(4)
    return {x: (0.1 * random.standard_normal((8, 64))).astype(np.float32) for x in NAMES}


def quantized(path: Path, profile: str, **more: np.ndarray) -> dict[str, sf.blocks.BlockArray]:
    blocks = {x: sf.blocks.encode(w, "mxfp4", profile=profile) for x, w in weights().items()}
    arrays = {"layers.0.mlp.up_proj.bias": BIAS, **more}
    for name, q in blocks.items():
        arrays[f"{name}_blocks"] = q.pack("low-first").data.reshape(8, 2, 16)
        arrays[f"{name}_scales"] = q.scales
    np.savez(path, **arrays)
    return blocks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("against")
    np.savez(folder / "original.npz", **weights(), **{"layers.0.mlp.up_proj.bias": 2 * BIAS})
    return folder


def test_two_producers(folder: Path) -> None:
    """Shares of codes and scales that differ: in the sentence, by kind and layer, and by tensor."""
    a, b = quantized(folder / "a.npz", "ocp"), quantized(folder / "b.npz", "nvidia")
    shown = ok("report", "a.npz", "--against", "b.npz", "-o", "r.html", "-o", "r.json", cwd=folder)
    codes = {x: int((a[x].codes != b[x].codes).sum()) for x in NAMES}
    scales = {x: int((a[x].scales != b[x].scales).sum()) for x in NAMES}
    values = sum(int((a[x].decode() != b[x].decode()).sum()) for x in NAMES)
    size = 512 * len(NAMES)
    assert shown.splitlines()[0].startswith(
        f"6 of 6 matrices differ between a.npz and b.npz: {100 * sum(codes.values()) / size:.3f} % of the codes and "
        f"{100 * sum(scales.values()) / 96:.3f} % of the scales, {100 * values / size:.3f} % of the values, "
    )
    rows = {x["tensor"]: x for x in json.loads((folder / "r.json").read_text())}
    assert {x: rows[x]["different_codes"] for x in NAMES} == codes
    assert {x: (rows[x]["different_scales"], rows[x]["scale_count"]) for x in NAMES} == {
        x: (scales[x], 16) for x in NAMES
    }
    assert rows["layers.0.mlp.up_proj.bias"]["sqnr_db"] == "inf"
    page = Page((folder / "r.html").read_text())
    assert page.of("p", "answer")[0][1] == shown.splitlines()[0]
    captions = [text for _, text in page.of("figcaption")]
    assert captions == ["MLP up", "MLP down"]
    titles = [text for _, text in page.of("path") if text]
    share = f"{100 * codes[NAMES[3]] / 512:.3g} %"
    assert f"codes, layer 1: {share}" in titles
    total = next(text for _, text in page.of("tr") if text.startswith("matrices"))
    assert f"{sum(codes.values()):,} of {size:,}" in total


def test_a_model_and_its_original(folder: Path) -> None:
    a = quantized(folder / "a.npz", "ocp")
    shown = ok("report", "a.npz", "--against", "original.npz", "-o", "r.html", cwd=folder)
    ratios = {x: sf.quantization_error(w, "mxfp4").sqnr for x, w in weights().items()}
    worst = min(NAMES, key=lambda x: ratios[x])
    assert re.match(
        rf"a\.npz keeps [\d.]+ dB over 6 matrices of original\.npz, at worst {ratios[worst]:.1f} dB in {worst}: 4\.\d+ "
        r"bits per value, 0\.00\d+ MB, against 32 bits, 0\.012 MB\.",
        shown,
    )
    page = (folder / "r.html").read_text()
    order = re.findall(r'<tr data-row="\d+"><th class="t name" scope="row">(.*?)</th>', page)
    assert [x.replace("<wbr>", "") for x in order] == [
        *sorted(NAMES, key=lambda x: ratios[x]),
        "layers.0.mlp.up_proj.bias",
    ]
    assert f"SQNR, layer 2: {ratios[NAMES[4]]:.2f} dB" in [text for _, text in Page(page).of("path")]
    assert a.keys() == weights().keys()


def test_patterns_select_in_both_models(folder: Path) -> None:
    quantized(folder / "a.npz", "ocp")
    shown = ok("report", "a.npz", "--against", "original.npz", "--include", "*.0.*.weight", cwd=folder).splitlines()
    assert shown[1:4] == [
        "a.npz: 1024 values, 4.25 bits each, 0.001 MB",
        "original.npz: 1024 values, 32 bits each, 0.004 MB",
        "",
    ]


def test_equal_models(folder: Path) -> None:
    quantized(folder / "a.npz", "ocp")
    (folder / "other").mkdir(exist_ok=True)
    quantized(folder / "other" / "a.npz", "ocp")
    shown = ok("report", "a.npz", "--against", "other/a.npz", "-o", "r.html", cwd=folder)
    assert shown.startswith(
        "The same values in 6 matrices of a.npz and other/a.npz, code for code and scale for scale: "
    )
    assert "By depth" not in (folder / "r.html").read_text()


def test_another_second_level_scale_is_said(folder: Path) -> None:
    """All codes and scales are equal, but no value is."""
    q = sf.blocks.encode(weights()[NAMES[0]], "nvfp4")
    for name, second in (("x.npz", 1.0), ("y.npz", 1.5)):
        parts = {"packed": q.pack("low-first").data.reshape(8, 32), "scale": q.scales, "second": np.float32([second])}
        np.savez(folder / name, **{f"layers.0.{k}": v for k, v in parts.items()})
    (folder / "mine.toml").write_text(LAYOUT)
    options = ["--layouts", "mine.toml", "-o", "r.json", "-o", "r.csv", "-o", "r.html"]
    shown = ok("report", "x.npz", "--against", "y.npz", *options, cwd=folder)
    told = "the tensor scale of layers.0.weight differs: equal scales need not mean equal values"
    assert f"\nnote: {told}\n" in shown
    assert shown.startswith("1 of 1 matrix differs between x.npz and y.npz: 0 of the codes and 0 of the scales, ")
    (row,) = json.loads((folder / "r.json").read_text())
    assert (row["different_codes"], row["different_scales"], row["different_parts"]) == (0, 0, ["tensor_scale"])
    assert ",tensor_scale," in (folder / "r.csv").read_text()
    assert told in (folder / "r.html").read_text()


def test_many_tensors(folder: Path) -> None:
    """Of more than 40, the kinds and the worst ten; all, where they are asked for."""
    names = [f"layers.{i}.w.weight" for i in range(50)]
    for name, factor in (("many.npz", 1), ("others.npz", 1.5)):
        np.savez(folder / name, **{x: np.float32([[1, 2], [3, factor * i]]) for i, x in enumerate(names)})
    _, kinds, table = ok("report", "many.npz", "--against", "others.npz", cwd=folder).split("\n\n")
    rows = table.splitlines()
    # by hand: 10 log10(91656.25 / 10106.25) of all, 10 log10(5416.25 / 600.25) of the worst
    assert [x.split() for x in kinds.splitlines()[1:]] == [
        ["w", "50", "49", "9.58", "9.55", "24.500", "%", "24.500", "%", "-"]
    ]
    assert len(rows) == 12
    assert rows[1].startswith("layers.49.w.weight")
    assert rows[-1].startswith("the lowest SQNR of 50 tensors; all: --top N")
    every = ok("report", "many.npz", "--against", "others.npz", "--sort", "file", cwd=folder)
    assert [x.split()[0] for x in every.partition("\n\n")[2].splitlines()[1:]] == names
