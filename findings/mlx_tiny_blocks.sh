#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: mx.quantize on a CPU does not clamp the exponent of a block's scale, which wraps around. In mode mxfp4 a block
# whose largest value is 2^-126 gets the scale byte FF, which is E8M0's NaN (MLX decodes it to Inf); one of 2^-130 gets FB,
# so that 7.3e-40 comes back as 8.5e+37. In mode mxfp8 this begins at 2^-124. Such values are ordinary FP32 numbers, the
# larger ones of them normal; one tiny block gives Inf in the weights.
#
# Standard: OCP Microscaling Formats (MX) 1.0: a scale of E8M0 is 2^-127 at least (byte 00), and FF is NaN (5.4.1). A
# block too small for the smallest scale has to have that one, or zeros.
#
# Seen with mlx 0.32.4 and mlx-cpu 0.32.4, on Linux x86-64.
#
# Run: bash findings/mlx_tiny_blocks.sh
# It installs the packages in a temporary virtual environment, and needs python3 (3.11 or newer) and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q mlx==0.32.4 mlx-cpu==0.32.4 numpy==2.4.6

cat > blocks.py <<'PYTHON'
import sys
from importlib.metadata import version

import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)
DESCRIBED = {
    ("mxfp4", -125): (0x00, 2.0**-125),
    ("mxfp4", -126): (0xFF, float("inf")),
    ("mxfp4", -130): (0xFB, 2.0**126),
    ("mxfp8", -110): (0x09, 2.0**-110),
    ("mxfp8", -124): (0xFB, float("inf")),
    ("mxfp8", -130): (0xF5, 2.0**126),
}

print("mlx", version("mlx"))
seen = {}
for mode, exponent in DESCRIBED:
    options = {"mode": mode, "group_size": 32, "bits": 4 if mode == "mxfp4" else 8}
    x = np.zeros((1, 32), np.float32)
    x[0, 0] = 2.0**exponent
    codes, scales = mx.quantize(mx.array(x), **options)
    value = float(mx.dequantize(codes, scales, **options).astype(mx.float32)[0, 0])
    print(f"{mode}, largest 2^{exponent}: scale byte {int(scales[0, 0]):02x}, value back {value:.7g}")
    seen[mode, exponent] = (int(scales[0, 0]), value)
sys.exit(0 if seen == DESCRIBED else 1)
PYTHON

if venv/bin/python blocks.py; then
  echo "as described: the scale byte wraps around"
else
  echo "the behaviour has changed"
  exit 1
fi
