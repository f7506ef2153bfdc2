// SPDX-License-Identifier: 0BSD
//
// Drives fp_convert with generated vectors and compares every result and every
// flag. One build serves all its settings; the plusargs say which one the
// vectors are for:
//
//   +vectors=DIR +fmt=0..3 +rm=0..4 +sat=0|1 +defect=N

module tb;

  localparam int WORD_BITS = 64;
  `include "vector_file.svh"

  logic [31:0] a;
  logic [1:0]  fmt;
  logic [2:0]  rm;
  logic        sat;
  logic [15:0] result, want_result;
  logic [4:0]  flags, want_flags;
  int          a_lsb, result_lsb, result_width, flags_lsb;

  fp_convert dut (
      .a(a), .fmt(fmt), .rm(rm), .sat(sat), .defect(defect), .result(result), .flags(flags)
  );

  initial begin
    fmt = 0;
    rm  = 0;
    sat = 0;
    if (!$value$plusargs("fmt=%d", fmt)) $display("no +fmt=N: E4M3");
    if (!$value$plusargs("rm=%d", rm)) $display("no +rm=N: rne");
    if (!$value$plusargs("sat=%d", sat)) $display("no +sat=N: sat-none");
    open_vectors;
    look_up("VEC_A_LSB", a_lsb);
    look_up("VEC_RESULT_LSB", result_lsb);
    look_up("VEC_RESULT_WIDTH", result_width);
    look_up("VEC_FLAGS_LSB", flags_lsb);
    if (!broken && result_width != (fmt < 2 ? 8 : 16)) begin
      broken = 1;
      $display("FAIL: %0s: results of %0d bits are not those of +fmt=%0d", folder, result_width, fmt);
    end

    next_word;
    while (more) begin
      a           = word[a_lsb+:32];
      want_result = word[result_lsb+:16] & (fmt < 2 ? 16'h00ff : 16'hffff);
      want_flags  = word[flags_lsb+:5];
      #1;
      compared = compared + 1;
      if (result !== want_result || flags !== want_flags) begin
        mismatches = mismatches + 1;
        if (mismatches <= SHOWN)
          $display("%0s:%0d: a=%h expected %h %h got %h %h", vec_file, line, a,
                   want_result, want_flags, result, flags);
      end
      next_word;
    end
    finish_vectors;
  end

endmodule
