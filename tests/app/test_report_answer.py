"""What a report answers first, as text, JSON and a page: which format; then kinds, depth, and the worst weights."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from command import ok

import softfloat_ref as sf
from softfloat_ref.app import html_page
from softfloat_ref.app.report_words import listed, megabytes, short
from softfloat_ref.arrays.error_counts import Errors

FORMATS = ["mxfp8", "nvfp4", "fp8_e4m3", "fp8_e4m3@fp32/tensor"]
OPTIONS = [word for fmt in FORMATS for word in ("--fmt", fmt)]
LAYERS = 5
KINDS = {
    "self_attn.q_proj": "attention query",
    "self_attn.o_proj": "attention output",
    "mlp.up_proj": "MLP up",
    "mlp.down_proj": "MLP down",
}


@pytest.fixture(scope="module")
def model() -> dict[str, np.ndarray]:
    """Tensors with the names of a Llama; the weights of MLPs have a few large values, those of a layer more."""
    random = np.random.default_rng(1)
    tensors = {"model.embed_tokens.weight": (0.002 * random.standard_normal((64, 32))).astype(np.float32)}
    for layer in range(LAYERS):
        for name in KINDS:
            x = 0.02 * random.standard_normal((32, 64))
            x[::8, :: 9 - layer] *= 20 if name.startswith("mlp") else 1
            tensors[f"model.layers.{layer}.{name}.weight"] = x.astype(np.float32)
        tensors[f"model.layers.{layer}.input_layernorm.weight"] = np.full(32, 1e-3, np.float32)
    return {**tensors, "lm_head.weight": random.standard_normal((64, 32)).astype(np.float32)}


@pytest.fixture(scope="module")
def npz(model: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("answer") / "m.npz"
    np.savez(path, **model)
    return path


@pytest.fixture(scope="module")
def page(npz: Path) -> str:
    ok("report", str(npz), *OPTIONS, "-o", str(npz.with_suffix(".html")), "-o", str(npz.with_suffix(".json")))
    return npz.with_suffix(".html").read_text()


class Page(HTMLParser):
    """Elements with their attributes and texts; tags must be closed in order."""

    VOID = ("meta", "input", "wbr", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[tuple[str, list[str]]] = []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        texts: list[str] = []
        self.elements.append((tag, dict(attrs), texts))
        if tag not in self.VOID:
            self._open.append((tag, texts))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, texts in self._open:
            texts.append(data)

    def of(self, tag: str, name: str = "") -> list[tuple[dict[str, str | None], str]]:
        """The elements of a tag, and of a class if one is named."""
        return [
            (a, "".join(texts))
            for t, a, texts in self.elements
            if t == tag and (not name or name in (a.get("class") or "").split())
        ]


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_the_summary_is_of_the_matrices(model: dict[str, np.ndarray], npz: Path, page: str) -> None:
    """Against sums over arrays that are quantized here; vectors do not count."""
    whole = json.loads(npz.with_suffix(".json").read_text())
    matrices = {name: x for name, x in model.items() if x.ndim == 2}
    assert (whole["summary"]["tensors"], whole["summary"]["stored_bits_per_value"]) == (len(matrices), 32)
    for fmt, row in zip(FORMATS, whole["summary"]["formats"], strict=True):
        errors = {name: sf.quantization_error(x, fmt) for name, x in matrices.items()}
        total = sum(errors.values(), start=Errors())
        worst = min(errors, key=lambda name: errors[name].sqnr)
        assert row["sqnr_db"] == float(f"{total.sqnr:.4f}"), fmt
        assert (row["worst_tensor"], row["worst_sqnr_db"]) == (worst, float(f"{errors[worst].sqnr:.4f}")), fmt
        bits = {"mxfp8": 8.25, "nvfp4": 4.5 + 32 * len(matrices) / total.values, "fp8_e4m3": 8}
        bits["fp8_e4m3@fp32/tensor"] = 8 + 32 * len(matrices) / total.values
        assert row["bits_per_value"] == pytest.approx(bits[fmt], abs=1e-4)
        assert row["megabytes"] == pytest.approx(bits[fmt] * total.values / 8e6)
    overall = {x["format"]: x["sqnr_db"] for x in whole["summary"]["formats"]}
    assert max(overall, key=lambda f: overall[f]) == "fp8_e4m3"  # which loses the small values of one matrix
    assert "worst matrix: fp8_e4m3@fp32/tensor" in whole["summary"]["sentence"]
    rows = {(x["tensor"], x["format"]): x for x in whole["rows"]}
    assert all(x["matrix"] == (model[name].ndim == 2) for (name, _), x in rows.items())
    row = rows["model.layers.3.mlp.up_proj.weight", "mxfp8_e4m3"]
    assert (row["kind"], row["layer"], row["bits"]) == ("MLP up", "3", 32 * 64 * 8.25)


def test_kinds_and_layers_are_sums(model: dict[str, np.ndarray], page: str) -> None:
    """The table of kinds and the marks of a chart, against sums of exact errors."""
    names = [x for x in model if "mlp.down_proj" in x]
    totals = [sf.quantization_error(model[x], "nvfp4") for x in names]
    down = next(text for _, text in Page(page).of("tr") if text.startswith("MLP down"))
    assert f"{sum(totals, start=Errors()).sqnr:.2f}worst {min(x.sqnr for x in totals):.2f}" in down
    marks = [text for _, text in Page(page).of("path") if text.startswith("nvfp4, layer 3: ")]
    assert f"nvfp4, layer 3: {totals[3].sqnr:.2f} dB" in marks
    assert len(marks) == len(KINDS)


# -- text --------------------------------------------------------------------------------------------------------------


def test_text_answers_first(npz: Path) -> None:
    lines = ok("report", str(npz), *OPTIONS).splitlines()
    assert re.fullmatch(
        r"Fewest bits: nvfp4, 4\.\d+ bits per value, 0\.0\d+ MB \(stored: 32 bits, 0\.\d+ MB\), [\d.]+ dB over 22 "
        r"matrices, at worst [\d.]+ dB in [\w.]+; highest SQNR in the worst matrix: fp8_e4m3@fp32/tensor, 8\.0\d+ "
        r"bits per value, 0\.\d+ MB, [\d.]+ dB, at worst [\d.]+ dB in [\w.]+\.",
        lines[0],
    )
    assert [x.split()[0] for x in lines[1:7]] == [
        "format",
        "mxfp8_e4m3",
        "nvfp4",
        "fp8_e4m3",
        "fp8_e4m3@fp32/tensor",
        "fp32",
    ]
    assert lines[4].split()[1] == "none"  # an unscaled format
    beaten = (
        "fp8_e4m3@fp32/tensor is at least as accurate as mxfp8_e4m3, overall and in the worst matrix, and no larger"
    )
    assert lines[7] == f"note: {beaten}"
    kinds = lines[lines.index("") + 1 :]
    assert [x.split("  ")[0] for x in kinds[1 : kinds.index("")]] == [
        "token embedding",
        *KINDS.values(),
        "output head",
    ]
    worst = kinds[kinds.index("") + 1 :]
    ratios = [float(x.split()[3]) for x in worst[1:11]]
    assert ratios == sorted(ratios)
    assert worst[11] == "108 rows with errors and counts: --top N, --sort KEY, or -o FILE.html, .csv, .json"


@pytest.mark.parametrize(("options", "count"), [(["--top", "3"], 3), (["--sort", "file"], 108)])
def test_rows_are_printed_when_asked_for(options: list[str], count: int, npz: Path) -> None:
    rows = ok("report", str(npz), *OPTIONS, *options).partition("\n\n")[2].splitlines()[1:]
    assert len([x for x in rows if x.startswith(("model.", "lm_head"))]) == count


ONES, NORMAL = np.ones((8, 32), np.float32), np.random.default_rng(2).standard_normal((8, 32)).astype(np.float32)
SENTENCES = {
    "one format": (
        {"w": NORMAL, "v": NORMAL},
        ["mxfp8"],
        r"mxfp8_e4m3 takes 8\.25 bits per value, .* MB\), [\d.]+ dB over 2 matrices, at worst [\d.]+ dB in w\.",
    ),
    "one tensor": (
        {"w": NORMAL},
        ["mxfp8", "mxfp4"],
        r"Fewest bits: mxfp4_e2m1, .* dB on w; highest SQNR: mxfp8_e4m3, .*",
    ),
    "exact": (
        {"w": ONES},
        ["mxfp8", "mxfp4"],
        r"mxfp4_e2m1 has both the fewest bits and the highest SQNR: 4\.25 bits per value, .*, exact on w\.",
    ),
    "unscaled": ({"w": NORMAL}, ["fp16", "bf16"], r"fp16 \(unscaled\) has both .*"),
    "vectors": ({"b.bias": NORMAL, "c.bias": NORMAL}, ["fp16"], r"fp16 .* dB over 2 vectors, at worst .* in b\.bias\."),
    "zeros": ({"w": 0 * ONES}, ["fp16"], r"The matrices have no values to compare formats by: zeros, NaN or Inf\."),
    "refused": (
        {"w": NORMAL, "n": np.where(NORMAL > 2, np.nan, NORMAL)},
        ["msfp12", "mxfp8"],
        r"mxfp8_e4m3 takes .*",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_sentences(case: str, tmp_path: Path) -> None:
    tensors, formats, pattern = SENTENCES[case]
    np.savez(tmp_path / "m.npz", **tensors)
    options = [word for fmt in formats for word in ("--fmt", fmt)]
    shown = ok("report", "m.npz", *options, "-o", "r.html", "-o", "r.json", cwd=tmp_path)
    assert re.fullmatch(pattern, shown.splitlines()[0]), shown.splitlines()[0]
    answer = Page((tmp_path / "r.html").read_text()).of("p", "answer")[0][1]
    assert answer == shown.splitlines()[0] == json.loads((tmp_path / "r.json").read_text())["summary"]["sentence"]


def test_what_the_numbers_leave_out_is_said(tmp_path: Path) -> None:
    x = NORMAL.copy()
    x[0, :2] = np.nan, np.inf
    np.savez(tmp_path / "m.npz", w=x, v=NORMAL)
    shown = ok("report", "m.npz", "--fmt", "mxfp8", "--fmt", "mxfp4", "--fmt", "msfp12", "-o", "r.html", cwd=tmp_path)
    told = [
        "msfp12 refuses 1 matrix, which its numbers leave out: w (a block of msfp12 holds a NaN or Inf, which profile "
        "msfp refuses)",
        "in mxfp8_e4m3 and mxfp4_e2m1, 30 finite values become NaN or Inf, which the SQNR leaves out",
        "2 values of w are NaN or Inf, which the SQNR leaves out",
    ]
    assert [x.removeprefix("note: ") for x in shown.splitlines() if x.startswith("note: ")] == told
    assert [text for _, text in Page((tmp_path / "r.html").read_text()).of("li")] == told


def test_a_format_that_loses_values_is_not_the_answer(tmp_path: Path) -> None:
    """Without saturation, values beyond E4M3 are NaN, and the errors of what is left are small."""
    x = NORMAL.copy()
    x[0, 0] = 570
    np.savez(tmp_path / "m.npz", w=x)
    formats = ["--fmt", "fp8_e4m3", "--fmt", "fp8_e5m2", "--overflow", "sat-none"]
    shown = ok("report", "m.npz", *formats, "-o", "r.json", cwd=tmp_path).splitlines()
    assert shown[0].startswith("fp8_e5m2 (unscaled) takes 8 bits per value, ")
    rows = json.loads((tmp_path / "r.json").read_text())["summary"]["formats"]
    assert rows[0]["sqnr_db"] > rows[1]["sqnr_db"]
    told = (
        "in fp8_e4m3, 1 finite value becomes NaN or Inf, which the SQNR leaves out; the sentence leaves out this format"
    )
    assert f"note: {told}" in shown


def test_words() -> None:
    assert [megabytes(x) for x in (0.00001234, 0.0123, 1.5, 141234.2)] == ["1.2e-05", "0.012", "1.500", "141,234"]
    assert [listed(["a", "b", "c"][:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert (short("x" * 60), len(short("x" * 500))) == ("x" * 60, 59)


# -- the page ----------------------------------------------------------------------------------------------------------


def test_page_is_one_file_for_everybody(page: str) -> None:
    """No other file; headings in order; heads, labels and roles for those who do not see it; dark and light."""
    parsed = Page(page)
    assert not re.search(r"https?:|<link|<img|@import|\bsrc=|url\(", page)
    levels = [int(t[1]) for t, _, _ in parsed.elements if re.fullmatch("h[1-6]", t)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert all(a.get("scope") in ("col", "row") for a, _ in parsed.of("th"))
    charts = [a for a, _ in parsed.of("svg") if "swatch" not in (a.get("class") or "")]
    assert all(a["role"] == "img" and a["aria-label"] for a in charts)
    assert len(charts) >= len(KINDS) + 3
    ids = [a["id"] for _, a, _ in parsed.elements if a.get("id")]
    assert len(ids) == len(set(ids))
    links = [str(a["href"])[1:] for a, _ in parsed.of("a")]
    assert links
    assert set(links) <= set(ids)
    labelled = {a.get("for") for a, _ in parsed.of("label")}
    assert "search" in labelled
    assert '<label>Show <select id="measure">' in page
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_script_finds_what_it_looks_for(page: str) -> None:
    script = html_page.Path(html_page.__file__).with_name("report.js").read_text()
    ids = set(re.findall(r'byId\("(\w+)"\)', script))
    assert len(ids) >= 6
    assert all(f'id="{x}"' in page for x in ids)
    numbers = json.loads(re.search(r'id="numbers">(.*?)</script>', page)[1])  # type: ignore[index]
    assert [len(x) for x in numbers["rows"]] == [len(FORMATS)] * 27
    assert all(len(texts) == len(numbers["measures"]) for row in numbers["rows"] for texts in row)
    rows = [a["data-row"] for a, _ in Page(page).of("tr") if "data-row" in a]
    assert rows == [str(i) for i in range(27)]
    sizes = json.loads(re.search(r'id="sizes">(.*?)</script>', page)[1])  # type: ignore[index]
    assert [len(x["levels"]) for x in sizes] == [22] * len(FORMATS)


def test_a_format_looks_the_same_in_every_chart(page: str) -> None:
    """Names beside marks have one colour and shape each, wherever; in the order in which they were asked for."""
    names = ["mxfp8_e4m3", "nvfp4", "fp8_e4m3", "fp8_e4m3@fp32/tensor"]
    series = [text for _, text in Page(page).of("span", "series")]
    assert len(series) % len(names) == 0
    assert series == names * (len(series) // len(names))
    for number, name in enumerate(names):
        marks = re.findall(
            r'<path class="mark ([^"]*)" transform="[^"]*" d="([^"]*)"><title>' + re.escape(name) + "[,:]", page
        )
        assert len(marks) > LAYERS * len(KINDS)
        assert len(set(marks)) == 1, name
        assert marks[0][0] == f"f{number}{' hollow' * (name == 'fp8_e4m3')} s{number}"


def test_a_chart_for_each_kind_of_layer(page: str) -> None:
    captions = [text for _, text in Page(page).of("figcaption")]
    assert [x for x in captions if x in KINDS.values()] == list(KINDS.values())
    outside = next(a["aria-label"] for a, _ in Page(page).of("svg") if "outside" in str(a.get("aria-label")))
    assert outside == "SQNR, dB of 2 kinds and tensors outside the layers"


def test_the_worst_weights_are_first_and_vectors_apart(page: str, npz: Path) -> None:
    rows = {x["tensor"]: x for x in json.loads(npz.with_suffix(".json").read_text())["rows"] if x["format"] == "nvfp4"}
    tables = page.split('<table class="tensors">')[1:]
    names = [re.findall(r'<tr data-row="\d+"><th class="t name" scope="row">(.*?)</th>', x) for x in tables]
    plain = [[x.replace("<wbr>", "") for x in of] for of in names]
    assert plain[0] == sorted((x for x in rows if rows[x]["matrix"]), key=lambda x: rows[x]["sqnr_db"])
    assert set(plain[1]) == {x for x in rows if not rows[x]["matrix"]}


def test_page_in_an_order(npz: Path, tmp_path: Path) -> None:
    ok("report", str(npz), "--fmt", "mxfp8", "--sort", "name", "--include", "*proj*", "-o", str(tmp_path / "r.html"))
    page = (tmp_path / "r.html").read_text()
    names = re.findall(r'<tr data-row="\d+"><th class="t name" scope="row">(.*?)</th>', page)
    assert names == sorted(names)
    assert not any("aria-sort" in a for a, _ in Page(page).of("th"))


def test_many_kinds_and_long_names_stay_bounded(tmp_path: Path) -> None:
    """200 tensors that no pattern knows: a chart has some of the names, the tables all."""
    names = [f"module_{chr(97 + i // 26)}{chr(97 + i % 26)}.{'very_long_' * 12}weight_of" for i in range(200)]
    np.savez(tmp_path / "m.npz", **dict.fromkeys(names, NORMAL))
    ok("report", "m.npz", "--fmt", "mxfp8", "-o", "r.html", cwd=tmp_path)
    page = (tmp_path / "r.html").read_text()
    assert page.count("<tr data-row=") == 200
    assert page.count('class="mark f0 s0" transform') < 120
    assert "176 more are in the tables" in page
    assert "160 more kinds have fewer values" in page
    shown = ok("report", "m.npz", "--fmt", "mxfp8", cwd=tmp_path)
    assert "\n160 more kinds, with fewer values\n" in shown
    assert len(shown.splitlines()) < 70
    drawn = re.findall(r"<text[^>]*>(.*?)</text>", page)
    assert max(map(len, drawn)) <= 60


def test_layers_are_in_order_of_their_numbers(tmp_path: Path) -> None:
    """Whatever the order of the file, such as that of the names."""
    names = sorted(f"layers.{i}.mlp.up_proj.weight" for i in range(12))
    assert names[2].startswith("layers.10.")
    np.savez(tmp_path / "m.npz", **{x: NORMAL + i for i, x in enumerate(names)})
    ok("report", "m.npz", "--fmt", "mxfp8", "-o", "r.html", cwd=tmp_path)
    marks = re.findall(r"translate\(([\d.]+),[^<]*<title>mxfp8_e4m3, layer (\d+)", (tmp_path / "r.html").read_text())
    assert [int(layer) for _, layer in sorted(marks, key=lambda x: float(x[0]))] == list(range(12))


def test_data_of_a_page_does_not_end_its_script() -> None:
    assert html_page.data("x", ["</script><b>"]).count("<") == 2


def test_infinite_and_missing_levels_have_a_place(tmp_path: Path) -> None:
    tensors = {f"layers.{i}.mlp.up_proj.weight": x for i, x in enumerate((NORMAL, 0 * ONES, ONES, -NORMAL))}
    np.savez(tmp_path / "m.npz", **tensors)
    ok("report", "m.npz", "--fmt", "mxfp8", "-o", "r.html", cwd=tmp_path)
    page = (tmp_path / "r.html").read_text()
    chart = next(x for x in page.split("<figure") if "MLP up</figcaption>" in x)
    level = f"{sf.quantization_error(NORMAL, 'mxfp8').sqnr:.2f} dB"
    marks = re.findall(r"<title>mxfp8_e4m3, layer (\d: [^<]*)<", chart)
    assert marks == [f"0: {level}", "2: exact", f"3: {level}"]
    assert ">exact</text>" in chart
    assert "nan" not in " ".join(re.findall(r"<svg.*?</svg>", page, re.S))
