"""`bench train`: a step of each training recipe, and of large networks in each format, relative to the same step in
FP32; FP32 relative to PyTorch; one thread.

Times are processor times, so that other processes do not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from softfloat_ref.base.search import find_first

from . import networks, recipe_steps
from .peers import torch_module
from .rates import RUNS, median_seconds, one_thread

if TYPE_CHECKING:
    from softfloat_ref.nn.layers import Layer
    from softfloat_ref.nn.numerics import RunState

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
    "nvfp4": ("nvfp4", None, 2.0),
    "qint8": ("qint8", None, 2.0),
    "qint8, sr": ("qint8", _SR, 2.0),
    "flexfp_e4m3": ("flexfp_e4m3", None, 2.0),
}
NETWORKS: Final[dict[str, dict[str, Any]]] = {
    "cnn": {"kind": "cnn", "channels": [256, 256], "convolutions": 2},
    "lstm": {"kind": "lstm", "layers": 2, "width": 512},
    "transformer": {"kind": "transformer", "layers": 2, "width": 512, "heads": 8},
}
_TEXT: Final = ("lstm", "transformer")
_IMAGE: Final = (16, 16, 32)
_IMAGES: Final = 8
_SYMBOLS: Final = 100
_SEQUENCE: Final = (20, 64)
# beside PyTorch
_CLASSES: Final = 10
_MLP: Final = (256, (512, 512), 128)  # inputs, hidden, batch
_CNN: Final = ((32, 32, 3), (32, 64, 128), 32)  # image, channels, batch


def run() -> None:
    """Measure and print."""
    one_thread()
    from softfloat_ref.nn.training_recipe import load_recipe, recipe_files

    torch = torch_module()
    recipe_steps.show({name: load_recipe(name) for name in recipe_files()}, torch)
    for kind in NETWORKS:
        _show_network(kind)
    if torch is not None:
        _show_torch(torch)


def _show_network(kind: str) -> None:
    plain, inside = _time_step(kind, None, None)
    click.echo(f"{kind:13}{'fp32':18}{plain * 1e3:9.1f} ms per step, {inside / plain:.0%} of it in matrix products")
    for name, (fmt, policy, limit) in SCHEMES.items():
        taken, _ = _time_step(kind, fmt, policy)
        click.echo(f"{kind:13}{name:18}{taken * 1e3:9.1f} ms per step, ratio {taken / plain:.2f} (at most {limit})")


def make(kind: str, fmt: str | None, policy: Mapping[str, Any] | str | None) -> tuple[Layer, RunState, Any, Any]:
    """A network in a format, with a minibatch for it."""
    import numpy as np

    from softfloat_ref.nn.models import Input, build
    from softfloat_ref.nn.numerics import RunState
    from softfloat_ref.nn.training_recipe import read_recipe

    text = kind in _TEXT
    shape = () if text else _IMAGE
    network, run = build(NETWORKS[kind], Input(shape, _SYMBOLS, 1)), RunState(1)
    formats = {} if fmt is None else dict.fromkeys(_ROLES, fmt)
    table = {"model": NETWORKS[kind], "data": {}, "formats": formats}
    read_recipe(table if policy is None else {**table, "policy": policy}).assign(network, run)
    rng = np.random.default_rng(1)
    if text:
        return network, run, rng.integers(0, _SYMBOLS, _SEQUENCE), rng.integers(0, _SYMBOLS, _SEQUENCE)
    x = rng.standard_normal((_IMAGES, *_IMAGE)).astype(np.float32)
    return network, run, x, rng.integers(0, _SYMBOLS, _IMAGES)


def _time_step(kind: str, fmt: str | None, policy: Mapping[str, Any] | str | None) -> tuple[float, float]:
    """Seconds of a step, forward, backward and update, and of the matrix products in it."""
    network, run, x, y = make(kind, fmt, policy)
    spent, once = [0.0], _step(network, x, y)
    if fmt is None:
        for _, layer in network.walk():
            layer.numerics.product = _timed(layer.numerics.product, spent)  # type: ignore[method-assign]

    def step() -> None:
        run.begin(run.step + 1)
        once()

    return median_seconds(step), spent[0] / (RUNS + 1)


def _step(network: Layer, x: Any, y: Any) -> Callable[[], None]:
    """Forward, backward and update."""
    from softfloat_ref.nn.layers import softmax_cross_entropy
    from softfloat_ref.nn.numerics import Numerics
    from softfloat_ref.nn.optimizers import SGD, Updates

    updates, plain = Updates(SGD(rate=0.01, momentum=0.9)), Numerics()

    def step() -> None:
        network.backward(softmax_cross_entropy(network.forward(x), y, plain).gradient)
        updates.begin()
        for name, layer in network.walk():
            for key, weight in layer.params.items():
                updates.update(f"{name}.{key}", weight, layer.grads[key], 1.0, layer.numerics)

    return step


def _timed(product: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    def timed(*args: Any) -> Any:
        begin = time.process_time()
        result = product(*args)
        spent[0] += time.process_time() - begin
        return result

    return timed


# -- beside PyTorch ----------------------------------------------------------------------------------------------------


def _show_torch(torch: Any) -> None:
    """Measure the FP32 path against PyTorch on the CPU, and print one line per network."""
    import numpy as np

    from softfloat_ref.nn.models import Input, build

    (inputs, hidden, batch), (image, channels, images) = _MLP, _CNN
    for name, model, module, shape, count in (
        (
            "mlp",
            {"kind": "mlp", "hidden": list(hidden)},
            networks.mlp(torch, inputs, hidden, _CLASSES),
            (inputs,),
            batch,
        ),
        (
            "cnn",
            {"kind": "cnn", "channels": list(channels)},
            networks.cnn(torch, image[2], channels, _CLASSES),
            image,
            images,
        ),
    ):
        network = build(model, Input(shape, _CLASSES, 1))
        find_first(network.children().values()).needs_input_gradient = False
        x = np.random.default_rng(1).standard_normal((count, *shape)).astype(np.float32)
        y = np.arange(count) % _CLASSES
        ours, theirs = median_seconds(_step(network, x, y)), median_seconds(networks.step(torch, module, x, y))
        click.echo(
            f"{name:13}{'fp32':18}{ours * 1e3:9.1f} ms per step   PyTorch {theirs * 1e3:.1f}, ratio {ours / theirs:.2f}"
        )
