"""A quantized layer in evaluation as an operator of torch: one node in the graphs of torch.export, make_fx and
jit.trace, with the bits of the layer's own forward. The node has the layer's formats and ranges as a text, and its
parameters as tensors. It has no derivative.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch

from softfloat_ref.base.errors import Error
from softfloat_ref.base.trees import parse_json
from softfloat_ref.nn import layers
from softfloat_ref.nn.numerics import Numerics, RunState
from softfloat_ref.nn.tensor_format import TensorFormat
from softfloat_ref.torch import tensors
from softfloat_ref.torch.passes import array, tensor_of

NAME: Final = "softfloat_ref::quantized_layer"
_TYPES: Final[dict[str, Callable[[], layers.Layer]]] = {
    "Linear": lambda: layers.Linear(1, 1),
    "Conv2d": lambda: layers.Conv2d(1, 1),
    "ReLU": layers.ReLU,
    "Tanh": layers.Tanh,
    "Sigmoid": layers.Sigmoid,
}


def with_parameters(layer: layers.Layer, run: RunState, weight: Any, bias: Any) -> layers.Layer:
    """A copy of a numpy layer that has these parameters, for one call."""
    layer = copy.copy(layer)
    layer.numerics = copy.copy(layer.numerics)
    layer.numerics.run = run
    layer.params = {k: array(p, layer) for k, p in (("weight", weight), ("bias", bias)) if p is not None}
    if layer.kind == "linear" and bias is None:
        layer.params["bias"] = np.full(len(layer.params["weight"]), -0.0, np.float32)  # which changes no sum
    return layer


def check_input(x: Any, layer: layers.Layer, weight: Any) -> None:
    """Raise Error for a tensor whose shape or type the layer does not take."""
    tensors.check_layout(x, layer.name)
    tensors.check_type(x, layer.name, tensors.NARROW)
    shape, wanted = tuple(x.shape), ""
    if isinstance(layer, layers.Conv2d):
        smallest = layer.kernel - 2 * layer.padding
        if len(shape) != 4 or shape[1] != weight.shape[1] or min(shape[2:]) < smallest:
            wanted = f"(batch, {weight.shape[1]}, height, width), height and width at least {max(smallest, 1)}"
    elif weight is not None and shape[-1:] != tuple(weight.shape[1:]):
        wanted = f"(..., {weight.shape[1]})"
    elif weight is not None and not shape[-1]:
        wanted = "one that has values"
    if wanted:
        raise Error(f"{layer.name}: an input of shape {shape}; give {wanted}")


# -- a layer as text ---------------------------------------------------------------------------------------------------


def layer_text(layer: layers.Layer, run: RunState) -> str:
    """A layer without its parameters, and the run on which random bits depend."""
    numerics = layer.numerics
    table: dict[str, Any] = {
        "type": type(layer).__name__,
        "name": layer.name,
        "formats": {role: spec.to_value() for role, spec in numerics.specs.items()},
        "accumulator": numerics.accumulator,
        "hadamard": numerics.hadamard_size,
        "ranges": {key: np.asarray(values).tolist() for key, values in numerics.state().items()},
        "run": [run.seed, run.step],
    }
    if isinstance(layer, layers.Conv2d):
        table["sizes"] = [layer.kernel, layer.stride, layer.padding]
    return json.dumps(table, sort_keys=True)


@functools.lru_cache(maxsize=256)
def layer_of_text(text: str) -> tuple[layers.Layer, RunState]:
    """What `layer_text` wrote."""
    table = parse_json(text, NAME)
    if table["type"] not in _TYPES:
        raise Error(f"{NAME}: {table['type']!r} is not one of {', '.join(_TYPES)}")
    layer = _TYPES[table["type"]]()
    layer.params = {}
    if isinstance(layer, layers.Conv2d):
        layer.kernel, layer.stride, layer.padding = table["sizes"]
    seed, step = table["run"]
    run = RunState(seed, step, training=False)
    formats = {
        role: TensorFormat(**value) if isinstance(value, dict) else TensorFormat(value)
        for role, value in table["formats"].items()
    }
    layer.name = table["name"]
    layer.numerics = Numerics(layer.name, formats, table["accumulator"], run, table["hadamard"])
    layer.numerics.restore({key: np.array(values, np.float32) for key, values in table["ranges"].items()})
    return layer, run


# -- the operator ------------------------------------------------------------------------------------------------------


@torch.library.custom_op(NAME, mutates_args=(), schema="(Tensor x, Tensor? weight, Tensor? bias, str layer) -> Tensor")
def operator(x: Any, weight: Any, bias: Any, layer: str) -> Any:
    """The layer's output, in evaluation."""
    plain, run = layer_of_text(layer)
    check_input(x, plain, weight)
    if not x.numel():
        return _shape(x, weight, bias, layer)
    own = with_parameters(plain, RunState(run.seed, run.step, training=False), weight, bias)
    with np.errstate(over="ignore", invalid="ignore"):
        y = own.forward(array(x, own))
    return tensor_of(np.array(y), x, own)


@operator.register_fake
def _shape(x: Any, weight: Any, bias: Any, layer: str) -> Any:
    plain, _ = layer_of_text(layer)
    check_input(x, plain, weight)
    if isinstance(plain, layers.Conv2d):
        sizes = [(n + 2 * plain.padding - plain.kernel) // plain.stride + 1 for n in x.shape[2:]]
        return x.new_empty((x.shape[0], weight.shape[0], *sizes))
    return x.new_empty(tuple(x.shape) if weight is None else (*x.shape[:-1], weight.shape[0]))
