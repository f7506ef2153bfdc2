// SPDX-License-Identifier: 0BSD
//
// Addition and multiplication by the fused multiply-add of docs/examples/fp16_fma: a * 1 + b, and a * b + c with c the
// zero of the product's sign, which is also that of a product of zero.

module fma_add #(
    parameter int EXP  = 5,
    parameter int FRAC = 10
) (
    input  logic              clk, rst_n, in_valid,
    input  logic [EXP+FRAC:0] a, b,
    input  logic [2:0]        rm,
    output logic              out_valid,
    output logic [EXP+FRAC:0] result,
    output logic [4:0]        flags
);
  localparam logic [EXP+FRAC:0] ONE = {2'b00, {(EXP - 1){1'b1}}, {FRAC{1'b0}}};
  fp16_fma #(.EXP(EXP), .FRAC(FRAC)) fma(.a(a), .b(ONE), .c(b), .defect(8'd0), .*);
endmodule

module fma_mul #(
    parameter int EXP  = 5,
    parameter int FRAC = 10
) (
    input  logic              clk, rst_n, in_valid,
    input  logic [EXP+FRAC:0] a, b,
    input  logic [2:0]        rm,
    output logic              out_valid,
    output logic [EXP+FRAC:0] result,
    output logic [4:0]        flags
);
  wire [EXP+FRAC:0] zero = {a[EXP+FRAC] ^ b[EXP+FRAC], {(EXP + FRAC) {1'b0}}};
  fp16_fma #(.EXP(EXP), .FRAC(FRAC)) fma(.a(a), .b(b), .c(zero), .defect(8'd0), .*);
endmodule
