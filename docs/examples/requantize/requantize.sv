// SPDX-License-Identifier: 0BSD
//
// Requantizes int32 accumulators to int8 as TensorFlow Lite does: a multiplier of 31 fraction bits, a shift (positive: to
// the left), two roundings, a zero point. Combinational.
//
// defect: 0 is the correct circuit. Planted bugs:
//   1  the first rounding truncates
//   2  the second rounding shifts negative numbers in zeros
//   3  the most negative product is not saturated
//   4  halves of the second rounding go up
//   5  saturates before it adds the zero point
//   6  never gives -128
//   7  does not shift to the left
//   8  rounds only once
module requantize (
    input  logic signed [31:0] accumulator,
    input  logic signed [31:0] multiplier,
    input  logic signed [ 5:0] shift,
    input  logic signed [ 7:0] zero_point,
    input  logic        [ 3:0] defect,
    output logic signed [ 7:0] q
);
  logic signed [63:0] product, whole;
  logic signed [31:0] shifted, doubled, quotient, divided, added;
  logic        [31:0] mask, remainder, threshold;
  logic        [ 4:0] left, right;
  logic signed [32:0] sum;
  logic signed [ 7:0] lowest;

  always_comb begin
    left    = shift < 0 || defect == 7 ? 5'd0 : shift[4:0];
    right   = shift < 0 ? 5'(-shift) : 5'd0;
    shifted = accumulator <<< left;
    product = 64'(shifted) * 64'(multiplier);

    // 2 * accumulator * multiplier, its upper half: halves up
    doubled = 32'((product + (defect == 1 ? 64'sd0 : 64'sh40000000)) >>> 31);
    if (shifted == 32'sh80000000 && multiplier == 32'sh80000000 && defect != 3) doubled = 32'sh7fffffff;

    // divided by 2^right: halves away from zero
    mask      = (32'd1 << right) - 32'd1;
    remainder = doubled & mask;
    threshold = (mask >> 1) + 32'(doubled < 0 && defect != 4);
    quotient  = defect == 2 ? doubled >> right : doubled >>> right;
    divided   = quotient + 32'(remainder > threshold);

    // one rounding of the whole product
    whole = (product + (64'sd1 << (6'd30 + 6'(right)))) >>> (6'd31 + 6'(right));
    if (defect == 8) divided = whole[31:0];

    lowest = defect == 6 ? -8'sd127 : -8'sd128;
    added  = divided;
    if (defect == 5) added = divided > 127 ? 127 : divided < -128 ? -128 : divided;
    sum = 33'(added) + 33'(zero_point);
    q   = sum > 127 ? 8'sd127 : sum < lowest ? lowest : sum[7:0];
  end
endmodule
