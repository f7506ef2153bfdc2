"""Circuits for the tests: a table of all results of a multiplication in FP4, behind one protocol or another."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import Rtl, read_rtl
from softfloat_ref.proof.yosys import Frontend
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.units import OperationUnit, Unit

UNIT = OperationUnit.make("mul", "fp4_e2m1")
DATA = {"inputs": {"a": "a", "b": "b"}, "outputs": {"result": "result", "flags": "flags"}}
FLOW = {"in_valid": "in_valid", "in_ready": "in_ready", "out_valid": "out_valid", "out_ready": "out_ready"}
RESET = {"port": "rst", "active": "high"}

BARE = DATA
FIXED = {
    "inputs": {**DATA["inputs"], "rst": {"value": 0}, "out_ready": {"value": 1}},
    "outputs": DATA["outputs"],
    "clock": "clk",
    "latency": 2,
    "handshake": {"in_valid": "in_valid", "out_valid": "out_valid"},
}
READY = {**DATA, "clock": "clk", "reset": RESET, "handshake": FLOW}
TAGGED = {**READY, "tag": {"in": "tag_i", "out": "tag_o", "width": 2}}
EACH = {**READY, "handshake": {**FLOW, "in_valid": {"a": "va", "b": "vb"}, "in_ready": {"a": "ra", "b": "rb"}}}


@cache
def table(wrong: int | None = None) -> str:
    """The module `times`: all results; one of them is wrong."""
    rows = []
    for code in range(256):
        result, flags = UNIT.answer((code >> 4, code & 15))
        rows.append(f"      8'd{code}: y = 9'd{(result ^ (code == wrong)) << 5 | flags};")
    lines = ["module times(input [3:0] a, b, output reg [8:0] y);", "  always @(*) case ({a, b})", *rows]
    return "\n".join([*lines, "    default: y = 0;", "  endcase", "endmodule", ""])


HEAD = """
module dut(input [3:0] a, b, output [3:0] result, output [4:0] flags{ports});
  wire [8:0] now;
  times t(.a({a}), .b({b}), .y(now));
"""
CLOCKED = ", input clk, rst, in_valid, out_ready, output in_ready, out_valid"
BODIES = {
    "bare": "assign {result, flags} = now;",
    # a second register after the table; the first one's valid is lost in a reset
    "fixed": """reg [8:0] one, two; reg v1, v2;
      assign {result, flags} = two;  assign out_valid = v2;  assign in_ready = 1;
      always @(posedge clk) begin one <= now; two <= one; v1 <= in_valid; v2 <= v1; end""",
    # holds its result until that is taken
    "ready": """reg [8:0] held; reg full;
      assign {result, flags} = held;  assign out_valid = full;  assign in_ready = !full || out_ready;
      always @(posedge clk) if (rst) full <= 0; else if (in_ready) begin full <= in_valid; held <= now; end""",
    # as many cycles as b says
    "slow": """reg [8:0] held; reg [3:0] left; reg busy;
      assign {result, flags} = held;  assign out_valid = busy && left == 0;  assign in_ready = !busy;
      always @(posedge clk)
        if (rst) busy <= 0;
        else if (!busy) begin busy <= in_valid; held <= now; left <= b; end
        else if (left != 0) left <= left - 1;
        else if (out_ready) busy <= 0;""",
    "stuck": "assign {result, flags} = now;  assign out_valid = 0;  assign in_ready = 1;",
    "early": "assign {result, flags} = now;  assign out_valid = 1;  assign in_ready = 0;",
    "falling": """reg [8:0] one;  assign {result, flags} = one;  assign out_valid = 1;  assign in_ready = 1;
      always @(negedge clk) one <= now;""",
    "gated": """reg [8:0] one;  wire gate = clk & in_valid;
      assign {result, flags} = one;  assign out_valid = 1;  assign in_ready = 1;
      always @(posedge gate) one <= now;""",
}
TAGS = """module labelled(input [3:0] a, b, output [3:0] result, output [4:0] flags, input [1:0] tag_i,
    output reg [1:0] tag_o, input clk, rst, in_valid, out_ready, output in_ready, out_valid);
  dut d(.*);
  always @(posedge clk) if (in_ready) tag_o <= tag_i{fault};
endmodule
"""
PAIR = """module pair(input [3:0] a, b, output reg [3:0] result, output reg [4:0] flags, input clk, rst, va, vb,
    input out_ready, output ra, rb, output reg out_valid);
  reg [3:0] ka, kb; reg ha, hb;
  wire [8:0] now;
  times t(.a(ka), .b(kb), .y(now));
  assign ra = !ha;  assign rb = ha && !hb;  // b only after a
  always @(posedge clk)
    if (rst) begin ha <= 0; hb <= 0; out_valid <= 0; end
    else begin
      if (va && ra) begin ha <= 1; ka <= {kept}; end
      if (vb && rb) begin hb <= 1; kb <= b; end
      if (ha && hb && !out_valid) begin out_valid <= 1; {result, flags} <= now; end
      if (out_valid && out_ready) begin ha <= 0; hb <= 0; out_valid <= 0; end
    end
endmodule
"""


def source(body: str, wrong: int | None = None, **more: str) -> str:
    """A module in a file, with its table."""
    if body == "pair":
        return table(wrong) + PAIR.replace("{kept}", more.get("kept", "a"))
    inner = "bare" if body == "bare" else "ready" if body == "labelled" else body
    ports = "" if inner == "bare" else CLOCKED
    head = HEAD.replace("{ports}", ports).replace("{a}", more.get("a", "a")).replace("{b}", more.get("b", "b"))
    tail = TAGS.replace("{fault}", more.get("fault", "")) if body == "labelled" else ""
    return f"{table(wrong)}{head}{BODIES[inner]}\nendmodule\n{tail}"


def question(
    folder: Path,
    ports: Mapping[str, Any],
    body: str,
    wrong: int | None = None,
    frontend: Frontend = "slang",
    assumed: str = "",
    **more: str,
) -> Question:
    """Whether a module computes the unit."""
    module = body if body in ("pair", "labelled") else "dut"
    found = rtl(folder, UNIT, source(body, wrong, **more), {"module": module, **ports}, frontend, body)
    return Question(UNIT, found, {}, assumed)


def rtl(
    folder: Path, unit: Unit, text: str, ports: Mapping[str, Any], frontend: Frontend = "slang", name: str = "dut"
) -> Rtl:
    """A module in a file of that name; it is dut unless the port map names another one."""
    file = folder / f"{name}.sv"
    file.write_text(text)
    return read_rtl(unit, parse_ports({"module": "dut", **ports}), read_sources([file]), frontend)


def asked(folder: Path, body: str, ports: Mapping[str, Any] = READY) -> Question:
    head = HEAD.replace("{ports}", CLOCKED).replace("{a}", "a").replace("{b}", "b")
    return Question(UNIT, rtl(folder, UNIT, f"{table()}{head}{body}\nendmodule\n", ports))


def proof(of: Question) -> Proof:
    return prove(of, "whole", Tactics(20))


def told(of: Question) -> str:
    """What is said to be wrong of later operations, as the oracle sees it."""
    found = proof(of)
    assert found.verdict == "counterexample"
    assert found.counterexample is not None
    assert tuple(UNIT.answer(found.counterexample.inputs)) == found.counterexample.expected
    if found.counterexample.said == "the result is wrong":
        assert found.counterexample.got != found.counterexample.expected
    return found.counterexample.said
