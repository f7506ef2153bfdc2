"""The networks that training is compared with, in PyTorch on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    network = torch.nn.Sequential(*layers, torch.nn.Linear(inputs, classes))
    return Network(network, list(network.parameters()))


def cnn(torch: Any, inputs: int, channels: Sequence[int], classes: int) -> Network:
    """As `models.cnn`, of (batch, height, width, channels)."""
    layers: list[Any] = []
    for stage, width in enumerate(channels):
        layers += [torch.nn.Conv2d(inputs, width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(width)]
        layers += [torch.nn.ReLU()] + ([torch.nn.MaxPool2d(2)] if stage < len(channels) - 1 else [])
        inputs = width
    ends = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(inputs, classes)]
    network = torch.nn.Sequential(*layers, *ends)
    return Network(lambda x: network(x.permute(0, 3, 1, 2)), list(network.parameters()))


def lstm(torch: Any, symbols: int, width: int, layers: int) -> Network:
    """As `models.lstm`, of (time, batch) symbols."""
    parts = torch.nn.Embedding(symbols, width), torch.nn.LSTM(width, width, layers), torch.nn.Linear(width, symbols)
    embedding, recurrent, output = parts
    return Network(
        lambda x: output(recurrent(embedding(x))[0]).reshape(-1, symbols),
        [p for part in parts for p in part.parameters()],
    )


def transformer(torch: Any, symbols: int, model: Mapping[str, Any]) -> Network:
    """As `models.transformer` with its norms, function and tied output, of (time, batch) symbols."""
    nn, width, heads = torch.nn, model["width"], model["heads"]
    table, positions = nn.Embedding(symbols, width), nn.Parameter(torch.zeros(model["context"], 1, width))
    end, bias = nn.LayerNorm(width), nn.Parameter(torch.zeros(symbols))
    blocks = [
        (nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width),
         nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)))
        for _ in range(model["layers"])
    ]  # fmt: skip

    def attention(x: Any, inputs: Any, output: Any) -> Any:
        time, batch, _ = x.shape
        q, k, v = inputs(x).reshape(time, batch, 3, heads, width // heads).permute(2, 1, 3, 0, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return output(attended.permute(2, 0, 1, 3).reshape(x.shape))

    def forward(indices: Any) -> Any:
        x = table(indices) + positions[: len(indices)]
        for first, inputs, output, second, mlp in blocks:
            x = x + attention(first(x), inputs, output)
            x = x + mlp(second(x))
        return nn.functional.linear(end(x), table.weight, bias).reshape(-1, symbols)

    parts = [table, end, *(part for block in blocks for part in block)]
    return Network(forward, [positions, bias, *(p for part in parts for p in part.parameters())])


def step(
    torch: Any, network: Network, x: Any, y: Any, clip_norm: float = 0.0, optimizer: str = "sgd"
) -> Callable[[], None]:
    """Forward, backward and update, by SGD with momentum, or by "adamw"."""
    data, labels = torch.tensor(x).contiguous(), torch.tensor(y).reshape(-1).long()
    sgd = torch.optim.SGD(network.parameters, lr=0.01, momentum=0.9)
    chosen = torch.optim.AdamW(network.parameters, lr=0.001) if optimizer == "adamw" else sgd

    def work() -> None:
        chosen.zero_grad()
        torch.nn.functional.cross_entropy(network.forward(data), labels).backward()
        if clip_norm:
            torch.nn.utils.clip_grad_norm_(network.parameters, clip_norm)
        chosen.step()

    return work
