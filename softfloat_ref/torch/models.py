"""`quantized`: a model with its products quantized."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch

from softfloat_ref.base.errors import Error
from softfloat_ref.torch.layers import attach
from softfloat_ref.torch.recipes import find_recipe


def quantized(model: Any, recipe: Any, *, exempt: Sequence[str] = (), seed: int | None = None) -> Any:
    """A copy of a model whose linear and convolution layers quantize by role, forward and backward, with the bits of
    the layers of `softfloat_ref.nn`; activation functions too where the recipe has a format for them.

    recipe: a training recipe by name, file or value; or formats by role ({"weight": "mxfp4", "activation": "mxfp4"});
    or one format, for weights, activations and errors. exempt: layers to leave as they are: "first", "last", a kind
    ("linear", "conv") or patterns of names. seed: of stochastic rounding (default: the recipe's).

    The copy has its own parameters, so give those to the optimizer. Raises Error, also for layers with products that
    are not supported and not exempt, and if no layer is quantized.
    """
    if not isinstance(model, torch.nn.Module):
        raise Error(f"{type(model).__name__} is not a torch module")
    found, made = find_recipe(recipe, exempt), copy.deepcopy(model)
    # As in numpy's networks, a model of one layer has its kind as a name.
    modules = {name or type(module).__name__.lower(): module for name, module in made.named_modules()}
    attach(modules, found, seed, made)
    return made
