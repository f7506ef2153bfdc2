// SPDX-License-Identifier: 0BSD
//
// FP32 -> FP8 E4M3, FP8 E5M2, FP16 or BF16, combinational; format, rounding and
// saturation are chosen by control inputs.
//
//   FP32   s eeeeeeee fffffffffffffffffffffff   bias 127
//   E4M3   s eeee mmm                           bias 7, no infinity
//   E5M2   s eeeee mm                           bias 15
//   FP16   s eeeee mmmmmmmmmm                   bias 15
//   BF16   s eeeeeeee mmmmmmm                   bias 127
//
//   fmt    0 E4M3, 1 E5M2, 2 FP16, 3 BF16
//   rm     0 rne, 1 rtz, 2 rdn, 3 rup, 4 rna (RISC-V's numbers); 5 to 7 as rne
//   sat    0 sat-none: too large gives infinity (E4M3: NaN), or the largest
//            finite number where the rounding never passes it (IEEE 754 7.4)
//          1 sat-finite: too large, and infinity, give the largest finite number
//
// result is right-aligned. Every NaN gives the format's canonical one.
// flags = {invalid, divide by zero, overflow, underflow, inexact}, tininess
// judged after rounding.
//
// defect plants a bug, to see whether vectors find it:
//    1  rne rounds half up
//    2  guard taken one bit too low
//    3  rounding's carry dropped
//    4  sticky sees 8 bits only
//    5  subnormals shifted one place too few
//    6  rtz overflows to infinity (E4M3: to NaN)
//    7  no saturation
//    8  overflow judged before rounding
//    9  tininess judged before rounding
//   10  no underflow for results stored as the smallest normal number
//   11  a zero loses its sign
//   12  NaN keeps sign and payload
//   13  a signalling NaN is not invalid
//   14  rdn ignores the sign
//   15  E4M3's NaN code counted as a number

module fp_convert #(
    parameter logic [7:0] E5M2_NAN = 8'h7e    // RISC-V's and NVIDIA's is 7f
) (
    input  logic [31:0] a,
    input  logic [1:0]  fmt,
    input  logic [2:0]  rm,
    input  logic        sat,
    input  logic [7:0]  defect,
    output logic [15:0] result,
    output logic [4:0]  flags
);

  localparam logic [1:0] E4M3 = 2'd0, E5M2 = 2'd1, FP16 = 2'd2;
  localparam logic [2:0] RTZ = 3'd1, RDN = 3'd2, RUP = 3'd3, RNA = 3'd4;

  // ---------------------------------------------------------------- formats
  logic [3:0]  mantissa;      // stored mantissa bits
  logic [7:0]  min_normal;    // FP32's exponent field of the smallest normal number
  logic [15:0] largest, infinity, nan;
  logic [15:0] sign_bit;

  always_comb begin
    case (fmt)
      E4M3: begin
        mantissa   = 4'd3;
        min_normal = 8'd121;
        largest    = defect == 8'd15 ? 16'h007f : 16'h007e;
        infinity   = 16'h007f;                    // there is none: NaN stands in
        nan        = 16'h007f;
        sign_bit   = 16'h0080;
      end
      E5M2: begin
        mantissa   = 4'd2;
        min_normal = 8'd113;
        largest    = 16'h007b;
        infinity   = 16'h007c;
        nan        = {8'h00, E5M2_NAN};
        sign_bit   = 16'h0080;
      end
      FP16: begin
        mantissa   = 4'd10;
        min_normal = 8'd113;
        largest    = 16'h7bff;
        infinity   = 16'h7c00;
        nan        = 16'h7e00;
        sign_bit   = 16'h8000;
      end
      default: begin
        mantissa   = 4'd7;
        min_normal = 8'd1;
        largest    = 16'h7f7f;
        infinity   = 16'h7f80;
        nan        = 16'h7fc0;
        sign_bit   = 16'h8000;
      end
    endcase
  end

  // ----------------------------------------------------------------- unpack
  // An FP32 subnormal lacks the hidden bit and has the exponent of field 1.
  wire        sign        = a[31];
  wire [7:0]  exponent    = a[30:23] == 8'd0 ? 8'd1 : a[30:23];
  wire [22:0] fraction    = a[22:0];
  wire [23:0] significand = {a[30:23] != 8'd0, fraction};

  wire is_special       = a[30:23] == 8'hff;
  wire is_nan           = is_special && fraction != 23'd0;
  wire is_infinity      = is_special && fraction == 23'd0;
  wire is_signaling_nan = is_nan && !fraction[22];

  // ------------------------------------------------------------------ align
  // The bits that the target lacks move right, past the point; in its subnormal
  // range one more for each binade. At 25 places even the leading bit is below
  // the guard bit, and more would change nothing.
  wire        is_small = exponent < min_normal;
  wire [7:0]  below    = is_small ? min_normal - exponent - {7'd0, defect == 8'd5} : 8'd0;
  wire [8:0]  drop     = 9'd23 - {5'd0, mantissa} + {1'b0, below};
  wire [4:0]  shift    = drop > 9'd25 ? 5'd25 : drop[4:0];
  wire [48:0] aligned  = {significand, 25'd0} >> shift;

  // ---------------------------------------------------------- guard, sticky
  wire [23:0] kept   = aligned[48:25];
  wire        guard  = defect == 8'd2 ? aligned[23] : aligned[24];
  wire        lower  = aligned[23];               // the first sticky bit
  wire        lowest = |aligned[22:16] || (|aligned[15:0] && defect != 8'd4);
  wire        sticky = lower || lowest;

  // ------------------------------------------------------------------ round
  // To nearest, or away from zero, or else toward it.
  wire nearest   = rm != RTZ && rm != RDN && rm != RUP;
  wire ties_away = rm == RNA || defect == 8'd1;
  wire away      = (rm == RDN && (sign || defect == 8'd14)) || (rm == RUP && !sign);
  wire round_up  = away ? guard || sticky : nearest && guard && (sticky || kept[0] || ties_away);

  // The codes of one sign are in the order of their numbers, so exponent and
  // fraction round as one integer, and the carry goes where it must. The hidden
  // bit adds the one by which a normal number's field exceeds a subnormal's.
  // All the exponent's bits stay: overflow is judged on the rounded number.
  wire [7:0]  field     = is_small ? 8'd0 : exponent - min_normal;
  wire [23:0] cut       = ({16'd0, field} << mantissa) + kept;
  wire [23:0] mask      = (24'd1 << mantissa) - 24'd1;
  wire [23:0] rounded   = cut + {23'd0, round_up};
  wire [23:0] magnitude = defect == 8'd3 ? (cut & ~mask) | (rounded & mask) : rounded;

  // --------------------------------------------------------------- overflow
  wire overflow = !is_special && (defect == 8'd8 ? cut : magnitude) > {8'd0, largest};

  // Whether what is too large leaves the largest finite number behind.
  wire unsaturated = !sat || defect == 8'd7;
  wire beyond      = unsaturated && (nearest || away || is_infinity || (rm == RTZ && defect == 8'd6));

  // -------------------------------------------------------------- underflow
  // A number is tiny if it is below the smallest normal one when rounded as if
  // the exponent had no lower end. Such a rounding keeps one bit more: only from
  // 0.11..1 with the guard bit set can it still reach the smallest normal; that
  // being odd, ties go up.
  wire hidden         = |(kept >> mantissa);
  wire reaches_normal = kept == mask && guard && (away ? lower || lowest : nearest && lower);
  wire is_tiny        = !hidden && !(reaches_normal && defect != 8'd9)
                        && !(defect == 8'd10 && magnitude > mask);
  wire inexact        = !is_special && (guard || sticky || overflow);
  wire underflow      = is_tiny && inexact;

  // ------------------------------------------------------------------- pack
  // E4M3's NaN is the same for both signs, also where it stands in for infinity.
  wire [15:0] code         = magnitude[15:0];
  wire [15:0] too_large    = beyond ? infinity : largest;
  wire        unsigned_nan = fmt == E4M3 && beyond;
  wire [15:0] signed_bit   = sign ? sign_bit : 16'd0;
  wire [15:0] payload      = (16'd1 << (mantissa - 4'd1)) | (16'(fraction >> (5'd23 - {1'b0, mantissa})));

  always_comb begin
    if (is_nan)
      result = defect == 8'd12 ? infinity | payload | signed_bit : nan;
    else if (overflow || is_infinity)
      result = unsigned_nan ? nan : too_large | signed_bit;
    else
      result = code | (defect == 8'd11 && code == 16'd0 ? 16'd0 : signed_bit);
  end

  assign flags = {is_signaling_nan && defect != 8'd13, 1'b0, overflow, underflow, inexact};

endmodule
