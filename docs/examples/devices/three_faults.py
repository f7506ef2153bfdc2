"""An fp16 multiplier with three faults: it truncates, never raises underflow, and loses the sign of zeros."""

import sys

from softfloat_ref import Policy, evaluate

for line in sys.stdin:
    code, flags = evaluate("mul", [int(x, 16) for x in line.split()], "fp16", policy=Policy(rounding="rtz"))
    print(f"{code if code & 0x7FFF else 0:04x} {int(flags) & ~2:02x}", flush=True)
