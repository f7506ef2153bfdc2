"""`bench train`: a training step in each format relative to the same step in FP32, and FP32 to PyTorch; one thread.

Times are processor times, so that other processes do not count.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from softfloat_ref.app.rates import RUNS, median_seconds

if TYPE_CHECKING:
    from softfloat_ref.nn.layers import Layer
    from softfloat_ref.nn.numerics import Run

THREADS: Final = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
_SR: Final = {"rounding": "sr", "sr_bits": 16}
_ROLES: Final = ("weight", "activation", "error", "weight_gradient")
# what is measured: the formats of the four roles, their policy, and the largest ratio allowed
SCHEMES: Final[dict[str, tuple[str, Mapping[str, Any] | str | None, float]]] = {
    "s1e5m2, rne": ("s1e5m2", None, 1.5),
    "s1e6m1b46, rne": ("s1e6m1b46", None, 1.5),
    "fp16, rne": ("fp16", None, 1.5),
    "bf16, tpu-bf16": ("bf16", "tpu-bf16", 1.5),
    "s1e5m2, sr": ("s1e5m2", _SR, 2.0),
    "mxfp8": ("mxfp8", None, 2.0),
    "mxfp8, sr": ("mxfp8", _SR, 2.0),
    "mxfp4": ("mxfp4", None, 2.0),
    "qint8": ("qint8", None, 2.0),
    "qint8, sr": ("qint8", _SR, 2.0),
    "flexfp_e4m3": ("flexfp_e4m3", None, 2.0),
}
NETWORKS: Final[dict[str, dict[str, Any]]] = {
    "cnn": {"kind": "cnn", "channels": [256, 256], "convolutions": 2},
    "lstm": {"kind": "lstm", "layers": 2, "width": 512},
}
_IMAGE: Final = (16, 16, 32)
_IMAGES: Final = 8
_SYMBOLS: Final = 100
_SEQUENCE: Final = (20, 64)


def run() -> None:
    """Measure and print."""
    for name in THREADS:
        os.environ.setdefault(name, "1")  # read when numpy is imported, which nothing has done yet
    for kind in NETWORKS:
        _show_network(kind)
    if importlib.util.find_spec("torch") is not None:
        from softfloat_ref.app.bench_torch import show

        show()


def _show_network(kind: str) -> None:
    plain, inside = _time_step(kind, None, None)
    click.echo(f"{kind:6}{'fp32':18}{plain * 1e3:9.1f} ms per step, {inside / plain:.0%} of it in matrix products")
    for name, (fmt, policy, limit) in SCHEMES.items():
        taken, _ = _time_step(kind, fmt, policy)
        click.echo(f"{kind:6}{name:18}{taken * 1e3:9.1f} ms per step, ratio {taken / plain:.2f} (at most {limit})")


def make(kind: str, fmt: str | None, policy: Mapping[str, Any] | str | None) -> tuple[Layer, Run, Any, Any]:
    """A network in a format, with a minibatch for it."""
    import numpy as np

    from softfloat_ref.nn.models import Input, build
    from softfloat_ref.nn.numerics import Run
    from softfloat_ref.nn.training_recipe import read_recipe

    shape = () if kind == "lstm" else _IMAGE
    network, run = build(NETWORKS[kind], Input(shape, _SYMBOLS, 1)), Run(1)
    formats = {} if fmt is None else dict.fromkeys(_ROLES, fmt)
    table = {"model": NETWORKS[kind], "data": {}, "formats": formats}
    read_recipe(table if policy is None else {**table, "policy": policy}).assign(network, run)
    rng = np.random.default_rng(1)
    if kind == "lstm":
        return network, run, rng.integers(0, _SYMBOLS, _SEQUENCE), rng.integers(0, _SYMBOLS, _SEQUENCE)
    x = rng.standard_normal((_IMAGES, *_IMAGE)).astype(np.float32)
    return network, run, x, rng.integers(0, _SYMBOLS, _IMAGES)


def _time_step(kind: str, fmt: str | None, policy: Mapping[str, Any] | str | None) -> tuple[float, float]:
    """Seconds of a step, forward, backward and update, and of the matrix products in it."""
    from softfloat_ref.nn.layers import softmax_cross_entropy
    from softfloat_ref.nn.numerics import Numerics
    from softfloat_ref.nn.optimizers import SGD

    network, run, x, y = make(kind, fmt, policy)
    sgd, plain, spent = SGD(0.01, 0.9), Numerics(), [0.0]
    if fmt is None:
        for _, layer in network.walk():
            layer.numerics.product = _timed(layer.numerics.product, spent)  # type: ignore[method-assign]

    def step() -> None:
        run.begin(run.step + 1)
        network.backward(softmax_cross_entropy(network.forward(x), y, plain).gradient)
        for name, layer in network.walk():
            for key, weight in layer.params.items():
                sgd.update(f"{name}.{key}", weight, layer.grads[key], 1.0, layer.numerics)

    seconds = median_seconds(step)
    return seconds, spent[0] / (RUNS + 1)


def _timed(product: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    def timed(*args: Any) -> Any:
        begin = time.process_time()
        found = product(*args)
        spent[0] += time.process_time() - begin
        return found

    return timed
