"""`quantized`: a model with its products quantized."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch

from softfloat_ref.base.errors import Error
from softfloat_ref.torch.layers import attach
from softfloat_ref.torch.recipes import find_recipe

_SHOWN_NAMES: Final = 4  # modules of a type in a warning


def quantized(model: Any, recipe: Any, *, exempt: Sequence[str] = (), seed: int | None = None) -> Any:
    """A copy of a model whose linear and convolution layers quantize by role, forward and backward, with the bits of
    the layers of `softfloat_ref.nn`; activation functions too where the recipe has a format for them.

    recipe: a training recipe by name, file or value; or formats by role ({"weight": "mxfp4", "activation": "mxfp4"});
    or one format, for weights, activations and errors. exempt: layers to leave as they are: "first", "last", a kind
    ("linear", "conv"), a type in lower case ("embedding") or patterns of names. seed: of stochastic rounding (default:
    the recipe's).

    The copy has its own parameters, so give those to the optimizer. A call of it, or of a part of it, raises Error if a
    quantized layer's parameters are used other than by its quantized forward, or if no layer is quantized. Warns of
    other modules with parameters of two or more dimensions, which stay torch's, unless they are exempt. Raises Error,
    also for layers with products that are not supported and not exempt, and if no layer is to be quantized.
    """
    if not isinstance(model, torch.nn.Module):
        raise Error(f"{type(model).__name__} is not a torch module")
    training_recipe, clone = find_recipe(recipe, exempt), _copy(model)
    # As in numpy's networks, a model of one layer has its kind as a name.
    modules = {name or type(module).__name__.lower(): module for name, module in clone.named_modules()}
    left = attach(modules, training_recipe, seed, clone)
    if left:
        warnings.warn(_warning({name: type(modules[name]).__name__ for name in left}), stacklevel=2)
    return clone


def _copy(model: Any) -> Any:
    try:
        return copy.deepcopy(model)
    except (RuntimeError, TypeError, ValueError) as e:  # parameters that hooks compute, or that have no shape yet
        why = str(e).partition("\n")[0].partition(". ")[0]
        what = "remove weight_norm, prune and the like, and run lazy modules once"
        raise Error(f"the model cannot be copied: {why}; {what}") from None


def _warning(types: Mapping[str, str]) -> str:
    """Modules that stay as they are, of the types given by name."""
    parts = []
    for kind in dict.fromkeys(types.values()):
        names = [name for name in types if types[name] == kind]
        more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
        parts.append(f"{kind}: {', '.join(names[:_SHOWN_NAMES])}{more}")
    return f"not quantized, though they have weights: {'; '.join(parts)}; exempt them to say that this is meant"
