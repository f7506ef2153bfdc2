# SPDX-License-Identifier: 0BSD
"""Records the input of one layer of the classifier in ../digits for eight images: activations.npz."""

import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "digits"))
from network import FILE, examples, network

model = network()
model.load_state_dict(torch.load(FILE))
taken = {}
model[2].register_forward_hook(lambda layer, inputs, output: taken.update(x=inputs[0].detach().numpy()))
model.eval()(examples()[2][:8])
np.savez("activations.npz", **taken)
print("x", *taken["x"].shape)
