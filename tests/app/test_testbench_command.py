"""`vectors testbench --run` on sources as other people have them: lists, folders, macros, several tops, kept builds."""

from __future__ import annotations

import subprocess
from pathlib import Path

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


def test_sources_from_a_list(call: list[str], simulator: str) -> None:
    """Without the macro, the package before its user, or the other top, it would not build."""
    assert ok(*call, "--sim", simulator, "--run") == "PASS: 60 of 60 vectors\n"
    done = run(*call, "--sim", simulator, "--run", "-D", "ONCE=0")
    assert done.returncode == 1
    assert "\nFAIL: 60 mismatches, 60 of 60 vectors compared\n" in done.stdout


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


def test_commands_that_are_printed(call: list[str], simulator: str) -> None:
    """They do what --run does, in any folder and environment."""
    shown = ok(*call, "--sim", simulator, "--print-command", "--work", "work", "--plusarg", "+seed=3")
    done = subprocess.run(["sh", "-ec", shown], capture_output=True, text=True, cwd="/", check=False)
    assert "seed 3\nPASS: 60 of 60 vectors" in done.stdout, done.stderr


def test_arguments_for_the_build(call: list[str], tmp_path: Path) -> None:
    wrong = run(*call, "--sim", CHEAP, "--run", "--sim-arg", "--no-such-option")
    assert wrong.returncode == 2
    assert "cannot build" in wrong.stderr
    endless = "longint n = 1; initial forever begin n = n + 2; if (n == 0) $display(n); end"
    (tmp_path / "p.sv").write_text(f"{PACKAGE}module hold; {endless} endmodule\n")
    late = run(*call, "--top", "hold", "--sim", CHEAP, "--run", "--timeout", "2")
    assert late.returncode == 2
    assert "exceeded its time limit and was stopped" in late.stderr


def test_options_that_do_not_go_together(call: list[str]) -> None:
    base = call[:5]
    assert "--print-command needs -o FILE.sv or --work DIR" in refused(*base, "--print-command", "p.sv")
    for option in (("--work", "w"), ("--sim-arg", "-Wall"), ("--timeout", "3"), ("-D", "X"), ("--top", "t")):
        assert f"{option[0]} needs --run" in refused(*base, "-o", "tb.sv", *option)
    assert "--run needs the module's sources" in refused(*base, "--run")
    assert "none.f: no such file list" in refused(*base, "--run", "-f", "none.f")
    assert "unit.f:1: -q is skipped" in _skipped(call)


def _skipped(call: list[str]) -> str:
    Path("unit.f").write_text("-q " + Path("unit.f").read_text())
    return run(*call, "--sim", CHEAP, "--print-command", "--work", "w").stderr
