#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: three bits of NVIDIA modelopt's block formats that hardware does not have. (1) NVFP4: quantize gives a small
# negative value the code of -0 (8), and dequantize reads it as +0. (2) NVFP4: dequantize multiplies the scale of a block
# and that of the tensor, rounds to FP32, and multiplies the element: the last bit differs from that of the exact
# product, rounded once. (3) MXFP8: the scale is computed as ceil(log2(amax / 448)) in FP32, which is one too low where
# the logarithm is rounded down to an integer: with a largest value just above 448 * 2^-13 the scale is 2^-13, and the
# largest element saturates; just above 448 it is 2, as the rule says.
#
# Standard: E2M1 of OCP Microscaling Formats (MX) 1.0, 5.3.3, has a negative zero. No standard rounds the product of the
# scales (OCP MX 1.0, 6.3, leaves conversions to implementations), so (2) is only one of two results that are in use. (3)
# contradicts the rule in the code, the smallest power of two under which no element is beyond 448.
#
# Seen with nvidia-modelopt 0.47.0 and torch 2.13.0, on Linux x86-64.
#
# Run: bash findings/modelopt_blocks.sh
# It installs the packages in a temporary virtual environment, and needs python3 (3.11 or newer) and a network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 nvidia-modelopt==0.47.0 numpy==2.4.6 requests==2.34.2 huggingface_hub==2.4.0

cat > blocks.py <<'PYTHON'
import sys
import warnings
from importlib.metadata import version

import numpy as np
import torch

warnings.simplefilter("ignore")
from modelopt.torch.quantization.qtensor import MXFP8QTensor, NVFP4QTensor

SIZE = {-1: 16}

x = torch.zeros(1, 16)
x[0, 0], x[0, 1] = 6.0, -1e-9
q, scale, second = NVFP4QTensor.quantize(x, 16)
code = int(q._quantized_data[0, 0]) >> 4  # the second element
value = q.dequantize(scale=scale, double_scale=second, block_sizes=SIZE, dtype=torch.float32)[0, 1]
negative = bool(torch.signbit(value))
print("nvidia-modelopt", version("nvidia-modelopt"))
print(f"(1) -1e-9: code {code:x}, value back {float(value)!r}, sign {int(negative)}")

scale, second = torch.tensor([[1.125]]).to(torch.float8_e4m3fn), torch.tensor(0.06)
codes = torch.full((1, 8), 0x55, dtype=torch.uint8)  # elements of 3
q = NVFP4QTensor(torch.Size((1, 16)), torch.float32, codes)
theirs = np.float32(q.dequantize(scale=scale, double_scale=second, block_sizes=SIZE, dtype=torch.float32)[0, 0])
exact = np.float32(3 * 1.125 * float(second))  # exact in FP64, rounded once
print(f"(2) 3 * 1.125 * {float(second)!r}: {theirs.view(np.uint32):08x}; the exact product {exact.view(np.uint32):08x}")

scales = []
for exponent in (0, -13):
    largest = np.nextafter(np.float32(448 * 2.0**exponent), np.float32(np.inf))
    x = torch.zeros(1, 32)
    x[0, 0] = float(largest)
    scales.append(int(MXFP8QTensor.quantize(x)[1].reshape(-1)[0]) - 127)
    print(f"(3) largest value {largest!r}, above 448 * 2^{exponent}: scale 2^{scales[-1]}")
described = code == 8 and not negative and theirs != exact and scales == [1, -13]
sys.exit(0 if described else 1)
PYTHON

if venv/bin/python blocks.py; then
  echo "as described: the sign of a zero, the last bit of a product, and a scale that is one too low"
else
  echo "the behaviour has changed"
  exit 1
fi
