"""The networks that training is compared with, in PyTorch on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Network(NamedTuple):
    """Labels' scores from a minibatch, and the parameters."""

    forward: Callable[[Any], Any]
    parameters: list[Any]


def mlp(torch: Any, inputs: int, hidden: Sequence[int], classes: int) -> Network:
    """Linear layers with ReLU."""
    layers: list[Any] = []
    for width in hidden:
        layers += [torch.nn.Linear(inputs, width), torch.nn.ReLU()]
        inputs = width
    made = torch.nn.Sequential(*layers, torch.nn.Linear(inputs, classes))
    return Network(made, list(made.parameters()))


def cnn(torch: Any, inputs: int, channels: Sequence[int], classes: int) -> Network:
    """As `models.cnn`, of (batch, height, width, channels)."""
    layers: list[Any] = []
    for stage, width in enumerate(channels):
        layers += [torch.nn.Conv2d(inputs, width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(width)]
        layers += [torch.nn.ReLU()] + ([torch.nn.MaxPool2d(2)] if stage < len(channels) - 1 else [])
        inputs = width
    ends = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(inputs, classes)]
    made = torch.nn.Sequential(*layers, *ends)
    return Network(lambda x: made(x.permute(0, 3, 1, 2)), list(made.parameters()))


def lstm(torch: Any, symbols: int, width: int, layers: int) -> Network:
    """As `models.lstm`, of (time, batch) symbols."""
    parts = torch.nn.Embedding(symbols, width), torch.nn.LSTM(width, width, layers), torch.nn.Linear(width, symbols)
    embedding, recurrent, output = parts
    return Network(
        lambda x: output(recurrent(embedding(x))[0]).reshape(-1, symbols),
        [p for part in parts for p in part.parameters()],
    )


def step(torch: Any, network: Network, x: Any, y: Any, clip_norm: float = 0.0) -> Callable[[], None]:
    """Forward, backward and update by SGD with momentum."""
    data, labels = torch.tensor(x).contiguous(), torch.tensor(y).reshape(-1).long()
    sgd = torch.optim.SGD(network.parameters, lr=0.01, momentum=0.9)

    def work() -> None:
        sgd.zero_grad()
        torch.nn.functional.cross_entropy(network.forward(data), labels).backward()
        if clip_norm:
            torch.nn.utils.clip_grad_norm_(network.parameters, clip_norm)
        sgd.step()

    return work
