"""The names that a model, a layer, an optimizer or a data set of a user's own is written with, besides the layers."""

from softfloat_ref.nn.data import Dataset
from softfloat_ref.nn.layers.base import Array, Layer
from softfloat_ref.nn.models import Input
from softfloat_ref.nn.numerics import Numerics
from softfloat_ref.nn.optimizers import Optimizer, State, stored

__all__ = ["Array", "Dataset", "Input", "Layer", "Numerics", "Optimizer", "State", "stored"]


def __dir__() -> list[str]:
    return sorted(__all__)
