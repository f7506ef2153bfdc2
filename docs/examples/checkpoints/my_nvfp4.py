# SPDX-License-Identifier: 0BSD
"""A quantizer to be compared with vLLM's: NVFP4 in numpy. Reads 16 values and the tensor's scale (2688 / amax) a line,
as hexadecimal codes of FP32; prints the block's scale (E4M3) and 16 elements (E2M1). With the argument `reciprocal`, it
multiplies by the reciprocal of the scale where it should divide."""

import sys

import ml_dtypes
import numpy as np

GRID = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
ODD = np.arange(8) % 2 == 1


def block(values: np.ndarray, tensor_scale: np.float32) -> list[int]:
    amax = np.abs(values).max()
    wanted = np.minimum(amax / np.float32(6) * tensor_scale, np.float32(448))
    scale = wanted.astype(ml_dtypes.float8_e4m3fn)
    if scale == 0:
        scale = ml_dtypes.float8_e4m3fn(0.125)
    by = np.float32(scale) / tensor_scale
    quotients = values * (np.float32(1) / by) if "reciprocal" in sys.argv else values / by
    magnitudes = np.abs(quotients)[:, np.newaxis]
    middles = (GRID[1:] + GRID[:-1]) / 2
    codes = ((magnitudes > middles) | ((magnitudes == middles) & ODD[:-1])).sum(axis=1)
    signs = (quotients < 0) * 8
    return [int(scale.view(np.uint8)), *(codes + signs).tolist()]


for line in sys.stdin:
    *values, tensor_scale = np.array([int(word, 16) for word in line.split()], np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        print(*(f"{code:x}" for code in block(np.array(values), tensor_scale)), flush=True)
