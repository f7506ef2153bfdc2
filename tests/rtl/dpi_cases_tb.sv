// SPDX-License-Identifier: 0BSD
//
// Uses of the DPI package, right and wrong; +case=N chooses one. END is printed
// only where nothing was fatal.

module dpi_cases_tb;
  import softfloat_ref_pkg::*;

  int          number, h, again;
  sf_code_t    r;
  sf_flags_t   f;
  sf_operand_t operands[];

  initial begin
    number = -1;
    void'($value$plusargs("case=%d", number));
    case (number)
      0: begin
        h = sf_open("add", "fp16");
        r = sf_predict2(h, 1, 1, f);
        $display("%h %h", r[15:0], f);
      end
      1: begin
        h = sf_open("add", "fp128");
        r = sf_predict2(h, 128'h3fff0000000000000000000000000000, 128'h3fff0000000000000000000000000000, f);
        $display("%h %h", r, f);
        h = sf_open("sqrt", "fp64", "", "rup --tininess before");
        r = sf_predict1(h, 64'h4000000000000000, f);
        $display("%h %h", r[63:0], f);
        h = sf_open("sub", "fp32", "", "x86-sse");
        r = sf_predict2(h, 32'h7f800000, 32'h7f800000, f);
        $display("%h %h", r[31:0], f);
        h = sf_open("dot4", "a=fp8_e4m3,b=fp8_e4m3,c=fp8_e4m3,d=fp8_e4m3,e=fp8_e4m3,f=fp8_e4m3,g=fp8_e4m3,h=fp8_e4m3,i=fp32", "fp32");
        operands = new[9];
        foreach (operands[i]) operands[i] = i == 8 ? 128'h3f800000 : 128'h30 + i;
        r = sf_predict(h, operands, f);
        $display("%h %h", r[31:0], f);
        h = sf_open("convert", "fp32", "fp8_e4m3", "sr --sr-bits 4");
        $display("%h", 8'(sf_predict2(h, 32'h3f820000, 128'hf, f)));
        $display("%h", 8'(sf_predict2(h, 32'h3f820000, 128'h0, f)));
        again = sf_open("add", "fp128");
        $display("%0d %0d", h, again);
      end
      2: h = sf_open("plus", "fp16");
      3: h = sf_open("add", "fp61");
      4: h = sf_open("add", "fp16", "", "up");
      5: h = sf_open("add", "fp16\n");
      6: h = sf_open("add", "s1e15m200b9");
      7: begin
        h = sf_open("add", "fp16");
        r = sf_predict1(h, 1, f);
      end
      8: begin
        h = sf_open("add", "fp16");
        r = sf_predict2(h, 1, 128'h10000, f);
      end
      9: r = sf_predict2(7, 1, 1, f);
      10: begin
        h = sf_open("add", "fp16");
        operands = new[11];
        r = sf_predict(h, operands, f);
      end
      11, 12: begin
        h = sf_open("quantize", "qint8", "", "--profile torch-fake");
        r = sf_predict3(h, 32'h40200000, 32'h3f800000, 8'h05, f);
        $display("%h %h", r[7:0], f);
        $display("%s", sf_predict_line(h, $sformatf("%h %h %h", 32'h40200000, 32'h3f800000, 8'h06)));
        h = sf_open("dequantize", "fp8_e4m3@e8m0/4");
        $display("%s", sf_predict_line(h, "7f 38 40 b8 00"));
        operands = new[5];
        if (number == 12) r = sf_predict(h, operands, f);
      end
      13: begin
        h = sf_open("quantize", "qint8");
        $display("%s", sf_predict_line(h, "1 2"));
      end
      14: begin
        h = sf_open("mul", "tf32", "", "riscv");
        $display("%s", sf_predict_line(h, $sformatf("%h %h", 19'h1fc00, 19'h20000)));
        $display("%s", sf_predict_line(h, " 7fc01  1fc00 "));
        operands = new[2];
        operands = '{128'h00001, 128'h1fb00};
        r = sf_predict(h, operands, f);
        $display("%h %h", r[18:0], f);
        r = sf_predict2(h, 128'h3fc00, 0, f);
        $display("%h %h", r[18:0], f);
      end
      default: $display("PASS: 1 of 1 vectors");  // it was built
    endcase
    $display("END");
    $finish(0);
  end
endmodule
