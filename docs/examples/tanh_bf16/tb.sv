// SPDX-License-Identifier: 0BSD
//
// Drives tanh_bf16 with generated vectors and compares every result.
//
//   +vectors=DIR +defect=N +results=FILE   (the results, a line each, for `check --golden DIR --results FILE`)

module tb;

  localparam int WORD_BITS = 64;
  `include "vector_file.svh"

  logic [15:0] a, result, want_result;
  int          a_lsb, result_lsb, log;
  string       results;

  tanh_bf16 dut (.a(a), .defect(defect), .result(result));

  initial begin
    open_vectors;
    look_up("VEC_A_LSB", a_lsb);
    look_up("VEC_RESULT_LSB", result_lsb);
    log = 0;
    if ($value$plusargs("results=%s", results)) log = $fopen(results, "w");
    next_word;
    while (more) begin
      a           = word[a_lsb+:16];
      want_result = word[result_lsb+:16];
      #1;
      compared = compared + 1;
      if (log != 0) $fdisplay(log, "%h", result);
      if (result !== want_result) begin
        mismatches = mismatches + 1;
        if (mismatches <= SHOWN)
          $display("%0s:%0d: a=%h expected %h got %h", vec_file, line, a, want_result, result);
      end
      next_word;
    end
    if (log != 0) $fclose(log);
    finish_vectors;
  end

endmodule
