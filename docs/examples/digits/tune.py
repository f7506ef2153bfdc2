# SPDX-License-Identifier: 0BSD
"""Quantizes the classifier of network.py to weights of two bits, fine-tunes it, and writes its golden vectors."""

from __future__ import annotations

import sys

import torch
from network import FILE, accuracy, examples, network, train

from softfloat_ref.torch import quantized, write_trace

x, y, *test = examples()
plain = network()
plain.load_state_dict(torch.load(FILE))
print(f"as it is:   {accuracy(plain, *test):.0%} right")

model = quantized(plain, {"weight": "qint2", "activation": "mxfp8"})
print(f"quantized:  {accuracy(model, *test):.0%}")

train(model, x, y, epochs=3, rate=0.01)
tuned = accuracy(model, *test)
print("fine-tuned: more than 90%" if tuned > 0.9 else f"fine-tuned: {tuned:.0%}")

write_trace(model.eval(), sys.argv[1], test[0][:8])
