// SPDX-License-Identifier: 0BSD
//
// Drives fp32_to_fp8_e4m3 with generated vectors and compares every result and
// every flag. The folder that holds the vectors is a plusarg: +vectors=DIR
//
// "PASS: N of N vectors" appears only after N > 0 comparisons that all held.
// All else gives a line that starts with FAIL and a nonzero exit code.

module tb;

  `include "vectors.svh"

  localparam int SHOWN      = 10;                       // mismatches printed in full
  localparam int DEPTH      = VEC_COUNT > 0 ? VEC_COUNT : 1;
  localparam int WORD_CHARS = (VEC_WIDTH + 3) / 4 + 2;  // hex digits, two underscores
  localparam int CHUNK      = 256;                      // characters read at a time
  localparam logic [7:0] LF = 8'h0a, CR = 8'h0d;        // Verilog has no "\r"

  logic [VEC_A_WIDTH-1:0]      a;
  logic [VEC_RESULT_WIDTH-1:0] result, want_result;
  logic [VEC_FLAGS_WIDTH-1:0]  flags, want_flags;

  fp32_to_fp8_e4m3 dut (.a(a), .result(result), .flags(flags));

  logic [VEC_WIDTH-1:0] vectors[0:DEPTH-1];
  int                   line_of[0:DEPTH-1];             // where each word stands
  string                folder, path;
  int                   file, words, misshapen, mismatches;
  logic                 passed;

  // $readmemh does not check a file: given too few words, one simulator warns
  // and another leaves zeros, and a word cut short is a smaller number to both.
  // So the file is read as text first: every line is a comment or one word.
  task read_lines;
    logic [8*CHUNK-1:0] text;
    logic [7:0]         first;
    logic               at_start, at_end;
    int                 line, length;

    words     = 0;
    misshapen = 0;
    line      = 1;
    at_start  = 1;
    length    = $fgets(text, file);
    while (length > 0) begin
      at_end = text[7:0] == LF;                         // else a long line goes on
      first  = text[8*(length-1)+:8];
      if (at_start && first != "/" && first != LF && first != CR) begin
        if (words < DEPTH) line_of[words] = line;
        words = words + 1;
        if (at_end) length = length - (text[15:8] == CR ? 2 : 1);
        if (length != WORD_CHARS && misshapen == 0) misshapen = line;
      end
      at_start = at_end;
      if (at_end) line = line + 1;
      length = $fgets(text, file);
    end
  endtask

  task compare;
    mismatches = 0;
    for (int i = 0; i < VEC_COUNT; i = i + 1) begin
      a           = vectors[i][VEC_A_LSB+:VEC_A_WIDTH];
      want_result = vectors[i][VEC_RESULT_LSB+:VEC_RESULT_WIDTH];
      want_flags  = vectors[i][VEC_FLAGS_LSB+:VEC_FLAGS_WIDTH];
      #1;
      if (result !== want_result || flags !== want_flags || ^vectors[i] === 1'bx) begin
        mismatches = mismatches + 1;
        if (mismatches <= SHOWN)
          $display("%0s:%0d: a=%h expected %h %h got %h %h", VEC_FILE, line_of[i], a,
                   want_result, want_flags, result, flags);
      end
    end
  endtask

  initial begin
    passed = 0;
    folder = ".";
    if (!$value$plusargs("vectors=%s", folder)) $display("no +vectors=DIR: looking here");
    path = {folder, "/", VEC_FILE};
    file = $fopen(path, "r");
    if (file == 0) $display("FAIL: cannot read %0s; +vectors=DIR gives its folder", path);
    else begin
      read_lines;
      $fclose(file);
      if (VEC_COUNT <= 0 || words == 0) $display("FAIL: %0s: no vectors", path);
      else if (words != VEC_COUNT)
        $display("FAIL: %0s: %0d words, but vectors.svh says %0d", path, words, VEC_COUNT);
      else if (misshapen != 0)
        $display("FAIL: %0s:%0d: not a word of %0d characters", path, misshapen, WORD_CHARS);
      else begin
        $readmemh(path, vectors);
        compare;
        if (mismatches == 0) passed = 1;
        else $display("FAIL: %0d of %0d vectors", mismatches, VEC_COUNT);
      end
    end

    if (!passed) $fatal(0);
    else begin
      $display("PASS: %0d of %0d vectors", VEC_COUNT, VEC_COUNT);
      $finish(0);
    end
  end

endmodule
