# SPDX-License-Identifier: 0BSD
"""The model under test: a fused multiply-add of fp16 codes, computed in float64, which is wide enough."""

import math
import struct


def value(bits: int) -> float:
    """The number a code stands for."""
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def code(x: float) -> int:
    """A number rounded to fp16."""
    try:
        return 0x7E00 if math.isnan(x) else struct.unpack("<H", struct.pack("<e", x))[0]
    except OverflowError:
        return 0xFC00 if x < 0 else 0x7C00


def multiply_add(a: int, b: int, c: int) -> int:
    """a * b + c."""
    return code(value(a) * value(b) + value(c))
