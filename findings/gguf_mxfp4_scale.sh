#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: gguf's Python quantizer computes the exponent of an MXFP4 block as floor(log2(amax)) in FP32. Where amax is just
# below a power of two, FP32's logarithm is that integer, and the scale is one binade too high: a block whose largest
# value is 7.9999995 gets scale 2 (byte 80), and one of 7.999999 gets scale 1 (byte 7F). The larger scale halves the
# resolution of the whole block: 1.5 and 0.5 come back as 1 and 0, not as 1.5 and 0.5.
#
# Standard: OCP Microscaling Formats (MX) 1.0, 6.3: the scale is "the largest power-of-two less than or equal to the
# maximum absolute value", divided by the largest power-of-two of the element type: for 7.9999995, 4 / 4 = 1.
#
# Seen with gguf 0.19.0 and numpy 2.4.6, on Linux x86-64.
#
# Run: bash findings/gguf_mxfp4_scale.sh
# It installs the packages in a temporary virtual environment, and needs python3 (3.11 or newer) and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q gguf==0.19.0 numpy==2.4.6

cat > blocks.py <<'PYTHON'
import math
import sys
from importlib.metadata import version

import numpy as np
from gguf.quants import MXFP4

DESCRIBED = [(7.9999995, 128, [8.0, 1.0, 0.0]), (7.999999, 127, [6.0, 1.5, 0.5]), (1048575.94, 145, [1048576.0, 0.0, 0.0])]

print("gguf", version("gguf"), "numpy", np.__version__)
seen = []
for largest, _, _ in DESCRIBED:
    x = np.zeros((1, 32), np.float32)
    x[0, :3] = largest, 1.5, 0.5
    block = MXFP4.quantize_blocks(x)
    values = MXFP4.dequantize_blocks(block)[0, :3].tolist()
    exact = math.frexp(float(x[0, 0]))[1] - 1 - 2 + 127  # floor(log2) from the bits
    print(f"largest {float(x[0, 0]):.9g}: scale byte {block[0, 0]:02x}, by the standard {exact:02x}; values back {values}")
    seen.append((largest, int(block[0, 0]), values))
sys.exit(0 if seen == DESCRIBED else 1)
PYTHON

if venv/bin/python blocks.py; then
  echo "as described: the scale is one binade too high just below a power of two"
else
  echo "the behaviour has changed"
  exit 1
fi
