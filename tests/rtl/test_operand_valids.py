"""Generated benches for units of several operations that have a valid and a ready for each operand: those that an
operation does not have are neither offered nor awaited."""

from __future__ import annotations

from pathlib import Path

import pytest
from benches import CHEAP, build, failure

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.vector_recipes import load_recipe

pytestmark = pytest.mark.sim

RECIPE = """
count = 300
seed = 3
[[part]]
op = "neg"
fmt = "fp16"
[[part]]
op = "copysign"
fmt = "fp16"
place = "bc"
[[part]]
op = "abs"
fmt = "fp16"
"""
# Takes a alone, or b and c, each once and in any order; the result is there in the next cycle.
TRIO = """
module trio(
    input logic clk, rst, input logic [1:0] op, input logic [2:0] valid, output logic [2:0] ready,
    input logic [15:0] a, b, c, output logic done, output logic [15:0] result);
  logic [2:0]  have;
  logic [15:0] held_b, held_c;
  wire  [2:0]  need = op == 1 ? @PAIR@ : 3'b001, taken = valid & ready;
  assign ready = need & ~have;
  wire  [15:0] next_b = taken[1] ? b : held_b, next_c = taken[2] ? c : held_c;
  always @(posedge clk) begin
    {held_b, held_c} <= {next_b, next_c};
    done <= !rst && |taken && (have | taken) == need;
    have <= rst || (have | taken) == need ? 3'd0 : have | taken;
    result <= op == 1 ? {next_c[15], next_b[14:0]} : {op == 0 && !a[15], a[14:0]};
  end
endmodule
"""
PORTS = """
module = "trio"
clock = "clk"
reset = { port = "rst", active = "high" }
ignore = ["flags"]
drain_timeout = 100
[handshake]
in_valid = { a = "valid[0]", b = "valid[1]", c = "valid[2]" }
in_ready = { a = "ready[0]", b = "ready[1]", c = "ready[2]" }
out_valid = "done"
[inputs]
a = "a"
b = "b"
c = "c"
op = { of = "op", width = 2, codes = { neg = 0, copysign = 1, abs = 2 } }
valid = { width = 3 }
[outputs]
result = "result"
ready = { width = 3 }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    vectors = tmp_path_factory.mktemp("vectors")
    (vectors / "recipe.toml").write_text(RECIPE)
    generate(load_recipe(str(vectors / "recipe.toml")), vectors / "v")
    return vectors / "v"


def trio(tmp_path: Path, pair: str = "3'b110") -> Path:
    source = tmp_path / "trio.sv"
    source.write_text(TRIO.replace("@PAIR@", pair))
    return source


@pytest.mark.full(keep=1)
def test_operands_that_an_operation_does_not_have(simulator: str, folder: Path, tmp_path: Path) -> None:
    bench = build(simulator, folder, tmp_path / "w", PORTS, trio(tmp_path))
    assert bench.first.passed, bench.first.output
    for seed in range(2, 6):
        assert bench.run(f"+seed={seed}").passed


def test_a_valid_for_two_operands(folder: Path, tmp_path: Path) -> None:
    """It is set for an operation that has one of them."""
    ports = PORTS.replace(', b = "valid[1]", c = "valid[2]"', ', "b c" = "valid[1]"')
    ports = ports.replace(', b = "ready[1]", c = "ready[2]"', ', "b c" = "ready[1]"')
    source = trio(tmp_path, "3'b010")
    source.write_text(source.read_text().replace("taken[2] ? c", "taken[1] ? c"))
    run = build(CHEAP, folder, tmp_path / "w", ports, source).first
    assert run.passed, run.output


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("3'b111", "100 cycles without in_ready of a: 1 of 300 vectors compared"),  # that of the next operation
        ("3'b010", "an extra result in cycle 2, after 1 operations"),  # before c is there
    ],
)
def test_units_that_take_other_operands(pair: str, message: str, folder: Path, tmp_path: Path) -> None:
    run = build(CHEAP, folder, tmp_path / "w", PORTS, trio(tmp_path, pair)).first
    assert failure(run).startswith(message), run.output
