// SPDX-License-Identifier: 0BSD
//
// FP32 to a smaller IEEE format by its parameters (EXP 5 and FRAC 10 make FP16),
// combinational. It rounds by injection: a constant is added below the places that
// are kept, and what is below them is cut off. The constant depends on the rounding:
//
//   rne, rna   half of the last place; in a tie, rne then clears the last bit
//   away       all ones: rup of positive numbers, rdn of negative ones
//   else       nothing
//
//   rm     0 rne, 1 rtz, 2 rdn, 3 rup, 4 rna (RISC-V's numbers); 5 to 7 as rne
//
// Every NaN gives the canonical one. flags = {invalid, divide by zero, overflow,
// underflow, inexact}; tininess is judged after rounding.
//
// defect plants a bug:
//    1  the last bit is not cleared in a tie
//    2  the constant that rounds away is one bit short
//    3  the sign is not looked at: rdn and rup as for positive numbers
//    4  a subnormal result is moved one place too few
//    5  what a subnormal result loses below the frame is forgotten
//    6  tininess judged before rounding
//    7  overflow gives infinity in every rounding
//    8  subnormal operands have a hidden bit

module fp_convert_injected #(
    parameter int EXP  = 5,
    parameter int FRAC = 10
) (
    input  logic [31:0]       a,
    input  logic [2:0]        rm,
    input  logic [7:0]        defect,
    output logic [EXP+FRAC:0] result,
    output logic [4:0]        flags
);

  localparam int P     = FRAC + 1;
  localparam int FRAME = 49;                     // a significand, and as many places below it but one
  localparam int TAIL  = FRAME - P;              // places that are cut off
  localparam int HALF  = TAIL - 1;

  localparam logic signed [10:0] REBIAS = 11'(2 ** (EXP - 1) - 1 - 127);
  localparam logic [EXP+FRAC-1:0] INF   = {{EXP{1'b1}}, {FRAC{1'b0}}};

  localparam logic [2:0] RTZ = 3'd1, RDN = 3'd2, RUP = 3'd3, RNA = 3'd4;

  // ----------------------------------------------------------------- unpack
  wire        sign      = a[31];
  wire        subnormal = a[30:23] == 0;
  wire        infinite  = a[30:0] == 31'h7f800000;
  wire        nan       = a[30:0] > 31'h7f800000;
  wire [23:0] significand = {!subnormal || defect == 8'd8, a[22:0]};

  // The field of the result; below 1, the significand moves right by the rest.
  wire signed [10:0] field = $signed({3'd0, a[30:23]}) + $signed({10'd0, subnormal}) + REBIAS;
  wire               low   = field < 1;
  wire        [10:0] depth = low ? 11'd1 - field - {10'd0, defect == 8'd4} : 11'd0;
  wire        [4:0]  down  = depth > 11'd25 ? 5'd25 : depth[4:0];
  wire [FRAME-1:0]   frame = {significand, 25'd0} >> down;

  // ---------------------------------------------------------------- injection
  wire seen    = sign && defect != 8'd3;
  wire away    = (rm == RDN && seen) || (rm == RUP && !seen);
  wire nearest = rm != RTZ && rm != RDN && rm != RUP;

  wire [TAIL-1:0] ones     = {TAIL{1'b1}} >> (defect == 8'd2 ? 1 : 0);
  wire [TAIL-1:0] injected = away ? ones : nearest ? {1'b1, {HALF{1'b0}}} : {TAIL{1'b0}};
  wire [TAIL-1:0] tail     = defect == 8'd5 ? {frame[TAIL-1:TAIL-4], {(TAIL - 4) {1'b0}}} : frame[TAIL-1:0];

  // Exponent and fraction are one integer, to which the hidden bit adds one exponent.
  wire [10:0]        base  = low ? 11'd0 : field - 11'd1;
  wire [FRAME+10:0]  exact = {base, {(FRAME) {1'b0}}} >> 1;
  wire [FRAME+10:0]  sum   = exact + {11'd0, frame[FRAME-1:TAIL], tail} + {{(P + 11) {1'b0}}, injected};
  wire               tie   = nearest && rm != RNA && sum[TAIL-1:0] == 0 && defect != 8'd1;
  wire [FRAC+11:0]   whole = sum[FRAME+10:TAIL];
  wire [FRAC+11:0]   code  = {whole[FRAC+11:1], whole[0] && !tie};

  // ---------------------------------------------------- overflow, underflow
  // Tiny: below the smallest normal number when rounded to P bits without a lowest
  // exponent. Only from a field of 0 can such a rounding still reach it.
  wire signed [10:0]  leading = field - $signed({10'd0, subnormal});
  wire [23:0]         shown   = subnormal ? {a[22:0], 1'b0} : significand;
  wire [FRAME:0]      free    = {1'b0, shown, 25'd0} + {{(P + 1) {1'b0}}, injected};
  wire                reaches = leading == 0 && free[FRAME] && defect != 8'd6;
  wire                tiny    = leading < 1 && !reaches;
  wire                overflow = code >= (FRAC + 12)'(INF);
  wire                inexact = tail != 0 || overflow;
  wire [EXP+FRAC-1:0] limit   = nearest || away || defect == 8'd7 ? INF : INF - 1;

  // ------------------------------------------------------------------- pack
  wire [EXP+FRAC-1:0] size  = overflow ? limit : code[EXP+FRAC-1:0];
  wire [EXP+FRAC-1:0] quiet = {{(EXP + 1) {1'b1}}, {(FRAC - 1) {1'b0}}};

  assign result = nan ? {1'b0, quiet} : infinite ? {sign, INF} : {sign, size};
  assign flags  = nan ? {!a[22], 4'd0} : infinite ? 5'd0 : {2'b00, overflow, tiny && inexact, inexact};

endmodule
