"""The unit of a folder of vectors, except that it truncates sums that it should round up."""

import dataclasses
import json
import sys
from pathlib import Path

from softfloat_ref import VectorSet

unit = VectorSet.from_dict(json.loads(Path(sys.argv[1], "manifest.json").read_text())["set"]).unit
for line in sys.stdin:
    part, operands = unit.selected([int(x, 16) for x in line.split()])
    if part.op == "add" and part.properties()["rounding"] == "rup":
        part = dataclasses.replace(part, policy=part.policy.replace(rounding="rtz"))
    code, flags = part.answer(operands)
    print(f"{unit.padded(code, part.out, 32):x} {int(flags):02x}", flush=True)
