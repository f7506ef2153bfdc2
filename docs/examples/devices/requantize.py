"""A requantizer that rounds the product once."""

import sys

for line in sys.stdin:
    accumulator, multiplier, shift, zero_point = (int(word, 16) for word in line.split())
    accumulator -= accumulator >> 31 << 32
    multiplier -= multiplier >> 31 << 32
    shift -= shift >> 5 << 6
    zero_point -= zero_point >> 7 << 8
    q = (accumulator * multiplier + (1 << 30 - shift) >> 31 - shift) + zero_point
    print(f"{min(max(q, -128), 127) & 0xFF:02x}", flush=True)
