// SPDX-License-Identifier: 0BSD
//
// Drives mxfp8_quantize with generated blocks, both sides of its handshake now
// and then idle, and compares every scale and every element. A report shows the
// scale, and the first element that differs with its value.
//
//   +vectors=DIR +defect=N

module tb;

  localparam int WORD_BITS = 1536;
  `include "vector_file.svh"

  localparam int LANES = 32;

  logic                clk, rst_n, in_valid, in_ready, out_valid, out_ready;
  logic [32*LANES-1:0] values;
  logic [7:0]          scale, want_scale;
  logic [8*LANES-1:0]  elements, want_elements;
  int                  values_lsb, scale_lsb, elements_lsb, lanes;

  mxfp8_quantize #(.LANES(LANES)) dut (
      .clk(clk), .rst_n(rst_n), .in_valid(in_valid), .in_ready(in_ready), .values(values),
      .defect(defect), .out_valid(out_valid), .out_ready(out_ready), .scale(scale), .elements(elements)
  );

  // The blocks on their way: the circuit holds one, the next may stand before it.
  logic [WORD_BITS-1:0] sent_word[0:3];
  int                   sent_line[0:3];
  int                   sent, cycle, quiet;

  task compare;
    logic [WORD_BITS-1:0] due;
    int                   due_line, lane;
    due           = sent_word[compared%4];
    due_line      = sent_line[compared%4];
    want_scale    = due[scale_lsb+:8];
    want_elements = due[elements_lsb+:8*LANES];
    compared      = compared + 1;
    if (scale !== want_scale || elements !== want_elements) begin
      mismatches = mismatches + 1;
      lane       = 0;
      for (int i = LANES - 1; i >= 0; i = i - 1)
        if (elements[8*i+:8] !== want_elements[8*i+:8]) lane = i;
      if (mismatches <= SHOWN)
        $display("%0s:%0d: values[%0d]=%h expected %h %h got %h %h", vec_file, due_line, lane,
                 due[values_lsb+32*lane+:32], want_scale, want_elements[8*lane+:8], scale, elements[8*lane+:8]);
    end
  endtask

  initial begin
    clk = 0;
    forever #5 clk = !clk;
  end

  initial begin
    open_vectors;
    look_up("VEC_VALUES_LSB", values_lsb);
    look_up("VEC_VALUES_LANES", lanes);
    look_up("VEC_SCALE_LSB", scale_lsb);
    look_up("VEC_ELEMENTS_LSB", elements_lsb);
    if (!broken && lanes != LANES) begin
      broken = 1;
      $display("FAIL: %0s: blocks of %0d values, not %0d", folder, lanes, LANES);
    end

    rst_n     = 0;
    in_valid  = 0;
    out_ready = 0;
    sent      = 0;
    cycle     = 0;
    quiet     = 0;                                      // cycles since anything moved
    @(negedge clk);
    @(negedge clk);
    rst_n = 1;
    next_word;
    while (quiet < 40) begin
      // Between two clock edges: what is valid and ready now moves at the next.
      // A word offered stays until it is taken.
      if (!in_valid) in_valid = more && cycle % 5 != 2;
      out_ready = cycle % 7 != 3 && cycle % 11 < 9;
      values    = word[values_lsb+:32*LANES];
      #1;
      if (out_valid === 1'b1 && out_ready) begin
        if (compared < sent) compare;
        else begin
          mismatches = mismatches + 1;
          if (mismatches <= SHOWN) $display("cycle %0d: a block that was never sent", cycle);
        end
      end
      quiet = quiet + 1;
      if (out_valid === 1'b1 && out_ready) quiet = 0;
      if (in_valid && in_ready === 1'b1) begin
        quiet             = 0;
        sent_word[sent%4] = word;
        sent_line[sent%4] = line;
        sent              = sent + 1;
      end
      @(posedge clk);
      @(negedge clk);
      if (in_valid && sent == words) begin              // it was taken
        in_valid = 0;
        next_word;
      end
      cycle = cycle + 1;
    end
    finish_vectors;
  end

endmodule
