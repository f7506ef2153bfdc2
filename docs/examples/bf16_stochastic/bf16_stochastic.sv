// SPDX-License-Identifier: 0BSD
//
// FP32 -> BF16 with stochastic rounding (P3109's A), the random bits from a shift
// register inside. One value a cycle, registered.
//
//   FP32   s eeeeeeee fffffffffffffffffffffff   bias 127
//   BF16   s eeeeeeee fffffff                   bias 127
//
// The register is Fibonacci's: it shifts left, and the exclusive or of the tapped
// bits enters at bit 0 (tap t is bit t - 1). It steps once for each value taken,
// specials too, and never else, so the first value meets SEED. In the package's
// words it is the source lfsr:width=16,taps=16.14.13.11,seed=1,bits=15:0.
//
// Every NaN gives the canonical one, 7fc0. flags = {invalid, divide by zero,
// overflow, underflow, inexact}; tininess is judged after rounding, with the same
// random bits.
//
// defect plants a bug, to see whether vectors find it:
//    1  the register steps while idle
//    2  tap 10 in place of 11
//    3  random bits in reverse order
//    4  the first value meets the second state
//    5  a carry of exactly one ulp is missed (> in place of >=)
//    6  exact values may move
//    7  only eight random bits are used
//    8  rounding's carry dropped
//    9  NaN is cut, not made canonical
//   10  FP32 subnormals are flushed
//   11  overflow gives the largest finite
//   12  a zero loses its sign
//   13  tininess judged before rounding
//   14  no underflow for results stored as the smallest normal number
//   15  specials take no random bits

module bf16_stochastic #(
    parameter int               WIDTH = 16,             // of the register, at least 16
    parameter logic [WIDTH-1:0] TAPS  = 16'hb400,       // 16, 14, 13, 11
    parameter logic [WIDTH-1:0] SEED  = 16'h0001        // not 0, which never leaves 0
) (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        in_valid,
    input  logic [31:0] a,
    input  logic [7:0]  defect,
    output logic        out_valid,                      // the cycle after in_valid
    output logic [15:0] result,
    output logic [4:0]  flags
);

  localparam logic [14:0] INF = 15'h7f80, LARGEST = 15'h7f7f, NAN = 15'h7fc0;

  // ----------------------------------------------------------------- unpack
  wire        sign             = a[31];
  wire [30:0] magnitude        = a[30:0];
  wire        is_special       = a[30:23] == 8'hff;
  wire        is_nan           = is_special && a[22:0] != 23'd0;
  wire        is_signaling_nan = is_nan && !a[22];
  wire        is_subnormal     = a[30:23] == 8'd0;

  // ----------------------------------------------------------------- random
  logic [WIDTH-1:0] state;
  wire  [WIDTH-1:0] taps = defect == 8'd2 ? TAPS ^ 16'h0600 : TAPS;
  wire  [WIDTH-1:0] next = {state[WIDTH-2:0], ^(state & taps)};
  wire              step = defect == 8'd15 ? in_valid && !is_special : in_valid || defect == 8'd1;

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) state <= SEED;
    else if (step) state <= next;
  end

  logic [15:0] random;
  always_comb begin
    random = defect == 8'd4 ? next[15:0] : state[15:0];
    if (defect == 8'd7) random = random & 16'hff00;
    if (defect == 8'd3) for (int i = 0; i < 16; i = i + 1) random[i] = state[15-i];
  end

  // ------------------------------------------------------------------ round
  // BF16 lacks FP32's low 16 bits, in the subnormal range too. With v the part of
  // an ulp that they hold, a number is rounded away from zero if v 2^16 + random reaches
  // 2^16: if the sum's carry leaves the 16 bits. As exponent and fraction are one
  // integer, it goes where it must, and an exact number never moves.
  wire [15:0] discarded = magnitude[15:0];
  wire [16:0] sum       = {1'b0, discarded} + {1'b0, random} + {16'd0, defect == 8'd6};
  wire        carry     = defect == 8'd5 ? sum > 17'h10000 : sum[16];
  wire [14:0] cut       = magnitude[30:16];
  wire [14:0] sum_code  = cut + {14'd0, carry};
  wire [14:0] rounded   = defect == 8'd8 ? {cut[14:7], sum_code[6:0]} : sum_code;

  // ---------------------------------------------------- overflow, underflow
  // Past the largest number comes infinity's code by itself.
  wire overflow = !is_special && rounded == INF;
  wire inexact  = !is_special && discarded != 16'd0;

  // Tiny: below 2^-126 when rounded as if the exponent had no lower end. From the
  // binade below, such a rounding keeps one bit more, and v doubles; x + random
  // reaches 2^16 where x > ~random.
  wire reaches_normal = &magnitude[22:15] && {discarded[14:0], 1'b0} > ~random;
  wire stored_normal  = rounded[7];
  wire is_tiny        = is_subnormal && !(reaches_normal && defect != 8'd13)
                        && !(stored_normal && defect == 8'd14);

  // ------------------------------------------------------------------- pack
  logic [15:0] code;
  always_comb begin
    code = {sign, rounded};
    if (is_special) code = {sign, INF};
    if (is_nan) code = defect == 8'd9 ? {sign, cut} : {1'b0, NAN};
    if (overflow && defect == 8'd11) code = {sign, LARGEST};
    if (is_subnormal && defect == 8'd10) code = {sign, 15'd0};
    if (rounded == 15'd0 && !is_special && defect == 8'd12) code = 16'd0;
  end

  always_ff @(posedge clk) begin
    result <= code;
    flags  <= {is_signaling_nan, 1'b0, overflow, is_tiny && inexact, inexact};
  end

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) out_valid <= 1'b0;
    else out_valid <= in_valid;
  end

endmodule
