// SPDX-License-Identifier: 0BSD
//
// OCP MXFP4: a block of 32 bfloat16 values -> one E8M0 scale and an E2M1 element
// each, round to nearest even, saturating (MX 1.0, 6.3). The block is an unpacked
// array; a result comes one cycle after its block.
//
//   bfloat16  s eeeeeeee fffffff   bias 127
//   E8M0      eeeeeeee             bias 127, ff is NaN
//   E2M1      s ee m               0 0.5 1 1.5 2 3 4 6
//
// Subnormal values are zeros of their sign. The scale is 2^(floor(log2 amax) - 2),
// which brings the largest value into E2M1's top binade; it is at least 2^-127. A
// NaN or an infinity makes the scale NaN and every element zero.

package mxfp4;
  typedef logic [15:0] bf16_t;
  typedef logic [3:0]  element_t;

  localparam int SIZE = 32;
  localparam logic [7:0]  TOP_BINADE = 8'd2;  // exponent of 4 and 6
  localparam logic [7:0]  NAN_SCALE  = 8'hff;
  localparam logic [2:0]  LARGEST    = 3'd7;

  // A value divided by 2^(scale - 127), rounded once. A subnormal element has the
  // places of a number in [1, 2), so below 1 the significand moves right.
  function automatic element_t rounded(input bf16_t x, input logic [7:0] scale);
    logic [7:0] exponent, binade, below;
    logic [9:0] significand;                  // two bits of it stay, eight are cut
    logic [2:0] magnitude;
    logic [3:0] sum;
    exponent    = x[14:7];
    binade      = exponent < scale ? 8'd0 : exponent - scale;
    below       = exponent < scale ? scale - exponent : 8'd0;
    significand = {1'b1, x[6:0], 2'd0} >> (below > 8'd3 ? 8'd3 : below);
    // The hidden bit is the one by which the exponent's field is larger than the binade.
    magnitude   = {binade[1:0], 1'b0} + {1'b0, significand[9:8]};
    sum         = {1'b0, magnitude};
    if (significand[7] && (significand[6:0] != 7'd0 || magnitude[0])) sum = sum + 4'd1;
    if (sum > {1'b0, LARGEST}) sum = {1'b0, LARGEST};
    if (exponent == 8'd0) sum = 4'd0;
    return {x[15], sum[2:0]};
  endfunction
endpackage

module mxfp4_quantize
  import mxfp4::*;
(
    input  logic       clk,
    input  logic       rst_n,
    input  logic       in_valid,
    input  bf16_t      x[SIZE],
    output logic       out_valid,
    output logic [7:0] scale,
    output element_t   elements[SIZE]
);

  logic [7:0] largest, shared;                // the exponent's field of amax, and the scale
  logic       special;

  always_comb begin
    largest = 8'd0;
    for (int i = 0; i < SIZE; i = i + 1) if (x[i][14:7] > largest) largest = x[i][14:7];
    special = largest == 8'hff;
    shared  = largest > TOP_BINADE ? largest - TOP_BINADE : 8'd0;
  end

  always_ff @(posedge clk) begin
    scale <= special ? NAN_SCALE : shared;
    for (int i = 0; i < SIZE; i = i + 1) elements[i] <= special ? 4'd0 : rounded(x[i], shared);
  end

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) out_valid <= 1'b0;
    else out_valid <= in_valid;
  end

endmodule
