"""What SystemVerilog leaves undefined, made free in Yosys' netlist: each occurrence has any value in each cycle.

Yosys' own writer of BTOR2 gives a quotient by zero and bits beyond a vector a value, and one value to all occurrences
of an undefined constant.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from softfloat_ref.base.errors import Error

# Bits selected beyond a vector, and quotients by zero, as undefined constants; a part that lies within it always stays.
MAP: Final = r"""
(* techmap_celltype = "$shiftx" *)
module softfloat_ref_part (A, B, Y);
  parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 1, B_WIDTH = 1, Y_WIDTH = 1;
  parameter [B_WIDTH-1:0] _TECHMAP_CONSTMSK_B_ = 0, _TECHMAP_CONSTVAL_B_ = 0;
  localparam [B_WIDTH-1:0] MOST = _TECHMAP_CONSTVAL_B_ | ~_TECHMAP_CONSTMSK_B_;
  localparam INSIDE = !(B_SIGNED && MOST[B_WIDTH-1]) && {32'd0, MOST} + Y_WIDTH <= A_WIDTH;
  input [A_WIDTH-1:0] A;
  input [B_WIDTH-1:0] B;
  output [Y_WIDTH-1:0] Y;
  wire [Y_WIDTH-1:0] part, there;
  \$shift #(.A_SIGNED(0), .B_SIGNED(B_SIGNED), .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH))
    shifted (.A(A), .B(B), .Y(part));
  generate
    if (INSIDE)
      assign Y = part;
    else begin
      \$shift #(.A_SIGNED(0), .B_SIGNED(B_SIGNED), .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH))
        inside (.A({A_WIDTH{1'b1}}), .B(B), .Y(there));
      \$bwmux #(.WIDTH(Y_WIDTH)) chosen (.A({Y_WIDTH{1'bx}}), .B(part), .S(there), .Y(Y));
    end
  endgenerate
endmodule

(* techmap_celltype = "$div $mod" *)
module softfloat_ref_quotient (A, B, Y);
  parameter _TECHMAP_CELLTYPE_ = "";
  parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 1, B_WIDTH = 1, Y_WIDTH = 1;
  input [A_WIDTH-1:0] A;
  input [B_WIDTH-1:0] B;
  output [Y_WIDTH-1:0] Y;
  wire [Y_WIDTH-1:0] found;
  generate
    if (_TECHMAP_CELLTYPE_ == "$div")
      \$div #(.A_SIGNED(A_SIGNED), .B_SIGNED(B_SIGNED), .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH))
        quotient (.A(A), .B(B), .Y(found));
    else
      \$mod #(.A_SIGNED(A_SIGNED), .B_SIGNED(B_SIGNED), .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH))
        remainder (.A(A), .B(B), .Y(found));
  endgenerate
  \$mux #(.WIDTH(Y_WIDTH)) chosen (.A({Y_WIDTH{1'bx}}), .B(found), .S(|B), .Y(Y));
endmodule
"""
_CELLS: Final = ("dlatch", "adlatch", "dlatchsr", "sr", "aldff", "aldffe", "dffsr", "dffsre")
UNSUPPORTED: Final = " ".join([*(f"t:${cell}" for cell in _CELLS), *["%u"] * (len(_CELLS) - 1)])
_CONFLICT: Final = re.compile(
    r"^Warning: (?:multiple conflicting drivers for \w+\.\\?(\S+)|.*conflicting with a constant)", re.MULTILINE
)
_CELL: Final = re.compile(
    r'^ *attribute \\src "/?(?:host)?([^"|]*?:\d+)[^"]*"\n(?: *attribute .*\n)* *cell \$(\w+) .*\n((?:.*\n)*?) *end$',
    re.MULTILINE,
)
_RESET: Final = re.compile(r"connect \\AD \d+'[01]+\n")  # to a constant


def check_report(text: str, shared: Collection[str] = ()) -> None:
    """Raises Error for two drivers of a net and for latches, by what Yosys' `check` and `dump` print. shared: names of
    variables that may have several."""
    for name in _CONFLICT.findall(text):
        if name.rpartition(".")[2] not in shared:
            signal = "a net" if name.startswith("$") or not name else name
            raise Error(f"Yosys: {signal} has several drivers; drive each bit once")
    for place, kind, body in _CELL.findall(text):
        if "latch" in kind or kind == "sr":
            raise Error(f"/{place.lstrip('/')}: a latch; assign a value in every case, or use a register")
        if not (kind.startswith("aldff") and _RESET.search(body)):
            raise Error(f"/{place.lstrip('/')}: a register that signals set and reset, or load, without the clock")
