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

# A class of each kind, which recipes select layers by.
_CLASSES: Final = (
    *(GELU, Dropout, Flatten, GELUTanh, ReLU, Sigmoid, SiLU, Tanh, Attention, Residual, Conv2d),
    *(Embedding, Linear, Noise, Scale, LSTM, BatchNorm, MaxPool),
)
KINDS: Final = tuple(layer.kind for layer in _CLASSES)


def __dir__() -> list[str]:
    return sorted(__all__)
