"""Layers: forward and backward written out, every product and result through `Numerics`."""

from typing import Final

from softfloat_ref.nn.layers.activations import GELU, Dropout, Flatten, GELUTanh, ReLU, Sigmoid, SiLU, Tanh
from softfloat_ref.nn.layers.attention import Attention
from softfloat_ref.nn.layers.base import Layer, Residual, Sequential
from softfloat_ref.nn.layers.conv import Conv2d, ConvTranspose2d
from softfloat_ref.nn.layers.embeddings import Embedding, Positions, TiedLinear
from softfloat_ref.nn.layers.gan import LeakyReLU, Noise, Scale, binary_cross_entropy
from softfloat_ref.nn.layers.linear import Linear
from softfloat_ref.nn.layers.loss import Loss, softmax_cross_entropy
from softfloat_ref.nn.layers.lstm import LSTM
from softfloat_ref.nn.layers.norms import BatchNorm, LayerNorm, RMSNorm
from softfloat_ref.nn.layers.pooling import AvgPool, GlobalAvgPool, MaxPool

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
KINDS: Final = tuple(
    dict.fromkeys(
        x.kind
        for x in list(globals().values())
        if isinstance(x, type) and issubclass(x, Layer) and x not in (Layer, Sequential)
    )
)


def __dir__() -> list[str]:
    return sorted(__all__)
