"""`quantized`: a model with its products quantized. `write_trace`: the golden vectors of its forward pass."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.files import refuse_other
from softfloat_ref.golden.trace.files import write_trace as write_files
from softfloat_ref.golden.trace.recorder import Recorder
from softfloat_ref.nn.numerics import RunState
from softfloat_ref.torch.layers import QuantizedLayer, attach, find_recipe
from softfloat_ref.torch.passes import ForwardRecording

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
    unquantized = attach(modules, training_recipe, seed, clone)
    if unquantized:
        warnings.warn(_warning({name: type(modules[name]).__name__ for name in unquantized}), stacklevel=2)
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


def write_trace(model: Any, folder: str | Path, *inputs: Any) -> Any:
    """Run a model from `quantized`, in evaluation, and write every tensor of its quantized layers into a folder, with
    the operations between them: a golden trace, as `softfloat-ref vectors verify` recomputes it. Returns the model's
    output.

    inputs: what the model is called with. A layer's input, weight and bias are given tensors; what torch computes
    between layers is not recorded. Products that the recipe leaves to BLAS, whose order of additions is undefined, are
    added up by mx-fp32 (blocks) or fp32-sequential here, so that the output may differ in its last bits. Raises Error
    for a model without quantized layers or in training mode, for a call of it in which no product or function was
    quantized, and for a folder that holds vectors. Nothing is written then.
    """
    clocks = dict.fromkeys(m._clock for m in model.modules() if isinstance(m, QuantizedLayer))
    if len(clocks) != 1:
        which = "layers of several quantized models" if clocks else "no quantized layers"
        raise Error(f"a model with {which}; give one from softfloat_ref.torch.quantized")
    (clock,) = clocks
    if model.training:
        raise Error("the model is in training mode; call its eval() first")
    folder, recorder = Path(folder), Recorder()
    refuse_other(folder)
    clock.recording = ForwardRecording(recorder, RunState(clock.seed, clock.step, training=False, phase="forward"))
    try:
        with torch.no_grad():
            y = model(*inputs)
    finally:
        clock.recording = None
    trace = recorder.trace(clock.recipe.name, clock.recipe.to_toml(), 0)
    write_files(trace, recorder.codes, folder)
    return y
