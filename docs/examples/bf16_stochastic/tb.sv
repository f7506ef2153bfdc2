// SPDX-License-Identifier: 0BSD
//
// Drives bf16_stochastic with generated vectors, now and then idle, and compares
// every result and every flag. The circuit makes its own random bits: the ones in
// the vectors, r, are what they must have been.
//
//   +vectors=DIR +defect=N

module tb;

  localparam int WORD_BITS = 128;
  `include "vector_file.svh"

  logic        clk, rst_n, in_valid, out_valid;
  logic [31:0] a;
  logic [15:0] r, result, want_result;
  logic [4:0]  flags, want_flags;
  int          a_lsb, r_lsb, r_width, result_lsb, flags_lsb, cycle;

  bf16_stochastic dut (
      .clk(clk), .rst_n(rst_n), .in_valid(in_valid), .a(a), .defect(defect),
      .out_valid(out_valid), .result(result), .flags(flags)
  );

  initial begin
    clk = 0;
    forever #5 clk = !clk;
  end

  initial begin
    open_vectors;
    look_up("VEC_A_LSB", a_lsb);
    look_up("VEC_R_LSB", r_lsb);
    look_up("VEC_R_WIDTH", r_width);
    look_up("VEC_RESULT_LSB", result_lsb);
    look_up("VEC_FLAGS_LSB", flags_lsb);
    if (!broken && r_width != 16) begin
      broken = 1;
      $display("FAIL: %0s: %0d random bits a value, not 16", folder, r_width);
    end

    rst_n    = 0;
    in_valid = 0;
    cycle    = 0;
    @(negedge clk);
    @(negedge clk);
    rst_n = 1;
    next_word;
    while (more) begin
      in_valid = cycle % 7 != 3;
      a        = word[a_lsb+:32];
      @(negedge clk);                                   // past the edge that takes it
      if (out_valid !== in_valid) begin
        mismatches = mismatches + 1;
        if (mismatches <= SHOWN) $display("cycle %0d: out_valid %b expected %b", cycle, out_valid, in_valid);
      end
      if (in_valid) begin
        r           = word[r_lsb+:16];
        want_result = word[result_lsb+:16];
        want_flags  = word[flags_lsb+:5];
        compared    = compared + 1;
        if (result !== want_result || flags !== want_flags) begin
          mismatches = mismatches + 1;
          if (mismatches <= SHOWN)
            $display("%0s:%0d: a=%h r=%h expected %h %h got %h %h", vec_file, line, a, r,
                     want_result, want_flags, result, flags);
        end
        next_word;
      end
      cycle = cycle + 1;
    end
    finish_vectors;
  end

endmodule
