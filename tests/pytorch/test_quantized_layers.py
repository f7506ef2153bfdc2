"""Layers of `quantized` against the numpy layers: the same bits forward and backward, in every format and rounding."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref.nn import layers as nn
from softfloat_ref.nn.numerics import Numerics, RunState
from softfloat_ref.nn.tensor_format import TensorFormat
from softfloat_ref.nn.training_recipe import read_recipe

pytestmark = pytest.mark.extra("torch")
torch = pytest.importorskip("torch")
st: Any = pytest.importorskip("softfloat_ref.torch")

Array = np.ndarray[Any, Any]
SR = {"rounding": "sr", "sr_bits": 10}
FOUR = ("weight", "activation", "error", "weight_gradient")
OF_ALL = ["s1e5m2", "bf16", "fp8_e4m3", "fp4_e2m1", "mxfp8", "mxfp4", "mxint8", "nvfp4", "flexfp_e4m3", "qint8"]
MIXED: list[dict[str, Any]] = [
    {"weight": "mxfp4", "activation": "mxfp8"},
    {"weight": "qint4", "activation": {"format": "qint8", "observer": "moving-average"}},
    {"weight": {"format": "qint8_sym", "axis": 0}, "activation": "bf16", "error": "s1e5m2"},
    {"weight": {"format": "fp4_e2m1", "clip": True}, "activation": {"format": "fp4_e2m1", "clip": True}},
    {"weight": "mxfp8", "activation": "mxfp8", "error": "mxfp8", "weight_gradient": "mxfp8", "vector": "bf16"},
    {"weight": {"format": "mxfp4", "profile": "nvidia"}, "error": {"format": "mxfp8_e5m2", "policy": SR}},
    {role: {"format": "s1e4m3", "policy": SR} for role in FOUR},
    {role: {"format": "mxfp4", "policy": SR} for role in FOUR},
    {role: {"format": "qint8", "policy": SR} for role in FOUR},
    {"weight": "fp16", "activation": "fp16", "error": "fp16", "accumulator": "fp16-sequential"},
    {"weight": "mxfp8", "activation": "mxfp8", "error": "mxfp8", "accumulator": "mx-fp32"},
]
RECIPES = [dict.fromkeys(FOUR, fmt) for fmt in OF_ALL] + MIXED
IDS = [f"{i}-{r['weight'] if isinstance(r['weight'], str) else r['weight']['format']}" for i, r in enumerate(RECIPES)]


def draw(*shape: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-4, 3, shape)).astype(np.float32)


def same(tensor: Any, expected: Array) -> bool:
    """Bit for bit."""
    ours: Array = tensor.detach().contiguous().numpy()
    return ours.shape == expected.shape and bool((ours.view(np.uint32) == expected.copy().view(np.uint32)).all())


def numerics(name: str, recipe: dict[str, Any], run: RunState) -> Numerics:
    formats = {
        k: TensorFormat(**v) if isinstance(v, dict) else TensorFormat(v)
        for k, v in recipe.items()
        if k in (*FOUR, "vector", "function")
    }
    return Numerics(name, formats, recipe.get("accumulator", "blas"), run)


def nchw(x: Any) -> Any:
    return x.permute(0, 3, 1, 2)


def compare(layer: nn.Layer, module: Any, recipe: dict[str, Any], x: Array, steps: int = 2) -> None:
    """Outputs and gradients of both, for several steps; the last in evaluation."""
    run = RunState(5)
    layer.numerics = numerics("layer", recipe, run)
    images = x.ndim == 4
    for step in range(1, steps + 1):
        training = step < steps
        run.begin(step, training)
        module.train(training)
        module.zero_grad()
        leaf = torch.from_numpy(x * np.float32(step)).requires_grad_()
        y = module(nchw(leaf) if images else leaf)
        expected = layer.forward(x * np.float32(step))
        assert same(y.permute(0, 2, 3, 1) if images else y, expected), f"output of step {step}"
        dy = draw(*expected.shape, seed=step)
        y.backward(nchw(torch.from_numpy(dy)) if images else torch.from_numpy(dy))
        assert same(leaf.grad, layer.backward(dy)), f"input gradient of step {step}"
        weight = module.weight.grad
        assert same(weight.permute(0, 2, 3, 1) if images else weight, layer.grads["weight"])
        assert same(module.bias.grad, layer.grads["bias"])


def network(**options: Any) -> Any:
    torch.manual_seed(3)
    plain = torch.nn.Sequential(torch.nn.Linear(24, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    return st.quantized(plain, **options) if options else plain


@pytest.mark.parametrize("recipe", RECIPES, ids=IDS)
def test_linear(recipe: dict[str, Any]) -> None:
    outputs = 3 if "accumulator" in recipe else 40  # those are slow
    module = st.QuantLinear(70, outputs, recipe=recipe, seed=5, name="layer")
    layer = nn.Linear(70, outputs)
    layer.params = {k: p.detach().numpy() for k, p in module.named_parameters()}
    compare(layer, module, recipe, draw(6, 70), 3)


@pytest.mark.parametrize("shape", [(70,), (2, 3, 70), (2, 2, 3, 70)])
def test_linear_over_the_last_axis(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    module = st.QuantLinear(70, 40, bias=False, recipe="mxfp8")
    x = torch.from_numpy(draw(*shape)).requires_grad_()
    y = module(x)
    flat = module(x.detach().reshape(-1, 70))
    assert y.shape == (*shape[:-1], 40)
    assert torch.equal(y.reshape(-1, 40), flat)
    y.sum().backward()
    assert x.grad.shape == shape


def test_a_layer_without_bias_is_its_product() -> None:
    """Zeros keep their signs: where BLAS has fused operations, sums of negative terms below FP32's range can be -0."""
    recipe = {"weight": "bf16", "activation": "bf16"}
    module = st.QuantLinear(64, 40, bias=False, recipe=recipe)
    module.weight.data.fill_(2.0**-100)
    x = np.full((4, 64), -(2.0**-100), np.float32)
    by = numerics("linear", recipe, RunState())
    expected = by.product(by.hold(x, "activation"), by.hold(module.weight.detach().numpy(), "weight"), 1, 1)
    assert same(module(torch.from_numpy(x)), by.result(expected, "activation"))


@pytest.mark.parametrize("recipe", RECIPES, ids=IDS)
def test_conv(recipe: dict[str, Any]) -> None:
    exact = "accumulator" in recipe
    channels = 4 if exact else 32
    module = st.QuantConv2d(channels, 9, 3, padding=1, recipe=recipe, seed=5, name="layer")
    layer = nn.Conv2d(channels, 9)
    layer.params = weights_of(module)
    compare(layer, module, recipe, draw(1 if exact else 2, 6, 5, channels), 2 if exact else 3)


@pytest.mark.parametrize(("kernel", "stride", "padding"), [(3, 2, 1), (1, 2, 0), (5, 1, 2), (2, 2, 0)])
def test_shapes_of_convolutions(kernel: int, stride: int, padding: int) -> None:
    recipe = dict.fromkeys(FOUR, "mxfp6")
    module = st.QuantConv2d(5, 9, kernel, stride, padding, recipe=recipe, seed=5, name="layer")
    layer = nn.Conv2d(5, 9, kernel, stride, padding)
    layer.params = weights_of(module)
    compare(layer, module, recipe, draw(2, 9, 8, 5))


def weights_of(conv: Any) -> dict[str, Array]:
    weight = conv.weight.detach().permute(0, 2, 3, 1).contiguous().numpy()
    return {"weight": weight, "bias": conv.bias.detach().numpy()}


@pytest.mark.parametrize("name", ["ReLU", "Tanh", "Sigmoid"])
@pytest.mark.parametrize("shape", [(4, 30), (2, 5, 4, 7)])
def test_activation_functions(name: str, shape: tuple[int, ...]) -> None:
    recipe = {"function": {"format": "s1e4m3", "policy": SR}, "error": {"format": "s1e5m2", "policy": SR}}
    module = st.quantized(torch.nn.Sequential(getattr(torch.nn, name)()), recipe, seed=5)
    layer, run = getattr(nn, name)(), RunState(5)
    layer.numerics = numerics("0", recipe, run)
    run.begin(1)
    x, images = draw(*shape), len(shape) == 4
    leaf = torch.from_numpy(x).requires_grad_()
    y = module(nchw(leaf) if images else leaf)
    assert same(y.permute(0, 2, 3, 1) if images else y, layer.forward(x))
    y.sum().backward()
    assert same(leaf.grad, layer.backward(np.ones(shape, np.float32)))


@pytest.mark.parametrize("recipe", RECIPES, ids=IDS)
def test_batches_without_values(recipe: dict[str, Any]) -> None:
    """As torch's own: results without values, gradients of zeros; of any type, and under autocast."""
    linear, conv = st.QuantLinear, st.QuantConv2d
    for kind, sizes, shape in ((linear, (3, 4), (0, 3)), (linear, (3, 4), (2, 0, 3)), (conv, (3, 4, 3), (0, 3, 5, 5))):
        layer = kind(*sizes, recipe=recipe, seed=1)
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.zeros(shape, dtype=dtype, requires_grad=True)
            with torch.autocast("cpu", dtype=torch.float16):
                y = layer(x)
            expected = (torch.nn.Linear if kind is linear else torch.nn.Conv2d)(*sizes)(torch.zeros(shape))
            assert (y.shape, y.dtype) == (expected.shape, dtype)
            y.sum().backward()
            assert x.grad.shape == x.shape
            assert not layer.weight.grad.any()


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_a_layer_without_inputs_is_refused() -> None:
    """Its result would be the bias."""
    with pytest.raises(sf.Error, match=r"an input of shape \(2, 0\); give one that has values"):
        st.QuantLinear(0, 4, recipe="mxfp8")(torch.zeros(2, 0))


@pytest.mark.parametrize("name", ["ReLU", "Tanh", "Sigmoid"])
@pytest.mark.parametrize("fmt", ["s1e5m2", "bf16", "mxfp8", "qint8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_activation_functions_of_one_number_or_none(name: str, fmt: str, shape: tuple[int, ...]) -> None:
    model = st.quantized(torch.nn.Sequential(getattr(torch.nn, name)()), {"function": fmt, "error": fmt})
    x = torch.full(shape, 0.3, requires_grad=True)
    y = model(x)
    y.sum().backward()
    assert y.shape == x.grad.shape == x.shape
    if not shape:
        assert torch.equal(y.reshape(1), model(x.detach().reshape(1)))


def test_a_network_is_the_numpy_network() -> None:
    """Three steps of a stochastic recipe with overrides: outputs, and all gradients."""
    formats = {r: {"format": "s1e5m2", "policy": SR} for r in (*FOUR, "function")}
    table = {"formats": formats, "override": [{"layers": ["last"], "weight": "mxfp8", "activation": "mxfp8"}]}
    ours = nn.Sequential(
        {"0": nn.Linear(20, 64), "1": nn.Tanh(), "2": nn.Linear(64, 64), "3": nn.ReLU(), "4": nn.Linear(64, 7)}
    )
    plain = torch.nn.Sequential(
        torch.nn.Linear(20, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 7)
    )
    model, run = st.quantized(plain, table, seed=9), RunState(9)
    read_recipe({"model": {"kind": "mlp"}, "data": {}, **table}).assign(ours, run)
    named = dict(ours.walk())
    for name, module in model.named_children():
        named[name].params = {k: p.detach().numpy() for k, p in module.named_parameters()}
    for step in range(1, 4):
        run.begin(step)
        x, dy = draw(5, 20, seed=step), draw(5, 7, seed=100 + step)
        model.zero_grad()
        y = model(torch.from_numpy(x))
        assert same(y, ours.forward(x))
        y.backward(torch.from_numpy(dy))
        ours.backward(dy)
        for name, p in model.named_parameters():
            layer, _, kind = name.partition(".")
            assert same(p.grad, named[layer].grads[kind]), name


# -- which layers, and what is refused -----------------------------------------------------------------------------


def test_exempt_layers_stay_torchs() -> None:
    for exempt, left in ((("first",), {"0"}), (("last",), {"2"}), (("0", "2*"), None), (("linear",), None)):
        if left is None:
            with pytest.raises(sf.Error, match="no layer of this model a format"):
                st.quantized(network(), "mxfp8", exempt=exempt)
        else:
            model = st.quantized(network(), "mxfp8", exempt=exempt)
            assert {n for n, m in model.named_modules() if type(m) is torch.nn.Linear} == left


def test_a_training_recipe_by_name() -> None:
    plain = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 4, 3), torch.nn.Flatten(), torch.nn.Linear(64, 10)
    )
    model = st.quantized(plain, "fp8-cnn-s1e5m2")  # first and last layer exempt
    kinds = [type(m).__name__ for m in model]
    assert kinds == ["Conv2d", "QuantReLU", "QuantConv2d", "Flatten", "Linear"]
    assert "weight=s1e5m2" in repr(model[2])


def test_one_format_is_that_of_the_operands() -> None:
    roles = {"weight": "mxfp8", "activation": "mxfp8", "error": "mxfp8"}
    assert repr(network(recipe="mxfp8")) == repr(network(recipe=roles))
    assert "weight_gradient" not in repr(network(recipe="mxfp8"))


MODEL = torch.nn.Linear(3, 4)


@pytest.mark.parametrize(
    ("model", "recipe", "message"),
    [
        (MODEL, "mxfp9", "neither a training recipe .* nor a format: .* did you mean mxfp8"),
        (MODEL, "absent.toml", "absent.toml"),
        (MODEL, 3, "not 3"),
        (MODEL, {"weigt": "fp16"}, "did you mean weight"),
        (MODEL, {"weight": "fp16", "master": "bf16"}, "master: torch's optimizer"),
        (MODEL, "fp32-mlp", "no layer of this model a format"),
        (torch.nn.ReLU(), "mxfp8", "no layer of this model a format"),
        ("model", "mxfp8", "str is not a torch module"),
        (torch.nn.LSTM(3, 4), "mxfp8", "lstm: LSTM is not supported; leave the layer out by exempt"),
        (torch.nn.Conv1d(3, 4, 3), "mxfp8", "Conv1d is not supported"),
        (torch.nn.MultiheadAttention(8, 2), "mxfp8", "MultiheadAttention is not supported"),
        (torch.nn.Conv2d(4, 4, 3, groups=2), "mxfp8", "conv2d: groups = 2 is not supported"),
        (torch.nn.Conv2d(4, 4, 3, dilation=2), "mxfp8", r"dilation = \(2, 2\) is not supported"),
        (torch.nn.Conv2d(4, 4, (3, 1)), "mxfp8", r"kernel_size = \(3, 1\) is not supported"),
        (torch.nn.Conv2d(4, 4, 3, padding="same"), "mxfp8", "padding = 'same' is not supported"),
        (st.quantized(MODEL, "mxfp8"), "mxfp8", "quantized already"),
    ],
)
def test_bad_models_and_recipes_are_one_line(model: Any, recipe: Any, message: str) -> None:
    with pytest.raises(sf.Error, match=message) as error:
        st.quantized(model, recipe)
    assert "\n" not in str(error.value)


def test_unsupported_layers_may_be_exempt() -> None:
    class Mixed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention, self.output = torch.nn.MultiheadAttention(8, 2), torch.nn.Linear(8, 3)

    model = st.quantized(Mixed(), "mxfp8", exempt=("attention*",))
    assert isinstance(model.output, st.QuantLinear)
    assert not isinstance(model.attention.out_proj, st.QuantLinear)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(2, 3, dtype=torch.float64), "0: a tensor of float64; use one of float32, bfloat16, float16"),
        (torch.zeros(2, 4), r"0: an input of shape \(2, 4\); give \(..., 3\)"),
        (torch.tensor(1.0), r"an input of shape \(\); give"),
        (torch.zeros(2, 3, device="meta"), "meta device"),
        (np.zeros((2, 3)), "ndarray is not a torch tensor"),
    ],
)
def test_bad_tensors_are_one_line(x: Any, message: str) -> None:
    with pytest.raises(sf.Error, match=message):
        st.quantized(torch.nn.Sequential(MODEL), "mxfp8")(x)


@pytest.mark.parametrize("shape", [(3, 8, 8), (1, 4, 8, 8), (1, 3, 4, 2), (0, 4, 8, 8)])
def test_bad_images_are_one_line(shape: tuple[int, ...]) -> None:
    with pytest.raises(sf.Error, match=r"give \(batch, 3, height, width\), height and width at least 3"):
        st.QuantConv2d(3, 4, 3, recipe="mxfp8")(torch.zeros(shape))


def test_names_key_the_random_bits() -> None:
    recipe = {"weight": {"format": "s1e4m3", "policy": SR}}
    x = torch.from_numpy(draw(4, 24))
    layers = [st.QuantLinear(24, 8, recipe=recipe, name=n) for n in ("a", "a", "b")]
    for layer in layers:
        layer.load_state_dict({k: v for k, v in layers[0].state_dict().items() if "numerics" not in k})
    outputs = [layer(x) for layer in layers]
    assert [torch.equal(a, b) for a, b in itertools.pairwise(outputs)] == [True, False]
