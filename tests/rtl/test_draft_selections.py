"""Codes that have no names: from what a module does for each of them, if that is clear."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from test_draft import design

import softfloat_ref as sf
from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.draft import draft

HEAD = "module m(input clk, input [1:0] op, input [7:0] a, b, output reg [7:0] result);"
WIRES = "wire [7:0] add_y = a + b, sub_y = a - b, p = a * b;"
VECTORS = sf.vectors("add,sub,mul", "fp8_e5m2", 30)

# The ways to select by a code: a case, a chain of tests or of choices; of the port, of a register or wire after it, in
# a module below; with the operation in a name, in a comment, or as all other codes.
CLEAR = {
    "names": "always @* case (op) 0: result = add_y; 1: result = sub_y; 2: result = mul_unit_y; endcase",
    "comments": "always @* case (op)\n 0: result = p; // addition\n 1: result = p; // SUB\n 2: result = p; /* mul */\n"
    " endcase",
    "all others": "always @* case (op) 0: result = add_y; 1: result = sub_y; default: result = mul_unit_y; endcase",
    "a register": "reg [1:0] q; always @(posedge clk) q <= op;"
    " always @* case (q) 2'b00: begin result = add_y; end 2'b01: result = sub_y; 2'b10: result = mul_unit_y; endcase",
    "choices": "always @* result = op == 0 ? add_y : op == 2'd1 ? sub_y : mul_unit_y;",
    "tests": "always @* if (op == 0) result = add_y; else if (1 == op) result = sub_y; else result = mul_unit_y;",
    "a module below": "below u(.code(op), .x(p));",
    "calls": "always @* case (op) 0: result = fp_add(a); 1: result = fp_sub(a); 2: result = fp_mul(a); endcase",
}
BELOW = (
    "module below(input [1:0] code, input [7:0] x); reg [7:0] y, add_r, sub_r, mul_r;"
    " always @* case (code) 0: y = add_r; 1: y = sub_r; 2: y = mul_r; endcase endmodule\n"
)
CALLS = "".join(f"function [7:0] fp_{op}(input [7:0] x); fp_{op} = x; endfunction " for op in ("add", "sub", "mul"))


def text_of(body: str) -> str:
    return f"{BELOW}{HEAD} {WIRES} wire [7:0] mul_unit_y = p; {CALLS} {body}\nendmodule"


@pytest.mark.parametrize("body", CLEAR.values(), ids=CLEAR)
def test_codes_by_what_is_done(body: str, tmp_path: Path) -> None:
    done = draft(design(text_of(body), "m", tmp_path), VECTORS)
    assert tomllib.loads(done.text)["inputs"]["op"]["codes"] == {"add": 0, "sub": 1, "mul": 2}
    assert any("op: add = 0, sub = 1, mul = 2: what source.sv:" in str(guess) for guess in done.guesses)


UNCLEAR = {
    "nothing": "always @* case (op) 0: result = p; 1: result = a; 2: result = b; endcase",
    "one without": "always @* case (op) 0: result = add_y; 1: result = sub_y; 2: result = p; endcase",
    "two names": "always @* case (op) 0: result = add_y; 1: result = sub_y; 2: result = mul_unit_y & sub_y; endcase",
    "one name twice": "always @* case (op) 0: result = add_y; 1: result = sub_y; 2: result = mul_unit_y;"
    " 3: result = mul_unit_y; endcase",
    "two places that differ": "reg [7:0] r; always @* case (op) 0: result = add_y; 1: result = sub_y;"
    " 2: result = mul_unit_y; endcase always @* case (op) 1: r = add_y; 0: r = sub_y; 2: r = mul_unit_y; endcase",
    "another input": "always @* case (a[1:0]) 0: result = add_y; 1: result = sub_y; 2: result = mul_unit_y; endcase",
}


@pytest.mark.parametrize("body", UNCLEAR.values(), ids=UNCLEAR)
def test_what_is_not_clear_is_asked_for(body: str, tmp_path: Path) -> None:
    with pytest.raises(
        Error, match=r"--set 'inputs.op=\{ of = \"op\", width = 2, codes = \{ add = N, sub = N, mul = N"
    ):
        draft(design(text_of(body), "m", tmp_path), VECTORS)


def test_one_bit_is_a_sum_or_a_difference_only_for_these(tmp_path: Path) -> None:
    text = "module m(input op, input [7:0] a, b, output [7:0] result); assign result = op ? a : b; endmodule"
    done = draft(design(text, "m", tmp_path), sf.vectors("add,sub", "fp8_e5m2", 30))
    assert tomllib.loads(done.text)["inputs"]["op"]["codes"] == {"add": 0, "sub": 1}
    with pytest.raises(Error, match=r"codes = \{ add = N, mul = N"):
        draft(design(text, "m", tmp_path), sf.vectors("add,mul", "fp8_e5m2", 30))
