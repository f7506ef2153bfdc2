// SPDX-License-Identifier: 0BSD
//
// MXFP8 dot product, one block a cycle: c + sum of a[i] * b[i] times both scales.
// The sum of the 32 products is exact; times the scales it is rounded once to
// FP32; then c is added in FP32, rounded again (accumulator mx-fp32). Both times
// to nearest, ties to even. Three pipeline stages: multiply and sum; round; add.
//
//   E4M3   s eeee mmm                           bias 7, 7f and ff are NaN
//   E8M0   eeeeeeee                             bias 127, ff is NaN
//   FP32   s eeeeeeee fffffffffffffffffffffff   bias 127
//
// A NaN among the elements, a NaN scale, or a NaN c give 7fc00000. Subnormals are
// numbers like any other. flags = {invalid, divide by zero, overflow, underflow,
// inexact} of both roundings; tininess is judged after rounding. Lane 0 is in the
// lowest bits. To accumulate, feed result back as c.
//
// defect plants a bug, to see whether vectors find it:
//    1  block sum rounds half up
//    2  block sum truncated
//    3  block sum has no sticky bit
//    4  subnormal elements have exponent 0, not 1
//    5  sum of products one bit short
//    6  last lane left out
//    7  NaN scale of b is a number
//    8  carry of the last rounding dropped
//    9  c's alignment loses its sticky bit
//   10  x - x is -0
//   11  overflow stops at the largest finite
//   12  subnormal block sums are zero
//   13  tininess judged before rounding
//   14  a NaN in lane 0 of a is a number
//   15  scale codes added with one bias only above 254

module mxfp8_dot #(
    parameter int LANES = 32
) (
    input  logic               clk,
    input  logic               rst_n,
    input  logic               in_valid,
    input  logic [7:0]         a_scale,
    input  logic [8*LANES-1:0] a,
    input  logic [7:0]         b_scale,
    input  logic [8*LANES-1:0] b,
    input  logic [31:0]        c,
    input  logic [7:0]         defect,
    output logic               out_valid,   // three cycles after in_valid
    output logic [31:0]        result,
    output logic [4:0]         flags
);

  localparam logic [31:0] NAN = 32'h7fc00000;
  localparam logic [30:0] INF = 31'h7f800000;

  // A product is an integer of 36 bits in units of 2^-18: two significands of 4
  // bits, moved up by both exponents. The sum of LANES of them, and its sign:
  localparam int SUM = 36 + $clog2(LANES) + 1;
  localparam int MAG = SUM - 1;

  // =================================================== 1: multiply and sum
  function automatic logic [3:0] significand(input logic [6:0] x);
    significand = {x[6:3] != 0, x[2:0]};
  endfunction

  function automatic logic [4:0] places(input logic [6:0] x, input logic [7:0] bug);
    places = {1'b0, x[6:3]} - {4'd0, x[6:3] != 0};      // field 0 is worth field 1
    if (bug == 8'd4 && x[6:3] != 0) places = {1'b0, x[6:3]};
  endfunction

  logic signed [SUM-1:0] sum_now;
  logic                  nan_now, minus_zero_now;

  always_comb begin : multiply_and_sum
    logic        sign;
    logic [6:0]  x, y;
    logic [7:0]  product;
    logic [35:0] placed;
    sum_now        = '0;
    nan_now        = &a_scale || (&b_scale && defect != 8'd7);
    minus_zero_now = 1'b1;
    for (int i = 0; i < LANES; i = i + 1) begin
      sign    = a[8*i+7] ^ b[8*i+7];
      x       = a[8*i+:7];
      y       = b[8*i+:7];
      product = {4'd0, significand(x)} * {4'd0, significand(y)};
      placed  = {28'd0, product} << (places(x, defect) + places(y, defect));
      if ((&x && !(defect == 8'd14 && i == 0)) || &y) nan_now = 1'b1;
      if (!sign || product != 0) minus_zero_now = 1'b0;
      if (!(defect == 8'd6 && i == LANES - 1)) begin
        if (sign) sum_now = sum_now - {{(SUM - 36) {1'b0}}, placed};
        else sum_now = sum_now + {{(SUM - 36) {1'b0}}, placed};
      end
    end
    if (defect == 8'd5) sum_now[SUM-2] = sum_now[SUM-1];
  end

  logic signed [SUM-1:0] sum;
  logic                  nan_1, minus_zero;
  logic [8:0]            scales;
  logic [31:0]           c_1;

  always_ff @(posedge clk) begin
    sum        <= sum_now;
    nan_1      <= nan_now;
    minus_zero <= minus_zero_now;
    scales     <= {1'b0, a_scale} + {1'b0, b_scale};
    c_1        <= c;
  end

  // ================================================================ 2: round
  // The leading place of the sum says the exponent; field is FP32's, before any
  // clamping: 2^-18 units, 127 of FP32's bias and twice 127 of E8M0's.
  wire           sum_sign  = sum[SUM-1];
  wire [MAG-1:0] magnitude = sum_sign ? MAG'(-sum) : sum[MAG-1:0];

  logic [5:0] lead;
  always_comb begin
    lead = 6'd0;
    for (int i = 0; i < MAG; i = i + 1) if (magnitude[i]) lead = 6'(i);
  end

  wire signed [10:0] bias  = defect == 8'd15 && scales > 9'd254 ? 11'sd144 : 11'sd145;
  wire signed [10:0] field = {5'd0, lead} + {2'd0, scales} - bias;
  wire [MAG-1:0]     normal = magnitude << (6'(MAG - 1) - lead);
  wire               below  = field <= 0;               // FP32's smallest normal

  // A subnormal's significand moves right; 26 places leave only the sticky bit.
  wire [10:0]     far     = 11'sd1 - field;
  wire [4:0]      shift   = !below ? 5'd0 : far > 11'd26 ? 5'd26 : far[4:0];
  wire [MAG+25:0] placed  = {normal, 26'd0} >> shift;
  wire [23:0]     kept    = placed[MAG+25-:24];
  wire            guard   = placed[MAG+1];
  wire            sticky  = |placed[MAG:0] && defect != 8'd3;
  wire            up      = guard && (sticky || kept[0] || defect == 8'd1) && defect != 8'd2;
  wire            inexact = guard || sticky;

  // field - 1, because the hidden bit adds one.
  wire [10:0] start   = below ? 11'd0 : field - 11'sd1;
  wire [33:0] rounded = {start, 23'd0} + {10'd0, kept} + {33'd0, up};
  wire        over    = rounded >= {3'd0, INF} && magnitude != 0;

  // Tiny: rounded to 24 bits with any exponent, below the smallest normal.
  wire round_full = normal[MAG-25] && (|normal[MAG-26:0] || normal[MAG-24]);
  wire carries    = field == 0 && &normal[MAG-1-:24] && round_full && defect != 8'd13;
  wire tiny       = below && !carries;

  logic [31:0] x;                                       // the block's sum
  logic [4:0]  flags_2;
  logic [31:0] c_2;
  logic        nan_2;

  always_ff @(posedge clk) begin
    c_2     <= c_1;
    nan_2   <= nan_1;
    x       <= {sum_sign, rounded[30:0]};
    flags_2 <= {3'b000, tiny && inexact, inexact};
    if (magnitude == 0) begin
      x       <= {minus_zero, 31'd0};
      flags_2 <= 5'd0;
    end else if (over) begin
      x       <= {sum_sign, defect == 8'd11 ? INF - 31'd1 : INF};
      flags_2 <= 5'b00101;
    end else if (defect == 8'd12 && below) x[30:0] <= 31'd0;
  end

  // ================================================================== 3: add
  // The larger magnitude first; the smaller moves right, three bits (guard, round
  // and sticky) below the larger one's last place.
  wire        swap  = c_2[30:0] > x[30:0];
  wire [31:0] big = swap ? c_2 : x;
  wire [31:0] less = swap ? x : c_2;

  function automatic logic [7:0] exponent(input logic [30:0] value);
    exponent = value[30:23] == 0 ? 8'd1 : value[30:23];
  endfunction

  wire [26:0] big_significand = {big[30:23] != 0, big[22:0], 3'd0};
  wire [7:0]  distance          = exponent(big[30:0]) - exponent(less[30:0]);
  wire [4:0]  moves             = distance > 8'd27 ? 5'd27 : distance[4:0];
  wire [53:0] moved             = {less[30:23] != 0, less[22:0], 30'd0} >> moves;
  wire        lost              = |moved[26:0] && defect != 8'd9;
  wire [26:0] less_significand = {moved[53:28], moved[27] | lost};

  wire        differ = big[31] != less[31];
  wire [27:0] total  = differ ? {1'b0, big_significand} - {1'b0, less_significand}
                              : {1'b0, big_significand} + {1'b0, less_significand};

  // Normalised: bit 27 is a carry; otherwise left, but not below the exponent 1.
  logic [4:0] zeros;
  always_comb begin
    zeros = 5'd27;
    for (int i = 0; i < 27; i = i + 1) if (total[i]) zeros = 5'(26 - i);
  end
  wire [7:0]  room   = exponent(big[30:0]) - 8'd1;
  wire [4:0]  left   = {3'd0, zeros} > room ? room[4:0] : zeros;
  wire [26:0] scaled = total[27] ? {total[27:2], |total[1:0]} : total[26:0] << left;
  wire [8:0]  top    = total[27] ? {1'b0, room} + 9'd1 : {1'b0, room} - {4'd0, left};

  wire        round_sum = scaled[2] && (|scaled[1:0] || scaled[3]);
  wire [31:0] cut       = {top, 23'd0} + {8'd0, scaled[26:3]};
  wire [31:0] grown     = cut + {31'd0, round_sum};
  wire [31:0] final_sum = defect == 8'd8 ? {cut[31:23], grown[22:0]} : grown;
  wire        too_large = final_sum >= {1'b0, INF};
  wire        sum_cut   = |scaled[2:0];

  wire c_nan       = c_2[30:0] > INF;
  wire c_signaling = c_nan && !c_2[22];
  wire infinite    = big[30:0] == INF;
  wire opposed     = infinite && less[30:0] == INF && differ && !nan_2 && !c_nan;

  always_ff @(posedge clk) begin
    result <= {big[31], final_sum[30:0]};
    flags  <= flags_2 | {4'd0, sum_cut};
    if (nan_2 || c_nan || opposed) begin
      result <= NAN;
      flags  <= (nan_2 ? 5'd0 : flags_2) | {c_signaling || opposed, 4'd0};
    end else if (infinite) begin
      result <= {big[31], INF};
      flags  <= flags_2;
    end else if (too_large) begin
      result <= {big[31], INF};
      flags  <= flags_2 | 5'b00101;
    end else if (total == 0) begin
      result <= {(!differ && big[31]) || (differ && defect == 8'd10), 31'd0};
      flags  <= flags_2;
    end
  end

  // ---------------------------------------------------------------- pipeline
  logic [1:0] on_the_way;
  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) {out_valid, on_the_way} <= 3'd0;
    else {out_valid, on_the_way} <= {on_the_way, in_valid};
  end

endmodule
