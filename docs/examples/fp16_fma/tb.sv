// SPDX-License-Identifier: 0BSD
//
// Drives fp16_fma with generated vectors, an operation a cycle and now and then
// an idle one, and compares every result, every flag, and when they come.
//
//   +vectors=DIR +rm=0..4 +defect=N

module tb;

  localparam int WORD_BITS = 128;
  `include "vector_file.svh"

  localparam int LATENCY = 3;
  localparam int W       = 16;

  logic         clk, rst_n, in_valid, out_valid;
  logic [2:0]   rm;
  logic [W-1:0] a, b, c, result, want_result;
  logic [4:0]   flags, want_flags;
  int           a_lsb, b_lsb, c_lsb, result_lsb, flags_lsb;

  fp16_fma dut (
      .clk(clk), .rst_n(rst_n), .in_valid(in_valid), .a(a), .b(b), .c(c), .rm(rm), .defect(defect),
      .out_valid(out_valid), .result(result), .flags(flags)
  );

  // What went in at each of the last cycles.
  logic                 sent[0:LATENCY-1];
  logic [WORD_BITS-1:0] sent_word[0:LATENCY-1];
  int                   sent_line[0:LATENCY-1];
  int                   cycle, slot, drained;

  // The operation that was sent LATENCY cycles ago is due now.
  task compare;
    logic [WORD_BITS-1:0] due;
    due         = sent_word[slot];
    want_result = due[result_lsb+:W];
    want_flags  = due[flags_lsb+:5];
    if (out_valid !== sent[slot]) begin
      mismatches = mismatches + 1;
      if (mismatches <= SHOWN) $display("cycle %0d: out_valid %b expected %b", cycle, out_valid, sent[slot]);
    end
    if (sent[slot]) begin
      compared = compared + 1;
      if (result !== want_result || flags !== want_flags) begin
        mismatches = mismatches + 1;
        if (mismatches <= SHOWN)
          $display("%0s:%0d: a=%h b=%h c=%h expected %h %h got %h %h", vec_file, sent_line[slot],
                   due[a_lsb+:W], due[b_lsb+:W], due[c_lsb+:W], want_result, want_flags, result, flags);
      end
    end
  endtask

  initial begin
    clk = 0;
    forever #5 clk = !clk;
  end

  initial begin
    rm = 0;
    if (!$value$plusargs("rm=%d", rm)) $display("no +rm=N: rne");
    open_vectors;
    look_up("VEC_A_LSB", a_lsb);
    look_up("VEC_B_LSB", b_lsb);
    look_up("VEC_C_LSB", c_lsb);
    look_up("VEC_RESULT_LSB", result_lsb);
    look_up("VEC_FLAGS_LSB", flags_lsb);

    for (int i = 0; i < LATENCY; i = i + 1) sent[i] = 0;
    rst_n    = 0;
    in_valid = 0;
    cycle    = 0;
    drained  = 0;
    @(negedge clk);
    @(negedge clk);
    rst_n = 1;
    next_word;
    while (drained < LATENCY) begin
      @(negedge clk);
      slot = cycle % LATENCY;
      compare;
      in_valid        = more && cycle % 7 != 3;
      a               = word[a_lsb+:W];
      b               = word[b_lsb+:W];
      c               = word[c_lsb+:W];
      sent[slot]      = in_valid;
      sent_word[slot] = word;
      sent_line[slot] = line;
      if (!more) drained = drained + 1;
      if (in_valid) next_word;
      cycle = cycle + 1;
    end
    @(negedge clk);
    finish_vectors;
  end

endmodule
