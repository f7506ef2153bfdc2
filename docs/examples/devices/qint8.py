"""A quantizer to qint8 that rounds halves up."""

import sys

from softfloat_ref import Policy, unit

quantizer = unit("quantize", "qint8", policy=Policy(rounding="rnu"))
for line in sys.stdin:
    print(f"{quantizer.answer([int(x, 16) for x in line.split()])[0]:02x}", flush=True)
