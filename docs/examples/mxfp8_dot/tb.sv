// SPDX-License-Identifier: 0BSD
//
// Drives mxfp8_dot with generated vectors, a dot product a cycle and now and then
// an idle one, and compares every result, every flag, and when they come. The
// elements stand in the file at the line that a report names.
//
//   +vectors=DIR +defect=N

module tb;

  localparam int WORD_BITS = 640;
  `include "vector_file.svh"

  localparam int LATENCY = 3;
  localparam int LANES   = 32;

  logic               clk, rst_n, in_valid, out_valid;
  logic [7:0]         a_scale, b_scale;
  logic [8*LANES-1:0] a, b;
  logic [31:0]        c, result, want_result;
  logic [4:0]         flags, want_flags;
  int                 a_scale_lsb, a_lsb, b_scale_lsb, b_lsb, c_lsb, result_lsb, flags_lsb, lanes;

  mxfp8_dot #(.LANES(LANES)) dut (
      .clk(clk), .rst_n(rst_n), .in_valid(in_valid), .a_scale(a_scale), .a(a), .b_scale(b_scale), .b(b), .c(c),
      .defect(defect), .out_valid(out_valid), .result(result), .flags(flags)
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
    want_result = due[result_lsb+:32];
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
          $display("%0s:%0d: a_scale=%h b_scale=%h c=%h expected %h %h got %h %h", vec_file, sent_line[slot],
                   due[a_scale_lsb+:8], due[b_scale_lsb+:8], due[c_lsb+:32], want_result, want_flags, result, flags);
      end
    end
  endtask

  initial begin
    clk = 0;
    forever #5 clk = !clk;
  end

  initial begin
    open_vectors;
    look_up("VEC_A_SCALE_LSB", a_scale_lsb);
    look_up("VEC_A_LSB", a_lsb);
    look_up("VEC_A_LANES", lanes);
    look_up("VEC_B_SCALE_LSB", b_scale_lsb);
    look_up("VEC_B_LSB", b_lsb);
    look_up("VEC_C_LSB", c_lsb);
    look_up("VEC_RESULT_LSB", result_lsb);
    look_up("VEC_FLAGS_LSB", flags_lsb);
    if (!broken && lanes != LANES) begin
      broken = 1;
      $display("FAIL: %0s: blocks of %0d elements, not %0d", folder, lanes, LANES);
    end

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
      a_scale         = word[a_scale_lsb+:8];
      a               = word[a_lsb+:8*LANES];
      b_scale         = word[b_scale_lsb+:8];
      b               = word[b_lsb+:8*LANES];
      c               = word[c_lsb+:32];
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
