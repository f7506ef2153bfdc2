// Vectors of the mixed unit `fpu` through its generated predictor and scoreboard. Plusargs plant what a circuit could do.
`include "uvm_macros.svh"

package fpu_test_pkg;

  import uvm_pkg::*;
  import fpu_uvm_pkg::*;

  class fpu_test extends uvm_test;

    `uvm_component_utils(fpu_test)

    uvm_analysis_port #(fpu_item) inputs, outputs;
    fpu_predictor                 predictor;
    fpu_scoreboard                scoreboard;

    function new(string name, uvm_component parent);
      super.new(name, parent);
      inputs  = new("inputs", this);
      outputs = new("outputs", this);
    endfunction

    virtual function void build_phase(uvm_phase phase);
      super.build_phase(phase);
      predictor         = fpu_predictor::type_id::create("predictor", this);
      scoreboard        = fpu_scoreboard::type_id::create("scoreboard", this);
      scoreboard.by_tag = 1'($test$plusargs("tags"));
      if ($test$plusargs("mask")) scoreboard.compared_flags = 5'h1e;
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
      if (sent.compare(item) != (sent.result == item.result && sent.flags == item.flags)) $display("FAIL: compare");
      outputs.write(sent);
      if (item.tag == 5 && $test$plusargs("twice")) outputs.write(sent);
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
