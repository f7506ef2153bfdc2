"""Features of images by a fixed classifier, and the distance between two sets of them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.base.trees import parse_toml
from softfloat_ref.nn import checkpoint
from softfloat_ref.nn.layers import Layer
from softfloat_ref.nn.models import Input, build
from softfloat_ref.nn.numerics import RunState

Array = NDArray[Any]
FILE: Final = Path(__file__).parent / "features.npz"  # the weights after `train fp32-cnn-features`
_CHANNELS: Final = 3
_OUTPUT_LAYER: Final = "output"  # the layer from features to classes


class Features:
    """What the last layer of the classifier takes: the weights are stored, so that distances of runs on different
    machines compare. channels: of the images. Raises Error for other than three."""

    def __init__(self, channels: int = _CHANNELS) -> None:
        if channels != _CHANNELS:
            raise Error(f"the distance of generated images is of {_CHANNELS} channels, not {channels}")
        self.network = _classifier()
        self._layers = [layer for name, layer in self.network.children().items() if name != _OUTPUT_LAYER]

    def of(self, images: Array) -> Array:
        """The features of images, one row each."""
        x = images
        for layer in self._layers:
            x = layer.forward(x)
        return x


@lru_cache(maxsize=1)
def _classifier() -> Layer:
    arrays, meta = checkpoint.load(FILE)
    classes = len(arrays["param/output.bias"])
    network = build(parse_toml(meta["recipe"], str(FILE))["model"], Input((1, 1, _CHANNELS), classes, 0))
    run = RunState(training=False)
    for name, layer in network.walk():
        layer.numerics.run = run
        for kind, target in (("param", layer.params), ("buffer", layer.buffers)):
            target |= {key: arrays[f"{kind}/{name}.{key}"] for key in target}
    return network


def frechet(a: Array, b: Array) -> float:
    """The squared Frechet distance between normal distributions with the means and covariances of two sets of rows:
    |m - n|^2 + trace(A + B - 2 sqrt(A B)); of the features of Inception-v3 it is called FID (Heusel et al., 2017).
    NaN where a feature is not finite."""
    if not all(np.isfinite(x).all() for x in (a, b)):
        return float("nan")
    (m, first), (n, second) = (_statistics(x.astype(np.float64)) for x in (a, b))
    values, vectors = np.linalg.eigh(first)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    shared = np.linalg.eigvalsh(root @ second @ root)  # those of the product, which is not symmetric
    apart = float(((m - n) ** 2).sum())
    return apart + float(np.trace(first) + np.trace(second) - 2 * np.sqrt(np.maximum(shared, 0)).sum())


def _statistics(rows: Array) -> tuple[Array, Array]:
    if len(rows) < 2:
        raise Error("a covariance needs at least two examples")
    return rows.mean(axis=0), np.cov(rows, rowvar=False)
