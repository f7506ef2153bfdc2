"""Vectors whose manifests are of schema 2, as version 0 wrote them: they are read, verified, and made again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify

STORED = Path(__file__).parents[1] / "golden" / "schema2"
MATMULS = ("matmul", "matmul_swizzled")
KINDS = (
    *("every_type", "fma", "convert_sr", "left_out", "intermediate", "mixed", "dot", *MATMULS),
    *("quantize_mxfp8", "quantize_sr", "quantize_nvfp4", "dequantize"),
)


def data_files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "manifest.json"}


def test_every_kind_is_here() -> None:
    assert {p.name for p in STORED.iterdir()} == set(KINDS)
    for name in KINDS:
        assert json.loads((STORED / name / "manifest.json").read_text())["schema"] == 2


@pytest.mark.full(keep=9)
@pytest.mark.parametrize("name", KINDS)
def test_it_is_verified(name: str) -> None:
    report = verify(STORED / name)
    assert report.passed, report.problems
    assert report.checked == report.count == json.loads((STORED / name / "manifest.json").read_text())["count"]


@pytest.mark.parametrize("name", KINDS)
def test_its_set_makes_the_same_bytes(name: str, tmp_path: Path) -> None:
    stored = read_manifest(STORED / name)
    vectors = VectorSet.from_dict(stored["set"])
    formats = {"images"} if name in MATMULS else {f["format"] for f in stored["files"]} - {"left_out"}
    made = generate(vectors, tmp_path / "v", formats=sorted(formats))
    assert data_files(tmp_path / "v") == data_files(STORED / name)
    assert made["schema"] == 3
    assert (made["name"], made["count"], made["groups"]) == (stored["name"], stored["count"], stored["groups"])
    assert made["left_out"] == stored["left_out"]
    assert VectorSet.from_dict(made["set"]) == vectors


@pytest.mark.parametrize("name", KINDS)
def test_what_was_tampered_with_is_found(name: str, tmp_path: Path) -> None:
    """Data, and the definition of the set."""
    folder = Path(shutil.copytree(STORED / name, tmp_path / "v"))
    path = next(p for p in sorted(folder.iterdir()) if p.suffix in (".tv", ".memh"))
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    assert not verify(folder).passed
    folder = Path(shutil.copytree(STORED / name, tmp_path / "w"))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["set"]["seed"] += 1
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert not verify(folder).passed
