"""Suites: each shipped one, written and verified as a whole; the committed packs, made again, have the same bytes."""

from __future__ import annotations

import importlib.util
import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import TOP, ok, refused, run

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.suites import Suite, find_suite, generate_suite, read_suite, verify_suite
from softfloat_ref.golden.vector_recipes import suite_files
from softfloat_ref.oracle.policies import rounding_name
from softfloat_ref.units import MixedUnit, OperationUnit

PACKS = TOP / "vectors" / "packs"
NAMES = (
    "bf16-tpu",
    "fp16-fma",
    "mx-dot",
    "mx-quantize",
    "ocp-fp8-convert",
    "p3109-8p4se",
    "riscv-ofp8-narrow",
    "riscv-zfh",
)
SMALL = """
description = "small"
count = 30
policy = "riscv"

[[set]]
op = ["add", "sqrt"]
fmt = "fp16"
rounding = ["rne", "rtz"]

[[set]]
op = "mul"
fmt = ["fp16", "bf16"]
seed = [1, 2]
count = 40
label = "odd"

[pack]
count = 5
sets = ["add_*", "mul_bf16_rne_odd_1"]
"""


def suite(name: str) -> Suite:
    known = find_suite(name)
    assert known is not None
    return known


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# -- packs -------------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_packs_made_again_have_the_same_bytes(tmp_path: Path) -> None:
    """After a change of cases or files that is meant, `python vectors/make_packs.py` makes them anew."""
    spec = importlib.util.spec_from_file_location("make_packs", TOP / "vectors" / "make_packs.py")
    assert spec is not None
    assert spec.loader is not None
    make_packs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_packs)
    make_packs.make(tmp_path)
    generated, committed = files(tmp_path), files(PACKS)
    assert generated.keys() == committed.keys()
    assert [name for name, data in generated.items() if data != committed[name]] == []
    assert {name.split("/")[0] for name in generated} == set(NAMES) == set(suite_files())


@pytest.mark.full
def test_packs_are_small_and_verified() -> None:
    committed = files(PACKS)
    assert sum(map(len, committed.values())) < 1 << 20
    assert max(map(len, committed.values())) < 300 << 10
    for name in NAMES:
        reports = list(verify_suite(PACKS / name))
        assert len(reports) >= 3
        assert all(report.passed for _, report in reports)


# -- each shipped suite ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_shipped_suites(name: str) -> None:
    shipped = suite(name)
    assert shipped.description
    assert len(shipped.sets) >= 9
    assert all(v.count >= 256 for v in shipped.sets.values())


def test_riscv_zfh_has_every_instruction_and_rounding() -> None:
    sets = suite("riscv-zfh").sets
    modes = {"rne", "rtz", "rdn", "rup", "rna"}
    for op in ("add", "sub", "mul", "div", "sqrt", "fma"):
        assert modes == {k.split("_")[-1] for k in sets if k.startswith(f"{op}_fp16_")}, op
    for source in ("fp32", "fp64", "i32", "u32", "i64", "u64"):
        assert modes == {k.split("_")[-1] for k in sets if k.startswith(f"convert_{source}_to_fp16_")}, source
    for target in ("i32", "u32", "i64", "u64"):
        assert modes == {k.split("_")[-1] for k in sets if k.startswith(f"convert_fp16_to_{target}_")}, target
    assert {"min", "max", "eq", "lt", "le", "class", "copysign"} <= {k.split("_")[0] for k in sets}
    boxed = sets["boxed"]
    assert isinstance(boxed.unit, MixedUnit)
    scalars = [v.unit for v in sets.values() if isinstance(v.unit, OperationUnit)]
    parts = boxed.unit.operations
    assert {u.policy.nan.split(",")[0] for u in (*scalars, *parts)} == {"canonical"}
    assert {str(u.policy.tininess) for u in (*scalars, *parts)} == {"after"}


def test_p3109_is_under_its_own_policy() -> None:
    sets = suite("p3109-8p4se").sets.values()
    units = [v.unit for v in sets if isinstance(v.unit, OperationUnit)]
    assert {str(u.policy.overflow_for(u.out)) for u in units if u.op == "div"} == {
        "sat-none",
        "sat-propagate",
        "sat-finite",
    }
    assert {rounding_name(u.policy.rounding) for u in units if u.op == "fma"} == {
        "rne",
        "rna",
        "rup",
        "rdn",
        "rtz",
        "rto",
    }


# -- the expansion -----------------------------------------------------------------------------------------------------


def test_lists_are_crossed() -> None:
    small = read_suite("small", tomllib.loads(SMALL))
    assert list(small.sets) == [
        "add_fp16_rne",
        "add_fp16_rtz",
        "sqrt_fp16_rne",
        "sqrt_fp16_rtz",
        "mul_fp16_rne_odd_1",
        "mul_fp16_rne_odd_2",
        "mul_bf16_rne_odd_1",
        "mul_bf16_rne_odd_2",
    ]
    assert [v.count for v in small.sets.values()] == [30] * 4 + [40] * 4
    assert {v.unit.policy.nan[:9] for v in small.sets.values() if isinstance(v.unit, OperationUnit)} == {"canonical"}
    assert list(small.packed().sets) == ["add_fp16_rne", "add_fp16_rtz", "mul_bf16_rne_odd_1"]
    assert {v.count for v in small.replaced(7, 3).sets.values()} == {7}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("count = 30", "number = 30", "unknown key 'number'"),
        ('op = "mul"', 'op = "mul"\nround = "rne"', "unknown key 'round'"),
        ('op = "mul"', 'op = "mull"', "unknown operation 'mull'"),
        ('["rne", "rtz"]', '["rne", "up"]', "unknown rounding 'up'"),
        ('["rne", "rtz"]', '["rne", "rne"]', "two sets would both be add_fp16_rne"),
        ('label = "odd"', 'label = "odd/../.."', "letters, digits and _"),
        ('"add_*"', '"div_*"', "no set matches 'div_\\*'"),
        ("[pack]", "[[pack]]", "\\[pack\\] needs count, and sets"),
        ("count = 5", "count = 5\nseed = 3", "unknown key 'seed'"),
        ('policy = "riscv"', "policy = 3", "policy = 3 is not of type str or dict"),
        ("count = 40", "count = [40, 0]", "count = 0: an integer of 1 or more"),
    ],
)
def test_bad_suites(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = SMALL.replace(old, new)
    assert text != SMALL
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(Error, match=message) as caught:
        find_suite(str(tmp_path / "s.toml"))
    assert str(tmp_path / "s.toml") in str(caught.value)


# -- folders -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    generate_suite(read_suite("small", tomllib.loads(SMALL)), folder / "v")
    return folder / "v"


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "v"))


def edit(folder: Path, how: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "suite.json"
    table = json.loads(path.read_text())
    how(table)
    path.write_text(json.dumps(table))


def replace_set(folder: Path) -> None:
    """One set by another valid one: only the suite's own manifest can tell."""
    shutil.rmtree(folder / "add_fp16_rne")
    shutil.copytree(folder / "add_fp16_rtz", folder / "add_fp16_rne")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (replace_set, "suite.json: add_fp16_rne differs from the set that was written: its manifest.json"),
        (lambda d: shutil.copytree(d / "add_fp16_rne", d / "more"), "more: is in the folder, but not in suite.json"),
        (lambda d: edit(d, lambda t: t.update(count=1)), "suite.json: counts 1 vectors, but its sets have 280"),
        (lambda d: edit(d, lambda t: t.update(sets=[])), "suite.json: has no sets"),
        (lambda d: edit(d, lambda t: t["sets"][0].update(count=1)), "add_fp16_rne differs from the set that was"),
        (lambda d: (d / "add_fp16_rne" / "add_fp16_rne.tv").write_bytes(b""), "SHA-256 differs"),
    ],
)
def test_a_suite_that_was_tampered_with(how: Callable[[Path], object], message: str, folder: Path) -> None:
    assert all(report.passed for _, report in verify_suite(folder))
    how(folder)
    shown = [p for _, report in verify_suite(folder) for p in report.problems]
    assert any(message in p for p in shown), shown
    assert run("vectors", "verify", str(folder)).returncode == 1


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda d: shutil.rmtree(d / "add_fp16_rne"), "manifest.json: No such file"),
        (lambda d: edit(d, lambda t: t.update(schema=2)), "schema 2; this version reads schema 1"),
        (lambda d: edit(d, lambda t: t["sets"][0].update(folder="../v")), "sets are not tables"),
        (lambda d: edit(d, lambda t: t.pop("sets")), "sets are not tables"),
        (lambda d: edit(d, lambda t: t["sets"].append(t["sets"][0])), "suite.json: lists the set 'add_fp16_rne' twice"),
        (lambda d: (d / "suite.json").write_text('{"schema": 1, "schema": 1}'), "'schema' is given twice"),
        (lambda d: (d / "suite.json").write_text("{"), "not valid JSON"),
        (lambda d: (d / "suite.json").write_text("[]"), "not a manifest of a suite"),
    ],
)
def test_a_suite_that_cannot_be_read(how: Callable[[Path], object], message: str, folder: Path) -> None:
    how(folder)
    assert message in run("vectors", "verify", str(folder)).stderr
    assert run("vectors", "verify", str(folder)).returncode == 2


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    assert refused("vectors", "generate", "small.toml", "-o", "-", cwd=tmp_path).count("a suite has several sets")
    assert "--pack has its own" in refused(
        "vectors", "generate", "small.toml", "--pack", "-n", "3", "-o", "v", cwd=tmp_path
    )
    assert "--intermediate is for" in refused(
        "vectors", "generate", "small.toml", "--intermediate", "-o", "v", cwd=tmp_path
    )
    assert [p.name for p in tmp_path.iterdir()] == ["small.toml"]
    shown = run("vectors", "generate", "small.toml", "-o", "v", "-n", "20", cwd=tmp_path).stderr
    assert shown == "160 vectors of small in v: 8 sets, suite.json\n"
    ok("vectors", "generate", "small.toml", "-o", "w", "-n", "20", "--resume", cwd=tmp_path)
    first = {k: v for k, v in files(tmp_path / "v").items() if not k.endswith(".json")}
    assert first == {k: v for k, v in files(tmp_path / "w").items() if not k.endswith(".json")}
    assert run("vectors", "verify", "v", cwd=tmp_path).stderr.count(": verified, 20 vectors of ") == 8
    assert "already holds a set" in refused("vectors", "generate", "small.toml", "-o", "v/add_fp16_rne", cwd=tmp_path)
    assert "already holds the suite small" in refused("vectors", "generate", "fp16-fma", "-o", "v", cwd=tmp_path)
    assert "did you mean riscv-zfh" in refused("vectors", "generate", "riscv-zf", "-o", "x", cwd=tmp_path)


def test_a_suite_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands is not made again; the bytes are those of one run."""
    small = read_suite("small", tomllib.loads(SMALL))
    generate_suite(small, tmp_path / "once")
    line, calls = VectorSet.line, 0

    def some(self: VectorSet, inputs: tuple[int, ...]) -> tuple[int, ...] | None:
        nonlocal calls
        calls += 1
        if calls == 100:
            raise KeyboardInterrupt
        return line(self, inputs)

    monkeypatch.setattr(VectorSet, "line", some)
    with pytest.raises(KeyboardInterrupt):
        generate_suite(small, tmp_path / "v", resume=True)
    assert not (tmp_path / "v" / "suite.json").exists()
    generate_suite(small, tmp_path / "v", resume=True)
    assert files(tmp_path / "v") == files(tmp_path / "once")
    assert calls == 280 + 10  # three sets stood; of the fourth ten lines were made, but no part
