// SPDX-License-Identifier: 0BSD
//
// A pipelined unit for FP32, FP16 and BF16: fused multiply-add, add, multiply and
// compare, with valid/ready on both sides and a tag beside each operation.
//
// Narrower operands are NaN-boxed in 32 bits, as in RISC-V, and so are results; an
// operand that is not boxed is the canonical NaN. The arithmetic is that of
// fp16_fma, once for each format. Results wait in a queue; an operation is taken
// only where the queue has room for its result.
//
// Each bit of faults_i plants a bug:
//
//    0  boxes are not checked
//    1  FP16 is always rounded to nearest even
//    2  narrower results have zeros above them
//    3  the result changes while it waits
//    4  LE does not hold for equal operands
//    5  LT and LE of a quiet NaN are not invalid
//    6  FP32 loses what alignment shifts out of the addend
//    7  FP16 gives a subnormal addend the exponent 0, not 1
//    8  BF16 overflows to infinity under RTZ
//    9  ADD of FP32 operands with different signs takes operand 0 for operand 1

`include "fpu_defs.svh"

module small_fpu #(
    parameter logic [2:0] FORMATS = fpu_pkg::HAS_FP32
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [9:0]       faults_i,
    input  logic [2:0][31:0] operands_i,
    input  fpu_pkg::op_e      op_i,
    input  fpu_pkg::fmt_e     fmt_i,
    input  fpu_pkg::rnd_e     rnd_i,
    input  logic [3:0]       tag_i,
    input  logic             in_valid_i,
    output logic             in_ready_o,
    output logic [31:0]      result_o,
    output logic [4:0]       status_o,  // invalid, divide by zero, overflow, underflow, inexact
    output logic [3:0]       tag_o,
    output logic             out_valid_o,
    input  logic             out_ready_i
);

  import fpu_pkg::*;

  // ------------------------------------------------------------------ operands
  wire half  = fmt_i == FP16, brain = fmt_i == BF16;
  wire check = (half || brain) && !faults_i[0];

  function automatic logic [31:0] unboxed(input logic [31:0] x, input logic narrow, input logic [15:0] nan);
    unboxed = narrow && x[31:16] != 16'hffff ? {16'hffff, nan} : x;
  endfunction

  wire [15:0] nan = half ? 16'h7e00 : 16'h7fc0;
  wire [31:0] x0 = unboxed(operands_i[0], check, nan);
  wire [31:0] x1 = unboxed(operands_i[1], check, nan);
  wire [31:0] x2 = unboxed(operands_i[2], check, nan);

  // ADD is 1 * x1 + x2. MUL is x0 * x1 + a zero of the product's sign.
  wire        add = op_i == ADD, mul = op_i == MUL;
  wire [31:0] one = half ? 32'hffff3c00 : brain ? 32'hffff3f80 : 32'h3f800000;
  wire        sign = half || brain ? x0[15] ^ x1[15] : x0[31] ^ x1[31];
  wire [31:0] zero = half || brain ? {16'hffff, sign, 15'd0} : {sign, 31'd0};
  wire [31:0] a = add ? one : x0;
  wire [31:0] b = add && faults_i[9] && !half && !brain && (x1[31] ^ x2[31]) ? x0 : x1;
  wire [31:0] c = mul ? zero : x2;

  // ------------------------------------------------------------- multiply-adds
  wire take = in_valid_i && in_ready_o;
  wire [31:0] result_32;
  wire [15:0] result_16, result_b;
  wire [4:0]  flags_32, flags_16, flags_b;
  wire        valid_32, valid_16, valid_b;

  generate
    if (FORMATS & HAS_FP32) begin : fp32
      fp16_fma #(.EXP(8), .FRAC(23)) core (
          .clk(clk_i), .rst_n(rst_ni), .in_valid(take), .a(a), .b(b), .c(c), .rm(rnd_i),
          .defect(faults_i[6] ? 8'd4 : 8'd0), .out_valid(valid_32), .result(result_32), .flags(flags_32));
    end
    if (FORMATS & HAS_FP16) begin : fp16
      fp16_fma #(.EXP(5), .FRAC(10)) core (
          .clk(clk_i), .rst_n(rst_ni), .in_valid(take), .a(a[15:0]), .b(b[15:0]), .c(c[15:0]),
          .rm(rnd_i & {3{!faults_i[1]}}), .defect(faults_i[7] ? 8'd13 : 8'd0), .out_valid(valid_16),
          .result(result_16), .flags(flags_16));
    end
    if (FORMATS & HAS_BF16) begin : bf16
      fp16_fma #(.EXP(8), .FRAC(7)) core (
          .clk(clk_i), .rst_n(rst_ni), .in_valid(take), .a(a[15:0]), .b(b[15:0]), .c(c[15:0]), .rm(rnd_i),
          .defect(faults_i[8] ? 8'd7 : 8'd0), .out_valid(valid_b), .result(result_b), .flags(flags_b));
    end
  endgenerate

  // --------------------------------------------------------------- comparisons
  // A narrower operand in the upper half is compared as a wide one.
  wire [31:0] u = half || brain ? {x0[15:0], 16'd0} : x0;
  wire [31:0] v = half || brain ? {x1[15:0], 16'd0} : x1;
  wire [30:0] inf       = half ? 31'h7c000000 : 31'h7f800000;
  wire [30:0] quiet_bit = half ? 31'h02000000 : 31'h00400000;
  wire nan_u = u[30:0] > inf, nan_v = v[30:0] > inf;
  wire signals = (nan_u && (u[30:0] & quiet_bit) == 0) || (nan_v && (v[30:0] & quiet_bit) == 0);
  wire zeros   = u[30:0] == 0 && v[30:0] == 0;
  wire equal   = !nan_u && !nan_v && (u == v || zeros);
  wire below   = u[31] != v[31] ? u[31] && !zeros : u[31] ? u[30:0] > v[30:0] : u[30:0] < v[30:0];
  wire less    = !nan_u && !nan_v && below;
  wire holds   = op_i == EQ ? equal : op_i == LT ? less : less || (equal && !faults_i[4]);
  wire invalid = op_i == EQ || faults_i[5] ? signals : nan_u || nan_v;

  // ------------------------------------------------------- beside the pipelines
  localparam int BESIDE = 4 + 3 + 2 + 2;  // tag, op, fmt, comparison
  logic [BESIDE-1:0]      beside[0:`FPU_STAGES-1];
  logic [`FPU_STAGES-1:0] valid;

  always_ff @(posedge clk_i) begin
    beside[0] <= {tag_i, op_i, fmt_i, holds, invalid};
    beside[1] <= beside[0];
    beside[2] <= beside[1];
    valid     <= rst_ni ? {valid[1:0], take} : 0;
  end

  wire [3:0]  tag_3;
  wire [2:0]  op_3;
  wire [1:0]  fmt_3;
  wire        holds_3, invalid_3;
  assign {tag_3, op_3, fmt_3, holds_3, invalid_3} = beside[2];
  wire        compares = op_3[2];
  wire [15:0] above    = faults_i[2] ? 16'h0000 : 16'hffff;
  wire [31:0] computed = fmt_3 == FP16 ? {above, result_16} : fmt_3 == BF16 ? {above, result_b} : result_32;
  wire [31:0] result   = compares ? {31'd0, holds_3} : computed;
  wire [4:0]  raised   = fmt_3 == FP16 ? flags_16 : fmt_3 == BF16 ? flags_b : flags_32;
  wire [4:0]  flags    = compares ? {invalid_3, 4'd0} : raised;

  // --------------------------------------------------------------------- queue
  logic [40:0] queue[0:`FPU_DEPTH-1];
  logic [2:0]  head, tail;
  logic [3:0]  waiting, promised;  // results in the queue; those and the ones in the pipelines
  logic        flip;
  wire         pop = out_valid_o && out_ready_i;

  always_ff @(posedge clk_i)
    if (!rst_ni) begin
      {head, tail, waiting, promised, flip} <= 0;
    end else begin
      if (valid[2]) begin
        queue[tail] <= {tag_3, flags, result};
        tail        <= tail + 3'd1;
      end
      if (pop) head <= head + 3'd1;
      waiting  <= waiting + {3'd0, valid[2]} - {3'd0, pop};
      promised <= promised + {3'd0, take} - {3'd0, pop};
      flip     <= out_valid_o && !out_ready_i && faults_i[3];
    end

  assign in_ready_o  = promised < `FPU_DEPTH;
  assign out_valid_o = waiting != 0;
  assign {tag_o, status_o, result_o} = queue[head] ^ {40'd0, flip};

endmodule
