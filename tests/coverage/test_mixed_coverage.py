"""Coverage of mixed sets: each part has the bins and the hits that it has by itself."""

from __future__ import annotations

import json
from pathlib import Path

import command
import pytest

from softfloat_ref.coverage.engine import measure
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.units import MixedUnit, OperationUnit

PARTS = (
    OperationUnit.make("add", "fp16", policy="riscv"),
    OperationUnit.make("mul", "bf16", policy="riscv"),
    OperationUnit.make("add", "bf16", policy="riscv"),
)
VECTORS = VectorSet(MixedUnit(PARTS, width=32), 300, seed=3, unboxed=10)
NAME = VECTORS.name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mixed")
    generate(VECTORS, path)
    return path


def report(*args: str | Path) -> dict:  # type: ignore[type-arg]
    table = json.loads(command.ok("coverage", *map(str, args), "--json"))
    assert isinstance(table, dict)
    return table


def test_each_part_has_the_report_it_has_by_itself(folder: Path) -> None:
    table = report("report", folder)
    own: dict[OperationUnit, list[tuple[int, ...]]] = {p: [] for p in PARTS}
    for inputs in VECTORS.inputs():
        part, case = VECTORS.unit.selected(inputs)
        own[part].append(case)
    for part, cases in own.items():
        coverage = VectorSet(part, 1).coverage
        assert coverage is not None
        alone = measure.report(coverage, part.name, "", measure.count(coverage, cases), {})
        assert table["parts"][part.name] == alone.totals
        models = {m["id"]: m for m in table["models"]}
        for m in alone.models:
            assert [b["hits"] for b in models[f"{part.name}/{m.id}"]["bins"]] == [b.hits for b in m.bins]
            assert models[f"{part.name}/{m.id}"]["bins"][0]["id"] == f"{part.name}/{m.bins[0].id}"
    assert list(table["parts"]) == [p.name for p in PARTS]
    assert table["totals"]["hit"] == sum(p["hit"] for p in table["parts"].values())
    assert read_manifest(folder)["coverage"] is None  # no case has a tag


def test_the_results_of_a_simulation(folder: Path, tmp_path: Path) -> None:
    """All of it; the lines of a single part; a line of no part."""
    lines = (folder / f"{NAME}.tv").read_text().splitlines()
    log = tmp_path / "log"
    log.write_text("\n".join(lines))
    assert report("from-results", log, "--golden", folder)["parts"] == report("report", folder)["parts"]
    log.write_text("\n".join(x for x in lines if x.startswith("1 ")))
    parts = report("from-results", log, "--golden", folder)["parts"]
    assert [bool(part["hit"]) for part in parts.values()] == [False, True, False]
    log.write_text("\n".join(" ".join([*x.split()[-2:]]) for x in lines))  # results in the order of the set
    assert report("from-results", log, "--golden", folder)["parts"] == report("report", folder)["parts"]
    codes = " ".join(["1", "0", *lines[0].split()[2:]])  # mul of the first format is no part
    log.write_text(codes)
    assert "control fields of no part" in command.refused("coverage", "from-results", str(log), "--golden", str(folder))


def test_text_page_waivers_and_exit_codes(folder: Path, tmp_path: Path) -> None:
    shown = command.ok("coverage", "report", str(folder), "--html", str(tmp_path / "page.html")).splitlines()
    assert shown[1].split() == ["part", "bins", "hit", "empty", "waived", "unreachable"]
    assert [row.split()[0] for row in shown[2:6]] == [*(p.name for p in PARTS), "total"]
    for part in PARTS:
        assert sum(row.startswith(f"empty: {part.name}/") for row in shown) == measure.LISTED
        assert f"<h2>{part.name}</h2>" in (tmp_path / "page.html").read_text()
    every = command.ok("coverage", "report", str(folder), "--bins").splitlines()
    assert len(every) - 6 == sum(sum(p.values()) for p in report("report", folder)["parts"].values())
    assert command.run("coverage", "report", str(folder), "--require-coverage").returncode == 1
    waivers = tmp_path / "waivers.toml"
    waivers.write_text('[[waive]]\nbin = "*"\nreason = "none"\n')
    done = command.run("coverage", "report", str(folder), "--require-coverage", "--waive", str(waivers))
    assert done.returncode == 0
    waivers.write_text('[[waive]]\nbin = "add_fp16_rne/B1/*"\nreason = "none"\n')
    parts = report("report", folder, "--waive", str(waivers))["parts"]
    assert [bool(part["waived"]) for part in parts.values()] == [True, False, False]
    assert "scalar operations" in command.refused("coverage", "export-sv", str(folder), "-o", str(tmp_path / "x.sv"))
