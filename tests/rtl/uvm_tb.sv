// Vectors of the mixed unit `fpu` through its generated predictor and scoreboard, and two blocks through the scoreboard of
// a quantizer. Plusargs plant what a circuit could do.
`include "uvm_macros.svh"

package fpu_test_pkg;

  import uvm_pkg::*;
  import fpu_uvm_pkg::*;
  import quantize_mxfp4_e2m1_uvm_pkg::*;

  class fpu_test extends uvm_test;

    `uvm_component_utils(fpu_test)

    uvm_analysis_port #(fpu_item)  inputs, outputs;
    fpu_predictor                  predictor;
    fpu_scoreboard                 scoreboard;
    quantize_mxfp4_e2m1_scoreboard blocks;

    function new(string name, uvm_component parent);
      super.new(name, parent);
      inputs  = new("inputs", this);
      outputs = new("outputs", this);
    endfunction

    virtual function void build_phase(uvm_phase phase);
      string rule;
      super.build_phase(phase);
      predictor         = fpu_predictor::type_id::create("predictor", this);
      scoreboard        = fpu_scoreboard::type_id::create("scoreboard", this);
      scoreboard.by_tag = 1'($test$plusargs("tags"));
      if ($test$plusargs("mask")) scoreboard.compared_flags = 5'h1e;
      if ($value$plusargs("compare_nan=%s", rule)) scoreboard.compare_nan = rule;
      if ($test$plusargs("blocks")) blocks = quantize_mxfp4_e2m1_scoreboard::type_id::create("blocks", this);
      if ($value$plusargs("nan_scale_elements=%s", rule)) blocks.nan_scale_elements = rule;
    endfunction

    virtual function void connect_phase(uvm_phase phase);
      inputs.connect(predictor.analysis_export);
      predictor.expected.connect(scoreboard.expected);
      outputs.connect(scoreboard.actual);
    endfunction

    virtual task run_phase(uvm_phase phase);
      fpu_item items[$], sent[$];
      phase.raise_objection(this);
      if (!$test$plusargs("none")) read(items);
      if (!$test$plusargs("early")) foreach (items[i]) inputs.write(items[i]);
      #1;
      sent = items;
      if ($test$plusargs("reverse")) sent.reverse();
      foreach (sent[i]) send(sent[i]);
      if ($test$plusargs("early")) foreach (items[i]) inputs.write(items[i]);
      if (blocks != null) compare_blocks();
      #1;
      phase.drop_objection(this);
    endtask

    function void send(fpu_item item);
      fpu_item sent;
      if (item.tag == 5 && $test$plusargs("drop")) return;
      if (!$cast(sent, item.clone()) || !sent.compare(item)) $display("FAIL: a clone differs");
      if (item.tag == 5 && $test$plusargs("wrong")) sent.result ^= 1;
      if (item.tag == 5 && $test$plusargs("inexact")) sent.flags ^= 1;
      if ($test$plusargs("all")) sent.result ^= 1;
      if ($test$plusargs("other_nan")) sent.result = other_nan(sent.result);
      if (sent.compare(item) != (sent.result == item.result && sent.flags == item.flags)) $display("FAIL: compare");
      outputs.write(sent);
      if (item.tag == 5 && $test$plusargs("twice")) outputs.write(sent);
    endfunction

    // Other results in place of some of fp16, in its box, and of fp32.
    function logic [31:0] other_nan(logic [31:0] result);
      int kind;
      void'($value$plusargs("other_nan=%d", kind));
      case ({result, kind})
        {32'hffff7e00, 32'd0}: return 32'hffffffff;
        {32'h7fc00000, 32'd0}: return 32'hffc00001;
        {32'hffff7e00, 32'd1}: return 32'hfffffdff;  // signaling
        {32'hffff7e00, 32'd2}: return 32'h00007e00;  // not in a box
        {32'hffff7e00, 32'd3}: return 32'hffff7c00;  // Inf
        {32'hffff0000, 32'd4}: return 32'hffff7e00;  // for zero
        default: return result;
      endcase
    endfunction

    // The first has the scale NaN, and other elements than expected; the second is as expected, but for a plusarg.
    function void compare_blocks();
      quantize_mxfp4_e2m1_item want, got;
      for (int i = 0; i < 2; i++) begin
        want = quantize_mxfp4_e2m1_item::type_id::create("want");
        want.values   = '0;
        want.scale    = i == 0 ? 8'hff : 8'h7f;
        want.elements = '0;
        if (!$cast(got, want.clone())) $display("FAIL: no clone");
        if (i == 0 || $test$plusargs("other")) got.elements[31] = 4'd3;
        if ($test$plusargs("finite")) got.scale = 8'h7f;
        blocks.write_expected(want);
        blocks.write_actual(got);
      end
    endfunction

    function void read(ref fpu_item items[$]);
      string path;
      int    file;
      void'($value$plusargs("lines=%s", path));
      file = $fopen(path, "r");
      forever begin
        fpu_item item = fpu_item::type_id::create("item");
        if ($fscanf(file, "%h %h %h %h %h %h %h %h %h", item.op, item.fmt, item.out, item.rounding, item.a, item.b,
                    item.c, item.result, item.flags) != 9) break;
        item.tag = items.size();
        items.push_back(item);
      end
      $fclose(file);
    endfunction

  endclass

endpackage

module uvm_tb;
  import uvm_pkg::*;
  import fpu_test_pkg::*;

`ifdef UVM_STUB
  initial begin
    fpu_test test;
    test = new("test", null);
    uvm_stub_run(test);
  end
`else
  initial run_test("fpu_test");
`endif
endmodule
