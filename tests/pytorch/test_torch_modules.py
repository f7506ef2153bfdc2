"""Every module of torch.nn that has parameters, in every mode: it computes what the scalar model says of its quantized
layers, or is refused. Nothing computes unquantized without a word."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import pytest

import softfloat_ref as sf

pytestmark = pytest.mark.extra("torch")
torch = pytest.importorskip("torch")
st: Any = pytest.importorskip("softfloat_ref.torch")
nn = torch.nn

FMT = "fp4_e2m1"  # products of its values are exact in FP32, and so are sums of them, in any order
RECIPE = {"weight": FMT, "activation": FMT}
WORDS = torch.tensor([[1, 2, 3], [0, 2, 2]])
PADDING = torch.tensor([[False, False, False], [False, False, True]])


def randn(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


class Entry(NamedTuple):
    """Arguments of a class, and inputs of a call. refused: what `quantized` says of it; fault: what a call says."""

    args: tuple[Any, ...]
    inputs: tuple[Any, ...] = ()
    options: dict[str, Any] = {}  # noqa: RUF012  (not changed)
    named: dict[str, Any] = {}  # noqa: RUF012  (inputs by name)
    refused: str = ""
    fault: str = ""


def unsupported(*args: Any, **options: Any) -> Entry:
    return Entry(*args, refused="is not supported; leave the layer out by exempt", **options)


SMALL = {"dropout": 0.0, "batch_first": True, "dim_feedforward": 12}
IMAGE = {1: randn(2, 4, 6), 2: randn(2, 4, 5, 5), 3: randn(2, 4, 3, 3, 4)}
LAYER = nn.TransformerEncoderLayer(8, 2, **SMALL)
DECODER = nn.TransformerDecoderLayer(8, 2, **SMALL)
UNSHAPED = "the model cannot be copied: Attempted to use an uninitialized parameter .* run lazy modules once"
TABLE: dict[str, Entry] = {
    "AdaptiveLogSoftmaxWithLoss": Entry((16, 12, [4, 8], 2), (randn(5, 16), torch.tensor([0, 5, 11, 3, 9]))),
    "Bilinear": unsupported((4, 5, 6), (randn(3, 4), randn(3, 5))),
    "DataParallel": Entry((nn.Linear(4, 5),), (randn(3, 4),)),
    "Embedding": Entry((5, 4), (WORDS,)),
    "EmbeddingBag": Entry((5, 4), (WORDS,)),
    "GroupNorm": Entry((2, 4), (IMAGE[2],)),
    "LayerNorm": Entry(((4, 6),), (IMAGE[1],)),
    "Linear": Entry((6, 5), (randn(2, 4, 6),)),
    "NonDynamicallyQuantizableLinear": unsupported((6, 5), (randn(4, 6),)),
    "LinearCrossEntropyLoss": Entry((6, 5), (randn(3, 6), torch.tensor([0, 4, 2])), fault=r"linear\.weight is used by"),
    "MultiheadAttention": unsupported((8, 2), (randn(2, 3, 8),) * 3, options={"batch_first": True}),
    "PReLU": Entry((4,), (IMAGE[2],)),
    "RMSNorm": Entry((6,), (IMAGE[1],)),
    "RNNBase": unsupported(("GRU", 4, 5)),
    "RNNCellBase": unsupported((4, 5, True, 1)),
    "Sequential": Entry((nn.Linear(4, 5), nn.Tanh()), (randn(3, 4),)),
    "SyncBatchNorm": Entry((4,), (IMAGE[2],)),
    "Transformer": unsupported((8, 2, 1, 1), (randn(2, 3, 8), randn(2, 5, 8)), options=SMALL),
    "TransformerDecoder": unsupported((DECODER, 2), (randn(2, 3, 8), randn(2, 5, 8))),
    "TransformerDecoderLayer": unsupported((8, 2), (randn(2, 3, 8), randn(2, 5, 8)), options=SMALL),
    "TransformerEncoder": unsupported((LAYER, 2), (randn(2, 3, 8),), named={"src_key_padding_mask": PADDING}),
    "TransformerEncoderLayer": unsupported((8, 2), (randn(2, 3, 8),), options=SMALL),
}
for i in (1, 2, 3):
    TABLE |= {
        f"BatchNorm{i}d": Entry((4,), (IMAGE[i],)),
        f"InstanceNorm{i}d": Entry((4,), (IMAGE[i],), {"affine": True}),
        f"Conv{i}d": (unsupported if i != 2 else Entry)((4, 5, 3), (IMAGE[i],)),
        f"ConvTranspose{i}d": unsupported((4, 5, 3), (IMAGE[i],)),
        f"LazyBatchNorm{i}d": Entry((), refused=UNSHAPED),
        f"LazyInstanceNorm{i}d": Entry((), (), {"affine": True}, refused=UNSHAPED),
        f"LazyConv{i}d": unsupported((5, 3)),
        f"LazyConvTranspose{i}d": unsupported((5, 3)),
    }
TABLE["LazyLinear"] = unsupported((5,))
for kind in ("RNN", "GRU", "LSTM"):
    TABLE |= {kind: unsupported((4, 5), (randn(3, 2, 4),)), f"{kind}Cell": unsupported((4, 5), (randn(3, 4),))}
# Containers without a forward, and parameters without a layer: what they hold is what their owner computes.
HOLDERS = {"Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Container"}
# Without parameters, and with arguments that are not small numbers.
OTHERS: dict[str, dict[str, Any]] = {
    "FractionalMaxPool2d": {"kernel_size": 2, "output_size": 2},
    "FractionalMaxPool3d": {"kernel_size": 2, "output_size": 2},
    "Unflatten": {"dim": 1, "unflattened_size": (2, 2)},
}


def classes() -> dict[str, Any]:
    """The modules of torch.nn by name, those too that it does not export."""
    inner = [f"torch.nn.modules.{m.name}" for m in pkgutil.iter_modules(nn.modules.__path__)]
    places = [nn, *map(importlib.import_module, inner)]
    members = {name: x for place in places for name, x in vars(place).items() if not name.startswith("_")}
    return {name: x for name, x in members.items() if inspect.isclass(x) and issubclass(x, nn.Module)}


CLASSES = classes()


def test_the_table_has_every_module_with_parameters() -> None:
    assert TABLE.keys() | HOLDERS | OTHERS.keys() <= CLASSES.keys()
    for name in CLASSES.keys() - TABLE.keys() - HOLDERS:
        needed = [p for p in inspect.signature(CLASSES[name]).parameters.values() if p.default is p.empty]
        options = OTHERS.get(name, {p.name: 2 for p in needed if p.kind is p.POSITIONAL_OR_KEYWORD})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = CLASSES[name](**options)
            except Exception as e:
                pytest.fail(f"{name} of torch.nn is in no table here: {e}")
        assert not list(module.parameters()), f"{name} of torch.nn has parameters; add it to TABLE"


# -- the model of each class, and what it must compute -----------------------------------------------------------------


class Host(nn.Module):
    """A module, and a linear layer after it."""

    def __init__(self, body: Any, width: int) -> None:
        super().__init__()
        self.body, self.head = body, nn.Linear(width, 3)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return self.head(result(self.body(*inputs, **named)))


def result(y: Any) -> Any:
    """The first tensor of a module's results, with an axis."""
    while not isinstance(y, torch.Tensor):
        y = y[0]
    return y if y.ndim else y.reshape(1)


@functools.cache
def value(x: float) -> float:
    return float(sf.decode(sf.encode(x, FMT).bits, FMT))


def scalar_values(x: Any) -> Any:
    """The values of a tensor in the format, one by one."""
    return torch.tensor([value(v) for v in x.detach().flatten().tolist()]).reshape(x.shape)


def quantized_forward(layer: Any) -> Callable[[Any], Any]:
    """A layer's product of quantized operands and its bias, in plain operations; the result is in the format, too."""

    def forward(x: Any) -> Any:
        x, weight, bias = scalar_values(x), scalar_values(layer.weight), layer.bias
        if isinstance(layer, nn.Linear):
            y = x @ weight.T
        else:
            y = nn.functional.conv2d(x, weight, None, layer.stride, layer.padding)
            bias = bias[:, None, None]
        return scalar_values(y if bias is None else y + bias)

    return forward


def expected(plain: Any, exempt: tuple[str, ...]) -> Any:
    """A copy of the model with such layers."""
    model = copy.deepcopy(plain)
    for name, module in model.named_modules():
        if type(module) in (nn.Linear, nn.Conv2d) and not any(name == p for p in exempt):
            module.forward = quantized_forward(module)
    return model


def host(name: str) -> Any:
    """The model of a class, with weights that the format changes."""
    torch.manual_seed(len(name))
    entry = TABLE[name]
    body = CLASSES[name](*copy.deepcopy(entry.args), **entry.options)
    with torch.no_grad():
        y = result(copy.deepcopy(body).eval()(*entry.inputs))
        model = Host(body, y.shape[-1])
        for p in model.parameters():
            if p.ndim > 1:
                p.mul_(3)
    return model


class Mode(NamedTuple):
    training: bool
    context: Any
    compiled: bool


CONTEXTS = {"grad": nullcontext, "no_grad": torch.no_grad, "inference": torch.inference_mode}
MODES = {
    f"{'train' if training else 'eval'}-{name}{'-compiled' * compiled}": Mode(training, context, compiled)
    for training in (True, False)
    for name, context in CONTEXTS.items()
    for compiled in (False, True)
}
STATES = (True, False)  # training, or not; SyncBatchNorm trains on several devices only


@pytest.fixture(autouse=True)
def _torch_s_own_kernels() -> Iterator[None]:
    """torch's fused kernels are on, as they are by default, and compiled functions are forgotten."""
    assert torch.backends.mha.get_fastpath_enabled()
    yield
    torch.backends.mha.set_fastpath_enabled(True)
    torch._dynamo.reset()


def unfused(model: Any, entry: Entry, training: bool) -> Any:
    """What a model computes without fused kernels, which go past a replaced forward."""
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        return copy.deepcopy(model).train(training)(*entry.inputs, **entry.named).detach()
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def check(name: str, exempt: tuple[str, ...]) -> None:
    """In every mode, the model computes what it must, which is not what it computes unquantized."""
    plain, entry = host(name), TABLE[name]
    tuned, model = quiet(plain, exempt), expected(plain, exempt)
    wanted = {training: unfused(model, entry, training) for training in STATES[name == "SyncBatchNorm" :]}
    for mode, (training, context, compiled) in MODES.items():
        if training not in wanted:
            continue
        ours = copy.deepcopy(tuned).train(training)
        with context():
            result = (torch.compile(ours, backend="eager") if compiled else ours)(*entry.inputs, **entry.named)
        assert torch.equal(result, wanted[training]), mode
    for training, y in wanted.items():
        assert not torch.allclose(y, unfused(plain, entry, training), rtol=1e-3, atol=1e-3)


def quiet(plain: Any, exempt: tuple[str, ...] = ()) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return st.quantized(plain, RECIPE, exempt=exempt)


def attention(model: Any) -> tuple[str, ...]:
    """Patterns of the names of attention modules, which are refused."""
    names = [name for name, m in model.named_modules() if isinstance(m, nn.MultiheadAttention)]
    return tuple(pattern for name in names for pattern in (name, f"{name}.*"))


@pytest.mark.parametrize("name", [name for name in TABLE if not TABLE[name].refused and not TABLE[name].fault])
def test_a_module_is_quantized(name: str) -> None:
    check(name, ())


@pytest.mark.parametrize("name", [name for name in TABLE if TABLE[name].refused])
def test_a_module_is_refused(name: str) -> None:
    entry = TABLE[name]
    body = CLASSES[name](*copy.deepcopy(entry.args), **entry.options)
    with pytest.raises(sf.Error, match=entry.refused) as error:
        st.quantized(Host(body, 4), RECIPE)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", [name for name in TABLE if TABLE[name].refused and TABLE[name].inputs])
def test_an_exempt_module_is_torch_s(name: str) -> None:
    model = host(name)
    kinds = (nn.Linear, nn.MultiheadAttention)
    inside = tuple(x for x, m in model.body.named_modules(prefix="body") if isinstance(m, kinds))
    check(name, ("body", *inside) if not name.startswith("Transformer") else inside)


@pytest.mark.parametrize("name", [name for name in TABLE if name.startswith("Transformer")])
def test_feed_forward_layers_of_transformers_are_quantized(name: str) -> None:
    check(name, attention(host(name)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [name for name in TABLE if TABLE[name].fault])
def test_a_module_that_goes_past_its_layer_is_refused(name: str, mode: str) -> None:
    training, context, compiled = MODES[mode]
    entry, tuned = TABLE[name], quiet(host(name)).train(training)
    call = torch.compile(tuned, backend="eager") if compiled else tuned
    with context(), pytest.raises(sf.Error, match=entry.fault):
        call(*entry.inputs)


def test_a_lazy_layer_is_quantized_when_it_knows_its_shape() -> None:
    plain = Host(nn.LazyLinear(5), 5)
    plain(randn(3, 4))
    assert isinstance(quiet(plain).body, st.QuantLinear)
