"""`bench train`: the FP32 path against PyTorch on the CPU, one thread."""

from __future__ import annotations

import importlib
from typing import Any, Final

import click

from softfloat_ref.app.rates import median_seconds

_CLASSES: Final = 10
_MLP: Final = (256, (512, 512), 128)  # inputs, hidden, batch
_CNN: Final = ((32, 32, 3), (32, 64, 128), 32)  # image, channels, batch


def show() -> None:
    """Measure, and print one line per network."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    for name, (network, x), module in (("mlp", _mlp(), _torch_mlp(torch)), ("cnn", _cnn(), _torch_cnn(torch))):
        ours = _ours(network, x)
        theirs = _theirs(torch, module, x)
        click.echo(
            f"{name:6}{'fp32':18}{ours * 1e3:9.1f} ms per step   PyTorch {theirs * 1e3:.1f}, ratio {ours / theirs:.2f}"
        )


def _draw(*shape: int) -> Any:
    import numpy as np

    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def _mlp() -> tuple[Any, Any]:
    from softfloat_ref.nn.models import Input, build

    inputs, hidden, batch = _MLP
    return build({"kind": "mlp", "hidden": list(hidden)}, Input((inputs,), _CLASSES, 1)), _draw(batch, inputs)


def _cnn() -> tuple[Any, Any]:
    from softfloat_ref.nn.models import Input, build

    image, channels, batch = _CNN
    return build({"kind": "cnn", "channels": list(channels)}, Input(image, _CLASSES, 1)), _draw(batch, *image)


def _torch_mlp(torch: Any) -> Any:
    inputs, hidden, _ = _MLP
    layers: list[Any] = []
    for width in hidden:
        layers += [torch.nn.Linear(inputs, width), torch.nn.ReLU()]
        inputs = width
    return torch.nn.Sequential(*layers, torch.nn.Linear(inputs, _CLASSES))


def _torch_cnn(torch: Any) -> Any:
    image, channels, _ = _CNN
    inputs, layers = image[2], []
    for stage, width in enumerate(channels):
        layers += [torch.nn.Conv2d(inputs, width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(width)]
        layers += [torch.nn.ReLU()] + ([torch.nn.MaxPool2d(2)] if stage < len(channels) - 1 else [])
        inputs = width
    ends = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(inputs, _CLASSES)]
    return torch.nn.Sequential(*layers, *ends)


def _ours(network: Any, x: Any) -> float:
    import numpy as np

    from softfloat_ref.nn.layers import softmax_cross_entropy
    from softfloat_ref.nn.numerics import Numerics
    from softfloat_ref.nn.optimizers import SGD

    plain, sgd, y = Numerics(), SGD(0.01, 0.9), np.arange(len(x)) % _CLASSES
    next(iter(network.children().values())).needs_input_gradient = False

    def step() -> None:
        network.backward(softmax_cross_entropy(network.forward(x), y, plain).gradient)
        for name, layer in network.walk():
            for key, weight in layer.params.items():
                sgd.update(f"{name}.{key}", weight, layer.grads[key], 1.0, plain)

    return median_seconds(step)


def _theirs(torch: Any, module: Any, x: Any) -> float:
    import numpy as np

    y = torch.tensor(np.arange(len(x)) % _CLASSES)
    data = torch.tensor(x) if x.ndim == 2 else torch.tensor(x).permute(0, 3, 1, 2).contiguous()
    sgd = torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9)

    def step() -> None:
        sgd.zero_grad()
        torch.nn.functional.cross_entropy(module(data), y).backward()
        sgd.step()

    return median_seconds(step)
