"""The operations of a trace, by name."""

from __future__ import annotations

from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.affine import AffineIntegers, AffineRange, AffineValues
from softfloat_ref.golden.trace.arithmetic import (
    Binary,
    Patches,
    PatchSum,
    PixelSum,
    Relu,
    ReluGradient,
    RowSum,
    SquareRoot,
    WindowFill,
    WindowMax,
    WindowMaxGradient,
    WindowSum,
)
from softfloat_ref.golden.trace.case import NodeOperation
from softfloat_ref.golden.trace.conversions import Convert, DequantizeBlocks, Matmul, QuantizeBlocks, Random
from softfloat_ref.golden.trace.functions import Function, Hadamard, LastMax, LastSum, OneHot
from softfloat_ref.golden.trace.model import Node
from softfloat_ref.golden.trace.selections import (
    AxisSlice,
    Causal,
    Concatenate,
    Gather,
    Keep,
    Leak,
    ScatterSum,
    Transpose,
    Uniform,
    WithinLimit,
)

SELECTIONS: Final = (
    "patches",
    "gather",
    "slice",
    "concatenate",
    "transpose",
)  # which keep the format of what they choose from

OPERATIONS: Final[dict[str, NodeOperation]] = {
    "random": Random(),
    "convert": Convert(),
    "quantize": QuantizeBlocks(),
    "dequantize": DequantizeBlocks(),
    "matmul": Matmul(),
    **{name: Binary(name) for name in ("add", "sub", "mul", "div")},
    "relu": Relu(),
    "relu_gradient": ReluGradient(),
    "row_sum": RowSum(),
    "pixel_sum": PixelSum(),
    "patches": Patches(),
    "patch_sum": PatchSum(),
    "max_pool": WindowMax(),
    "max_pool_gradient": WindowMaxGradient(),
    "gather": Gather(),
    "scatter_sum": ScatterSum(),
    "slice": AxisSlice(),
    "concatenate": Concatenate(),
    "transpose": Transpose(),
    "causal": Causal(),
    "inside": WithinLimit(),
    "keep": Keep(),
    "leak": Leak(),
    "uniform": Uniform(),
    "sqrt": SquareRoot(),
    **{name: Function(name) for name in ("exp", "sigmoid", "tanh", "erf", "gelu", "gelu_tanh", "silu")},
    "last_sum": LastSum(),
    "last_max": LastMax(),
    "hadamard": Hadamard(),
    "one_hot": OneHot(),
    "window_sum": WindowSum(),
    "window_fill": WindowFill(),
    "affine_range": AffineRange(),
    "affine": AffineIntegers(),
    "affine_values": AffineValues(),
}


def operation_of(node: Node) -> NodeOperation:
    """The operation of a node. Raises Error."""
    if node.op not in OPERATIONS:
        raise Error("this version does not have the operation")
    return OPERATIONS[node.op]
