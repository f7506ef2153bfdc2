#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: the reference of the onnx package casts 2^-127 to FLOAT8E8M0 as code 01, which is 2^-126, when it rounds up, the
# default, though code 00 is 2^-127 exactly. 2^-127 is subnormal in FP32, and the code takes its mantissa for a fraction
# that is to be rounded up. Rounding to the nearest and down give 00. A cast of the value of code 00 does not come back.
#
# Standard: ONNX, Float stored in 8 bits, FLOAT8E8M0: the type of OCP Microscaling Formats (MX) 1.0, 5.4.1, whose code 00
# is 2^-127; operator Cast, round_mode "up": "round to nearest value away from zero". A number of the type is not rounded.
#
# Seen with onnx 1.23.2, on Linux x86-64.
#
# Run: bash findings/onnx_reference_e8m0.sh
# It installs the package in a temporary virtual environment, and needs python3 (3.11 or newer) and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q onnx==1.23.2 numpy==2.4.6

cat > cast.py <<'PYTHON'
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

DESCRIBED = {"up": [1, 1, 2], "nearest": [0, 1, 2], "down": [0, 1, 2]}

x = np.array([2.0**-127, 2.0**-126, 2.0**-125], np.float32)
print("onnx", onnx.__version__)
seen = {}
for mode in DESCRIBED:
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E8M0, round_mode=mode)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT8E8M0, x.shape)
    graph = helper.make_graph([node], "cast", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
    onnx.checker.check_model(model)
    seen[mode] = ReferenceEvaluator(model).run(None, {"x": x})[0].view(np.uint8).tolist()
    print(f"2^-127, 2^-126, 2^-125 with round_mode {mode}: codes", *(f"{code:02x}" for code in seen[mode]))
sys.exit(0 if seen == DESCRIBED else 1)
PYTHON

if venv/bin/python cast.py; then
  echo "as described: 2^-127 is rounded up to 2^-126"
else
  echo "the behaviour has changed"
  exit 1
fi
