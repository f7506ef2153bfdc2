// SPDX-License-Identifier: 0BSD
//
// Fused multiply-add a * b + c, rounded once, combinational, of IEEE formats by their
// parameters (EXP 5 and FRAC 10 make FP16), by two paths:
//
//   near   a difference of terms whose leading ones are at most about a place
//          apart: many places may cancel. Exact; a leading-zero anticipator finds
//          the shift beside the subtraction, and may be wrong by one place.
//   far    any other sum: the smaller term moves right, with a sticky bit; the
//          leading one is in one of four places.
//
//   rm     0 rne, 1 rtz, 2 rdn, 3 rup, 4 rna (RISC-V's numbers); 5 to 7 as rne
//
// Subnormal operands are multiplied as they are, and the product and the addend are
// normalised; a subnormal result is moved right again before it is rounded. Every NaN gives the canonical one. flags = {invalid,
// divide by zero, overflow, underflow, inexact}; 0 * infinity is invalid beside a
// quiet NaN too; tininess is judged after rounding.
//
// defect plants a bug:
//    1  the anticipator's one place is not corrected
//    2  far path: what the smaller term loses is forgotten
//    3  far path: a term moved beyond the frame leaves no sticky bit
//    4  far path: a carry out of the sum is dropped
//    5  near path: not taken where the addend leads by a place
//    6  near path: a negative difference keeps the product's sign
//    7  an exact difference of zero is +0 under rdn, too
//    8  tininess judged before rounding
//    9  a subnormal addend is normalised, but its exponent is not
//   10  what a subnormal result loses is forgotten
//   11  rtz overflows to infinity
//   12  rdn and rup look at the product's sign

module fma_two_path #(
    parameter int EXP  = 5,
    parameter int FRAC = 10
) (
    input  logic [EXP+FRAC:0] a,
    input  logic [EXP+FRAC:0] b,
    input  logic [EXP+FRAC:0] c,
    input  logic [2:0]        rm,
    input  logic [7:0]        defect,
    output logic [EXP+FRAC:0] result,
    output logic [4:0]        flags
);

  localparam int WIDTH = 1 + EXP + FRAC;
  localparam int P     = FRAC + 1;               // a significand's bits
  localparam int EW    = EXP + 4;                // exponents, signed, with room
  localparam int NEAR  = 2 * P + 2;              // bits of the near path
  localparam int FAR   = 2 * P + 4;              // carry, product, two more places, sticky

  localparam logic signed [EW-1:0] BIAS = EW'(2 ** (EXP - 1) - 1);
  localparam logic [WIDTH-2:0]     INF  = {{EXP{1'b1}}, {FRAC{1'b0}}};
  localparam logic [WIDTH-1:0]     NAN  = {1'b0, {(EXP + 1) {1'b1}}, {(FRAC - 1) {1'b0}}};

  localparam logic [2:0] RTZ = 3'd1, RDN = 3'd2, RUP = 3'd3, RNA = 3'd4;

  // ----------------------------------------------------------------- unpack
  // A significand with the zeros before its leading one, and the biased exponent
  // of that one, which is below 1 for a subnormal. Of zero it means nothing.
  typedef struct packed {
    logic                 sign;
    logic                 zero;
    logic                 infinite;
    logic                 nan;
    logic                 quiet;
    logic signed [EW-1:0] exponent;
    logic [EW-1:0]        zeros;
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
            exponent, zeros, significand};
  endfunction

  number_t x, y, z;
  assign x = unpacked(a, 1'b0);
  assign y = unpacked(b, 1'b0);
  assign z = unpacked(c, defect == 8'd9);

  wire                 sign_product = x.sign ^ y.sign;
  wire                 no_product   = x.zero || y.zero;
  wire [2*P-1:0]       multiplied   = {{P{1'b0}}, x.significand} * {{P{1'b0}}, y.significand};
  wire [2*P-1:0]       product      = multiplied << (x.zeros + y.zeros);
  wire signed [EW-1:0] top_product  = x.exponent + y.exponent - BIAS + 1;   // of its highest place
  wire [P-1:0]         addend       = z.significand << z.zeros;

  wire                 subtract = sign_product != z.sign;
  wire signed [EW-1:0] lead     = z.exponent - top_product;                 // of the addend
  wire                 apart    = lead < -2 || lead > (defect == 8'd5 ? 0 : 1);
  wire                 is_near  = subtract && !apart && !no_product && !z.zero;

  // -------------------------------------------------------------- near path
  wire [1:0]      up    = 2'(lead + 2);
  wire [NEAR-1:0] one   = {2'b00, product};
  wire [NEAR-1:0] other = {4'b0000, addend, {(P - 2) {1'b0}}} << up;
  wire [NEAR:0]   difference = {1'b0, one} - {1'b0, other};
  wire            negative   = difference[NEAR];
  wire [NEAR-1:0] distance   = negative ? -difference[NEAR-1:0] : difference[NEAR-1:0];

  // The anticipator looks at three places at a time of one + ~other: propagate,
  // generate, kill. The first place it marks is that of the leading one of the
  // distance, whatever its sign, or the place above it (Schmookler, Nowka, 2001).
  wire [NEAR-1:0] generates  = one & ~other, kill = ~one & other;
  wire [NEAR-1:0] above      = {1'b1, one[NEAR-1:1] ^ ~other[NEAR-1:1]};   // propagate
  wire [NEAR-1:0] no_kill    = {~kill[NEAR-2:0], 1'b1}, no_generate = {~generates[NEAR-2:0], 1'b1};
  wire [NEAR-1:0] marks      = (above & ((generates & no_kill) | (kill & no_generate)))
                               | (~above & ((kill & no_kill) | (generates & no_generate)));

  logic [EW-1:0] expected;                       // zeros before the leading one, or one less
  always_comb begin
    expected = EW'(NEAR - 1);
    for (int i = 0; i < NEAR; i = i + 1) if (marks[i]) expected = EW'(NEAR - 1 - i);
  end

  wire [NEAR-1:0] coarse    = distance << expected;
  wire            one_more  = !coarse[NEAR-1] && defect != 8'd1;
  wire [NEAR-1:0] near_bits = one_more ? coarse << 1 : coarse;
  wire signed [EW-1:0] near_exponent = top_product + 2 - expected - EW'(one_more);

  // --------------------------------------------------------------- far path
  wire                 c_leads = no_product || (!z.zero && lead > 0);
  wire [2*P-1:0]       larger  = c_leads ? {addend, {P{1'b0}}} : product;
  wire [2*P-1:0]       smaller = c_leads ? product : {addend, {P{1'b0}}};
  wire [EW-1:0]        gap     = c_leads ? lead : -lead;
  wire [EW-1:0]        right   = no_product || z.zero ? 0 : gap > EW'(FAR) ? EW'(FAR) : gap;
  wire [2*FAR-1:0]     moved   = {1'b0, smaller, {(FAR + 3) {1'b0}}} >> right;
  wire                 beyond_frame = defect == 8'd3 && gap > EW'(FAR);
  wire                 sticky_small = |moved[FAR:0] && defect != 8'd2 && !beyond_frame;
  wire [FAR-1:0]       term    = {moved[2*FAR-1:FAR+1], sticky_small};
  wire [FAR-1:0]       base    = {1'b0, larger, 3'b000};
  wire [FAR-1:0]       total   = subtract ? base - term : base + term;
  wire                 carry   = total[FAR-1] && defect != 8'd4;
  wire [1:0]           fall    = carry ? 2'd0 : total[FAR-2] ? 2'd1 : total[FAR-3] ? 2'd2 : 2'd3;
  wire [FAR-1:0]       far_bits = total << fall;
  wire signed [EW-1:0] far_exponent = (c_leads ? z.exponent : top_product) + 1 - EW'(fall);

  // ------------------------------------------------------------------ round
  wire [FAR-1:0]       bits     = is_near ? {near_bits, 2'b00} : far_bits;
  wire signed [EW-1:0] exponent = is_near ? near_exponent : far_exponent;
  wire                 nothing  = bits == 0;
  wire                 sign_zero = subtract ? rm == RDN && defect != 8'd7 : sign_product;
  wire                 sign_near = negative && defect != 8'd6 ? z.sign : sign_product;
  wire                 sign_far  = c_leads ? z.sign : sign_product;
  wire                 sign      = nothing ? sign_zero : is_near ? sign_near : sign_far;

  wire                 nearest = rm != RTZ && rm != RDN && rm != RUP;
  wire                 sign_seen = defect == 8'd12 ? sign_product : sign;
  wire                 away    = (rm == RDN && sign_seen) || (rm == RUP && !sign_seen);

  // Arguments are all that it reads: an assignment does not wait for other signals.
  function automatic logic rounds_up(input logic outward, input logic half, input logic odd, input logic guard,
                                     input logic sticky);
    rounds_up = outward ? guard || sticky : half && guard && (sticky || odd);
  endfunction

  // A subnormal result moves right until its exponent is 1.
  wire                 low   = exponent < 1;
  wire [EW-1:0]        depth = low ? 1 - exponent : 0;
  wire [EW-1:0]        down  = depth > EW'(FAR) ? EW'(FAR) : depth;
  wire [2*FAR-1:0]     held  = {bits, {FAR{1'b0}}} >> down;
  wire                 lost  = |held[FAR-1:0] && defect != 8'd10;
  wire [P-1:0]         kept  = held[2*FAR-1-:P];
  wire                 guard = held[2*FAR-1-P];
  wire                 rest  = |held[2*FAR-2-P:FAR] || lost;
  wire                 up_here = rounds_up(away, nearest, kept[0] || rm == RNA, guard, rest);

  // Exponent and fraction round as one integer. The hidden bit adds one to the exponent.
  wire [EW-1:0]        field = low ? 0 : exponent - 1;
  wire [EW+FRAC-1:0]   code  = {field, {FRAC{1'b0}}} + {{(EW - 1) {1'b0}}, kept} + {{(EW + FRAC - 1) {1'b0}}, up_here};

  // Tiny: still below the smallest normal number after a rounding without a lowest exponent.
  wire                 fills = &bits[FAR-1-:P] && rounds_up(away, nearest, 1'b1, bits[FAR-1-P], |bits[FAR-2-P:0]);
  wire                 tiny  = low && !(exponent == 0 && fills && defect != 8'd8);
  wire                 overflow = code >= {{(EW - EXP) {1'b0}}, INF};
  wire                 inexact  = guard || rest || overflow;
  wire [WIDTH-2:0]     limit = nearest || away || (rm == RTZ && defect == 8'd11) ? INF : INF - 1;
  wire [WIDTH-2:0]     size  = overflow ? limit : code[WIDTH-2:0];

  // --------------------------------------------------------------- specials
  wire infinite  = x.infinite || y.infinite;
  wire undefined = (x.infinite && y.zero) || (x.zero && y.infinite);
  wire any_nan   = x.nan || y.nan || z.nan;
  wire signals   = (x.nan && !x.quiet) || (y.nan && !y.quiet) || (z.nan && !z.quiet);
  wire opposed   = infinite && z.infinite && subtract && !any_nan;

  wire special   = infinite || z.infinite || any_nan;
  wire invalid   = signals || undefined || opposed;

  wire [WIDTH-1:0] special_result = any_nan || invalid ? NAN : {infinite ? sign_product : z.sign, INF};
  wire [WIDTH-1:0] finite_result  = {sign, nothing ? {(WIDTH - 1) {1'b0}} : size};
  wire [4:0]       finite_flags   = nothing ? 5'd0 : {2'b00, overflow, tiny && inexact, inexact};

  assign result = special ? special_result : finite_result;
  assign flags  = special ? {invalid, 4'd0} : finite_flags;

endmodule
