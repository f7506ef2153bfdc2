// SPDX-License-Identifier: 0BSD
//
// OCP MXFP8: a block of FP32 values -> one E8M0 scale and an E4M3 element each,
// round to nearest even, saturating (MX 1.0, 6.3). One block a cycle, registered,
// valid/ready on both sides.
//
//   FP32   s eeeeeeee fffffffffffffffffffffff   bias 127
//   E8M0   eeeeeeee                             bias 127, ff is NaN
//   E4M3   s eeee mmm                           bias 7, largest 7e = 1.75 * 2^8
//
// Subnormal values are zeros of their sign. The scale is 2^(floor(log2 amax) - 8),
// which brings the largest value into E4M3's top binade; it is at least 2^-127. A
// block of zeros has scale 00. A NaN or an infinity makes the scale ff and every
// element 7f. Lane 0 is in the lowest bits.
//
// defect plants a bug, to see whether vectors find it:
//    1  rounds half up
//    2  guard taken one bit too low
//    3  rounding's carry dropped
//    4  sticky lost
//    5  subnormal elements shifted one place too few
//    6  no saturation: NaN's code
//    7  scale off by the element bias
//    8  lanes in reverse order
//    9  amax skips NaN
//   10  amax skips infinity
//   11  subnormal values taken as normal ones
//   12  a zero loses its sign
//   13  amax leaves out the last lane
//   14  scale's exponent not clamped at 2^-127
//   15  scale rounded up where amax is more than 1.75 * 2^n (so nothing saturates)

module mxfp8_quantize #(
    parameter int LANES = 32
) (
    input  logic                clk,
    input  logic                rst_n,
    input  logic                in_valid,
    output logic                in_ready,
    input  logic [32*LANES-1:0] values,
    input  logic [7:0]          defect,
    output logic                out_valid,
    input  logic                out_ready,
    output logic [7:0]          scale,
    output logic [8*LANES-1:0]  elements
);

  localparam logic [7:0] EMAX    = 8'd8;      // exponent of E4M3's top binade
  localparam logic [7:0] BIAS    = 8'd7;      // of E4M3
  localparam logic [6:0] LARGEST = 7'h7e;
  localparam logic [6:0] NAN     = 7'h7f;

  // ------------------------------------------------------------------- amax
  // The largest exponent field is that of the largest magnitude: the scale needs
  // no more of it. Field 0, zeros and subnormals, is below all.
  logic [7:0]  top;
  logic [22:0] top_fraction;                  // only for defect 15
  logic        special;

  always_comb begin : find_amax
    logic [7:0]  exponent;
    logic [22:0] fraction;
    logic        skipped;
    top          = 8'd0;
    top_fraction = 23'd0;
    special      = 1'b0;
    for (int i = 0; i < LANES; i = i + 1) begin
      {exponent, fraction} = values[32*i+:31];
      skipped = defect == 8'd13 && i == LANES - 1;
      if (exponent == 8'hff) begin
        if (fraction != 23'd0) skipped = defect == 8'd9;
        else skipped = defect == 8'd10;
        if (!skipped) special = 1'b1;
      end else if ({exponent, fraction} > {top, top_fraction} && !skipped)
        {top, top_fraction} = {exponent, fraction};
    end
  end

  // ------------------------------------------------------------------ scale
  // E8M0's code and FP32's exponent field have the same bias.
  wire       round_scale = defect == 8'd15 && top_fraction > 23'h600000;
  wire [7:0] wanted      = defect == 8'd7 ? BIAS : EMAX - {7'd0, round_scale};
  wire [7:0] block_scale = top > wanted || (top != 8'd0 && defect == 8'd14) ? top - wanted : 8'd0;

  // --------------------------------------------------------------- elements
  // value / scale has the exponent e - s, e and s being the two fields, and is
  // rounded once. Below E4M3's smallest normal, 2^-6, the significand moves right
  // one place for each binade; after five places more would change nothing.
  wire [8*LANES-1:0] codes;

  for (genvar i = 0; i < LANES; i = i + 1) begin : g_lane
    wire        sign     = values[32*i+31];
    wire [7:0]  exponent = values[32*i+23+:8];
    wire [22:0] fraction = values[32*i+:23];

    wire [8:0]  above    = {1'b0, exponent} + 9'd6 - {1'b0, block_scale};   // 2^-6, in binades
    wire        is_small = above[8];
    wire [8:0]  below    = is_small ? -above - {8'd0, defect == 8'd5} : 9'd0;
    wire [2:0]  shift    = below > 9'd5 ? 3'd5 : below[2:0];
    wire [28:0] aligned  = {1'b1, fraction, 5'd0} >> shift;

    wire [3:0]  kept     = aligned[28:25];
    wire        guard    = defect == 8'd2 ? aligned[23] : aligned[24];
    wire        sticky   = |aligned[23:0] && defect != 8'd4;
    wire        round_up = guard && (sticky || kept[0] || defect == 8'd1);

    // The hidden bit adds the one by which a normal number's field exceeds a
    // subnormal's, and the carry goes into the exponent.
    wire [11:0] cut      = {is_small ? 9'd0 : above, 3'd0} + {8'd0, kept};
    wire [11:0] sum      = cut + {11'd0, round_up};
    wire [11:0] rounded  = defect == 8'd3 ? {cut[11:3], sum[2:0]} : sum;

    wire        flushed   = exponent == 8'd0 && (fraction == 23'd0 || defect != 8'd11);
    wire        too_large = rounded > {5'd0, LARGEST};
    wire [6:0]  saturated = too_large ? (defect == 8'd6 ? NAN : LARGEST) : rounded[6:0];
    wire [6:0]  magnitude = flushed ? 7'd0 : saturated;
    wire        negative  = sign && !(defect == 8'd12 && magnitude == 7'd0);

    wire [7:0]  code = special ? {1'b0, NAN} : {negative, magnitude};
    assign codes[8*i+:8] = defect == 8'd8 ? g_lane[LANES-1-i].code : code;
  end

  // -------------------------------------------------------------- handshake
  // A block moves where valid and ready meet. The register takes the next one
  // when it is empty, or in the very cycle in which its block leaves.
  assign in_ready = !out_valid || out_ready;

  always_ff @(posedge clk) begin
    if (in_valid && in_ready) begin
      scale    <= special ? 8'hff : block_scale;
      elements <= codes;
    end
  end

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) out_valid <= 1'b0;
    else if (in_ready) out_valid <= in_valid;
  end

endmodule
