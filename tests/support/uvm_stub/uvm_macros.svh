// A stub: see uvm_pkg.sv.
`ifndef UVM_STUB
`define UVM_STUB

`define uvm_object_utils(T) \
  typedef uvm_pkg::uvm_object_registry #(T) type_id; \
  virtual function string get_type_name(); return `"T`"; endfunction \
  virtual function uvm_pkg::uvm_object create(string name = ""); \
    T made = new(name); \
    return made; \
  endfunction

`define uvm_component_utils(T) \
  typedef uvm_pkg::uvm_component_registry #(T) type_id; \
  virtual function string get_type_name(); return `"T`"; endfunction

`define uvm_analysis_imp_decl(SUFFIX) \
  class uvm_analysis_imp``SUFFIX #(type T = int, type IMP = int) extends uvm_pkg::uvm_stub_target #(T); \
    local IMP imp; \
    function new(string name, IMP imp); this.imp = imp; endfunction \
    virtual function void write(T t); imp.write``SUFFIX(t); endfunction \
  endclass

`define uvm_info(ID, MESSAGE, VERBOSITY) $display("UVM_INFO [%s] %s", ID, MESSAGE);
`define uvm_error(ID, MESSAGE) $display("UVM_ERROR [%s] %s", ID, MESSAGE);
`define uvm_fatal(ID, MESSAGE) $fatal(1, "UVM_FATAL [%s] %s", ID, MESSAGE);

`endif
