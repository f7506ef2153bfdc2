// SPDX-License-Identifier: 0BSD
//
// Predicts each generated vector of fp16 fma by DPI and compares; says how many
// predictions a second that is. The folder of the vectors is +vectors=DIR.

module dpi_fma_tb;
  import softfloat_ref_pkg::*;
  import "DPI-C" function real wall_seconds();
  `include "vectors.svh"

  logic [VEC_WIDTH-1:0]        vectors[0:VEC_COUNT-1];
  logic [VEC_WIDTH-1:0]        word;
  logic [VEC_RESULT_WIDTH-1:0] want;
  sf_code_t                    result;
  sf_flags_t                   flags, want_flags;
  string                       folder;
  int                          fma, mismatches;
  real                         start;

  initial begin
    void'($value$plusargs("vectors=%s", folder));
    $readmemh({folder, "/", VEC_FILE}, vectors);
    fma        = sf_open("fma", "fp16", "fp16", "rne");
    start      = wall_seconds();
    mismatches = 0;
    for (int i = 0; i < VEC_COUNT; i++) begin
      word       = vectors[i];
      want       = word[VEC_RESULT_LSB+:VEC_RESULT_WIDTH];
      want_flags = word[VEC_FLAGS_LSB+:VEC_FLAGS_WIDTH];
      result     = sf_predict3(fma, 128'(word[VEC_A_LSB+:VEC_A_WIDTH]), 128'(word[VEC_B_LSB+:VEC_B_WIDTH]),
                               128'(word[VEC_C_LSB+:VEC_C_WIDTH]), flags);
      if (result !== 128'(want) || flags !== want_flags) begin
        mismatches++;
        if (mismatches < 10) $display("%h: predicted %h %h", word, result, flags);
      end
    end
    $display("%0d predictions/s", int'(VEC_COUNT / (wall_seconds() - start)));
    if (mismatches != 0) $fatal(1, "FAIL: %0d of %0d vectors", mismatches, VEC_COUNT);
    $display("PASS: %0d of %0d vectors", VEC_COUNT, VEC_COUNT);
    $finish(0);
  end
endmodule
