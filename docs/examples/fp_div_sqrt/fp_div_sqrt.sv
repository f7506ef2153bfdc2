// SPDX-License-Identifier: 0BSD
//
// Division a / b, and the square root of a where ROOT is set, combinational, of IEEE
// formats by their parameters (EXP 5 and FRAC 10 make FP16). Both are restoring: a bit
// of the result at a time, from the highest one; what remains is a sticky bit.
//
//   rm     0 rne, 1 rtz, 2 rdn, 3 rup, 4 rna (RISC-V's numbers); 5 to 7 as rne
//
// Subnormal operands are normalised; a subnormal result is moved right before it is
// rounded. Every NaN gives the canonical one. flags = {invalid, divide by zero, overflow,
// underflow, inexact}. Tininess is the same before and after rounding: no quotient is so
// close below a power of two that P bits of it are rounded up to it, and no root is tiny.
//
// defect plants a bug:
//    1  division: a remainder that is equal to the divisor is not divided once more
//    2  division: the last quotient bit is not computed
//    3  what remains leaves no sticky bit
//    4  division: a quotient below one is moved, but its exponent is not corrected
//    5  root: an odd exponent is halved as it is
//    6  root: an odd exponent below the bias is halved towards zero
//    7  a subnormal operand is normalised, but its exponent is not
//    8  what a subnormal result loses is forgotten
//    9  0 / 0 raises divide by zero, too
//   10  division: infinity / 0 raises divide by zero
//   11  root: -0 is invalid
//   12  rtz overflows to infinity
//   13  rdn and rup do not look at the sign

module fp_div_sqrt #(
    parameter int EXP  = 5,
    parameter int FRAC = 10,
    parameter bit ROOT = 1'b0
) (
    input  logic [EXP+FRAC:0] a,
    input  logic [EXP+FRAC:0] b,        // not used for a root
    input  logic [2:0]        rm,
    input  logic [7:0]        defect,
    output logic [EXP+FRAC:0] result,
    output logic [4:0]        flags
);

  localparam int WIDTH = 1 + EXP + FRAC;
  localparam int P     = FRAC + 1;               // a significand's bits
  localparam int EW    = EXP + 4;                // exponents, signed, with room
  localparam int BITS  = P + 2;                  // of a quotient or a root
  localparam int FRAME = BITS + 1;               // with a sticky bit

  localparam logic signed [EW-1:0] BIAS = EW'(2 ** (EXP - 1) - 1);
  localparam logic [WIDTH-2:0]     INF  = {{EXP{1'b1}}, {FRAC{1'b0}}};
  localparam logic [WIDTH-1:0]     NAN  = {1'b0, {(EXP + 1) {1'b1}}, {(FRAC - 1) {1'b0}}};

  localparam logic [2:0] RTZ = 3'd1, RDN = 3'd2, RUP = 3'd3, RNA = 3'd4;

  // ----------------------------------------------------------------- unpack
  // A significand with its leading one at the top, and the biased exponent of
  // that one, which is below 1 for a subnormal. Of zero it means nothing.
  typedef struct packed {
    logic                 sign;
    logic                 zero;
    logic                 infinite;
    logic                 nan;
    logic                 quiet;
    logic signed [EW-1:0] exponent;
    logic [P-1:0]         significand;
  } number_t;

  function automatic number_t unpacked(input logic [WIDTH-1:0] code, input logic keep_exponent);
    logic [P-1:0]         significand;
    logic [EW-1:0]        zeros;
    logic signed [EW-1:0] exponent;
    significand = {code[WIDTH-2:FRAC] != 0, code[FRAC-1:0]};
    zeros = EW'(P);
    for (int i = 0; i < P; i = i + 1) if (significand[i]) zeros = EW'(P - 1 - i);
    exponent = {4'd0, code[WIDTH-2:FRAC]};
    if (code[WIDTH-2:FRAC] == 0) exponent = EW'(1) - (keep_exponent ? EW'(0) : zeros);
    return {code[WIDTH-1], significand == 0, code[WIDTH-2:0] == INF, code[WIDTH-2:0] > INF, code[FRAC-1],
            exponent, significand << zeros};
  endfunction

  number_t x, y;
  assign x = unpacked(a, defect == 8'd7);
  assign y = unpacked(b, 1'b0);

  // ----------------------------------------------------------------- divide
  // The quotient has its leading one in the first or the second place.
  function automatic logic [BITS+P:0] divide(input logic [P-1:0] dividend, input logic [P-1:0] divisor,
                                              input logic [7:0] bug);
    logic [BITS-1:0] quotient;
    logic [P:0]      rest;
    logic            once;
    quotient = 0;
    rest = {1'b0, dividend};
    for (int i = 0; i < BITS; i = i + 1) begin
      once = rest > {1'b0, divisor} || (rest == {1'b0, divisor} && bug != 8'd1);
      if (i == BITS - 1 && bug == 8'd2) once = 1'b0;
      quotient = quotient | ({{(BITS - 1) {1'b0}}, once} << (BITS - 1 - i));
      rest = (once ? rest - {1'b0, divisor} : rest) << 1;
    end
    return {quotient, rest};
  endfunction

  wire [BITS-1:0] quotient;
  wire [P:0]      rest_divided;
  assign {quotient, rest_divided} = divide(x.significand, y.significand, defect);

  wire                 below_one    = !quotient[BITS-1];
  wire [BITS-1:0]      divided      = below_one ? quotient << 1 : quotient;
  wire signed [EW-1:0] exponent_div = x.exponent - y.exponent + BIAS - EW'(below_one && defect != 8'd4);

  // ------------------------------------------------------------ square root
  // The radicand lies between 1 and 4, so that its exponent is even; two of its bits
  // are taken for each bit of the root.
  wire signed [EW-1:0]  unbiased = x.exponent - BIAS;
  wire                  odd      = unbiased[0] && defect != 8'd5;
  wire [P:0]            radicand = odd ? {x.significand, 1'b0} : {1'b0, x.significand};
  wire [2*BITS-1:0]     places   = {{(2 * BITS - P - 1) {1'b0}}, radicand} << (2 * BITS - P - 1);
  wire signed [EW-1:0]  halved   = unbiased < 0 && unbiased[0] && defect == 8'd6 ? unbiased + 1 : unbiased;
  wire signed [EW-1:0]  exponent_root = (halved >>> 1) + BIAS;

  function automatic logic [2*BITS+1:0] square_root(input logic [2*BITS-1:0] square);
    logic [BITS-1:0]   root;
    logic [BITS+1:0]   rest;
    logic [2*BITS-1:0] waiting;
    logic              once;
    {root, rest, waiting} = {{(2 * BITS + 2) {1'b0}}, square};
    for (int i = 0; i < BITS; i = i + 1) begin
      {rest, waiting} = {rest[BITS-1:0], waiting, 2'b00};
      once = rest >= {root, 2'b01};
      if (once) rest = rest - {root, 2'b01};
      root = {root[BITS-2:0], once};
    end
    return {root, rest};
  endfunction

  wire [BITS-1:0] root;
  wire [BITS+1:0] rest_rooted;
  assign {root, rest_rooted} = square_root(places);

  // ------------------------------------------------------------------ round
  wire                 remains  = ROOT ? rest_rooted != 0 : rest_divided != 0;
  wire [FRAME-1:0]     bits     = {ROOT ? root : divided, remains && defect != 8'd3};
  wire signed [EW-1:0] exponent = ROOT ? exponent_root : exponent_div;
  wire                 sign     = ROOT ? 1'b0 : x.sign ^ y.sign;

  wire nearest = rm != RTZ && rm != RDN && rm != RUP;
  wire away    = (rm == RDN && (sign || defect == 8'd13)) || (rm == RUP && !sign && defect != 8'd13);

  // Arguments are all that it reads: an assignment does not wait for other signals.
  function automatic logic rounds_up(input logic outward, input logic half, input logic odd_bit, input logic guard,
                                     input logic sticky);
    rounds_up = outward ? guard || sticky : half && guard && (sticky || odd_bit);
  endfunction

  // A subnormal result moves right until its exponent is 1.
  wire                 low   = exponent < 1;
  wire [EW-1:0]        depth = low ? 1 - exponent : 0;
  wire [EW-1:0]        down  = depth > EW'(FRAME) ? EW'(FRAME) : depth;
  wire [2*FRAME-1:0]   held  = {bits, {FRAME{1'b0}}} >> down;
  wire                 lost  = |held[FRAME-1:0] && defect != 8'd8;
  wire [P-1:0]         kept  = held[2*FRAME-1-:P];
  wire                 guard = held[2*FRAME-1-P];
  wire                 rest  = |held[2*FRAME-2-P:FRAME] || lost;
  wire                 up    = rounds_up(away, nearest, kept[0] || rm == RNA, guard, rest);

  // Exponent and fraction round as one integer. The hidden bit adds one to the exponent.
  wire [EW-1:0]        field = low ? 0 : exponent - 1;
  wire [EW+FRAC-1:0]   code  = {field, {FRAC{1'b0}}} + {{(EW - 1) {1'b0}}, kept} + {{(EW + FRAC - 1) {1'b0}}, up};

  wire                 overflow = code >= {{(EW - EXP) {1'b0}}, INF};
  wire                 inexact  = guard || rest || overflow;
  wire [WIDTH-2:0]     limit = nearest || away || (rm == RTZ && defect == 8'd12) ? INF : INF - 1;
  wire [WIDTH-2:0]     size  = overflow ? limit : code[WIDTH-2:0];

  // --------------------------------------------------------------- specials
  wire any_nan   = x.nan || (y.nan && !ROOT);
  wire signals   = (x.nan && !x.quiet) || (y.nan && !y.quiet && !ROOT);
  wire undefined = ROOT ? x.sign && (!x.zero || defect == 8'd11)
                        : (x.zero && y.zero) || (x.infinite && y.infinite);
  wire invalid   = any_nan ? signals : undefined;
  wire no_number = any_nan || undefined;

  wire by_zero   = !ROOT && y.zero && !any_nan && (!x.infinite || defect == 8'd10)
                   && (!x.zero || defect == 8'd9);
  wire is_inf    = x.infinite || (!ROOT && y.zero);
  wire is_zero   = x.zero || (!ROOT && y.infinite);
  wire sign_here = ROOT ? x.sign : sign;         // of an infinity or a zero

  wire [WIDTH-1:0] special_result = no_number ? NAN : {sign_here, is_inf ? INF : {(WIDTH - 1) {1'b0}}};
  wire             special        = no_number || is_inf || is_zero;

  assign result = special ? special_result : {sign, size};
  assign flags  = special ? {invalid, by_zero, 3'd0} : {2'b00, overflow, low && inexact, inexact};

endmodule
