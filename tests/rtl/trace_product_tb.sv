// SPDX-License-Identifier: 0BSD
//
// A matrix product of a trace through mxfp8_dot: each result's blocks one after the other, result fed back as c.
// product.svh says sizes and files: BATCH (pairs of matrices), M, N, K, A_FILE, A_SCALE_FILE, B_FILE, B_SCALE_FILE, EXPECTED_FILE; and which
// planted bug of the circuit the product must show.

module tb;

  `include "product.svh"
  localparam int BLOCKS = (K + 31) / 32;

  logic [7:0]  a_codes[0:BATCH*M*K-1];
  logic [7:0]  a_scales[0:BATCH*M*BLOCKS-1];
  logic [7:0]  b_codes[0:BATCH*N*K-1];
  logic [7:0]  b_scales[0:BATCH*N*BLOCKS-1];
  logic [31:0] expected[0:BATCH*M*N-1];

  logic         clk, rst_n, in_valid, out_valid;
  logic [7:0]   a_scale, b_scale, defect;
  logic [255:0] a, b;
  logic [31:0]  c, result;
  logic [4:0]   flags;
  int           mismatches, at;

  mxfp8_dot dut (
      .clk(clk), .rst_n(rst_n), .in_valid(in_valid), .a_scale(a_scale), .a(a), .b_scale(b_scale), .b(b), .c(c),
      .defect(defect), .out_valid(out_valid), .result(result), .flags(flags)
  );

  initial begin
    clk = 0;
    forever #5 clk = !clk;
  end

  initial begin
    $readmemh(A_FILE, a_codes);
    $readmemh(A_SCALE_FILE, a_scales);
    $readmemh(B_FILE, b_codes);
    $readmemh(B_SCALE_FILE, b_scales);
    $readmemh(EXPECTED_FILE, expected);
    {in_valid, rst_n} = 0;
    @(negedge clk) rst_n = 1;
    multiply(0);
    if (mismatches != 0) $fatal(1, "FAIL: %0d of %0d results differ", mismatches, BATCH * M * N);
    multiply(DEFECT);
    if (mismatches == 0) $fatal(1, "FAIL: planted bug %0d does not show", DEFECT);
    $display("with planted bug %0d, %0d results differ", DEFECT, mismatches);
    $display("PASS: %0d of %0d vectors", BATCH * M * N, BATCH * M * N);
    $finish;
  end

  task multiply(input int bug);
    defect     = 8'(bug);
    mismatches = 0;
    for (int m = 0; m < BATCH; m = m + 1)
      for (int i = 0; i < M; i = i + 1)
        for (int j = 0; j < N; j = j + 1) begin
          c = 32'd0;
          for (int block = 0; block < BLOCKS; block = block + 1) begin
            for (int lane = 0; lane < 32; lane = lane + 1) begin
              at           = 32 * block + lane;
              a[8*lane+:8] = at < K ? a_codes[(m*M+i)*K+at] : 8'd0;  // a short block is as if padded with zeros
              b[8*lane+:8] = at < K ? b_codes[(m*N+j)*K+at] : 8'd0;
            end
            a_scale  = a_scales[(m*M+i)*BLOCKS+block];
            b_scale  = b_scales[(m*N+j)*BLOCKS+block];
            in_valid = 1;
            @(negedge clk) in_valid = 0;
            while (!out_valid) @(negedge clk);
            c = result;
          end
          if (c !== expected[(m*M+i)*N+j]) begin
            mismatches = mismatches + 1;
            if (mismatches <= 5 && bug == 0) $display("[%0d, %0d, %0d]: expected %h got %h", m, i, j, expected[(m*M+i)*N+j], c);
          end
        end
  endtask

endmodule
