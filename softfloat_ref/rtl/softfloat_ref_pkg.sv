// SPDX-License-Identifier: 0BSD
//
// Predicts the results of a circuit, one transaction at a time, with
// softfloat-ref's oracle or its C library, through softfloat_ref_dpi.c. For UVM
// and plain SystemVerilog.
//
//   int fma = sf_open("fma", "fp16", "", "rup");
//   expected = sf_predict3(fma, a, b, c, flags);
//
// An invalid operand, format or option, and a server that cannot start or dies,
// end the simulation with $fatal and a one-line reason.

package softfloat_ref_pkg;

  localparam int SF_MAX_OPERANDS = 10;

  typedef bit [127:0]                   sf_code_t;   // a code, right-aligned
  typedef bit [4:0]                     sf_flags_t;  // invalid, divide by zero, overflow, underflow, inexact
  typedef logic [127:0]                 sf_operand_t;
  typedef bit [128*SF_MAX_OPERANDS-1:0] sf_operands_t;

  import "DPI-C" function int sf_dpi_open(
      input string op, input string fmt, input string out, input string options);
  import "DPI-C" function int sf_dpi_predict(
      input int handle, input int count, input sf_operands_t operands, output sf_code_t result, output int flags);
  import "DPI-C" function int sf_dpi_words(
      input int handle, input int count, input longint unsigned a, input longint unsigned b, input longint unsigned c,
      output longint unsigned result, output int flags);
  import "DPI-C" function int sf_dpi_answer(input int handle, input string operands, output string answer);
  import "DPI-C" function string sf_dpi_message();

  // A handle for predictions. The same arguments give the same handle.
  //   op       an operation, as in `softfloat-ref eval`: "fma", "convert", ...
  //   fmt      a format, or one per operand: "a=fp8_e4m3,b=fp8_e5m2,c=fp32"
  //   out      the result's format; "" for the operands' format
  //   options  "" or words: a rounding ("rup"), a policy ("riscv"), or any
  //            policy option of the command line ("--flush-inputs on")
  function automatic int sf_open(string op, string fmt, string out = "", string options = "");
    sf_open = sf_dpi_open(op, fmt, out, options);
    if (sf_open < 0) $fatal(1, "%s", sf_dpi_message());
  endfunction

  function automatic sf_code_t sf_predict1(int handle, sf_operand_t a, output sf_flags_t flags);
    sf_code_t result;
    if (sf_compiled(handle, 1, a, '0, '0, result, flags)) return result;
    return sf_ask(handle, 1, {{(SF_MAX_OPERANDS - 1) {128'd0}}, a}, flags);
  endfunction

  function automatic sf_code_t sf_predict2(int handle, sf_operand_t a, sf_operand_t b, output sf_flags_t flags);
    sf_code_t result;
    if (sf_compiled(handle, 2, a, b, '0, result, flags)) return result;
    return sf_ask(handle, 2, {{(SF_MAX_OPERANDS - 2) {128'd0}}, b, a}, flags);
  endfunction

  function automatic sf_code_t sf_predict3(
      int handle, sf_operand_t a, sf_operand_t b, sf_operand_t c, output sf_flags_t flags);
    sf_code_t result;
    if (sf_compiled(handle, 3, a, b, c, result, flags)) return result;
    return sf_ask(handle, 3, {{(SF_MAX_OPERANDS - 3) {128'd0}}, c, b, a}, flags);
  endfunction

  // Any number of operands, in order; the random bits of a stochastic rounding
  // are the last one, unless the options name a random source.
  function automatic sf_code_t sf_predict(int handle, sf_operand_t operands[], output sf_flags_t flags);
    logic [128*SF_MAX_OPERANDS-1:0] packed_operands = '0;
    if (operands.size() > SF_MAX_OPERANDS) begin
      $fatal(1, "softfloat-ref: %0d operands; at most %0d", operands.size(), SF_MAX_OPERANDS);
      return '0;
    end
    foreach (operands[i]) packed_operands[128*i+:128] = operands[i];
    return sf_ask(handle, operands.size(), packed_operands, flags);
  endfunction

  // Any unit, such as quantize and dot: the input codes in hexadecimal, in order,
  // separated by spaces; returns all output codes, and flags if the unit has them.
  function automatic string sf_predict_line(int handle, string operands);
    if (sf_dpi_answer(handle, operands, sf_predict_line) != 0) $fatal(1, "%s", sf_dpi_message());
  endfunction

  // By compiled C, if the handle has it: without packing operands, and without the server.
  function automatic bit sf_compiled(int handle, int count, sf_operand_t a, sf_operand_t b, sf_operand_t c,
                                     output sf_code_t result, output sf_flags_t flags);
    longint unsigned word;
    int              raised;
    if ((a[127:64] | b[127:64] | c[127:64]) !== 64'd0 || $isunknown(a[63:0] ^ b[63:0] ^ c[63:0])) return 0;
    if (sf_dpi_words(handle, count, a[63:0], b[63:0], c[63:0], word, raised) != 0) return 0;
    result = 128'(word);
    flags  = sf_flags_t'(raised);
    return 1;
  endfunction

  function automatic sf_code_t sf_ask(
      int handle, int count, logic [128*SF_MAX_OPERANDS-1:0] operands, output sf_flags_t flags);
    sf_code_t result;
    int       raised;
    if ($isunknown(operands)) $fatal(1, "softfloat-ref: an operand has X or Z bits");
    if (sf_dpi_predict(handle, count, operands, result, raised) != 0) $fatal(1, "%s", sf_dpi_message());
    flags = raised[4:0];
    return result;
  endfunction

endpackage
