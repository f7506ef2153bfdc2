"""Layers: forward and backward written out, every product and result through `Numerics`."""

from typing import Final

from softfloat_ref.nn.layers.activations import (
    GELU,
    Dropout,
    Flatten,
    GELUTanh,
    LeakyReLU,
    Noise,
    ReLU,
    Scale,
    Sigmoid,
    SiLU,
    Tanh,
)
from softfloat_ref.nn.layers.attention import Attention
from softfloat_ref.nn.layers.base import Layer, Residual, Sequential
from softfloat_ref.nn.layers.conv import AvgPool, Conv2d, ConvTranspose2d, GlobalAvgPool, MaxPool
from softfloat_ref.nn.layers.linear import Embedding, Linear, Positions, TiedLinear
from softfloat_ref.nn.layers.loss import Loss, binary_cross_entropy, softmax_cross_entropy
from softfloat_ref.nn.layers.lstm import LSTM
from softfloat_ref.nn.layers.norms import BatchNorm, LayerNorm, RMSNorm

__all__ = [
    "GELU",
    "KINDS",
    "LSTM",
    "Attention",
    "AvgPool",
    "BatchNorm",
    "Conv2d",
    "ConvTranspose2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "GELUTanh",
    "GlobalAvgPool",
    "Layer",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "Loss",
    "MaxPool",
    "Noise",
    "Positions",
    "RMSNorm",
    "ReLU",
    "Residual",
    "Scale",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Tanh",
    "TiedLinear",
    "binary_cross_entropy",
    "softmax_cross_entropy",
]

# What recipes select layers by.
KINDS: Final = (
    *("gelu", "dropout", "flatten", "gelu_tanh", "relu", "sigmoid", "silu", "tanh", "attention", "residual", "conv"),
    *("embedding", "linear", "noise", "scale", "lstm", "norm", "pool"),
)


def __dir__() -> list[str]:
    return sorted(__all__)
