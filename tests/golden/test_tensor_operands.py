"""Sets whose operands are those of models' tensors: the cases, the manifest, and what verification finds."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import here

import softfloat_ref as sf
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify

RNG = np.random.default_rng(4)
WEIGHT = RNG.standard_normal((5, 70)).astype(np.float32)
INPUTS = (RNG.standard_normal((3, 70)) * 8).astype(np.float16)
STORED = sf.blocks.encode(RNG.standard_normal((4, 64)).astype(np.float32), "mxfp4", profile="nvidia")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "layer.npz"
    blocks = STORED.pack("low-first").data.reshape(4, 2, 16)
    np.savez(path, weight=WEIGHT, inputs=INPUTS, w_blocks=blocks, w_scales=STORED.scales, narrow=WEIGHT[:, :64])
    return str(path)


def padded(x: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """Rows cut into pieces, the last one with zeros behind."""
    more = -x.shape[1] % size
    return np.pad(x, ((0, 0), (0, more))).reshape(-1, size)


def rows(vectors: VectorSet) -> list[tuple[int, ...]]:
    return [tuple(line) for line in vectors.lines()]


@pytest.mark.parametrize("name", ["weight", "inputs"])
@pytest.mark.parametrize("profile", ["ocp", "gguf-mxfp4"])
def test_a_quantizer_gets_the_blocks(model: str, name: str, profile: str) -> None:
    vectors = sf.vectors("quantize", "mxfp4", profile=profile, tensors=[f"{model}::{name}"])
    values = padded({"weight": WEIGHT, "inputs": INPUTS}[name].astype(np.float32), 32)
    q = sf.blocks.encode(values, "mxfp4", profile=profile)
    expected = np.hstack([values.view(np.uint32), q.scales, q.codes])
    assert rows(vectors) == [tuple(x) for x in expected.tolist()]


def test_the_tensor_scale_is_that_of_the_tensor(model: str) -> None:
    vectors = sf.vectors("quantize", "nvfp4", 7, tensors=[f"values={model}::weight"])
    q = sf.blocks.encode(WEIGHT, "nvfp4")
    second = int(np.float32(q.tensor_scale).view(np.uint32))
    assert [line[16] for line in rows(vectors)] == [second] * 7
    codes = padded(q.codes, 16)[:7]
    assert [line[17:] for line in rows(vectors)] == [
        (s, *c) for s, c in zip(q.scales.reshape(-1)[:7].tolist(), codes.tolist(), strict=True)
    ]


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("fmt", ["fp8_e4m3", "mxfp8"])
def test_dot_products_of_rows(model: str, fmt: str) -> None:
    """Every row of a by every row of b, in pieces of k; of stored blocks their own codes, of others those quantized."""
    formats, b = ("a=mxfp8,b=mxfp4", "w") if fmt == "mxfp8" else (fmt, "narrow")
    vectors = sf.vectors("dot", formats, k=32, tensors=[f"a={model}::narrow", f"b={model}::{b}"])
    a = sf.encode(WEIGHT[:, :64], fmt)
    codes = np.asarray(a.codes).reshape(5, 2, 32)
    assert len(rows(vectors)) == 5 * (4 if fmt == "mxfp8" else 5) * 2
    for n, line in enumerate(rows(vectors)):
        i, rest = divmod(n, len(rows(vectors)) // 5)
        j, piece = divmod(rest, 2)
        own = codes[i, piece].tolist()
        if fmt == "mxfp8":
            scales = a.scales[i, piece], STORED.scales[j, piece]
            other = STORED.codes.reshape(4, 2, 32)[j, piece].tolist()
            assert line[:-2] == (scales[0], *own, scales[1], *other, 0)
        else:
            assert line[:-2] == (*own, *codes[j, piece].tolist(), 0)


def test_matrix_products_are_tiles(model: str) -> None:
    """Rows that are not there are zeros."""
    vectors = sf.vectors("matmul", "mxfp8", k=96, m=2, n=4, tensors=[f"a={model}::inputs", f"b={model}::weight"])
    a, b = (sf.blocks.encode(padded(x.astype(np.float32), 96), "mxfp8") for x in (INPUTS, WEIGHT))
    assert vectors.count == 2 * 2
    taken = [vectors.unit.taken(line) for line in vectors.inputs()]
    for n, (top, left) in enumerate([(0, 0), (0, 4), (2, 0), (2, 4)]):
        for name, array, start, count in (("a", a, top, 2), ("b", b, left, 4)):
            own = np.zeros((count, 96), int)
            scales = np.zeros((count, 3), int)
            part = array.codes[start : start + count]
            own[: len(part)], scales[: len(part)] = part, array.scales[start : start + count]
            assert list(taken[n][name]) == own.reshape(-1).tolist()
            assert list(taken[n][f"{name}_scale"]) == scales.reshape(-1).tolist()


SETS = [
    ("quantize", "mxfp8", {}, ["{}::weight"]),
    ("quantize", "nvfp4", {"profile": "compressed-tensors-nvfp4"}, ["{}::weight"]),
    ("quantize", "mxfp4", {"policy": {"rounding": "sr", "sr_bits": 4}}, ["{}::inputs"]),
    ("dot", "a=mxfp8,b=mxfp4", {"k": 64}, ["a={}::narrow", "b={}::w"]),
    ("matmul", "fp8_e4m3", {"k": 16, "m": 2, "n": 2}, ["b={}::weight", "a={}::inputs"]),
]


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(("op", "fmt", "options", "places"), SETS)
def test_written_and_verified(
    model: str, tmp_path: Path, op: str, fmt: str, options: dict[str, Any], places: list[str]
) -> None:
    vectors = sf.vectors(op, fmt, 6, tensors=[p.format(model) for p in places], **options)
    generate(vectors, tmp_path)
    assert VectorSet.from_dict(read_manifest(tmp_path)["set"]) == vectors
    report = verify(tmp_path, models=[model])
    assert report.passed
    assert "compared with layer.npz::" in report.summary()
    assert "not compared" in verify(tmp_path).summary()


def test_operands_that_are_not_the_tensors_are_found(model: str, tmp_path: Path) -> None:
    """A set that is right in itself, whose operands are others; and a model whose tensor is another."""
    vectors = sf.vectors("quantize", "mxfp8", 4, tensors=[f"{model}::weight"])
    assert vectors.operands is not None
    first, *rest = vectors.operands.lines
    changed = dataclasses.replace(vectors.operands, lines=((first[0] ^ 1, *first[1:]), *rest))
    generate(dataclasses.replace(vectors, operands=changed), tmp_path / "changed")
    assert verify(tmp_path / "changed").passed
    assert verify(tmp_path / "changed", models=[model]).problems == [
        "manifest.json: the operands are not those that the tensors give"
    ]
    generate(vectors, tmp_path / "right")
    other = tmp_path / "layer.npz"
    np.savez(other, weight=np.where(np.arange(70) == 69, 1, WEIGHT).astype(np.float32))
    (problem,) = verify(tmp_path / "right", models=[str(other)]).problems
    assert "weight: its values in layer.npz are not those of layer.npz, by their SHA-256" in problem


def test_a_changed_manifest_is_refused(model: str, tmp_path: Path) -> None:
    generate(sf.vectors("quantize", "mxfp8", 4, tensors=[f"{model}::weight"]), tmp_path)
    path = tmp_path / "manifest.json"
    table = json.loads(path.read_text())
    for change in (
        {"lines": ["0"]},
        {"lines": [" ".join(["fffffffff"] * 32)] * 4},
        {"lines": [5]},
        {"lines": ["x"]},
        {"lines": []},
        {"lines": "0"},
        {"tensors": []},
        {"tensors": [5]},
        {"tensors": [{"field": 5}]},
    ):
        path.write_text(json.dumps(table | {"set": table["set"] | {"operands": table["set"]["operands"] | change}}))
        with pytest.raises(Error, match="operands of tensors"):
            verify(tmp_path)
    path.write_text(json.dumps(table | {"set": table["set"] | {"generator": "directed-then-weighted-2"}}))
    with pytest.raises(Error, match="supports 'tensors-1'"):
        verify(tmp_path)


@pytest.mark.parametrize(
    ("op", "options", "places", "why"),
    [
        ("quantize", {"fmt": "mxfp8"}, ["a={}::weight"], "No such file"),
        ("quantize", {"fmt": "mxfp8"}, ["{}::weights"], "unknown tensor in .*'weights'; did you mean weight"),
        ("quantize", {"fmt": "mxfp8"}, ["{}"], "unknown tensor in"),
        ("quantize", {"fmt": "mxfp8", "out": "bf16"}, ["{}::weight"], "has values that are not bf16's"),
        ("quantize", {"fmt": "mxfp8", "count": 16}, ["{}::weight"], "the tensors give 15 cases, not 16"),
        ("quantize", {"fmt": "mxfp8", "count": 1 << 20}, ["{}::weight"], "at most 8192 vectors of tensors"),
        ("quantize", {"fmt": "mxfp8", "level": 1}, ["{}::weight"], "have no level and no range"),
        ("quantize", {"fmt": "mxfp8", "where": "values is finite"}, ["{}::weight"], "have no level and no range"),
        ("quantize", {"fmt": "mxfp8"}, ["{}::weight", "values={}::inputs"], "give a tensor for each of values"),
        ("dot", {"fmt": "fp8_e4m3"}, ["a={}::weight"], "give a tensor for each of a, b: a=FILE::TENSOR"),
        ("dot", {"fmt": "fp8_e4m3"}, ["a={}::weight", "b={}::narrow"], "5x70 and .* 5x64: rows of a and b must have"),
        ("add", {"fmt": "fp16"}, ["a={}::weight"], "operands of tensors are for quantize, dot, matmul"),
        ("quantize_mxfp8_e4m3", {}, ["{}::weight"], "a vector recipe has its own cases"),
    ],
)
def test_bad_usage(model: str, op: str, options: dict[str, Any], places: list[str], why: str) -> None:
    with pytest.raises(Error, match=why):
        sf.vectors(op, tensors=[p.format(model) for p in places], **options)


def test_the_commands(model: str, tmp_path: Path) -> None:
    generated = here(
        "vectors", "generate", "quantize", "--fmt", "mxfp8", "--from", f"{model}::weight", "-o", "q", cwd=tmp_path
    )
    assert generated.returncode == 0
    done = here("vectors", "verify", "q", "--from", model, cwd=tmp_path)
    assert done.returncode == 0
    assert "operands compared with layer.npz::weight" in done.stderr
    refused = here("vectors", "generate", "riscv-zfh", "--from", f"{model}::weight", "-o", "r", cwd=tmp_path)
    assert refused.stderr == "softfloat-ref: a suite has sets of many operands; leave --from out\n"
    here("vectors", "generate", "add", "--fmt", "fp16", "-n", "10", "-o", "add", cwd=tmp_path)
    refused = here("vectors", "verify", "add", "--from", model, cwd=tmp_path)
    assert refused.stderr == "softfloat-ref: add: has no operands of tensors; leave --from out\n"
