"""Layers: forward and backward written out, every product and result through `Numerics`."""

from softfloat_ref.nn.layers.activations import Dropout, Flatten, ReLU, Sigmoid, Tanh
from softfloat_ref.nn.layers.base import Layer, Residual, Sequential
from softfloat_ref.nn.layers.conv import Conv2d
from softfloat_ref.nn.layers.linear import Embedding, Linear
from softfloat_ref.nn.layers.loss import Loss, softmax_cross_entropy
from softfloat_ref.nn.layers.lstm import LSTM
from softfloat_ref.nn.layers.norms import BatchNorm, LayerNorm
from softfloat_ref.nn.layers.pooling import AvgPool, GlobalAvgPool, MaxPool

__all__ = [
    "LSTM",
    "AvgPool",
    "BatchNorm",
    "Conv2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "GlobalAvgPool",
    "Layer",
    "LayerNorm",
    "Linear",
    "Loss",
    "MaxPool",
    "ReLU",
    "Residual",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "softmax_cross_entropy",
]


def __dir__() -> list[str]:
    return sorted(__all__)
