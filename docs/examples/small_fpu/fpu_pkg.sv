// SPDX-License-Identifier: 0BSD
//
// The codes of small_fpu's operations, formats and roundings.

package fpu_pkg;

  typedef enum logic [2:0] {
    FMADD = 3'd0,  // operands 0 * 1 + 2
    ADD   = 3'd1,  // operands 1 + 2
    MUL   = 3'd2,  // operands 0 * 1
    EQ    = 3'd4,  // operands 0 and 1
    LT    = 3'd5,
    LE    = 3'd6
  } op_e;

  typedef enum logic [1:0] {
    FP32 = 2'd0,
    FP16 = 2'd1,
    BF16 = 2'd2
  } fmt_e;

  typedef enum logic [2:0] {  // RISC-V's numbers
    RNE = 3'd0,
    RTZ = 3'd1,
    RDN = 3'd2,
    RUP = 3'd3,
    RMM = 3'd4
  } rnd_e;

  // The bits of the parameter FORMATS.
  localparam logic [2:0] HAS_FP32 = 3'b001, HAS_FP16 = 3'b010, HAS_BF16 = 3'b100;

endpackage
