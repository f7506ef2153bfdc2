"""A quantizer to qint8 that rounds halves up."""

import sys

from softfloat_ref import Policy
from softfloat_ref.units import make_unit

unit = make_unit("quantize", "qint8", policy=Policy(rounding="rnu"))
for line in sys.stdin:
    print(f"{unit.answer([int(x, 16) for x in line.split()])[0]:02x}", flush=True)
