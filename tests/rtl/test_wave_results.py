"""Results read from the waveform of a real simulator: a registered unit, with its operands, and X before the reset."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from benches import ONLY_ICARUS

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.readers import WaveSignals
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing.check import check_results

BENCH = """
module unit(input logic clk, input logic [7:0] a, input logic in_valid, output logic [7:0] q, a_q, output logic valid);
  always_ff @(posedge clk) begin q <= a ^ 8'h80 ^ (a == WRONG); a_q <= a; valid <= in_valid; end
  parameter int WRONG = 256;
endmodule
module tb;
  localparam int COUNT = @COUNT@;
  logic clk = 0, go = 0; logic [7:0] a; logic [15:0] words [COUNT];
  unit #(.WRONG(@WRONG@)) dut(.clk(clk), .a(a), .in_valid(go), .q(), .a_q(), .valid());
  initial begin
    $dumpfile("@FILE@"); $dumpvars(0, tb);
    $readmemh("@WORDS@", words);
    #20 for (int i = 0; i < COUNT; i++) begin
      a = words[i][15:8]; go = 1; #1 clk = 1; #5 clk = 0; #4;
      if (i % 3 == 0) begin go = 0; a = 8'hxx; #1 clk = 1; #5 clk = 0; #4; end
    end
    go = 0; #1 clk = 1; #5 clk = 0; #10 $finish;
  end
endmodule
"""


@pytest.mark.sim
@ONLY_ICARUS
@pytest.mark.parametrize(("wrong", "mismatched"), [(256, 0), (5, 1)])
def test_results_in_a_waveform_of_icarus(wrong: int, mismatched: int, tmp_path: Path) -> None:
    vectors = VectorSet.make("neg", "fp8_e5m2", level="exhaustive")
    generate(vectors, tmp_path / "golden", formats=["memh"])
    memh = (tmp_path / "golden" / f"{vectors.name}.memh").read_text().split()[-256:]
    words = [line.rsplit("_", 1)[0] for line in memh]
    (tmp_path / "words").write_text("\n".join(words))
    text = BENCH.replace("@COUNT@", str(len(words))).replace("@WRONG@", str(wrong))
    (tmp_path / "tb.sv").write_text(text.replace("@FILE@", "run.vcd").replace("@WORDS@", "words"))
    subprocess.run(["iverilog", "-g2012", "-s", "tb", "-o", "tb", "tb.sv"], cwd=tmp_path, check=True)
    subprocess.run(["vvp", "tb"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    signals = WaveSignals({"a": "dut.a_q", "result": "dut.q"}, "tb.clk", "dut.valid")
    report = check_results(vectors, tmp_path / "run.vcd", signals=signals)
    assert (report.compared, report.mismatched, report.failure) == (256, mismatched, "")
    assert report.not_compared == {"at an edge of the clock where valid is X or Z": 1}
