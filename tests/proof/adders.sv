// SPDX-License-Identifier: 0BSD
// Adders of IEEE formats, to nearest even, by their parameters. flags = {invalid, divide by zero, overflow, underflow,
// inexact}.

// The larger magnitude first, the other one shifted right with a sticky bit.
module aligned #(parameter EXP = 5, FRAC = 2) (
  input [EXP+FRAC:0] a, b, output [EXP+FRAC:0] result, output [4:0] flags);
  localparam P = FRAC + 1, R = (1 << EXP) + P, INF = (1 << EXP) - 1;
  wire swap = b[EXP+FRAC-1:0] > a[EXP+FRAC-1:0];
  wire [EXP+FRAC:0] x = swap ? b : a, y = swap ? a : b;
  wire x_special = &x[EXP+FRAC-1:FRAC], y_special = &y[EXP+FRAC-1:FRAC];
  wire x_nan = x_special && x[FRAC-1:0] != 0, y_nan = y_special && y[FRAC-1:0] != 0;
  wire signals = (x_nan && !x[FRAC-1]) || (y_nan && !y[FRAC-1]);
  wire minus = x[EXP+FRAC] ^ y[EXP+FRAC];
  wire [EXP-1:0] ex = x[EXP+FRAC-1:FRAC] == 0 ? 1 : x[EXP+FRAC-1:FRAC];
  wire [EXP-1:0] ey = y[EXP+FRAC-1:FRAC] == 0 ? 1 : y[EXP+FRAC-1:FRAC];
  wire [P-1:0] mx = {x[EXP+FRAC-1:FRAC] != 0, x[FRAC-1:0]}, my = {y[EXP+FRAC-1:FRAC] != 0, y[FRAC-1:0]};
  wire [P+R-1:0] wide = {my, {R{1'b0}}} >> (ex - ey);
  wire [P+2:0] sx = {mx, 3'b0}, sy = {wide[P+R-1:R-2], |wide[R-3:0]};
  wire [P+3:0] total = minus ? {1'b0, sx} - {1'b0, sy} : {1'b0, sx} + {1'b0, sy};
  reg [EXP-1:0] zeros;
  integer i;
  always @* begin
    zeros = P + 3;
    for (i = 0; i < P + 3; i = i + 1) if (total[i]) zeros = P + 2 - i;
  end
  wire [EXP-1:0] room = ex - 1, places = zeros > room ? room : zeros;
  wire [P+2:0] normal = total[P+3] ? {total[P+3:2], total[1] | total[0]} : total[P+2:0] << places;
  wire [EXP:0] e = total[P+3] ? ex + 1 : normal[P+2] ? ex - places : 0;
  wire up = normal[2] && (normal[1] || normal[0] || normal[3]);
  wire [EXP+FRAC:0] code = {e, normal[FRAC+2:3]} + up;
  wire over = code[EXP+FRAC:FRAC] >= INF;
  wire sign = total == 0 ? x[EXP+FRAC] & y[EXP+FRAC] : x[EXP+FRAC];
  wire invalid = signals || (x_special && y_special && minus && !x_nan);
  wire [EXP+FRAC:0] number = {sign, over ? {{EXP{1'b1}}, {FRAC{1'b0}}} : code[EXP+FRAC-1:0]};
  assign result = x_nan || y_nan || invalid ? {1'b0, {(EXP + 1){1'b1}}, {(FRAC - 1){1'b0}}} : x_special ? x : number;
  assign flags = x_special ? {invalid, 4'b0} : {2'b0, over, 1'b0, |normal[2:0] || over};
endmodule

// Both in units of the smallest subnormal number, in two's complement.
module fixed_point #(parameter EXP = 5, FRAC = 2) (
  input [EXP+FRAC:0] a, b, output [EXP+FRAC:0] result, output [4:0] flags);
  localparam P = FRAC + 1, W = (1 << EXP) + P, INF = (1 << EXP) - 1;
  wire a_special = &a[EXP+FRAC-1:FRAC], b_special = &b[EXP+FRAC-1:FRAC];
  wire a_nan = a_special && a[FRAC-1:0] != 0, b_nan = b_special && b[FRAC-1:0] != 0;
  wire signals = (a_nan && !a[FRAC-1]) || (b_nan && !b[FRAC-1]);
  wire [EXP-1:0] ea = a[EXP+FRAC-1:FRAC] == 0 ? 0 : a[EXP+FRAC-1:FRAC] - 1;
  wire [EXP-1:0] eb = b[EXP+FRAC-1:FRAC] == 0 ? 0 : b[EXP+FRAC-1:FRAC] - 1;
  wire [W-1:0] fa = {{(W - P){1'b0}}, a[EXP+FRAC-1:FRAC] != 0, a[FRAC-1:0]} << ea;
  wire [W-1:0] fb = {{(W - P){1'b0}}, b[EXP+FRAC-1:FRAC] != 0, b[FRAC-1:0]} << eb;
  wire [W-1:0] total = (a[EXP+FRAC] ? -fa : fa) + (b[EXP+FRAC] ? -fb : fb);
  wire negative = total[W-1];
  wire [W-1:0] magnitude = negative ? -total : total;
  reg [EXP:0] top;
  integer i;
  always @* begin
    top = FRAC;
    for (i = P; i < W; i = i + 1) if (magnitude[i]) top = i;
  end
  wire [EXP:0] places = top - FRAC;
  wire [W-1:0] kept = magnitude >> places, rest = magnitude - (kept << places);
  wire [W-1:0] half = places == 0 ? 0 : {{(W - 1){1'b0}}, 1'b1} << (places - 1);
  wire up = places != 0 && (rest > half || (rest == half && kept[0]));
  wire [EXP:0] e = magnitude >> FRAC == 0 ? 0 : places + 1;
  wire [EXP+FRAC:0] code = {e, kept[FRAC-1:0]} + up;
  wire over = code[EXP+FRAC:FRAC] >= INF;
  wire sign = magnitude == 0 ? a[EXP+FRAC] & b[EXP+FRAC] : negative;
  wire invalid = signals || (a_special && b_special && !a_nan && !b_nan && a[EXP+FRAC] != b[EXP+FRAC]);
  wire [EXP+FRAC:0] number = {sign, over ? {{EXP{1'b1}}, {FRAC{1'b0}}} : code[EXP+FRAC-1:0]};
  assign result = a_nan || b_nan || invalid ? {1'b0, {(EXP + 1){1'b1}}, {(FRAC - 1){1'b0}}}
    : a_special ? a : b_special ? b : number;
  assign flags = a_special || b_special ? {invalid, 4'b0} : {2'b0, over, 1'b0, rest != 0 || over};
endmodule
