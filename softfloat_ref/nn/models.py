"""Networks by name, for the data they are trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Final

from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.base.names import checked_call, entry, parameters
from softfloat_ref.base.tables import Range, arguments, check
from softfloat_ref.nn import layers as nn

Size = Annotated[int, Range(1)]
Sizes = tuple[Size, ...]
Maybe = Annotated[int, Range(0)]

FUNCTIONS: Final[dict[str, type[nn.Layer]]] = {
    layer.kind: layer for layer in (nn.ReLU, nn.Sigmoid, nn.Tanh, nn.GELU, nn.GELUTanh, nn.SiLU)
}
NORMS: Final[dict[str, type[nn.Layer]]] = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}
GENERATOR: Final = "generator"
DISCRIMINATOR: Final = "discriminator"
_RESNET_STAGES: Final = 3


@dataclass(frozen=True)
class Input:
    """What a network is made for. shape: of one example (empty: symbols of a text)."""

    shape: tuple[int, ...]
    classes: int
    seed: int


def mlp(of: Input, *, hidden: Sizes = (64,), function: str = "relu", dropout: float = 0.0) -> nn.Sequential:
    """Fully connected layers of `hidden` widths, each followed by the activation function."""
    activation = _activation(function)
    layers: dict[str, nn.Layer] = {}
    width = 1
    if len(of.shape) > 1:
        layers["flatten"] = nn.Flatten()
    for n in of.shape:
        width *= n
    for i, size in enumerate(hidden, 1):
        layers[f"linear{i}"] = nn.Linear(width, size, seed=of.seed, name=f"linear{i}")
        layers[f"{activation.kind}{i}"] = make_layer(activation, f"activation function {function!r}")
        if dropout:
            layers[f"dropout{i}"] = nn.Dropout(dropout)
        width = size
    layers["output"] = nn.Linear(width, of.classes, seed=of.seed, name="output")
    return nn.Sequential(layers)


def cnn(of: Input, *, channels: Sizes = (16, 32), convolutions: Size = 1, norm: bool = True) -> nn.Sequential:
    """Stages of 3x3 convolutions, halved by max pooling; then the mean over the image and a linear layer."""
    inputs = _channels(of)
    layers: dict[str, nn.Layer] = {}
    for stage, width in enumerate(channels, 1):
        for i in range(1, convolutions + 1):
            name = f"conv{stage}" if convolutions == 1 else f"conv{stage}_{i}"
            layers[name] = nn.Conv2d(inputs, width, bias=not norm, seed=of.seed, name=name)
            if norm:
                layers[name.replace("conv", "norm")] = nn.BatchNorm(width)
            layers[name.replace("conv", "relu")] = nn.ReLU()
            inputs = width
        if stage < len(channels):
            layers[f"pool{stage}"] = nn.MaxPool(2)
    layers["mean"] = nn.GlobalAvgPool()
    layers["output"] = nn.Linear(inputs, of.classes, seed=of.seed, name="output")
    return nn.Sequential(layers)


def resnet(of: Input, *, depth: Size = 20, width: Size = 16) -> nn.Sequential:
    """The residual networks for small images (He et al., CVPR 2016, 4.2): depth 6n + 2, three stages of n blocks.

    A block that changes the width has a 1x1 convolution of stride 2 with batch norm beside it.
    """
    blocks, rest = divmod(depth - 2, 2 * _RESNET_STAGES)
    if rest or blocks < 1:
        raise Error(f"depth = {depth}: a ResNet for small images has 6n + 2 layers, as 8, 20 or 56")
    layers: dict[str, nn.Layer] = {
        "conv1": nn.Conv2d(_channels(of), width, bias=False, seed=of.seed, name="conv1"),
        "norm1": nn.BatchNorm(width),
        "relu1": nn.ReLU(),
    }
    inputs = width
    for stage in range(_RESNET_STAGES):
        for i in range(blocks):
            outputs, name = width << stage, f"block{stage + 1}_{i + 1}"
            layers[name] = _residual(inputs, outputs, 2 if stage and i == 0 else 1, of.seed, name)
            layers[f"{name}_relu"] = nn.ReLU()
            inputs = outputs
    layers["mean"] = nn.GlobalAvgPool()
    layers["output"] = nn.Linear(inputs, of.classes, seed=of.seed, name="output")
    return nn.Sequential(layers)


def _residual(inputs: int, outputs: int, stride: int, seed: int, name: str) -> nn.Residual:
    body = nn.Sequential(
        {
            "conv1": nn.Conv2d(inputs, outputs, stride=stride, bias=False, seed=seed, name=f"{name}.body.conv1"),
            "norm1": nn.BatchNorm(outputs),
            "relu1": nn.ReLU(),
            "conv2": nn.Conv2d(outputs, outputs, bias=False, seed=seed, name=f"{name}.body.conv2"),
            "norm2": nn.BatchNorm(outputs),
        }
    )
    if stride == 1 and inputs == outputs:
        return nn.Residual(body)
    beside = nn.Conv2d(inputs, outputs, 1, stride, bias=False, seed=seed, name=f"{name}.shortcut.conv")
    return nn.Residual(body, nn.Sequential({"conv": beside, "norm": nn.BatchNorm(outputs)}))


def lstm(
    of: Input, *, layers: Size = 1, width: Size = 128, embedding: Maybe = 0, dropout: float = 0.0
) -> nn.Sequential:
    """A language model: embedding, layers of LSTM, a linear layer to the symbols. embedding: its width (0: width)."""
    if of.shape:
        raise Error("an lstm takes text, for example the data sets text and ptb")
    inputs = embedding or width
    network: dict[str, nn.Layer] = {"embedding": nn.Embedding(of.classes, inputs, seed=of.seed)}
    for i in range(1, layers + 1):
        network[f"lstm{i}"] = nn.LSTM(inputs, width, seed=of.seed, name=f"lstm{i}")
        if dropout:
            network[f"dropout{i}"] = nn.Dropout(dropout)
        inputs = width
    network["output"] = nn.Linear(width, of.classes, seed=of.seed, name="output")
    return nn.Sequential(network)


def transformer(
    of: Input,
    *,
    layers: Size = 2,
    width: Size = 128,
    heads: Size = 4,
    hidden: Maybe = 0,
    context: Size = 64,
    norm: str = "layer",
    function: str = "gelu",
    tied: bool = True,
    dropout: float = 0.0,
) -> nn.Sequential:
    """A language model: embedding and positions, blocks of attention and an MLP, each with a norm before it and a
    residual addition, a norm, a linear layer to the symbols.

    hidden: the MLP's width (0: 4 times the width). context: the longest sequence. norm: layer or rms. tied: the output
    layer has the embedding's table.
    """
    if of.shape:
        raise Error("a transformer takes text, for example the data sets text and ptb")
    norms = partial(make_layer, entry("norm", norm, NORMS, nn.Layer), f"norm {norm!r}")
    table = nn.Embedding(of.classes, width, seed=of.seed)
    network: dict[str, nn.Layer] = {"embedding": table, "positions": nn.Positions(context, width, seed=of.seed)}
    for i in range(1, layers + 1):
        attention, mlp = f"block{i}_attention", f"block{i}_mlp"
        parts: dict[str, dict[str, nn.Layer]] = {
            attention: {"attention": nn.Attention(width, heads, seed=of.seed, name=f"{attention}.body.attention")},
            mlp: _two_layers(width, hidden or 4 * width, function, of.seed, f"{mlp}.body"),
        }
        last: dict[str, nn.Layer] = {"dropout": nn.Dropout(dropout)} if dropout else {}
        for part, body in parts.items():
            network[part] = nn.Residual(nn.Sequential({"norm": norms(width), **body, **last}))
    network["norm"] = norms(width)
    network["output"] = nn.TiedLinear(table) if tied else nn.Linear(width, of.classes, seed=of.seed, name="output")
    return nn.Sequential(network)


def _two_layers(width: int, hidden: int, function: str, seed: int, name: str) -> dict[str, nn.Layer]:
    activation = _activation(function)
    return {
        "linear1": nn.Linear(width, hidden, seed=seed, name=f"{name}.linear1"),
        activation.kind: make_layer(activation, f"activation function {function!r}"),
        "linear2": nn.Linear(hidden, width, seed=seed, name=f"{name}.linear2"),
    }


def _activation(name: str) -> type[nn.Layer]:
    return entry("activation function", name, FUNCTIONS, nn.Layer)


def make_layer(maker: Callable[..., nn.Layer], what: str, /, *args: Any, **sizes: Any) -> nn.Layer:
    """The layer that a class or a function makes. Raises Error for a user's own that does not fit."""
    layer = checked_call(what, maker, *args, **sizes)
    if not isinstance(layer, nn.Layer) or not all(part.kind.isidentifier() for _, part in layer.walk()):
        raise Error(f"{what} makes {type(layer).__name__}, not a Layer whose kind is a name")
    return layer


def dcgan(of: Input, *, channels: Sizes = (32, 64, 128), noise: Size = 64, largest: float = 1.0,
          dropout: float = 0.0) -> nn.Sequential:  # fmt: skip
    """A generator and a discriminator of square images (Radford et al., ICLR 2016): 4x4 convolutions of stride 2,
    transposed in the generator, with batch norm but at the image.

    channels: from the image inwards; noise: of the generator's input; largest: of a generated image's magnitudes;
    dropout: of the discriminator's layers.
    """
    refuse("model dcgan", ("largest must be above 0", not largest > 0), ("channels is empty", not channels))
    colours, size = _channels(of), of.shape[0] >> len(channels)
    if of.shape[:2] != (size << len(channels),) * 2 or not size:
        raise Error(f"a dcgan of {len(channels)} convolutions takes images of {1 << len(channels)} x as many pixels "
                    f"in both directions, not of {of.shape[0]} x {of.shape[1]}")  # fmt: skip
    return nn.Sequential(
        {
            GENERATOR: _generator((*channels[::-1], colours), size, noise, largest, of.seed),
            DISCRIMINATOR: _discriminator((colours, *channels), size, dropout, of.seed),
        }
    )


def _generator(channels: Sizes, size: int, noise: int, largest: float, seed: int) -> nn.Sequential:
    layers: dict[str, nn.Layer] = {"noise": nn.Noise(noise, seed=seed)}
    inputs, place = noise, (size, 1, 0)  # of the first: from a pixel to an image of that size
    for i, width in enumerate(channels, 1):
        last = i == len(channels)
        name = "project" if i == 1 else "image" if last else f"conv{i}"
        layers[name] = nn.ConvTranspose2d(inputs, width, *place, bias=last, seed=seed, name=f"{GENERATOR}.{name}")
        if not last:
            layers |= {f"norm{i}": nn.BatchNorm(width), f"relu{i}": nn.ReLU()}
        inputs, place = width, (4, 2, 1)
    return nn.Sequential(layers | {"tanh": nn.Tanh(), "scale": nn.Scale(largest)})


def _discriminator(channels: Sizes, size: int, dropout: float, seed: int) -> nn.Sequential:
    layers: dict[str, nn.Layer] = {}
    for i, (inputs, width) in enumerate(pairwise(channels), 1):
        name = "image" if i == 1 else f"conv{i}"
        layers[name] = nn.Conv2d(inputs, width, 4, 2, 1, bias=i == 1, seed=seed, name=f"{DISCRIMINATOR}.{name}")
        layers |= ({} if i == 1 else {f"norm{i}": nn.BatchNorm(width)}) | {f"relu{i}": nn.LeakyReLU()}
        layers |= {f"dropout{i}": nn.Dropout(dropout)} if dropout else {}
    layers["output"] = nn.Conv2d(channels[-1], 1, size, 1, 0, seed=seed, name=f"{DISCRIMINATOR}.output")
    return nn.Sequential(layers | {"flatten": nn.Flatten()})


def _channels(of: Input) -> int:
    if len(of.shape) != 3:
        raise Error(f"a convolutional network takes images, not examples of shape {of.shape}")
    return of.shape[2]


MODELS: Final[dict[str, Callable[..., nn.Sequential]]] = {
    "mlp": mlp,
    "cnn": cnn,
    "resnet": resnet,
    "lstm": lstm,
    "transformer": transformer,
    "dcgan": dcgan,
}
ADVERSARIES: Final = ("dcgan",)  # whose layers are a generator and a discriminator


def check_model(table: Mapping[str, Any]) -> None:
    """Raise Error for a [model] table with an unknown kind or key, or a value of another type."""
    kind, sizes = _split(table)
    maker = entry("model", kind, MODELS)
    function = maker.__init__ if isinstance(maker, type) else maker  # type: ignore[misc]
    try:
        known = arguments(function, *parameters(f"model {kind!r}", maker)[:1])
    except (TypeError, NameError) as e:
        raise Error(f"model {kind!r}: its annotations are not known: {e}") from None
    check(sizes, f"model {kind}", known, word=f"key of model {kind}:")


def build(table: Mapping[str, Any], of: Input) -> nn.Layer:
    """The network of a [model] table. Raises Error."""
    check_model(table)
    kind, sizes = _split(table)
    return make_layer(entry("model", kind, MODELS), f"model {kind!r}", of, **sizes)


def _split(table: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    return table.get("kind"), {k: v for k, v in table.items() if k != "kind"}
