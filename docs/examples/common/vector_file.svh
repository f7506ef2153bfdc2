// SPDX-License-Identifier: 0BSD
//
// What the benches share: reading a folder of generated vectors at run time, so
// that one build of a bench serves every set that fits its circuit.
//
//   +vectors=DIR   the folder; its vectors.svh says the file's name, how many
//                  words it has, how wide they are, and where each field lies
//   +defect=N      which planted bug the circuit shall have; 0, none
//
// A bench defines WORD_BITS, the widest word it takes, and includes this file in
// its module. It calls open_vectors, looks up its fields with look_up, takes
// words with next_word while `more` holds, and ends with finish_vectors.
//
// "PASS: N of N vectors" appears only after N > 0 comparisons that all held.
// All else gives a line that starts with FAIL and a nonzero exit code.

  localparam int SHOWN      = 10;                       // mismatches printed in full
  localparam int NAME_CHARS = 32;                       // of a name in vectors.svh
  localparam int FILE_CHARS = 128;
  localparam int LINE_CHARS = WORD_BITS / 2 + 256;      // digits, underscores, line end
  localparam logic [7:0] LF = 8'h0a, CR = 8'h0d;        // Verilog has no "\r"

  string                   folder;
  logic [8*FILE_CHARS-1:0] vec_file;                    // VEC_FILE, VEC_COUNT, VEC_WIDTH
  int                      vec_count, vec_width;
  int                      file, line, words, compared, mismatches;
  logic                    broken;                      // a FAIL line was printed
  logic                    more;                        // there was another word:
  logic [WORD_BITS-1:0]    word;
  logic [7:0]              defect;

  // Skips the header's text up to a name; leaves the file open behind it.
  task find_name(input logic [8*NAME_CHARS-1:0] name, output logic found, output int header);
    logic [8*NAME_CHARS-1:0] token;
    int                      scanned;
    found   = 0;
    scanned = 1;
    header  = $fopen({folder, "/vectors.svh"}, "r");
    if (header == 0) scanned = 0;
    while (scanned == 1 && !found) begin
      scanned = $fscanf(header, "%s", token);
      found   = scanned == 1 && token == name;
    end
    if (!found && !broken) begin
      broken = 1;
      if (header == 0) $display("FAIL: cannot read %0s/vectors.svh; +vectors=DIR gives its folder", folder);
      else $display("FAIL: %0s/vectors.svh has no %0s", folder, name);
    end
  endtask

  // The integer that the header gives to a name.
  task look_up(input logic [8*NAME_CHARS-1:0] name, output int value);
    logic found;
    int   header, scanned;
    value = 0;
    find_name(name, found, header);
    if (found) begin
      scanned = $fscanf(header, " = %d", value);
      if (scanned != 1) begin
        broken = 1;
        $display("FAIL: %0s/vectors.svh: no number for %0s", folder, name);
      end
    end
    if (header != 0) $fclose(header);
  endtask

  task open_vectors;
    logic found;
    int   header, scanned;
    file       = 0;
    line       = 0;
    words      = 0;
    compared   = 0;
    mismatches = 0;
    broken     = 0;
    defect     = 0;
    folder     = ".";
    if (!$value$plusargs("vectors=%s", folder)) $display("no +vectors=DIR: looking here");
    if ($value$plusargs("defect=%d", defect)) $display("planted defect %0d", defect);
    find_name("VEC_FILE", found, header);
    if (found) begin
      scanned  = $fscanf(header, " = \"%s", vec_file);
      vec_file = vec_file >> 16;                        // without the closing ";
    end
    if (header != 0) $fclose(header);
    look_up("VEC_COUNT", vec_count);
    look_up("VEC_WIDTH", vec_width);
    if (!broken && vec_width > WORD_BITS) begin
      broken = 1;
      $display("FAIL: %0s: words of %0d bits are not this circuit's", folder, vec_width);
    end
    if (!broken) begin
      file = $fopen($sformatf("%0s/%0s", folder, vec_file), "r");
      if (file == 0) begin
        broken = 1;
        $display("FAIL: cannot read %0s/%0s", folder, vec_file);
      end
    end
  endtask

  // The value of a hexadecimal digit; 16 for any other character.
  function automatic logic [4:0] digit(input logic [7:0] c);
    if (c >= "0" && c <= "9") digit = {1'b0, c[3:0]};
    else if (c >= "a" && c <= "f") digit = {1'b0, c[3:0] + 4'd9};
    else digit = 5'd16;
  endfunction

  // $readmemh is no judge of a file: given too few words, one simulator warns
  // and another leaves zeros, and a word cut short is a smaller number to both.
  // So each line is read as text: a comment, or exactly the digits of a word.
  task next_word;
    logic [8*LINE_CHARS-1:0] text;
    logic [7:0]              c;
    int                      length, digits;
    logic                    bad;
    more = 0;
    length = broken ? 0 : 1;
    while (length > 0 && !more) begin
      length = $fgets(text, file);
      line   = line + 1;
      c      = length > 0 ? text[8*(length-1)+:8] : LF;
      if (c != "/" && c != LF && c != CR) begin
        word   = 0;
        digits = 0;
        bad    = 0;
        for (int i = 0; i < length; i = i + 1) begin    // from the line's end
          c = text[8*i+:8];
          if (digit(c) != 5'd16) begin
            if (4 * digits < vec_width) word[4*digits+:4] = c[6] ? c[3:0] + 4'd9 : c[3:0];
            digits = digits + 1;
          end else if (c != "_" && c != LF && c != CR) bad = 1;
        end
        if (bad || 4 * digits != vec_width) begin
          $display("FAIL: %0s/%0s:%0d: not a word of %0d hexadecimal digits", folder, vec_file, line, vec_width / 4);
          broken = 1;
          length = 0;
        end else begin
          words = words + 1;
          more  = 1;
        end
      end
    end
  endtask

  task finish_vectors;
    logic passed;
    if (file != 0) $fclose(file);
    passed = 0;
    if (broken) ;                                       // it was said already
    else if (mismatches != 0) $display("FAIL: %0d of %0d vectors", mismatches, vec_count);
    else if (compared != words) $display("FAIL: %0d results for %0d vectors", compared, words);
    else if (words == 0) $display("FAIL: %0s/%0s: no vectors", folder, vec_file);
    else if (words != vec_count)
      $display("FAIL: %0s/%0s: %0d words, but vectors.svh says %0d", folder, vec_file, words, vec_count);
    else passed = 1;

    if (!passed) $fatal(0);
    else begin
      $display("PASS: %0d of %0d vectors", compared, vec_count);
      $finish(0);
    end
  endtask
