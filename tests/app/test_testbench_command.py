"""`vectors testbench --run` on sources as other people have them: lists, folders, macros, several tops, kept builds."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from benches import CHEAP
from command import ok, refused, run

pytestmark = pytest.mark.sim

UNIT = """
`include "sign.svh"
module unit #(parameter WIDTH = 16) (input [WIDTH-1:0] a, output [WIDTH-1:0] result);
  assign result = a ^ (`SIGN * p::ONE * power.on * `ONCE);
endmodule
"""
PORTS = """
module = "unit"
ignore = ["flags"]
inputs = { a = "a" }
outputs = { result = "result" }
"""
PACKAGE = "package p; localparam [15:0] ONE = 1; endpackage\n"


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("neg")
    ok("vectors", "generate", "--op", "neg", "--fmt", "fp16", "-n", "60", "-o", str(folder))
    return folder


@pytest.fixture
def call(vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command for a unit whose sign takes a package, an included file, a macro and another top module."""
    (tmp_path / "include").mkdir()
    for name, text in {
        "include/sign.svh": "`define SIGN 16'h8000\n",
        "p.sv": PACKAGE,
        "power.sv": "module power; reg [15:0] on = 1; endmodule\n",
        "unit.sv": UNIT,
        "unit.f": "unit.sv p.sv power.sv +incdir+include +define+ONCE=1\n",
        "ports.toml": PORTS,
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return ["vectors", "testbench", str(vectors), "--ports", "ports.toml", "-f", "unit.f", "--top", "power"]


@pytest.mark.full(keep=1)
def test_sources_from_a_list(call: list[str], simulator: str) -> None:
    """Without the macro, the package before its user, or the other top, it would not build."""
    assert ok(*call, "--sim", simulator, "--run") == "PASS: 60 of 60 vectors\n"
    done = run(*call, "--sim", simulator, "--run", "-D", "ONCE=0")
    assert done.returncode == 1
    assert "\nFAIL: 60 mismatches, 60 of 60 vectors compared\n" in done.stdout


@pytest.mark.full(keep=1)
@pytest.mark.extra("yaml", "pyslang")
@pytest.mark.parametrize("project", ["Bender.yml", "unit.core"])
def test_sources_of_a_project_file(project: str, call: list[str], tmp_path: Path) -> None:
    """With a target, by which the macro is right; what no simulator reads is skipped, and named."""
    (tmp_path / "Bender.yml").write_text(
        "package: {name: unit}\nsources:\n  - include_dirs: [include]\n"
        "    defines: {ONCE: {target: on, value: 1}}\n    files: [unit.sv, p.sv, power.sv]\n"
    )
    (tmp_path / "unit.core").write_text(
        "CAPI=2:\nname: a:b:unit\nfilesets:\n  rtl:\n    file_type: systemVerilogSource\n"
        "    files: [unit.sv, p.sv, power.sv, include/sign.svh: {is_include_file: true}, x.tcl: {file_type: tcl}]\n"
        "parameters: {ONCE: {datatype: int, default: 0, paramtype: vlogdefine}}\n"
        "targets: {on: {filesets: [rtl], parameters: [ONCE=1]}}\n"
    )
    done = run(*call[:5], *call[7:], "--sim", CHEAP, "--run", project, "--target", "on")
    assert done.stdout == "PASS: 60 of 60 vectors\n", done.stderr
    assert ("1 file of type tcl is skipped" in done.stderr) == (project == "unit.core")


@pytest.mark.full
def test_a_table_that_the_module_reads(vectors: Path, simulator: str, tmp_path: Path, monkeypatch: Any) -> None:
    """Its path means the folder of the user, whether the build is kept or not; and so do the printed commands. Each run
    reads it, also that of a build which is kept."""
    text = "module unit(input [15:0] a, output [15:0] result); reg [15:0] sign [0:0];\n"
    text += '  initial $readmemh("rom/sign.hex", sign); assign result = a ^ sign[0]; endmodule\n'
    (tmp_path / "rom").mkdir()
    for name, content in {"unit.sv": text, "ports.toml": PORTS, "rom/sign.hex": "8000\n"}.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    call = ["vectors", "testbench", str(vectors), "--ports", "ports.toml", "--sim", simulator, "--run", "unit.sv"]
    for more in ((), ("--work", "work")):
        assert ok(*call, *more) == "PASS: 60 of 60 vectors\n"
    *_, enter, last = ok(*call, "--work", "work", "--print-command").splitlines()
    assert (enter, "+vectors=" in last) == (f"cd {tmp_path}", True)
    built = tmp_path / "work" / f"unit_tb.{simulator}" / "built.json"
    before = built.stat().st_mtime_ns
    (tmp_path / "rom" / "sign.hex").write_text("4000\n")
    assert run(*call, "--work", "work").returncode == 1
    assert built.stat().st_mtime_ns == before


@pytest.mark.full
def test_modules_that_verilator_finds_by_itself(vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In include folders, without -y: a kept build knows them by what Verilator says that it read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inc").mkdir()
    body = '`include "x y.svh"\nassign y = a ^ `SIGN;'
    for name, content in {
        "unit.sv": LIBRARY["unit.sv"],
        "ports.toml": PORTS,
        "inc/middle.v": LIBRARY["ip/middle.vlib"].replace("cell_not c(a, y);", body),
        "inc/x y.svh": "`define SIGN 16'h8000\n",
    }.items():
        (tmp_path / name).write_text(content)
    call = ("vectors", "testbench", str(vectors), "--ports", "ports.toml", "--sim", "verilator", "--run", "unit.sv")
    call += ("-I", "inc", "--work", "work")
    built = tmp_path / "work" / "unit_tb.verilator" / "built.json"
    assert ok(*call) == "PASS: 60 of 60 vectors\n"
    before = built.stat().st_mtime_ns
    assert ok(*call) == "PASS: 60 of 60 vectors\n"
    assert built.stat().st_mtime_ns == before
    (tmp_path / "inc" / "x y.svh").write_text("`define SIGN 16'h4000\n")
    assert run(*call).returncode == 1


@pytest.mark.full
def test_a_build_is_kept(call: list[str], tmp_path: Path) -> None:
    """It is used again until the command, or a file that it reads, has changed."""
    call += ["--sim", CHEAP, "--run", "--work", "work"]
    built = tmp_path / "work" / f"unit_tb_and_tops.{CHEAP}" / "built.json"

    def built_again(*more: str) -> bool:
        before = built.stat().st_mtime_ns
        ok(*call, *more)
        return built.stat().st_mtime_ns != before

    ok(*call)
    assert not built_again("--plusarg", "seed=3", "--results", "log")
    head, *lines = (tmp_path / "log").read_text().splitlines()
    assert (head, len(lines)) == ("// flags = none", 60)
    assert built_again("-D", "UNUSED")
    (tmp_path / "include" / "sign.svh").write_text("`define SIGN 16'h4000\n")
    assert run(*call, "-D", "UNUSED").returncode == 1
    (tmp_path / "include" / "sign.svh").write_text("`define SIGN )\n")
    done = run(*call)
    assert (done.returncode, built.exists()) == (2, False)
    assert str(tmp_path / "work") in done.stderr.splitlines()[-1]


@pytest.mark.full
def test_a_build_is_not_kept_where_another_file_is_included(call: list[str], tmp_path: Path) -> None:
    """A file that appears in a folder that is searched earlier, such as the working folder of an Icarus."""
    call += ["--sim", CHEAP, "--run", "--work", "work", "-I", "earlier"]
    built = tmp_path / "work" / f"unit_tb_and_tops.{CHEAP}" / "built.json"
    (tmp_path / "earlier").mkdir()
    for folder in ("earlier", "work") if CHEAP == "icarus" else ("earlier",):
        ok(*call)
        before = built.stat().st_mtime_ns
        (tmp_path / folder / "other.svh").write_text("`define SIGN 16'h4000\n")
        ok(*call)
        assert built.stat().st_mtime_ns == before
        shadow = tmp_path / folder / "sign.svh"
        shadow.write_text("`define SIGN 16'h4000\n")
        assert run(*call).returncode == 1
        shadow.unlink()


LIBRARY = {
    "unit.sv": "module unit(input [15:0] a, output [15:0] result); middle m(a, result); endmodule\n",
    "ip/middle.vlib": "module middle(input [15:0] a, output [15:0] y); cell_not c(a, y); endmodule\n",
    "cells.v": "module cell_not(input [15:0] a, output [15:0] y); assign y = a ^ 16'h8000; endmodule\n"
    "module unused; endmodule\n",
    "unit.f": "unit.sv -y earlier -y ip +libext+.v+.vlib -v cells.v\n",
}


@pytest.mark.full
def test_modules_of_libraries(vectors: Path, simulator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of them, and folders, of which the first has none at first: a kept build notices the new one."""
    monkeypatch.chdir(tmp_path)
    for folder in ("ip", "earlier"):
        (tmp_path / folder).mkdir()
    for name, text in LIBRARY.items():
        (tmp_path / name).write_text(text)
    drafted = ok("vectors", "ports", "--top", "middle", "-f", "unit.f", "ip/middle.vlib", "--vectors", str(vectors))
    Path("ports.toml").write_text(drafted.replace('"middle"', '"unit"').replace("y = ", "result = "))
    call = ("vectors", "testbench", str(vectors), "--ports", "ports.toml", "--sim", simulator, "--run", "--work", "w")
    assert ok(*call, "-f", "unit.f") == "PASS: 60 of 60 vectors\n"
    options = ("unit.sv", "-y", "earlier", "-y", "ip", "+libext+.v+.vlib", "-v", "cells.v")
    built = tmp_path / "w" / f"unit_tb.{simulator}" / "built.json"
    before = built.stat().st_mtime_ns
    assert ok(*call, *options) == "PASS: 60 of 60 vectors\n"
    assert built.stat().st_mtime_ns == before
    (tmp_path / "earlier" / "middle.v").write_text(LIBRARY["ip/middle.vlib"].replace("(a, y)", "(~a, y)"))
    assert run(*call, *options).returncode == 1


@pytest.mark.full(keep=1)
def test_commands_that_are_printed(call: list[str], simulator: str) -> None:
    """They do what --run does, in any folder and environment."""
    shown = ok(*call, "--sim", simulator, "--print-command", "--work", "work", "--plusarg", "+seed=3")
    done = subprocess.run(["sh", "-ec", shown], capture_output=True, text=True, cwd="/", check=False)
    assert "seed 3\nPASS: 60 of 60 vectors" in done.stdout, done.stderr


@pytest.mark.full
def test_arguments_for_the_build(call: list[str], tmp_path: Path) -> None:
    wrong = run(*call, "--sim", CHEAP, "--run", "--sim-arg", "--no-such-option")
    assert wrong.returncode == 2
    assert "cannot build" in wrong.stderr
    endless = "longint n = 1; initial forever begin n = n + 2; if (n == 0) $display(n); end"
    (tmp_path / "p.sv").write_text(f"{PACKAGE}module hold; {endless} endmodule\n")
    late = run(*call, "--top", "hold", "--sim", CHEAP, "--run", "--timeout", "2")
    assert late.returncode == 1
    assert "exceeded its time limit and was stopped" in late.stdout


def test_options_that_do_not_go_together(call: list[str]) -> None:
    base = call[:5]
    assert "--print-command needs -o FILE.sv or --work DIR" in refused(*base, "--print-command", "p.sv")
    for option in (
        ("--work", "w"),
        ("--sim-arg", "-Wall"),
        ("--timeout", "3"),
        ("-D", "X"),
        ("--top", "t"),
        ("-y", "."),
    ):
        assert f"{option[0]} needs --run" in refused(*base, "-o", "tb.sv", *option)
    assert "--run needs the module's sources" in refused(*base, "--run")
    assert "none.f: no such file list" in refused(*base, "--run", "-f", "none.f")
    assert "unit.f:1: -q is skipped" in _skipped(call)


def _skipped(call: list[str]) -> str:
    Path("unit.f").write_text("-q " + Path("unit.f").read_text())
    return run(*call, "--sim", CHEAP, "--print-command", "--work", "w").stderr
