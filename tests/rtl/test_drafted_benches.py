"""From the source of a module to a bench that passes, without an edit; with a fault in the module, it fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from benches import CHEAP, TOP, build, failure
from test_draft import design

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.draft import draft

pytestmark = [pytest.mark.sim, pytest.mark.full(keep=1)]

# copysign: the magnitude of a with the sign of b.
SPLIT = """
module m (input sa_i, input [7:0] ea_i, input [6:0] ma_i, input sb_i, input [7:0] eb_i, input [6:0] mb_i,
          output sr_o, output [7:0] er_o, output [6:0] mr_o);
  assign sr_o = sb_i, er_o = ea_i, mr_o = ma_i;
endmodule
"""
INTEGERS = """
module m (input signed_i, input [7:0] a, output [15:0] result);
  assign result = signed_i ? {{8{a[7]}}, a} : {8'd0, a};
endmodule
"""
INVERTED = """
module m (input clock, input reset, input in_valid, input [15:0] a, output reg [15:0] y, output reg out_valid);
  wire n = ~reset;
  always @(posedge clock or posedge n)
    if (n) begin out_valid <= 0; y <= 0; end
    else begin out_valid <= in_valid; y <= {1'b0, a[14:0]}; end
endmodule
"""
STARTING_AT_ZERO = """
module m (input clk, rst_n, in_valid, input [7:0] sa, input [255:0] va, input [7:0] sb, input [255:0] vb,
          output out_valid, output [31:0] y, output [4:0] fflags);
  mxfp8_dot core (.clk(clk), .rst_n(rst_n), .in_valid(in_valid), .a_scale(sa), .a(va), .b_scale(sb), .b(vb),
                  .c(32'd0), .defect(8'd0), .out_valid(out_valid), .result(y), .flags(fflags));
endmodule
"""
CASES = {
    "a number in three ports": (SPLIT, VectorSet.make("copysign", "bf16", 300), "= sb_i", "= sa_i"),
    "a bit that says signed": (
        INTEGERS, VectorSet.make("convert", "i8", 256, out="i16"), "signed_i ?", "!signed_i ?"
    ),
    "a bit that says unsigned": (
        INTEGERS, VectorSet.make("convert", "u8", 256, out="u16"), "signed_i ?", "!signed_i ?"
    ),
    "a reset through an inverter": (INVERTED, VectorSet.make("abs", "fp16", 300), "1'b0", "1'b1"),
    "a dot product without c": (
        STARTING_AT_ZERO, VectorSet.make("dot", "mxfp8", 200, where="c = 0x0"), "32'd0", "32'h3f800000"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_bench_without_an_edit(case: str, tmp_path: Path) -> None:
    text, vectors, right, wrong = CASES[case]
    assert right in text
    generate(vectors, tmp_path / "v")
    others = [TOP / "docs" / "examples" / "mxfp8_dot" / "mxfp8_dot.sv"] if "mxfp8_dot" in text else []
    more = "".join(path.read_text() for path in others)
    for place, passes in ((text, True), (text.replace(right, wrong), False)):
        done = draft(design(place + more, "m", tmp_path), vectors)
        run = build(
            CHEAP if not more else "verilator",
            tmp_path / "v",
            tmp_path / str(passes),
            done.text,
            tmp_path / "source.sv",
        ).first
        assert run.passed == passes, run.output
        assert passes or "mismatches" in failure(run)
