// SPDX-License-Identifier: 0BSD
//
// tanh_bf16: tanh of bf16, result in bf16, rounded rne.
// 3 segments of equal width; polynomials of degree 2; 99 bits of table.
// Made by softfloat-ref approximate, from tanh_bf16.toml; the input `defect` was added.
//
// Operands below 0.165 are the result, from 2.92 on it is 1; between, three
// segments of width one have polynomials in integers, in units of 2^-10.
//
// defect plants a bug (0: none):
//   1  a bit of an entry of the table is inverted: c1 of segment 1
//   2  the rows of segments 1 and 2 are swapped
//   3  the reduced operand is cut: the last two bits of the address are lost
//   4  the result is truncated, not rounded
//   5  the last product is rounded, not cut
//   6  results from the table are one ulp too large
//   7  the sign of the result is lost
//   8  no saturation: above the table there is nothing but zero
//   9  no lower end: the first segment is computed below the table, too
//  10  the term of degree 2 is left out

module tanh_bf16 (
    input  logic [15:0] a,
    input  logic [7:0]  defect,
    output logic [15:0] result
);

  // -------------------------------------------------------------------- unpack
  wire        sign      = a[15];
  wire [14:0] magnitude = a[14:0];
  wire        is_nan    = magnitude > 15'h7f80;
  wire [7:0]  field     = magnitude[14:7];
  wire [7:0] significand = {field != 0, magnitude[6:0]};
  // The exponent of the significand's last bit; subnormals have that of the least normal.
  wire signed [15:0] last_place = (field == 0 ? 16'sd1 : 16'(field)) - 16'sd134;

  // ------------------------------------------------------------------- address
  // The magnitude in units of 2^-10, cut to an integer.
  wire signed [15:0] up = last_place + 16'sd10;
  wire [12:0] reduced = up >= 0 ? 13'(significand) << up : 13'(significand) >> -up;
  wire [12:0] address = defect == 3 ? reduced & ~13'd3 : reduced;
  wire [12:0] segment = address >> 10;
  wire signed [11:0] d = {1'b0, address[9:0]};

  // --------------------------------------------------------------------- table
  logic [32:0] word;
  always_comb begin
    word = 0;
    case (segment)
      0: word = 33'h14ea3fff2;
      1: word = defect == 2 ? 33'h1ee81f3dc : defect == 1 ? 33'h1a989b310 : 33'h1a98bb310;
      2: word = defect == 2 ? 33'h1a98bb310 : 33'h1ee81f3dc;
      default: word = 0;
    endcase
  end
  wire signed [10:0] c0 = word[10:0];
  wire signed [11:0] c1 = word[22:11];
  wire signed [9:0] c2 = defect == 10 ? 10'sd0 : word[32:23];
  wire signed [15:0] exponent = -16'sd10;

  // ---------------------------------------------------------------- polynomial
  wire signed [23:0] sum2 = 24'(c2);
  wire signed [23:0] sum1 = ((sum2 * 24'(d)) >>> 10) + 24'(c1);
  wire signed [23:0] half = defect == 5 ? 24'sd512 : 24'sd0;
  wire signed [23:0] sum0 = ((sum1 * 24'(d) + half) >>> 10) + 24'(c0);
  wire signed [23:0] total = sum0;
  wire total_negative = total[23] ^ sign;
  wire [23:0] total_magnitude = total[23] ? -total : total;

  // --------------------------------------------------------- outside the table
  logic is_constant, is_share;
  logic [15:0] constant;
  logic signed [15:0] share;
  always_comb begin
    is_constant = 0;
    is_share = 0;
    constant = 0;
    share = 0;
    if (!sign) begin
      if (magnitude < 15'h3e29) begin
        is_share = defect != 9;
        share = 16'sd0;
      end
      if (magnitude >= 15'h403b) begin
        is_constant = 1;
        constant = defect == 8 ? 16'h0000 : 16'h3f80;
      end
      if (magnitude == 15'h7f80) begin
        is_constant = 1;
        constant = defect == 8 ? 16'h0000 : 16'h3f80;
      end
    end
    else if (sign) begin
      if (magnitude < 15'h3e29) begin
        is_share = defect != 9;
        share = 16'sd0;
      end
      if (magnitude >= 15'h403b) begin
        is_constant = 1;
        constant = defect == 8 ? 16'h8000 : 16'hbf80;
      end
      if (magnitude == 15'h7f80) begin
        is_constant = 1;
        constant = defect == 8 ? 16'h8000 : 16'hbf80;
      end
    end
  end

  // --------------------------------------------------------------------- round
  wire [23:0] size = is_share ? 24'(significand) : 24'(total_magnitude);
  wire signed [15:0] place = is_share ? last_place + share : exponent;
  wire negative = is_share ? sign && 1'b1 : total_negative;
  logic signed [15:0] top, low, drop;
  logic [32:0] kept;
  logic guard, sticky, up_one;
  logic [48:0] code;
  always_comb begin
    top = 0;
    for (int i = 0; i < 24; i++) if (size[i]) top = 16'(i);
    low = top + place < -16'sd126 ? -16'sd126 : top + place;
    drop = low - 16'sd7 - place;  // bits below the last one that is kept
    kept = drop <= 0 ? 33'(size) << -drop : 33'(size) >> drop;
    guard = drop >= 1 && drop <= 24 && size[drop - 1];
    sticky = 0;
    for (int i = 0; i < 24; i++) if (i < drop - 1 && size[i]) sticky = 1;
    up_one = defect != 4 && guard && (sticky || kept[0]);
    code = (49'(low - -16'sd126) << 7) + 49'(kept) + 49'(up_one);
  end

  // -------------------------------------------------------------------- result
  wire [15:0] beyond = negative ? 16'hff80 : 16'h7f80;
  wire [15:0] rounded = size == 0 ? {negative, 15'd0}
      : code > 49'd32639 ? beyond : {negative, code[14:0]};
  wire [15:0] found = is_constant ? constant : is_share || defect != 6 ? rounded : rounded + 16'd1;
  assign result = is_nan ? 16'h7fc0 : defect == 7 ? {1'b0, found[14:0]} : found;

endmodule
