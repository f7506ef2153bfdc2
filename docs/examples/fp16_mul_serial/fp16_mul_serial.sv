// SPDX-License-Identifier: 0BSD
//
// FP16 multiplication, one bit of b per cycle: round to nearest even, subnormals,
// four exception flags. Each operand and the result have a strobe of their own:
// a word moves in the cycle in which its stb and its ack are both set.
//
// The input defect plants a bug:
//
//    0  the correct circuit
//    1  ties round away from zero
//    2  bits shifted out of a subnormal result are lost
//    3  zeros are always positive
//    4  underflow is detected before rounding
//    5  overflow does not raise inexact
//    6  a signalling NaN does not raise invalid
//    7  operand b is used as it is when the multiplication starts
//    8  the result changes while it waits
//    9  Inf * 0 is Inf
//   10  the last bit of b is left out
//   11  subnormal operands are zeros
//   12  a carry out of the significand does not reach the exponent

module fp16_mul_serial (
    input  logic        clk, rst,
    input  logic [3:0]  defect,
    input  logic [15:0] input_a,
    input  logic        input_a_stb,
    output logic        input_a_ack,
    input  logic [15:0] input_b,
    input  logic        input_b_stb,
    output logic        input_b_ack,
    output logic [15:0] output_z,
    output logic [3:0]  exceptions,  // invalid, overflow, underflow, inexact
    output logic        output_z_stb,
    input  logic        output_z_ack
);

  localparam logic [15:0] QUIET_NAN = 16'hfe00;
  localparam logic [2:0] GET = 0, UNPACK = 1, NORMALIZE = 2, MULTIPLY = 3, SHIFT = 4, ROUND = 5, PUT = 6;

  logic [2:0]        state;
  logic              have_a, have_b, falling, tiny, sticky;
  logic [15:0]       a, b;
  logic signed [7:0] exponent_a, exponent_b, exponent;
  logic [10:0]       significand_a, significand_b;
  logic [21:0]       product;          // its highest bit is the leading one, when it is complete
  logic [3:0]        count;

  assign input_a_ack  = state == GET && !have_a;
  assign input_b_ack  = state == GET && !have_b;
  assign output_z_stb = state == PUT;

  // ------------------------------------------------------------ special cases
  wire sign    = a[15] ^ b[15];
  wire nan_a   = a[14:0] > 15'h7c00, nan_b = b[14:0] > 15'h7c00;
  wire inf_a   = a[14:0] == 15'h7c00, inf_b = b[14:0] == 15'h7c00;
  wire zero_a  = defect == 11 ? a[14:10] == 0 : a[14:0] == 0;
  wire zero_b  = defect == 11 ? b[14:10] == 0 : b[14:0] == 0;
  wire signals = (nan_a && !a[9]) || (nan_b && !b[9]);
  wire no_product = (inf_a && zero_b) || (zero_a && inf_b);

  // ----------------------------------------------------------------- rounding
  // product[21:11] is kept, product[10] is the guard bit.
  wire        low      = |product[9:0] || sticky;
  wire        up       = product[10] && (low || product[11] || defect == 1);
  wire        inexact  = product[10] || low;
  wire [15:0] packed_z = {exponent[5:0], 10'd0} + (product[21] ? 16'd0 : -16'd1024) + {6'd0, product[20:11]} + {15'd0, up};
  wire [15:0] rounded  = defect == 12 && up && &product[20:11] ? {exponent[5:0], 10'd0} : packed_z;
  wire        over     = rounded[15:10] >= 31;

  always @(posedge clk)
    if (rst) begin
      state  <= GET;
      have_a <= 0;
      have_b <= 0;
    end else
      case (state)
        GET: begin
          if (input_a_stb && input_a_ack) {have_a, a} <= {1'b1, input_a};
          if (input_b_stb && input_b_ack) {have_b, b} <= {1'b1, input_b};
          if (have_a && have_b) state <= UNPACK;
        end

        UNPACK: begin
          if (defect == 7) b <= input_b;
          exponent_a    <= a[14:10] == 0 ? 1 : {3'd0, a[14:10]};
          exponent_b    <= b[14:10] == 0 ? 1 : {3'd0, b[14:10]};
          significand_a <= {a[14:10] != 0, a[9:0]};
          significand_b <= {b[14:10] != 0, b[9:0]};
          product       <= 0;
          {falling, tiny, sticky} <= 0;
          count         <= 0;
          exceptions    <= 0;
          state         <= PUT;
          if (nan_a || nan_b) begin
            output_z      <= QUIET_NAN;
            exceptions[3] <= signals && defect != 6;
          end else if (no_product && defect != 9) begin
            output_z      <= QUIET_NAN;
            exceptions[3] <= 1;
          end else if (inf_a || inf_b) output_z <= {sign, 15'h7c00};
          else if (zero_a || zero_b) output_z <= {sign && defect != 3, 15'd0};
          else state <= NORMALIZE;
        end

        NORMALIZE: begin
          if (!significand_a[10]) {exponent_a, significand_a} <= {exponent_a - 8'sd1, significand_a << 1};
          if (!significand_b[10]) {exponent_b, significand_b} <= {exponent_b - 8'sd1, significand_b << 1};
          if (significand_a[10] && significand_b[10]) state <= MULTIPLY;
        end

        MULTIPLY: begin  // from the highest bit of b
          count         <= count + 1;
          significand_b <= significand_b << 1;
          product       <= (product << 1) + (significand_b[10] ? {11'd0, significand_a} : 22'd0);
          if (count == (defect == 10 ? 9 : 10)) begin
            exponent <= exponent_a + exponent_b - 8'sd14;
            state    <= SHIFT;
          end
        end

        SHIFT:  // the leading one to the top, then down again for a subnormal result
          if (!product[21] && !falling) begin
            product  <= product << 1;
            exponent <= exponent - 8'sd1;
          end else if (exponent < 1) begin
            // Tiny, unless rounding as a normal number reaches the smallest one.
            falling <= 1;
            if (!falling) tiny <= defect == 4 || !(exponent == 0 && &product[21:11] && product[10]);
            product  <= product >> 1;
            sticky   <= sticky || (product[0] && defect != 2);
            exponent <= exponent + 8'sd1;
          end else state <= ROUND;

        ROUND: begin
          output_z   <= {sign, over ? 15'h7c00 : rounded[14:0]};
          exceptions <= {1'b0, over, tiny && inexact, inexact || (over && defect != 5)};
          state      <= PUT;
        end

        PUT:
          if (output_z_ack) begin
            state  <= GET;
            have_a <= 0;
            have_b <= 0;
          end else if (defect == 8) output_z[0] <= !output_z[0];

        default: state <= GET;
      endcase

endmodule
