"""The UVM package: strict IEEE 1800-2017, and its predictor and scoreboard under Verilator.

They are compiled against a stub of UVM's classes, and against UVM itself where the environment variable UVM_HOME names
its folder (the one with src/uvm_pkg.sv in it): github.com/accellera-official/uvm-core.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from command import ok, refused
from slang import problems

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.vector_recipes import load_recipe, recipe_files
from softfloat_ref.rtl.simulators import find
from softfloat_ref.rtl.uvm import FILES, packed_unit, unpacked_unit, uvm_text, write_dpi, write_uvm
from softfloat_ref.units import MixedUnit, make_unit

TOP = Path(__file__).parents[2]
STUB = TOP / "tests" / "support" / "uvm_stub"
BENCH = Path(__file__).with_name("uvm_tb.sv")
MIXED = TOP / "docs" / "examples" / "mixed" / "recipe.toml"
BLOCKS = "quantize_mxfp4_e2m1"
HOME = os.environ.get("UVM_HOME")
COUNT = 200
LIBRARIES = ["stub", pytest.param("UVM", marks=pytest.mark.skipif(not HOME, reason="needs UVM_HOME, a folder of UVM"))]


def library(name: str) -> Path:
    """The folder of uvm_pkg.sv."""
    return STUB if name == "stub" else Path(HOME or "") / "src"


@pytest.fixture
def packages(tmp_path: Path) -> list[Path]:
    """The DPI package, and those of every shipped recipe, of a mixed one, and of a unit with a field `integer`."""
    recipes = {name: load_recipe(name) for name in recipe_files()} | {"fpu": load_recipe(str(MIXED))}
    units = {name: recipe.unit for name, recipe in recipes.items()} | {"affine": make_unit("quantize", "qint8")}
    return [write_dpi(tmp_path)[1], *(write_uvm(tmp_path, unit, name) for name, unit in units.items())]


@pytest.mark.parametrize("name", LIBRARIES)
def test_packages_are_plain_systemverilog(name: str, packages: list[Path]) -> None:
    """Every warning would be one of a file that is ours."""
    sources = [library(name) / "uvm_pkg.sv", *packages, BENCH]
    messages = problems(sources, "uvm_tb", f"-I{library(name)}", "-DUVM_NO_DPI")
    assert [line for line in messages if name == "stub" or not line.startswith(str(library(name)))] == []


def test_a_unit_is_its_definition() -> None:
    for name in recipe_files():
        unit = load_recipe(name).unit
        assert unpacked_unit(packed_unit(unit)) == unit
    mixed = load_recipe(str(MIXED)).unit
    assert unpacked_unit(packed_unit(mixed)) == mixed


@pytest.mark.parametrize("text", ["", "%", "AAAA", "QlpoOQ==", packed_unit(load_recipe("fp16_fma_rne").unit)[:-9]])
def test_what_is_no_definition(text: str) -> None:
    with pytest.raises(Error, match="the definition of a unit"):
        unpacked_unit(text)


def test_units_that_do_not_fit() -> None:
    with pytest.raises(Error, match="must begin with a letter"):
        uvm_text(load_recipe("fp16_fma_rne").unit, "16bits")
    mixed = load_recipe(str(MIXED)).unit
    assert isinstance(mixed, MixedUnit)
    with pytest.raises(Error, match="results of up to 128 bits"):
        uvm_text(MixedUnit(mixed.operations, width=256), "wide")


def test_the_server_opens_a_definition() -> None:
    word = packed_unit(load_recipe("fp16_fma_rne").unit)
    lines = f"open unit --fmt {word}\n0 3c00 0400 8001\nopen unit --fmt {word} rup\nopen unit --fmt fp16\n"
    shown = ok("eval", "--serve", stdin=lines).splitlines()
    assert shown[:2] == ["context 0 a=16 b=16 c=16 result=16", "03ff 00"]
    assert [line.split(";")[0] for line in shown[2:]] == [
        "error a unit's definition holds its policy and formats",
        "error this is not the definition of a unit",
    ]


def test_the_command(tmp_path: Path) -> None:
    shown = ok("dpi", "-o", str(tmp_path / "dpi"), "--uvm", str(MIXED)).splitlines()
    assert [Path(line).name for line in shown] == [*FILES, "recipe_uvm_pkg.sv"]
    assert Path(shown[-1]).read_text().startswith("// SPDX-License-Identifier: 0BSD\n")
    assert "unknown operation 'fp16'; did you mean fp16_add_rne" in refused(
        "dpi", "-o", str(tmp_path / "new"), "--uvm", "fp16"
    )
    assert not (tmp_path / "new").exists()


@dataclass(frozen=True)
class Built:
    """The bench, and the vectors that it reads."""

    command: list[str]
    lines: Path
    server: Path

    def run(self, *plusargs: str, fails: bool = False) -> str:
        """What it prints. fails: whether it must end with an error."""
        command = [*self.command, f"+lines={self.lines}", *plusargs]
        environment = {**os.environ, "SOFTFLOAT_REF": str(self.server)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert "FAIL" not in done.stdout
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module", params=LIBRARIES)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    work, folder = tmp_path_factory.mktemp("uvm"), library(request.param)
    ok("vectors", "generate", str(MIXED), "-n", str(COUNT), "--format", "tv", "-o", str(work / "vectors"))
    c_file, package = write_dpi(work)
    unit = write_uvm(work, load_recipe(str(MIXED)).unit, "fpu")
    blocks = write_uvm(work, load_recipe(BLOCKS).unit, BLOCKS)
    sources = [folder / "uvm_pkg.sv", package, c_file, unit, blocks, BENCH]
    build = find("verilator").build(
        sources,
        "uvm_tb",
        work_dir=work / "sim",
        include_dirs=[folder],
        defines={"UVM_NO_DPI": 1},
        arguments=["-MAKEFLAGS", "OPT_FAST=-O0"],  # UVM is two thousand C++ files, and the bench is short
    )
    build.make(timeout_s=1200)
    server = work / "softfloat-ref"
    server.write_text(f'#!/bin/sh\ncd "{TOP}" && exec "{sys.executable}" -m softfloat_ref "$@"\n')
    server.chmod(0o755)
    return Built(build.command, next((work / "vectors").glob("*.tv")), server)


@pytest.mark.full
@pytest.mark.sim
@pytest.mark.parametrize(
    ("plusargs", "errors", "summary"),
    [
        ("", [], "0 mismatches, 200 compared"),
        ("+early", [], "0 mismatches, 200 compared"),
        ("+tags +reverse", [], "0 mismatches, 200 compared"),
        ("+tags +reverse +early", [], "0 mismatches, 200 compared"),
        ("+inexact +mask", [], "0 mismatches, 200 compared"),
        ("+wrong", ["SF_MISMATCH"], "1 mismatches, 200 compared"),
        ("+inexact", ["SF_MISMATCH"], "1 mismatches, 200 compared"),
        ("+all", ["SF_MISMATCH"] * 11, "200 mismatches, 200 compared"),
        ("+tags +drop", ["SF_MISSING"], "0 mismatches, 199 compared"),
        ("+tags +twice", ["SF_SURPLUS"], "0 mismatches, 200 compared"),
        ("+none", ["SF_EMPTY"], "0 mismatches, 0 compared"),
        ("+blocks", ["SF_MISMATCH"], "1 mismatches, 2 compared"),
        ("+blocks +nan_scale_elements=any", [], "0 mismatches, 2 compared"),
        ("+blocks +nan_scale_elements=any +other", ["SF_MISMATCH"], "1 mismatches, 2 compared"),
        ("+blocks +nan_scale_elements=any +finite", ["SF_MISMATCH"], "1 mismatches, 2 compared"),
        ("+other_nan=0 +compare_nan=quiet", [], "0 mismatches, 200 compared"),
        ("+other_nan=1 +compare_nan=any", [], "0 mismatches, 200 compared"),
    ],
)
def test_scoreboard(plusargs: str, errors: list[str], summary: str, built: Built) -> None:
    """Golden vectors are what the predictor expects; what is planted is found."""
    shown = built.run(*plusargs.split())
    assert re.findall(r"^UVM_ERROR.*\[(SF_\w+)\]", shown, re.M) == errors
    assert re.search(rf"\[SF_REPORT\] {summary}$", shown, re.M), shown


@pytest.mark.full
@pytest.mark.sim
@pytest.mark.parametrize(
    "plusargs",
    [
        "+other_nan=0",
        "+other_nan=1 +compare_nan=quiet",
        "+other_nan=2 +compare_nan=any",
        "+other_nan=3 +compare_nan=any",
        "+other_nan=4 +compare_nan=any",
    ],
)
def test_nans_that_are_not_accepted(plusargs: str, built: Built) -> None:
    shown = built.run(*plusargs.split())
    assert re.search(r"\[SF_MISMATCH\] .* expected result=(ffff7e00|7fc00000|ffff0000) flags=", shown), shown


@pytest.mark.full
@pytest.mark.sim
def test_a_setting_that_is_none(built: Built) -> None:
    shown = built.run("+compare_nan=none", fails=True)
    assert "[SF_SETTING] compare_nan must be exact or quiet or any, not none" in shown


@pytest.mark.sim
def test_reports_by_kind(built: Built) -> None:
    shown = built.run("+wrong")
    line = built.lines.read_text().splitlines()[5].lower().split()
    pattern = r"\[SF_MISMATCH\] (\w+ \w+ \w+ \w+) .* a=(\w+) b=.* expected result=(\w+) flags=(\w+) got"
    mismatch = re.search(pattern, shown)
    assert mismatch, shown
    assert [*mismatch.groups()[1:]] == [line[4], line[7], line[8]]
    kinds = dict(re.findall(r"\[SF_REPORT\] (\w+ \w+ \w+ \w+): (\d+ mismatches in \d+)$", shown, re.M))
    assert kinds[mismatch[1]].startswith("1 mismatches")
    assert sum(int(text.split()[0]) for text in kinds.values()) == 1
    assert sum(int(text.split()[-1]) for text in kinds.values()) == COUNT
