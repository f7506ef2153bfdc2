// A stub, not UVM: just enough of the classes of IEEE 1800.2, under their names, that the types of a generated package can
// be checked, and a test of one level be run, where the library is not at hand. No factory, no configuration, no reports.
package uvm_pkg;

  typedef class uvm_component;
  typedef class uvm_comparer;

  class uvm_phase;
    function void raise_objection(uvm_component by); endfunction
    function void drop_objection(uvm_component by); endfunction
  endclass

  virtual class uvm_object;
    local string m_name;
    function new(string name = ""); m_name = name; endfunction
    virtual function string get_type_name(); return ""; endfunction
    virtual function uvm_object create(string name = ""); return null; endfunction
    virtual function uvm_object clone();
      uvm_object made = create(m_name);
      made.copy(this);
      return made;
    endfunction
    function void copy(uvm_object rhs); do_copy(rhs); endfunction
    virtual function void do_copy(uvm_object rhs); endfunction
    function bit compare(uvm_object rhs); return do_compare(rhs, null); endfunction
    virtual function bit do_compare(uvm_object rhs, uvm_comparer comparer); return 1; endfunction
    virtual function string convert2string(); return ""; endfunction
  endclass

  class uvm_comparer;
  endclass

  virtual class uvm_sequence_item extends uvm_object;
    function new(string name = ""); super.new(name); endfunction
  endclass

  virtual class uvm_component extends uvm_object;
    uvm_component children[$];
    function new(string name, uvm_component parent);
      super.new(name);
      if (parent != null) parent.children.push_back(this);
    endfunction
    virtual function void build_phase(uvm_phase phase); endfunction
    virtual function void connect_phase(uvm_phase phase); endfunction
    virtual task run_phase(uvm_phase phase); endtask
    virtual function void check_phase(uvm_phase phase); endfunction
    virtual function void report_phase(uvm_phase phase); endfunction
  endclass

  virtual class uvm_test extends uvm_component;
    function new(string name, uvm_component parent); super.new(name, parent); endfunction
  endclass

  virtual class uvm_scoreboard extends uvm_component;
    function new(string name, uvm_component parent); super.new(name, parent); endfunction
  endclass

  class uvm_object_registry #(type T = int);
    static function T create(string name); T made = new(name); return made; endfunction
  endclass

  class uvm_component_registry #(type T = int);
    static function T create(string name, uvm_component parent); T made = new(name, parent); return made; endfunction
  endclass

  virtual class uvm_stub_target #(type T = int);
    pure virtual function void write(T t);
  endclass

  class uvm_analysis_imp #(type T = int, type IMP = int) extends uvm_stub_target #(T);
    local IMP imp;
    function new(string name, IMP imp); this.imp = imp; endfunction
    virtual function void write(T t); imp.write(t); endfunction
  endclass

  class uvm_analysis_port #(type T = int);
    local uvm_stub_target #(T) targets[$];
    function new(string name, uvm_component parent); endfunction
    function void connect(uvm_stub_target #(T) target); targets.push_back(target); endfunction
    function void write(T t); foreach (targets[i]) targets[i].write(t); endfunction
  endclass

  virtual class uvm_subscriber #(type T = int) extends uvm_component;
    uvm_analysis_imp #(T, uvm_subscriber #(T)) analysis_export;
    function new(string name, uvm_component parent);
      super.new(name, parent);
      analysis_export = new("analysis_export", this);
    endfunction
    pure virtual function void write(T t);
  endclass

  // What run_test does, for a test whose components have no components of their own.
  task automatic uvm_stub_run(uvm_component test);
    uvm_phase phase = new;
    test.build_phase(phase);
    foreach (test.children[i]) test.children[i].build_phase(phase);
    test.connect_phase(phase);
    test.run_phase(phase);
    foreach (test.children[i]) test.children[i].check_phase(phase);
    foreach (test.children[i]) test.children[i].report_phase(phase);
  endtask

endpackage
