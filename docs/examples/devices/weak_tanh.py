# SPDX-License-Identifier: 0BSD
"""A weak tanh for bf16: its operand below 2^-8, straight lines between 17 points, cut to bf16, and 1 from 4 on."""

import math
import struct
import sys

POINTS = [math.floor(math.tanh(i / 4) * 1024) / 1024 for i in range(17)]


def tanh(x: float) -> float:
    size = abs(x)
    if math.isnan(x):
        return x
    if size < 2**-8:
        return x
    if size >= 4:
        return math.copysign(1.0, x)
    at = int(size * 4)
    y = POINTS[at] + (size * 4 - at) * (POINTS[at + 1] - POINTS[at])
    return math.copysign(y, x)


for line in sys.stdin:
    (x,) = struct.unpack(">f", bytes.fromhex(line.strip()) + b"\0\0")
    print(struct.pack(">f", tanh(x))[:2].hex(), flush=True)
