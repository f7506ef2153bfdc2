"""The operations of a trace, by name."""

from __future__ import annotations

from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.affine import Affine, AffineRange, AffineValues
from softfloat_ref.golden.trace.arithmetic import (
    Binary,
    MaxPool,
    MaxPoolGradient,
    Patches,
    PatchSum,
    PixelSum,
    Relu,
    ReluGradient,
    Root,
    RowSum,
    WindowFill,
    WindowSum,
)
from softfloat_ref.golden.trace.case import Operation
from softfloat_ref.golden.trace.conversions import Convert, Dequantize, Matmul, Quantize, Random
from softfloat_ref.golden.trace.functions import Function, Hadamard, LastMax, LastSum, OneHot
from softfloat_ref.golden.trace.model import Node
from softfloat_ref.golden.trace.selections import (
    Causal,
    Concatenate,
    Gather,
    Inside,
    Keep,
    Leak,
    ScatterSum,
    Slice,
    Transpose,
    Uniform,
)

SELECTIONS: Final = (
    "patches",
    "gather",
    "slice",
    "concatenate",
    "transpose",
)  # which keep the format of what they choose from

OPERATIONS: Final[dict[str, Operation]] = {
    "random": Random(),
    "convert": Convert(),
    "quantize": Quantize(),
    "dequantize": Dequantize(),
    "matmul": Matmul(),
    **{name: Binary(name) for name in ("add", "sub", "mul", "div")},
    "relu": Relu(),
    "relu_gradient": ReluGradient(),
    "row_sum": RowSum(),
    "pixel_sum": PixelSum(),
    "patches": Patches(),
    "patch_sum": PatchSum(),
    "max_pool": MaxPool(),
    "max_pool_gradient": MaxPoolGradient(),
    "gather": Gather(),
    "scatter_sum": ScatterSum(),
    "slice": Slice(),
    "concatenate": Concatenate(),
    "transpose": Transpose(),
    "causal": Causal(),
    "inside": Inside(),
    "keep": Keep(),
    "leak": Leak(),
    "uniform": Uniform(),
    "sqrt": Root(),
    **{name: Function(name) for name in ("exp", "sigmoid", "tanh", "erf", "gelu", "gelu_tanh", "silu")},
    "last_sum": LastSum(),
    "last_max": LastMax(),
    "hadamard": Hadamard(),
    "one_hot": OneHot(),
    "window_sum": WindowSum(),
    "window_fill": WindowFill(),
    "affine_range": AffineRange(),
    "affine": Affine(),
    "affine_values": AffineValues(),
}


def operation(node: Node) -> Operation:
    """The operation of a node. Raises Error."""
    if node.op not in OPERATIONS:
        raise Error("this version does not have the operation")
    return OPERATIONS[node.op]
