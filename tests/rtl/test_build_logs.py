"""The reason that is given for a build that fails: the error that the tool found, not a warning before it.

Each source has one thing wrong, of those that stop a compiler of SystemVerilog or VHDL: what is missing (a module, a
package, an include, a macro, a function, a declaration, a port, a parameter), what is there twice, what is not in the
grammar, what a tool does not support, and what the design itself checks. Before it stands a net that is not declared
and a connection of the wrong width, of which all tools warn.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from benches import ONLY_ICARUS
from click.testing import CliRunner

from softfloat_ref.app.testbench import testbench as command
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl import build_logs
from softfloat_ref.rtl.bench_runs import ToolError
from softfloat_ref.rtl.build_logs import LogErrors
from softfloat_ref.rtl.ghdl import find_ghdl
from softfloat_ref.rtl.simulators import find

NEEDS_GHDL = pytest.mark.skipif(shutil.which("ghdl") is None, reason="needs GHDL (apt-get install ghdl)")
SIMULATORS = ("verilator", pytest.param("icarus", marks=ONLY_ICARUS))
INNER = "module inner(input [7:0] x, output [7:0] y); assign y = x; endmodule\n"
WARNED = "module dut(input [7:0] a, output [7:0] y); wire [3:0] n = a; assign spare = a[0];\n"
BROKEN = {  # the second line, and what the reason of Verilator and of Icarus has
    "a module": ("missing u(.a(a), .y(y));", "module: 'missing'", "Unknown module type: missing"),
    "a package": ("assign y = a & pkg::MASK;", "not found: 'pkg'", "syntax error"),
    "an imported package": ("import pkg::*; assign y = a;", "not found: 'pkg'", "syntax error"),
    "an include": ('`include "no_such.svh"', "Cannot find include file: 'no_such.svh'", "no_such.svh not found"),
    "a macro": ("assign y = a & `MASK;", "not defined: '`MASK'", "macro MASK undefined"),
    "a macro, taken for nothing": ("assign y = a `MASK;", "not defined: '`MASK'", "macro MASK undefined"),
    "a function": ("assign y = f(a);", "task/function: 'f'", "No function named `f' found"),
    "a declaration": ("assign y = b;", "variable: 'b'", "`b'"),
    "a port": ("inner i(.x(a), .y(y), .z(a));", "Pin not found: 'z'", "``z'' is not a port"),
    "a parameter": ("inner #(.W(3)) i(.x(a), .y(y));", "Parameter not found: 'W'", "parameter W not found"),
    "twice a signal": ("wire w; wire w; assign y = a;", "Duplicate declaration of signal: 'w'", "'w' has already been"),
    "twice a module": (
        f"inner i(.x(a), .y(y)); endmodule {INNER.strip()} module other;",
        "Duplicate declaration of module: 'inner'",
        "'inner' has already been",
    ),
    "the grammar": ("assign y = a &;", "syntax error", "syntax error"),
    "what is unsupported": ("initial wait_order (x, y);", "Unsupported: wait_order", "syntax error"),
    "a check": ('assign y = a; if (1) $error("W is 8");', "W is 8", "syntax error"),
    "a fatal check": ('assign y = a; $fatal(1, "W is 8");', "W is 8", "syntax error"),
}


@pytest.mark.sim
@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_reason_is_the_error(simulator: str, name: str, tmp_path: Path) -> None:
    line, *reasons = BROKEN[name]
    (tmp_path / "dut.sv").write_text(f"{WARNED}{line}\nendmodule\n{INNER}")
    with pytest.raises(ToolError) as caught:
        find(simulator).build([tmp_path / "dut.sv"], "dut", work_dir=tmp_path / "work").make()
    reason = reasons[simulator == "icarus"]
    assert f"{tmp_path}/dut.sv:" in caught.value.reason
    assert reason in caught.value.reason
    assert "\n" not in caught.value.reason
    assert not any(
        shown.startswith(("%Warning", "%Error: Exiting")) or "See the manual" in shown for shown in caught.value.shown
    )


VHDL = {
    "an entity": ("i : entity work.missing port map (a => a, y => y);", 'unit "missing" not found'),
    "a package": ("y <= a and work.pkg.mask;", 'unit "pkg" not found'),
    "a declaration": ("y <= b;", 'no declaration for "b"'),
    "a component": (
        "b : block is component inner is port (x : in std_logic); end component;\nbegin i : inner port map (x => a(0));"
        " end block; y <= a;",
        'instance "i" of component "inner" is not bound',
    ),
    "the grammar": ("y <= a and ;", "expected"),
}
UNUSED = "process (all) is begin t <= a; end process;\n"  # hides a declaration: a warning


@pytest.mark.sim
@NEEDS_GHDL
@pytest.mark.parametrize("name", VHDL)
def test_the_reason_of_ghdl(name: str, tmp_path: Path) -> None:
    line, reason = VHDL[name]
    (tmp_path / "dut.vhd").write_text(
        "library ieee;\nuse ieee.std_logic_1164.all;\nentity dut is\n"
        "port (a : in std_logic_vector(7 downto 0); y : out std_logic_vector(7 downto 0));\nend;\n"
        f"architecture rtl of dut is signal t : std_logic_vector(a'range); begin\n{UNUSED}{line}\nend;\n"
    )
    with pytest.raises(Error, match="cannot build dut: ") as caught:
        find_ghdl().run([tmp_path / "dut.vhd"], "dut", tmp_path / "work")
    assert reason in str(caught.value)


LOGS = {
    "a compiler of C": (
        build_logs.VERILATOR,
        "%Warning-WIDTH: t.sv:1:2: an error: so\nVt.cpp:3:10: fatal error: lz4.h: No such file or directory\n"
        "    3 | #include <lz4.h>\nmake: *** [Vt.mk:9: Vt.o] Error 1\n%Error: make -C /tmp/x -f Vt.mk exited with 2\n",
        ["Vt.cpp:3:10: fatal error: lz4.h: No such file or directory", "    3 | #include <lz4.h>"],
    ),
    "a linker": (
        build_logs.VERILATOR,
        "/usr/bin/ld: cannot find -lz: No such file\ncollect2: error: ld returned 1 exit status\n%Error: make -C x\n",
        ["/usr/bin/ld: cannot find -lz: No such file"],
    ),
    "make": (build_logs.VERILATOR, "make: g++: No such file\n%Error: make -C x exited with 2\n", ["%Error: make -C x"]),
    "several errors": (
        build_logs.ICARUS,
        "t.sv:2: warning: implicit definition of wire 'spare'.\nt.sv:2: error: 'w' has already been declared.\n"
        "t.sv:2:      : It was declared here as a net.\nt.sv:3: sorry: Unpacked structs not supported.\nI give up.\n",
        [
            "t.sv:2: error: 'w' has already been declared.",
            "t.sv:2:      : It was declared here as a net.",
            "t.sv:3: sorry: Unpacked structs not supported.",
        ],
    ),
    "Icarus itself": (
        build_logs.ICARUS,
        "t.sv:1: warning: timescale inherited from another file\nt.sv:3: assert: elaborate.cc:1637: failed assertion\n",
        ["t.sv:3: assert: elaborate.cc:1637: failed assertion"],
    ),
    "GHDL itself": (
        build_logs.GHDL,
        "t.vhd:3:14:warning: see t.vhd:1:1: error\n/usr/bin/ghdl-mcode:error: cannot find entity t\n",
        ["/usr/bin/ghdl-mcode:error: cannot find entity t"],
    ),
    "another program": (build_logs.ANY, "begin\nCommand not found: x\n", ["Command not found: x"]),
    "no error at all": (build_logs.ANY, "killed\n\nbye\n", ["killed", "bye"]),
    "nothing": (build_logs.VERILATOR, "", []),
}


@pytest.mark.parametrize("name", LOGS)
def test_the_errors_of_a_log(name: str) -> None:
    rules: LogErrors
    rules, log, lines = LOGS[name]
    shown = [line for message in rules.messages(log) for line in message]
    assert [a.startswith(b) for a, b in zip(shown, lines, strict=False)] == [True] * len(lines)
    assert shown or not lines


@pytest.mark.sim
@pytest.mark.extra("pyslang")
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_command_shows_errors_only(simulator: str, tmp_path: Path) -> None:
    generate(VectorSet.make("abs", "fp8_e5m2", 10), tmp_path / "vectors")
    (tmp_path / "dut.sv").write_text(f"{WARNED}missing u(.a(a), .y(y));\nendmodule\n")
    (tmp_path / "p.toml").write_text(
        'module = "dut"\nignore = ["flags"]\ninputs = { a = "a" }\noutputs = { y = "result" }\n'
    )
    arguments = [str(tmp_path / "vectors"), "--ports", str(tmp_path / "p.toml"), "--sim", simulator, "--run"]
    run = CliRunner().invoke(command, [*arguments, str(tmp_path / "dut.sv")])
    assert isinstance(run.exception, Error)
    assert "missing" in str(run.exception)
    assert "arning" not in run.stderr
