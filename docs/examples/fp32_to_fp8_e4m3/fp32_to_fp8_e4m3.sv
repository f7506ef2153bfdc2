// SPDX-License-Identifier: 0BSD
//
// FP32 -> OCP FP8 E4M3, combinational: round to nearest even, saturating.
//
//   FP32   s eeeeeeee fffffffffffffffffffffff   bias 127
//   E4M3   s eeee mmm                           bias 7, no infinity
//
// E4M3 spends only S.1111.111 on NaN, so its top binade holds numbers up to
// 7e = 1.75 * 2^8 = 448. Overflow and infinity give that largest number with
// their own sign; every NaN gives 7f, without its sign or payload.
//
// flags = {invalid, divide by zero, overflow, underflow, inexact}

module fp32_to_fp8_e4m3 (
    input  logic [31:0] a,
    output logic [7:0]  result,
    output logic [4:0]  flags
);

  localparam logic [6:0] LARGEST = 7'h7e;
  localparam logic [6:0] NAN     = 7'h7f;

  // The FP32 exponent of E4M3's smallest normal number, 2^-6: 127 - 6.
  localparam logic [7:0] MIN_NORMAL = 8'd121;

  // ---------------------------------------------------------------- unpack
  // An FP32 subnormal lacks the hidden bit; else it is an input like any other.
  wire        sign        = a[31];
  wire [7:0]  exponent    = a[30:23];
  wire [22:0] fraction    = a[22:0];
  wire [23:0] significand = {exponent != 8'd0, fraction};

  wire is_special       = exponent == 8'hff;
  wire is_nan           = is_special && fraction != 23'd0;
  wire is_signaling_nan = is_nan && !fraction[22];

  // ----------------------------------------------------------------- align
  // Below 2^-6 the ulp of E4M3 stays 2^-9, so the significand moves right, one
  // place for each binade. Five places take its leading bit past the guard bit
  // and more would change nothing, hence the limit; it serves FP32 subnormals
  // too. The five zeros catch what moves out, for sticky.
  wire        is_small = exponent < MIN_NORMAL;
  wire [7:0]  below    = is_small ? MIN_NORMAL - exponent : 8'd0;
  wire [2:0]  shift    = below > 8'd5 ? 3'd5 : below[2:0];
  wire [28:0] aligned  = {significand, 5'd0} >> shift;

  // ---------------------------------------------------------- guard, sticky
  // aligned = i.mmm g ss...s: four bits stay, the guard bit is worth half an
  // ulp, and sticky says whether anything at all lies below it.
  wire [3:0] kept   = aligned[28:25];
  wire       guard  = aligned[24];
  wire       sticky = |aligned[23:0];

  // ----------------------------------------------------------------- round
  // Up when above half an ulp, and on a tie when the kept part is odd.
  wire round_up = guard && (sticky || kept[0]);

  // The codes of one sign are in the order of their numbers, so exponent and
  // fraction round as one integer: its carry turns the largest subnormal into
  // the smallest normal and 1.111 into the next binade's 1.000. The hidden bit
  // adds the one by which a normal number's field exceeds a subnormal's. All
  // the exponent's bits stay: overflow is judged on the rounded number.
  wire [7:0]  field     = is_small ? 8'd0 : exponent - MIN_NORMAL;
  wire [10:0] magnitude = {field, 3'd0} + {7'd0, kept} + {10'd0, round_up};

  // -------------------------------------------------------------- overflow
  // 464 is halfway from 448 to the 480 that NaN's code would otherwise mean;
  // being a tie it goes to 448, which is even, and does not overflow.
  wire overflow = !is_special && magnitude > {4'd0, LARGEST};

  // ------------------------------------------------------------- underflow
  // A number is tiny if it is below 2^-6 when rounded to four bits as if the
  // exponent had no lower end: so the unaligned significand is looked at. Only
  // the binade just below can round up to 2^-6, from 1.111 with the guard bit
  // set (1.111 is odd, so the guard bit alone decides). What aligned rounding
  // stores as 2^-6 may therefore be tiny all the same.
  wire reaches_normal = exponent == MIN_NORMAL - 8'd1 && (&significand[22:19]);
  wire is_tiny        = is_small && !reaches_normal;
  wire inexact        = !is_special && (guard || sticky || overflow);
  wire underflow      = is_tiny && inexact;

  // ------------------------------------------------------------------ pack
  // Infinity becomes the largest number without a flag: only finite numbers
  // overflow. A signalling NaN is the one invalid input.
  wire saturate = overflow || is_special;

  assign result = is_nan ? {1'b0, NAN} : {sign, saturate ? LARGEST : magnitude[6:0]};
  assign flags  = {is_signaling_nan, 1'b0, overflow, underflow, inexact};

endmodule
