"""Sources that no netlist stands for are refused, with the line; ordinary ones are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.defined import check_defined
from softfloat_ref.rtl.module_ports import elaborate
from softfloat_ref.rtl.sources import Sources

pytestmark = pytest.mark.extra("pyslang")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
HEAD = """
package p; logic [7:0] v; endpackage
interface bus; logic [7:0] x; modport m(input x); endinterface
module usebus(bus b, output logic [7:0] q); always_comb q = b.x; endmodule
module usebus2(bus.m b, output logic [7:0] q); always @* q = b.x; endmodule
module sub(input wire [7:0] x, output wire [7:0] y, inout wire [7:0] z); assign y = x; endmodule
module drv(inout wire [7:0] z); assign z = 3; endmodule
module two(output wire [7:0] x, y); assign x = 1, y = 2; endmodule
module inp(input logic [7:0] x, output logic [7:0] y); always_comb y = x; endmodule
module t(input logic clk, rst, input logic [7:0] a, b, output logic [7:0] q, r, output wire [7:0] n);
"""
REFUSED: dict[str, tuple[str, list[str]]] = {
    "several drivers of a bit": (
        r"another driver|order is open|drivers",
        [
            "assign n = a; assign n = b;",
            "assign n = a; assign n = a;",
            "assign n = 1; assign n = 0;",
            "assign {n, n} = a;",
            "wire [7:0] w = a; assign w = b;",
            "sub s(.x(a), .y(n)); assign n = b;",
            "two s(.x(n), .y(n));",
            "sub s(.x(a), .y(n)); sub s2(.x(b), .y(n));",
            "sub s[1:0](.x(a), .y(n));",
            "drv d1(.z(n)); drv d2(.z(n));",
            "drv d1(.z(n)); assign n = a;",
            "drv d1(.z(a));",
            "wire [7:0] w; inp i(.x(n), .y(n)); assign n = 3;",
            "sub s(.x(a)); assign s.y = b;",
            "inp s(.x(a)); inp s2(.x(b)); always_comb s2.y = b;",
            "for (genvar i = 0; i < 9; i++) assign n[i % 8] = a[i % 8];",
            "assign n[4:0] = a; assign n[7:4] = b;",
            "always @* q = a; always @* q = b;",
            "always_comb q = a; always_comb q = b;",
            "always_comb q = a; assign q = b;",
            "always_ff @(posedge clk) q <= a; always_ff @(posedge clk) q <= b;",
            "always_ff @(posedge clk) q[3:0] <= a; always_comb q[3] = b;",
            "logic [7:0] v = 3; assign v = a; assign q = v;",
            "assign q = a; initial q = 0;",
            "assign a = 3;",
        ],
    ),
    "`z`; `wor`, `wand`, `tri0`, `supply0` and their like; drive strengths; switches": (
        r"value z|net of type|strength|bufif1|alias|unknown module|unconnected",
        [
            "assign n = a[0] ? b : 8'bz;",
            "assign n = a[0] ? b : 'z;",
            "wor [7:0] w; assign w = a; assign n = w;",
            "tri1 [7:0] w; assign w = a; assign n = w;",
            "supply1 w; assign n = w;",
            "trireg [7:0] w; assign w = a; assign n = w;",
            "assign (pull1, weak0) n = a;",
            "bufif1 g(n[0], a[0], b[0]);",
            "wire [7:0] w; alias w = n; assign w = a;",
            "foo g(n[0], a[0]);",
        ],
    ),
    "latches whose value is read; registers that signals set, reset or load beside the clock; the clock as data": (
        r"latch",
        [
            "always_latch if (a[0]) q = b;",
            "always_comb if (a[0]) q = b;",
            "always @* if (a[0]) q = b;",
            "always @* case (a[1:0]) 0: q = b; 1: q = a; 2: q = 3; endcase",
            "always @* begin q[6:0] = b; if (a[0]) q[7] = 1; end",
            "always @* (* full_case *) case (a[1:0]) 0: q = b; 1: q = a; endcase",
            "always @* if (clk) q = a;",
            "always_comb begin : blk q = a; if (b[0]) disable blk; r = 3; end",
            "integer i; always @* begin q = a; if (b[0]) for (i = 0; i < 3; i = i + 1) q[i] = 0; end assign n = i;",
            "reg [7:0] t; always @* if (b[0]) t = a; always @* q = t;",
        ],
    ),
    "a signal that a process reads without it in the sensitivity list": (
        r"start no simulation|expression in a sens|with and without edges|edges are supported",
        [
            "always @(a) q = a ^ b;",
            "always @(a[3:0]) q = a;",
            "always @(a or b[0]) q = a ^ b[1];",
            "always @(a & b) q = a & b;",
            "always @(posedge clk or a) q = a;",
            "function automatic [7:0] f(input [7:0] x); f = x ^ b; endfunction always @(a) q = f(a);",
            "always @(posedge clk iff a[0]) q <= b;",
        ],
    ),
    "a function that reads other signals than its arguments, in an assignment or `always @*`": (
        r"function called|task tk reads|start no simulation",
        [
            "function automatic [7:0] f(input [7:0] x); f = x ^ b; endfunction always @* q = f(a);",
            "function automatic [7:0] f(input [7:0] x); f = x ^ b; endfunction assign q = f(a);",
            "function automatic [7:0] f(input [7:0] x); f = x ^ b; endfunction wire [7:0] w = f(a);",
            "function automatic [7:0] f(input [7:0] x); f = x ^ b; endfunction inp i(.x(f(a)), .y(q));",
            (
                "function automatic [7:0] g(input [7:0] x); g = x ^ b; endfunction function automatic [7:0] "
                "f(input [7:0] x); f = g(x); endfunction assign q = f(a);"
            ),
            "task automatic tk(output [7:0] y); y = a; endtask always_comb tk(q);",
        ],
    ),
    "a process that no change starts": (
        r"never runs it|without a sens|an event within",
        [
            "always @* q = 3;",
            "logic [7:0] v = 3; always @* q = v;",
            "wire [7:0] v = 3; always @* q = v;",
            "logic [7:0] v; assign v = 8'd4; always @(v) q = v;",
            "always q = a;",
            "always begin @(posedge clk); q = a; @(posedge clk); q = b; end",
        ],
    ),
    "a variable read before its process assigns it": (
        r"read before it is assigned",
        [
            "logic [7:0] t; always_comb begin q = t; t = a; end",
            "logic [7:0] t; always @* begin q = t; t = a; end",
            "logic [7:0] t; always @(a) begin q = t; t = a; end",
            "logic [7:0] t; always_comb begin t[3:0] = a; q = t; t[7:4] = b; end",
            "logic [7:0] t; always_comb for (int i = 0; i < 8; i++) begin q[i] = t[i]; t[(i + 1) % 8] = a[i]; end",
            "logic [7:0] t; always_comb begin if (a[0]) t = b; q = t; t = a; end",
            "always_comb begin static logic [7:0] t; q = t; t = a; end",
            (
                "logic [7:0] t; function automatic [7:0] f(input [7:0] x); f = x ^ t; endfunction always_comb "
                "begin q = f(a); t = b; end"
            ),
            "logic [7:0] t; always_comb begin t <= a; q = t; end",
            "always_comb q += a;",
            "logic [7:0] t; always_comb begin t++; q = a; end",
            "logic [2:0] t; always_comb begin q = 0; q[t] = 1; t = a; end",
            "logic [7:0] t; always_comb begin if (t[0]) q = a; else q = b; t = a; end",
            "logic [1:0] t; always_comb begin case (t) 0: q = a; default: q = b; endcase t = a; end",
            "logic [7:0] t [4]; always_comb begin t[0] = a; q = t[b[1:0]]; t[1] = b; t[2] = a; t[3] = b; end",
            "struct packed {logic [3:0] h, l;} t; always_comb begin t.h = a; q = t.l; t.l = b; end",
            (
                "logic [7:0] t; int i; always_comb begin i = 0; while (i < 4) begin q[i] = t[i]; i++; end q[7:4] "
                "= 0; t = a; end"
            ),
        ],
    ),
    "a static function that keeps values; a function or task that assigns other variables": (
        r"earlier call|not its own|another driver|in a function called",
        [
            (
                "function [7:0] f(input [7:0] x); logic [7:0] k; begin if (x[0]) k = x; f = k; end endfunction "
                "assign q = f(a);"
            ),
            "function [7:0] f(input [7:0] x); if (x[0]) f = x; endfunction assign q = f(a);",
            "task static f(input [7:0] x, output [7:0] y); if (x[0]) y = x; endtask always @* f(a, q);",
            "task f(input [7:0] x, output [7:0] y); if (x[0]) y = x; endtask always_comb f(a, q);",
            "function automatic void f(input [7:0] x); q = x; endfunction always_comb f(a);",
            "task tk; q = a; endtask always @* tk;",
        ],
    ),
    "`=` in a clocked process that another one reads; a clock made by `<=`": (
        r"same edge|is a clock",
        [
            "logic [7:0] t; always_ff @(posedge clk) t = a; always_ff @(posedge clk) q <= t;",
            "logic [7:0] t; wire [7:0] u = t ^ b; always_ff @(posedge clk) t = a; always_ff @(posedge clk) q <= u;",
            "logic [7:0] t, y; inp i(.x(t), .y(y)); always_ff @(posedge clk) t = a; always @(posedge clk) q <= y;",
            "logic [7:0] t, u; always_comb u = ~t; always_ff @(posedge clk) t = a; always @(posedge clk) q <= u;",
            "logic c; always_comb c <= clk; always_ff @(posedge c) q <= a;",
        ],
    ),
    "several initial blocks; initial values that are not constant; variables of packages": (
        r"another driver|initial|package",
        [
            "initial q = 0; initial q = 1; always_ff @(posedge clk) q <= a;",
            "initial q = a; always_ff @(posedge clk) q <= b;",
            "logic [7:0] v = a; always_ff @(posedge clk) v <= b; assign q = v;",
            "always_comb q = p::v;",
        ],
    ),
    "several assignments in one expression": (
        r"order is open",
        [
            "always_comb begin {q, q[3:0]} = {a, b}; end",
            "logic [7:0] t; always_comb begin t = a; q = t++ + 1; end",
        ],
    ),
    "delays, `wait`, events, `fork`, `force`, `deassign`": (
        r"not supported|edges are supported|pass time",
        [
            "assign #1 n = a;",
            "wire #1 w = a[0];",
            "always_ff @(posedge clk) q <= #1 a;",
            "always_comb q = #1 a;",
            "always @* begin #1 q = a; end",
            "and #1 g(n[0], a[0], b[0]);",
            "always @(posedge clk) begin #1; q <= a; end",
            "always #1 q = a;",
            "always @* begin wait (a); q = b; end",
            "always @* fork q = a; r = b; join",
            "always @* begin q = a; force r = b; end",
            "always @* begin q = a; release q; end",
            "always @* assign q = a;",
            "always @* begin q = a; deassign q; end",
            "event e; always @* begin -> e; q = a; end",
        ],
    ),
    "`$random`, `$time`, `$isunknown`, `$cast` and others of a simulation": (
        r"not supported",
        [
            "always_comb q = $random;",
            "always_ff @(posedge clk) q <= $urandom_range(3);",
            "always_comb q = $time;",
            "always_comb q = $isunknown(a);",
            "typedef enum {X, Y} e_t; e_t e; always_comb begin $cast(e, a); q = e; end",
            'logic [7:0] m [4]; always_ff @(posedge clk) $readmemh("x", m); assign q = m[0];',
        ],
    ),
    "an assertion that assigns": (
        r"assertion that assigns",
        [
            "always_comb begin q = a; assert (a != 5) else q = 0; end",
        ],
    ),
    "indices of more than 32 bits; unpacked arrays with negative indices; `'1` for a parameter without a range": (
        r"32 bits|'1 for|negative indices",
        [
            "localparam K = '1; assign q = K;",
            *(
                f"logic [7:0] m [{bounds}]; always_ff @(posedge clk) m[-1] <= a; assign q = m[-1];"
                for bounds in ("-1:-1", "0:-1", "-2:1")
            ),
            "logic [7:0] m [2][-1:0]; always_ff @(posedge clk) m[1][-1] <= a; assign q = m[1][-1];",
            "logic [7:0] m [4]; wire [39:0] i = a; always_comb for (int k = 0; k < 4; k++) m[k] = a; assign q = m[i];",
        ],
    ),
    "constants that slang and the slang in Yosys evaluate otherwise": (
        "signed remainder",
        [
            "assign q = a & (-1 < (9 % 5));",
            "always_comb for (int i = 0; i < 8; i++) q[i] = (i % 4) - 2 < 0;",
            "always_comb begin q = 0; for (int i = 0; i < 8; i++) if (-3 < i % 4) q[i] = a[i]; end",
            "localparam int K = -3; assign q = (7 % 4) / K;",
        ],
    ),
    "with `--frontend verilog`: real numbers, casts to types, signed parameters without a range, functions in "
    "constants, arithmetic of signed enumerations, indices beyond an array": (
        "--frontend verilog",
        [
            "localparam signed [31:0] K = 8'd254 / 2.0; assign q = K;",
            "localparam int K = $rtoi($ceil($sqrt(3))); assign q = K;",
            "parameter real K = 3; if (K == 3) assign q = a;",
            "logic [int'(3.0):0] k; assign k = a; assign q = k;",
            "assign q = int'(a <<< 1) >> 1;",
            "localparam signed K = |8'd3; assign q = K;",
            (
                "function automatic int f(input int x); return x / 3; endfunction localparam K = f(-(1 > 0)); "
                "assign q = K;"
            ),
            "function automatic int f(input int x); return x / 3; endfunction wire [f(3 + 2):0] k = a; assign q = k;",
            "typedef enum {A, B = -3} e_t; assign q = A > B;",
            "wire [7:0] k [5]; for (genvar i = 0; i < 5; i++) assign k[i] = a; assign q = k[b[2:0]];",
            "logic [3:0] k [4]; always_comb begin for (int i = 0; i < 4; i++) k[i] = a; k[b] = 3; q = k[b[1:0]]; end",
        ],
    ),
}
ACCEPTED = [
    "task static f(input [7:0] x, output [7:0] y); y = x; endtask always_comb f(a, q);",
    "always_comb for (int i = 0; i < 8; i++) q[i] = i % 2 == 0 ? a[i % 4] : (i % 4) < 2;",
    "for (genvar i = 0; i < 8; i++) if (i % 4 < 2) assign n[i] = a[(i + 3) % 8]; else assign n[i] = b[i];",
    "assign q = $signed(a) % $signed(b) < -3;",
    "logic [$bits(a)-1:0] w; assign w = a; assign q = w; assign r = $countones(a) + $clog2(9);",
    "for (genvar i = 0; i < 8; i++) begin : g assign n[i] = a[i]; end",
    "sub s(.x(a), .y()); two w(.x(n), .y());",
    "wire c; assign {c, n} = a + b;",
    (
        "integer i; reg [8:0] c; always @* begin c[0] = 0; for (i = 0; i < 8; i = i + 1) begin q[i] = a[i] ^ "
        "b[i] ^ c[i]; c[i+1] = a[i] & b[i]; end end"
    ),
    "integer i; always @* begin q = 0; for (i = 0; i < 8; i = i + 1) if (a[i]) q = i; end",
    "integer i; always @* begin q = a; if (b[0]) for (i = 0; i < 8; i = i + 1) q[i] = ~a[i]; end",
    "reg [7:0] t; always @* begin q = a; if (b[0]) begin t = a ^ b; q = t + 1; end end",
    (
        "always_ff @(posedge clk) for (int i = 0; i < 8; i++) q[i] <= a[i]; always_ff @(posedge clk) for (int i "
        "= 0; i < 8; i++) r[i] <= b[i];"
    ),
    "always_comb begin q = b; if (a[0]) q = a; end",
    "always @* casez (a) 8'b1???????: q = 0; 8'b01??????: q = 1; 8'b00??????: q = 2; endcase",
    "always @* case (a[1:0]) 0: q = b; 1: q = a; 2: q = 3; 2'b11: q = 0; endcase",
    "always_comb unique case (a[1:0]) 0: q = b; 1: q = a; 2: q = 3; endcase",
    "always_ff @(posedge clk or negedge rst) if (!rst) q <= 0; else q <= a;",
    "initial q = 0; always_ff @(posedge clk) q <= a;",
    "logic [7:0] v = 3; always @(posedge clk) v <= a; assign q = v;",
    "reg [7:0] v = 0; always @* v = a; assign q = v;",
    "logic [7:0] t; always_ff @(posedge clk) begin t = a ^ b; q <= t; r <= t + 1; end",
    "always_ff @(posedge clk) begin q = a; end assign n = q;",
    "logic [7:0] t; always_ff @(posedge clk) begin q <= t; t = a; end",
    (
        "function automatic [7:0] f(input [7:0] x); logic [7:0] k; k = x; for (int i = 0; i < 8; i++) k[i] = "
        "x[7-i]; return k; endfunction assign q = f(a);"
    ),
    (
        "function [7:0] f(input [7:0] x); reg [7:0] k; integer i; begin k = x; for (i = 0; i < 8; i = i + 1) "
        "k[i] = x[7-i]; f = k; end endfunction assign q = f(a);"
    ),
    "function [7:0] f(input [7:0] x); if (x[0]) f = x; else f = ~x; endfunction assign q = f(a);",
    "function automatic [7:0] f(input [7:0] x); f = 0; f[3:0] = x; if (f[0]) return x; endfunction always @* q = f(a);",
    "function automatic [7:0] f(input [7:0] x); f = x ^ b; endfunction always_comb q = f(a);",
    (
        "function automatic int clog(input int x); clog = 0; while (x > 1) begin x = x >> 1; clog++; end "
        "endfunction localparam W = clog(8); logic [W-1:0] w; assign w = a; assign q = w;"
    ),
    "task automatic tk(input [7:0] x, output [7:0] y); y = x; endtask always_comb tk(a, q);",
    "function automatic void f(input [7:0] x, output [7:0] y, z); y = x; z = ~x; endfunction always_comb f(a, q, r);",
    "always @(*) begin q = a; r = q ^ b; end",
    "always @(a or b) begin q = a; r = q ^ b; end",
    "always @(a, b) q = a & b;",
    "wire z = a == 0; wire [7:0] m = a; always @* if (z) q = 1; else q = m;",
    "wire z = a == 0; always @(z) q = z;",
    "typedef struct packed {logic [3:0] h, l;} s_t; s_t s; always_comb begin s.h = a; s.l = b; q = s; r = s.h; end",
    "logic [7:0] m [4]; always_comb begin for (int i = 0; i < 4; i++) m[i] = a + i; q = m[b[1:0]]; end",
    "logic [7:0] m [4]; always_comb begin m = '{default: 0}; m[a[1:0]] = b; q = m[b[1:0]]; end",
    "logic [7:0] m [4]; always_ff @(posedge clk) if (b[0]) m[a[1:0]] <= b; assign q = m[b[1:0]];",
    "logic [7:0] m [4]; initial begin for (int i = 0; i < 4; i++) m[i] = i; end assign q = m[a[1:0]];",
    'always_comb begin q = a; assert (a != 3) else $error("x"); end assert property (@(posedge clk) a |-> b);',
    'always_ff @(posedge clk) begin q <= a; $display("%d", r); end',
    'initial $display("hi"); assign q = a;',
    (
        'assign q = a;\n// synthesis translate_off\ninitial $display("x");\nalways @(posedge clk) if (a == 3) '
        '$display("y");\nassert property (@(posedge clk) a);\n// synthesis translate_on\n'
    ),
    'always @* begin q = a;\n// synopsys translate_off\nif (a == 3) $display("y");\n// synopsys translate_on\nend',
    "// this uses no translate_off region\nassign q = a;",
    "and g(n[0], a[0], b[0]); not h(n[1], a[1]); assign n[7:2] = 0;",
    "tri [7:0] w; assign w = a; assign n = w;",
    "int i; always_comb begin i = 0; q = 0; while (i < 8) begin q[i] = a[i]; i++; end end",
    "always_comb begin int i; i = 0; q = 0; do begin q[i] = a[i]; i = i + 1; end while (i < 8); end",
    "integer i; always @* begin i = 0; repeat (8) begin q[i] = a[7 - i]; i = i + 1; end end",
    "always_comb foreach (q[i]) q[i] = a[7-i];",
    "logic [3:0][1:0] m; always_comb begin foreach (m[i, j]) m[i][j] = a[2*i+j]; q = m; end",
    "always_comb begin q = 8; for (int i = 0; i < 8; i++) if (a[i]) begin q = i; break; end end",
    "always_comb begin q = 0; for (int i = 0; i < 8; i++) begin if (!a[i]) continue; q[i] = 1; end end",
    (
        "integer i; always @* begin q = 0; begin : find for (i = 0; i < 8; i = i + 1) if (a[i]) begin q = i; "
        "disable find; end end end"
    ),
    "always @* q <= a;",
    (
        "logic [7:0][3:0] t; always_comb begin t[0] = a[3:0]; for (int i = 1; i < 8; i++) t[i] = t[i-1] ^ "
        "b[3:0]; q = t[7]; end"
    ),
    (
        "logic [7:0] p [4]; always_comb begin p[0] = a & b; for (int l = 0; l < 3; l++) for (int i = 0; i < 8; "
        "i++) p[l+1][i] = i >= (1 << l) ? p[l][i] & p[l][i - (1 << l)] : p[l][i]; q = p[3]; end"
    ),
    (
        "logic [31:0] t; always_comb begin for (int i = 0; i < 4; i++) t[i*8 +: 8] = a + i; q = t[15:8]; for "
        "(int i = 0; i < 4; i++) r[i*2 +: 2] = t[8*i +: 2]; end"
    ),
    "always_comb begin q = 0; q[a[2:0]] = 1; q[b[2:0] -: 1] = 1; end",
    "logic [7:0] k; assign k = b; always_comb q = a[0] ? b : k;",
    (
        "typedef enum logic [1:0] {A, B, C} s_t; s_t s, n_; always_comb begin n_ = s; case (s) A: if (a[0]) n_ = "
        "B; B: n_ = C; C: n_ = A; default: n_ = A; endcase end always_ff @(posedge clk) if (rst) s <= A; else s "
        "<= n_; assign q = s;"
    ),
    "logic [7:0] c; assign c[7:4] = b; always_comb begin c[3:0] = a; q = c; end",
    "bus i(); assign i.x = a; usebus u(.b(i), .q(q));",
    "bus i(); assign i.x = a; usebus2 u(.b(i), .q(q));",
    "if (1) begin : g assign n = a; end else begin : h assign n = b; assign n = a; end",
    "always_comb begin q = a; casez (a) 8'b1zzz????: q = b; default: ; endcase end",
    "always_comb q = a inside {8'b1?z0_0000, [3:5]};",
    "sub s(.x(a), .y(n), .z());",
    "always_comb begin q = 'x; if (a[0]) q = b; end",
    "assign q = 8'(a + b); assign r = unsigned'(a);",
    "assign q = {<<{a}};",
    'localparam string S = "ab"; if (S == "ab") assign q = a;',
    "localparam int K = 8'd254 / 2.0; assign q = a + K; localparam int L = $rtoi($ceil($ln(3.0))); assign r = L;",
    "let m(x) = x + 1; assign q = m(a);",
    "always_comb begin logic [7:0] t; t = a; q = t; end",
    "always_comb begin automatic logic [7:0] t = a; q = t; end",
    "always_ff @(posedge clk) begin for (int i = 0; i < 8; i++) begin logic k; k = a[i]; q[i] <= k; end end",
    "logic [7:0] s; always_ff @(posedge clk) s <= q; always_comb q = s + a;",
    "parameter int P = 3; function automatic [7:0] f(input [7:0] x); f = x + P; endfunction assign q = f(a);",
]
REAL = ("2.0", "$rtoi", "$ln")  # refused with the other front end


def check(text: str, folder: Path, verilog: bool = False) -> None:
    (folder / "t.sv").write_text(f"{HEAD}{text}\nendmodule\n")
    check_defined(elaborate([folder / "t.sv"], "t"), verilog)


@pytest.mark.parametrize(("row", "text"), [(row, text) for row, (_, texts) in REFUSED.items() for text in texts])
def test_what_no_netlist_stands_for_is_refused(row: str, text: str, tmp_path: Path) -> None:
    verilog = "verilog" in row
    with pytest.raises(Error, match=rf"^{tmp_path}/t.sv:\d+: .*({REFUSED[row][0]})"):
        check(text, tmp_path, verilog)
    if verilog:
        check(text, tmp_path)


@pytest.mark.parametrize("text", ACCEPTED)
def test_ordinary_text_is_not_refused(text: str, tmp_path: Path) -> None:
    check(text, tmp_path)


@pytest.mark.parametrize("path", [p for p in EXAMPLES.glob("*/*.sv") if p.stem == p.parent.name], ids=lambda p: p.stem)
def test_the_examples_are_not_refused(path: Path) -> None:
    others = [EXAMPLES / "small_fpu" / "fpu_pkg.sv", EXAMPLES / "fp16_fma" / "fp16_fma.sv"]
    sources = Sources((*(others if path.stem == "small_fpu" else []), path))
    check_defined(elaborate(sources.files, path.stem, include_dirs=sources.searched))


def test_the_message_names_both_lines(tmp_path: Path) -> None:
    with pytest.raises(Error) as e:
        check("assign n = a;\n\nassign n[3] = b[0];", tmp_path)
    assert str(e.value) == f"{tmp_path}/t.sv:13: n has another driver, at {tmp_path}/t.sv:11; drive each bit once"


@pytest.mark.full
def test_many_designs_one_after_the_other(tmp_path: Path) -> None:
    """Objects of slang that outlive their design end the process."""
    texts = [text for _, texts in REFUSED.values() for text in texts] + ACCEPTED
    for text in texts * 3:
        try:
            check(text, tmp_path)
        except Error:
            continue
