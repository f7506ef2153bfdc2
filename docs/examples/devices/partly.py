"""A multiplier of fp16 numbers that adds one to the exponent of results from 2^14 to 2^15."""

import sys

from softfloat_ref import evaluate

for line in sys.stdin:
    found = evaluate("mul", [int(x, 16) for x in line.split()], "fp16")
    code = found.bits + (0x400 if found.bits & 0x7C00 == 29 << 10 else 0)
    print(f"{code:04x} {int(found.flags):02x}", flush=True)
