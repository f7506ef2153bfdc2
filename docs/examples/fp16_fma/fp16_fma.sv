// SPDX-License-Identifier: 0BSD
//
// FP16 fused multiply-add, a * b + c rounded once, in three pipeline stages:
// multiply and align; add; normalise and round. A result every cycle.
//
//   FP16   s eeeee ffffffffff   bias 15
//
//   rm     0 rne, 1 rtz, 2 rdn, 3 rup, 4 rna (RISC-V's numbers); 5 to 7 as rne
//
// Subnormal operands and results are numbers like any other. Every NaN gives the
// canonical one, 7e00. flags = {invalid, divide by zero, overflow, underflow,
// inexact}; 0 * infinity is invalid beside a quiet NaN too; tininess is judged
// after rounding. EXP and FRAC make other IEEE formats: 8 and 7 are BF16.
//
// defect plants a bug, to see whether vectors find it:
//    1  rne rounds half up
//    2  guard taken one bit too low
//    3  rounding's carry dropped
//    4  what alignment shifts out of the addend is lost
//    5  addend shifted one too far
//    6  product cut before the add
//    7  rtz overflows to infinity
//    8  x - x is +0 under rdn
//    9  tininess judged before rounding
//   10  no underflow for results stored as the smallest normal number
//   11  0 * infinity + quiet NaN is not invalid
//   12  NaN operand c is passed on unchanged
//   13  subnormal addend has exponent 0, not 1
//   14  sticky is not borrowed in a subtraction
//   15  cancellation normalised by at most 23 places

module fp16_fma #(
    parameter int EXP  = 5,
    parameter int FRAC = 10
) (
    input  logic              clk,
    input  logic              rst_n,
    input  logic              in_valid,
    input  logic [EXP+FRAC:0] a,
    input  logic [EXP+FRAC:0] b,
    input  logic [EXP+FRAC:0] c,
    input  logic [2:0]        rm,
    input  logic [7:0]        defect,
    output logic              out_valid,    // three cycles after in_valid
    output logic [EXP+FRAC:0] result,
    output logic [4:0]        flags
);

  localparam int WIDTH = 1 + EXP + FRAC;
  localparam int P     = FRAC + 1;          // a significand's bits
  localparam int EW    = EXP + 4;           // exponents, signed, with room

  // The frame that product and addend are added in. The addend's last bit starts
  // two places above the product, and there are two places below the product:
  //
  //   bit 3P+4   3P+3 .. 2P+4   2P+3 2P+2   2P+1 .. 2   1 0
  //       carry  addend, far    gap         product     guard, sticky
  localparam int FRAME = 3 * P + 5;

  localparam logic signed [EW-1:0] BIAS  = EW'(2 ** (EXP - 1) - 1);
  localparam logic signed [EW-1:0] REACH = EW'(P + 3);
  localparam logic [WIDTH-2:0]     INF   = {{EXP{1'b1}}, {FRAC{1'b0}}};
  localparam logic [WIDTH-1:0]     NAN   = {1'b0, {(EXP + 1) {1'b1}}, {(FRAC - 1) {1'b0}}};

  localparam logic [2:0] RTZ = 3'd1, RDN = 3'd2, RUP = 3'd3, RNA = 3'd4;

  // =================================================== 1: multiply and align
  // ----------------------------------------------------------------- unpack
  // A subnormal lacks the hidden bit and has the exponent of field 1.
  function automatic logic signed [EW-1:0] exponent_of(input logic [EXP-1:0] field_of);
    exponent_of = {4'd0, field_of};
    if (field_of == 0) exponent_of = 1;
  endfunction

  wire [EXP-1:0]  field_a = a[WIDTH-2:FRAC], field_b = b[WIDTH-2:FRAC], field_c = c[WIDTH-2:FRAC];
  wire [FRAC-1:0] fraction_a = a[FRAC-1:0], fraction_b = b[FRAC-1:0], fraction_c = c[FRAC-1:0];

  wire [P-1:0] significand_a = {field_a != 0, fraction_a};
  wire [P-1:0] significand_b = {field_b != 0, fraction_b};
  wire [P-1:0] significand_c = {field_c != 0, fraction_c};

  wire zero_a = significand_a == 0, zero_b = significand_b == 0;
  wire top_a = &field_a, top_b = &field_b, top_c = &field_c;    // infinity or NaN
  wire infinity_a = top_a && fraction_a == 0, nan_a = top_a && fraction_a != 0;
  wire infinity_b = top_b && fraction_b == 0, nan_b = top_b && fraction_b != 0;
  wire infinity_c = top_c && fraction_c == 0, nan_c = top_c && fraction_c != 0;

  wire sign_product = a[WIDTH-1] ^ b[WIDTH-1];
  wire sign_c       = c[WIDTH-1];

  // --------------------------------------------------------------- multiply
  wire [2*P-1:0] full_product = {{P{1'b0}}, significand_a} * {{P{1'b0}}, significand_b};
  wire [2*P-1:0] product = defect == 8'd6 ? {full_product[2*P-1:P-2], {(P - 2) {1'b0}}} : full_product;
  wire signed [EW-1:0] exponent_product = exponent_of(field_a) + exponent_of(field_b) - BIAS;

  // ------------------------------------------------------------------ align
  // base is the exponent of a product's leading place in the frame. The product
  // stays and the addend moves right, from a start REACH places up. An addend
  // farther above takes the frame along: what the product really is then changes
  // nothing, being below a quarter of the addend's last place, but not zero.
  wire signed [EW-1:0] exponent_c = defect == 8'd13 && field_c == 0 ? 0 : exponent_of(field_c);
  wire signed [EW-1:0] base_c     = exponent_c - REACH;
  wire                 c_leads    = zero_a || zero_b || exponent_product < base_c;
  wire signed [EW-1:0] base       = c_leads ? base_c : exponent_product;
  wire signed [EW-1:0] distance   = base - base_c + {{(EW - 1) {1'b0}}, defect == 8'd5};

  // Beyond the frame's end all of the addend is in the lower half, for sticky.
  wire [EW-1:0]      shift = distance > EW'(FRAME) ? EW'(FRAME) : distance;
  wire [2*FRAME-1:0] moved = {1'b0, significand_c, {(2 * P + 4 + FRAME) {1'b0}}} >> shift;
  wire               lost  = |moved[FRAME-1:0] && defect != 8'd4;

  // --------------------------------------------------------------- specials
  wire product_infinity = infinity_a || infinity_b;
  wire product_invalid  = (infinity_a && zero_b) || (zero_a && infinity_b);
  wire any_nan          = nan_a || nan_b || nan_c;
  wire opposed          = product_infinity && infinity_c && sign_product != sign_c && !any_nan;
  wire any_signaling    = (nan_a && !fraction_a[FRAC-1]) || (nan_b && !fraction_b[FRAC-1])
                          || (nan_c && !fraction_c[FRAC-1]);
  wire invalid          = any_signaling || opposed || (product_invalid && !(defect == 8'd11 && nan_c));
  wire special          = top_a || top_b || top_c;

  logic [WIDTH-1:0] special_result;
  always_comb begin
    special_result = {product_infinity ? sign_product : sign_c, INF};
    if (any_nan || product_invalid || opposed) special_result = NAN;
    if (defect == 8'd12 && nan_c) special_result = c;
  end

  logic                 valid_1, sign_product_1, sign_c_1, special_1, invalid_1;
  logic [2:0]           rm_1;
  logic [2*P-1:0]       product_1;
  logic [FRAME:0]       addend_1;           // the frame, and sticky as one more bit
  logic signed [EW-1:0] base_1;
  logic [WIDTH-1:0]     special_result_1;

  always_ff @(posedge clk) begin
    rm_1             <= rm;
    product_1        <= product;
    addend_1         <= {moved[2*FRAME-1:FRAME], lost};
    base_1           <= base;
    sign_product_1   <= sign_product;
    sign_c_1         <= sign_c;
    special_1        <= special;
    invalid_1        <= invalid;
    special_result_1 <= special_result;
  end

  // ================================================================== 2: add
  // Subtracting sticky as a bit is right: the addend is larger than its bits say,
  // so the difference is smaller, and between two steps all the same.
  wire             subtract = sign_product_1 != sign_c_1;
  wire [FRAME:0]   left     = {{(FRAME - 2 * P - 2) {1'b0}}, product_1, 3'b000};
  wire [FRAME:0]   right    = addend_1;
  wire [FRAME:0]   sum      = left + right;
  wire [FRAME+1:0] no_lost  = {1'b0, right[FRAME:1], 1'b0};
  wire [FRAME+1:0] fault_14 = ({1'b0, left} - no_lost) | {{(FRAME + 1) {1'b0}}, right[0]};
  wire [FRAME+1:0] diff     = defect == 8'd14 ? fault_14 : {1'b0, left} - {1'b0, right};
  wire             negative = subtract && diff[FRAME+1];

  logic                 valid_2, sign_2, special_2, invalid_2;
  logic [2:0]           rm_2;
  logic [FRAME:0]       magnitude_2;
  logic signed [EW-1:0] base_2;
  logic [WIDTH-1:0]     special_result_2;

  // An exact zero keeps a sign that both terms have; else it is +0, -0 under rdn.
  wire [FRAME:0] magnitude = !subtract ? sum : negative ? -diff[FRAME:0] : diff[FRAME:0];
  wire           sign_zero = subtract ? rm_1 == RDN && defect != 8'd8 : sign_product_1;

  always_ff @(posedge clk) begin
    rm_2             <= rm_1;
    magnitude_2      <= magnitude;
    sign_2           <= magnitude == 0 ? sign_zero : negative ? sign_c_1 : sign_product_1;
    base_2           <= base_1;
    special_2        <= special_1;
    invalid_2        <= invalid_1;
    special_result_2 <= special_result_1;
  end

  // ================================================== 3: normalise and round
  // -------------------------------------------------------------- normalise
  // Left until the leading one is on top, but not below the smallest exponent:
  // what then still has zeros in front is subnormal.
  logic [EW-1:0] zeros;
  always_comb begin
    zeros = EW'(FRAME + 1);
    for (int i = 0; i <= FRAME; i = i + 1)
      if (magnitude_2[i]) zeros = EW'(FRAME - i);
    if (defect == 8'd15 && zeros > 23) zeros = 23;
  end

  wire signed [EW-1:0] top_exponent = base_2 + EW'(P + 4);
  wire        [EW-1:0] room         = top_exponent - 1;
  wire        [EW-1:0] places       = zeros > room ? room : zeros;
  wire        [EW-1:0] exponent     = top_exponent - places;     // at least 1
  wire        [FRAME:0] normal      = magnitude_2 << places;

  // ---------------------------------------------------------- guard, sticky
  wire [P-1:0] kept   = normal[FRAME-:P];
  wire         half   = normal[FRAME-P];
  wire         lower  = normal[FRAME-P-1];
  wire         lowest = |normal[FRAME-P-2:0];
  wire         guard  = defect == 8'd2 ? lower : half;
  wire         sticky = lower || lowest;

  // ------------------------------------------------------------------ round
  // To nearest, or away from zero, or else toward it.
  wire nearest   = rm_2 != RTZ && rm_2 != RDN && rm_2 != RUP;
  wire ties_away = rm_2 == RNA || defect == 8'd1;
  wire away      = (rm_2 == RDN && sign_2) || (rm_2 == RUP && !sign_2);
  wire round_up  = away ? guard || sticky : nearest && guard && (sticky || kept[0] || ties_away);

  // The codes of one sign are in the order of their numbers: exponent and
  // fraction round as one integer. The hidden bit adds one to the exponent.
  wire [EW-1:0]      field   = exponent - 1;
  wire [EW+FRAC-1:0] cut     = {field, {FRAC{1'b0}}} + {{(EW - 1) {1'b0}}, kept};
  wire [EW+FRAC-1:0] rounded = cut + {{(EW + FRAC - 1) {1'b0}}, round_up};
  wire [EW+FRAC-1:0] code    = defect == 8'd3 ? {cut[EW+FRAC-1:FRAC], rounded[FRAC-1:0]} : rounded;

  // ---------------------------------------------------- overflow, underflow
  wire overflow = code >= {{(EW - EXP) {1'b0}}, INF};
  wire beyond   = nearest || away || (rm_2 == RTZ && defect == 8'd7);   // infinity, not the largest finite

  // Tiny: below the smallest normal number when rounded as if the exponent had
  // no lower end. Such a rounding keeps one bit more: only from 0.11..1 with the
  // guard bit set can it still reach the smallest normal; that being odd, ties go
  // up.
  wire reaches_normal = kept == {1'b0, {FRAC{1'b1}}} && half
                        && (away ? lower || lowest : nearest && lower);
  wire stored_normal  = code[FRAC];
  wire is_tiny = !kept[FRAC] && !(reaches_normal && defect != 8'd9) && !(stored_normal && defect == 8'd10);
  wire inexact = half || sticky || overflow;

  // ------------------------------------------------------------------- pack
  wire [WIDTH-2:0] too_large = beyond ? INF : INF - 1;
  wire [WIDTH-2:0] packed_code = magnitude_2 == 0 ? 0 : overflow ? too_large : code[WIDTH-2:0];
  wire [4:0]       raised = {2'b00, overflow, is_tiny && inexact, inexact};

  always_ff @(posedge clk) begin
    result <= special_2 ? special_result_2 : {sign_2, packed_code};
    flags  <= special_2 || magnitude_2 == 0 ? {invalid_2, 4'd0} : raised;
  end

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) {out_valid, valid_2, valid_1} <= 3'b000;
    else {out_valid, valid_2, valid_1} <= {valid_2, valid_1, in_valid};
  end

endmodule
