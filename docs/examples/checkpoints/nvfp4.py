# SPDX-License-Identifier: 0BSD
"""One matrix in NVFP4, as modelopt and as compressed-tensors store it, and as it was: three small files."""

import numpy as np
import torch
from safetensors.torch import save_file

import softfloat_ref as sf

x = np.load("vectors/tensors/char_weights.npy")
NAMES = {  # codes, scales of blocks, scale of the tensor
    "modelopt": ("weight", "weight_scale", "weight_scale_2"),
    "compressed-tensors": ("weight_packed", "weight_scale", "weight_global_scale"),
}

for producer, names in NAMES.items():
    q = sf.blocks.encode(x, "nvfp4", profile=f"{producer}-nvfp4")
    codes = torch.from_numpy(q.pack("low-first").data.reshape(len(x), -1))
    scales = torch.from_numpy(q.scales).view(torch.float8_e4m3fn)
    parts = (codes, scales, torch.tensor([q.tensor_scale]))
    save_file({f"gates.{name}": part for name, part in zip(names, parts, strict=True)}, f"{producer}.safetensors")
save_file({"gates.weight": torch.from_numpy(x)}, "original.safetensors")
