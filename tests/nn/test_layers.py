"""Layers: the gradients written out against differences in float64, and against PyTorch in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from softfloat_ref import blocks
from softfloat_ref.arrays.functions import lstm_gates
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.numerics import RecordingNumerics
from softfloat_ref.golden.trace.recorder import RecordedArray, Recorder
from softfloat_ref.nn import layers as nn
from softfloat_ref.nn.models import MODELS, Input, build
from softfloat_ref.nn.numerics import Numerics, RunState
from softfloat_ref.nn.operations import real_function
from softfloat_ref.nn.tensor_format import TensorFormat

Array = np.ndarray[Any, Any]
STEP = 1e-6


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def small_residual() -> nn.Layer:
    body = nn.Sequential({"a": nn.Linear(5, 5, name="a"), "b": nn.Tanh()})
    return nn.Residual(body, nn.Linear(5, 5, name="c"))


LAYERS: dict[str, tuple[Callable[[], nn.Layer], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(5, 4), (3, 5)),
    "linear of sequences": (lambda: nn.Linear(5, 4), (2, 3, 5)),
    "conv": (lambda: nn.Conv2d(3, 4), (2, 6, 5, 3)),
    "conv, stride 2": (lambda: nn.Conv2d(3, 4, stride=2), (2, 7, 6, 3)),
    "conv, stride 2 of an even size": (lambda: nn.Conv2d(2, 3, stride=2, bias=False), (1, 6, 8, 2)),
    "conv, no padding": (lambda: nn.Conv2d(2, 3, 2, padding=0), (2, 4, 5, 2)),
    "conv 1x1, stride 2": (lambda: nn.Conv2d(3, 4, 1, 2), (2, 5, 6, 3)),
    "conv 5x5": (lambda: nn.Conv2d(2, 2, 5), (1, 6, 6, 2)),
    "transposed conv": (lambda: nn.ConvTranspose2d(3, 2), (2, 3, 4, 3)),
    "transposed conv, stride 1": (lambda: nn.ConvTranspose2d(2, 3, 3, 1, 1, bias=False), (1, 4, 3, 2)),
    "transposed conv, no overlap": (lambda: nn.ConvTranspose2d(2, 3, 2, 2, 0), (2, 2, 3, 2)),
    "transposed conv, stride 1, to an image": (lambda: nn.ConvTranspose2d(5, 3, 3, 1, 0, bias=False), (2, 1, 1, 5)),
    "leaky relu": (nn.LeakyReLU, (3, 7)),
    "scale": (lambda: nn.Scale(2.5), (3, 7)),
    "batch norm": (lambda: nn.BatchNorm(4), (3, 2, 2, 4)),
    "layer norm": (lambda: nn.LayerNorm(6), (3, 2, 6)),
    "rms norm": (lambda: nn.RMSNorm(6), (3, 2, 6)),
    "lstm": (lambda: nn.LSTM(3, 4), (5, 2, 3)),
    "attention": (lambda: nn.Attention(6, 2), (4, 3, 6)),
    "attention, one head": (lambda: nn.Attention(3, 1), (5, 1, 3)),
    "positions": (lambda: nn.Positions(6, 3), (4, 2, 3)),
    "positions, all": (lambda: nn.Positions(4, 3), (4, 2, 3)),
    "gelu": (nn.GELU, (3, 7)),
    "gelu with tanh": (nn.GELUTanh, (3, 7)),
    "silu": (nn.SiLU, (3, 7)),
    "relu": (nn.ReLU, (3, 7)),
    "tanh": (nn.Tanh, (3, 7)),
    "sigmoid": (nn.Sigmoid, (3, 7)),
    "dropout": (lambda: nn.Dropout(0.3), (4, 9)),
    "max pool": (lambda: nn.MaxPool(2), (2, 5, 4, 3)),
    "avg pool": (lambda: nn.AvgPool(3), (2, 7, 6, 2)),
    "global avg pool": (nn.GlobalAvgPool, (2, 3, 4, 2)),
    "flatten": (nn.Flatten, (2, 3, 4)),
    "residual": (small_residual, (3, 5)),
    "residual, no shortcut": (lambda: nn.Residual(nn.Tanh()), (3, 5)),
}


def wide(layer: nn.Layer) -> nn.Layer:
    """With float64 parameters."""
    for _, part in layer.walk():
        part.params = {k: v.astype(np.float64) + 0.1 * draw(*v.shape, seed=7) for k, v in part.params.items()}
        part.buffers = {k: v.astype(np.float64) for k, v in part.buffers.items()}
    return layer


def forward(layer: nn.Layer, x: Array) -> Array:
    for _, part in layer.walk():
        part.numerics.run.begin(1)
    layer.reset()
    return layer.forward(x)


def differences(work: Callable[[], float], x: Array) -> Array:
    """Central differences of a number with respect to an array that it depends on."""
    slopes = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        value = x[i]
        x[i] = value + STEP
        above = work()
        x[i] = value - STEP
        slopes[i] = (above - work()) / (2 * STEP)
        x[i] = value
    return slopes


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_the_differences(name: str) -> None:
    make, shape = LAYERS[name]
    layer, x = wide(make()), draw(*shape, seed=1)
    weights = draw(*forward(layer, x).shape, seed=2)

    def value() -> float:
        return float((forward(layer, x) * weights).sum())

    value()
    dx = layer.backward(weights.copy())
    assert dx.shape == x.shape
    np.testing.assert_allclose(dx, differences(value, x), rtol=1e-5, atol=1e-8)
    for _, part in layer.walk():
        for key, parameter in part.params.items():
            value()
            layer.backward(weights.copy())
            gradient = part.grads[key].copy()
            np.testing.assert_allclose(gradient, differences(value, parameter), rtol=1e-5, atol=1e-8, err_msg=key)


Specs = dict[str, TensorFormat]


def spread(
    layer: nn.Layer, x: Array, dy: Array, numerics: Callable[[Numerics], Numerics], specs: Specs, accumulator: str
) -> list[Array]:
    """Output, gradients of the input and of the parameters, under these numerics."""
    for name, part in layer.walk():
        part.numerics = numerics(Numerics(name, specs, accumulator, RunState(1)))
        part.numerics.run.begin(1)
    results = [layer.forward(x), layer.backward(dy)]
    return [*results, *(part.grads[key] for _, part in layer.walk() for key in part.params)]


def check_recorded(name: str, specs: Specs, accumulator: str) -> None:
    make, shape = LAYERS[name]
    x = draw(*shape, seed=1).astype(np.float32)
    dy = draw(*make().forward(x).shape, seed=2).astype(np.float32)
    expected = spread(make(), x, dy, lambda plain: plain, specs, accumulator)
    recorder, layer = Recorder(), make()
    for part_name, part in layer.walk():
        for arrays in (part.params, part.buffers):
            arrays.update({key: recorder.input(f"{part_name}/{key}", value) for key, value in arrays.items()})
    inputs = recorder.input("x", x), recorder.input("dy", dy)
    results = spread(layer, *inputs, lambda plain: RecordingNumerics(plain, recorder), specs, accumulator)
    for a, b in zip(expected, results, strict=True):
        assert isinstance(b, RecordedArray)
        np.testing.assert_array_equal(np.asarray(b).view(np.uint32), a.view(np.uint32))


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_that_is_recorded_computes_the_same(name: str) -> None:
    check_recorded(name, {}, "fp32-sequential")


@pytest.mark.parametrize(
    ("fmt", "accumulator"),
    [("mxfp8", "mx-fp32"), ("nvfp4", "exact"), ("s1e5m2", "fp32-sequential")],
)
@pytest.mark.parametrize("rounding", ["rne", "sr"])
def test_attention_in_formats_that_is_recorded(fmt: str, accumulator: str, rounding: str) -> None:
    """The same random words round the same values, also of blocks down a matrix."""
    policy = {"rounding": rounding, **({"sr_bits": 8} if rounding == "sr" else {})}
    roles = ("weight", "activation", "error", "weight_gradient")
    check_recorded("attention", {role: TensorFormat(fmt, policy) for role in roles}, accumulator)


def test_the_gradient_of_the_loss() -> None:
    logits, targets = draw(4, 3, 5), np.array([[0, 4, 2], [1, 1, 3], [2, 0, 4], [3, 3, 3]])
    plain = Numerics()

    def value() -> float:
        return nn.softmax_cross_entropy(logits, targets, plain).value

    loss = nn.softmax_cross_entropy(logits, targets, plain, scale=8.0)
    np.testing.assert_allclose(loss.gradient, 8 * differences(value, logits), rtol=1e-5, atol=1e-8)
    probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    picked = np.take_along_axis(probabilities, targets[..., None], -1)
    assert loss.value == pytest.approx(-np.log(picked).mean(), rel=1e-12)
    assert loss.correct == (logits.argmax(-1) == targets).sum()


def test_the_gradient_of_an_embedding() -> None:
    layer, indices = wide(nn.Embedding(6, 3)), np.array([[1, 5, 1], [0, 1, 2]])
    weights = draw(2, 3, 3)

    def value() -> float:
        return float((layer.forward(indices) * weights).sum())

    value()
    layer.backward(weights)
    np.testing.assert_allclose(layer.grads["weight"], differences(value, layer.params["weight"]), atol=1e-8)


def test_the_gradient_of_a_table_that_is_also_the_output_s_weight() -> None:
    """Both uses of it count."""
    table = nn.Embedding(6, 3)
    network = wide(nn.Sequential({"embedding": table, "tanh": nn.Tanh(), "output": nn.TiedLinear(table)}))
    indices, weights = np.array([[1, 5, 1], [0, 1, 2]]), draw(2, 3, 6)

    def value() -> float:
        return float((network.forward(indices) * weights).sum())

    value()
    network.backward(weights)
    for _, layer in network.walk():
        for key, parameter in layer.params.items():
            np.testing.assert_allclose(layer.grads[key].copy(), differences(value, parameter), atol=1e-8)


def test_a_transposed_convolution_is_the_convolution_of_errors() -> None:
    conv, back = nn.Conv2d(2, 3, 4, 2, 1, bias=False), nn.ConvTranspose2d(3, 2, bias=False)
    back.params["weight"] = conv.params["weight"]
    dy = draw(2, 3, 4, 3).astype(np.float32)
    conv.forward(np.zeros((2, 6, 8, 2), np.float32))
    np.testing.assert_array_equal(back.forward(dy), conv.backward(dy))


def test_attention_looks_back_only() -> None:
    layer, x = nn.Attention(8, 2), draw(5, 2, 8).astype(np.float32)
    before = layer.forward(x)
    x[3] += 1
    after = layer.forward(x)
    np.testing.assert_array_equal(after[:3], before[:3])
    assert (after[3:] != before[3:]).all()


def test_attention_product_by_product() -> None:
    """Each product's operands are in blocks along the axis that it reduces: the values by the public functions."""
    layer, x, dy = nn.Attention(40, 1), draw(48, 1, 40), draw(48, 1, 40, seed=2)
    layer.numerics = Numerics("attention", dict.fromkeys(("activation", "error"), TensorFormat("mxfp4")))
    layer.forward(x.astype(np.float32))
    layer.backward(dy.astype(np.float32))
    q, k, v, p = (held.values[0] for held in (layer._q, layer._k, layer._v, layer._p))
    seen: dict[tuple[str, int], Array] = {}
    for name, held in (("q", layer._q), ("k", layer._k), ("v", layer._v), ("p", layer._p)):
        seen |= {(name, axis): block[0] for axis, block in held._blocks.items()}
    assert set(seen) == {(name, axis) for name in "qkvp" for axis in (1, 2)}
    for (name, axis), block in seen.items():
        value = {"q": q, "k": k, "v": v, "p": p}[name]
        np.testing.assert_array_equal(block, blocks.quantize(value, "mxfp4", axis=axis - 1), err_msg=f"{name} {axis}")
    assert (seen["q", 1] != seen["q", 2]).any()


def test_attention_needs_whole_heads_and_a_context() -> None:
    with pytest.raises(Error, match="heads = 3 must divide width = 8"):
        nn.Attention(8, 3)
    with pytest.raises(Error, match="sequences of 5 symbols, but the model's context is 4"):
        nn.Positions(4, 2).forward(np.zeros((5, 1, 2), np.float32))


def test_an_lstm_carries_its_state() -> None:
    """Two halves of a sequence give what the whole gives."""
    layer, x = nn.LSTM(3, 4), draw(6, 2, 3).astype(np.float32)
    whole = layer.forward(x)
    layer.reset()
    np.testing.assert_array_equal(np.concatenate([layer.forward(x[:2]), layer.forward(x[2:])]), whole)


@pytest.mark.parametrize("size", [1.0, 1e-4, 40.0, 0.0])
@pytest.mark.parametrize("fmt", ["fp32", "bf16"])
def test_an_lstms_loops_are_its_operations(size: float, fmt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits as one operation after the other; also where a loop leaves functions' results undecided."""
    x, dy = (draw(7, 3, 5 + k, seed=k).astype(np.float32) * np.float32(size) for k in (0, 3))
    x[3, 1] = np.inf
    results = []
    for at_once in (True, False):
        monkeypatch.setattr(Numerics, "records", not at_once)
        monkeypatch.setattr("softfloat_ref.nn.operations.lstm_gates", lstm_gates if at_once else gate_by_gate)
        layer = nn.LSTM(5, 8)
        layer.numerics = Numerics("lstm", {"vector": TensorFormat(fmt)} if fmt != "fp32" else {})
        for _ in range(2):
            with np.errstate(invalid="ignore"):
                results.append([layer.forward(x), layer.backward(dy), *layer.grads.values()])
    assert len(results) == 4
    for quick, slow in zip(results[:2], results[2:], strict=True):
        for a, b in zip(quick, slow, strict=True):
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
            np.testing.assert_array_equal(*(v[~np.isnan(v)].view(np.uint32) for v in (a, b)))


def gate_by_gate(sums: Array) -> Array:
    parts = np.split(sums, 4, 1)
    return np.concatenate([real_function("tanh" if i == 2 else "sigmoid", p) for i, p in enumerate(parts)], 1)


def test_batch_norm_in_inference_goes_by_its_statistics() -> None:
    layer, x = nn.BatchNorm(3, momentum=1.0), draw(50, 3).astype(np.float32)
    trained = layer.forward(x)
    layer.numerics.run.training = False
    again = layer.forward(x)
    np.testing.assert_allclose(trained * np.sqrt(49 / 50), again, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.forward(x[:1]), again[:1], rtol=1e-6)


def test_dropout_depends_on_seed_and_step() -> None:
    def mask(seed: int, step: int) -> Array:
        layer = nn.Dropout(0.5)
        layer.numerics = Numerics("drop", run=RunState(seed))
        layer.numerics.run.begin(step)
        return layer.forward(np.ones(1000, np.float32))

    assert (mask(1, 1) == mask(1, 1)).all()
    assert (mask(1, 1) != mask(1, 2)).any()
    assert (mask(1, 1) != mask(2, 1)).any()
    assert 0.4 < (mask(1, 1) > 0).mean() < 0.6
    assert set(np.unique(mask(1, 1))) == {0.0, 2.0}


def test_pooling_a_tie_has_one_gradient() -> None:
    layer = nn.MaxPool(2)
    layer.forward(np.ones((1, 2, 2, 1), np.float32))
    assert layer.backward(np.full((1, 1, 1, 1), 3, np.float32)).reshape(-1).tolist() == [3, 0, 0, 0]


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("kind", MODELS)
def test_models_run_forward_and_back(kind: str) -> None:
    text = kind in ("lstm", "transformer")
    shape = () if text else (16, 16, 3)
    network = build({"kind": kind}, Input(shape, 10, 1))
    x = np.arange(6).reshape(3, 2) if text else draw(2, 16, 16, 3).astype(np.float32)
    y = network.forward(x)
    assert y.shape == ((3, 2, 10) if text else (2, 1) if kind == "dcgan" else (2, 10))
    network.backward(np.ones_like(y))
    for name, layer in network.walk():
        for key, parameter in layer.params.items():
            assert layer.grads[key].shape == parameter.shape, (name, key)
            assert layer.grads[key].dtype == np.float32


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"heads": 3}, "heads = 3 must divide width = 128"),
        ({"norm": "batch"}, "unknown norm 'batch'"),
        ({"function": "gelo"}, "did you mean gelu"),
    ],
)
def test_bad_transformers_are_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(Error, match=message):
        build({"kind": "transformer", **table}, Input((), 10, 1))


def test_a_transformer_has_its_layers() -> None:
    small = {"kind": "transformer", "layers": 1, "width": 8, "heads": 2, "context": 4, "dropout": 0.1}
    network = build({**small, "norm": "rms", "function": "silu", "tied": False}, Input((), 5, 1))
    attention, mlp = "block1_attention", "block1_mlp"
    assert [name for name, _ in network.walk()] == [
        "embedding", "positions", f"{attention}.body.norm", f"{attention}.body.attention.input",
        f"{attention}.body.attention.output", f"{attention}.body.attention", f"{attention}.body.dropout", attention,
        f"{mlp}.body.norm", f"{mlp}.body.linear1", f"{mlp}.body.silu", f"{mlp}.body.linear2", f"{mlp}.body.dropout",
        mlp, "norm", "output",
    ]  # fmt: skip
    assert dict(build(small, Input((), 5, 1)).walk())["output"].params.keys() == {"bias"}
    starts = {layer.params["weight"].tobytes() for _, layer in network.walk() if layer.products and layer.params}
    assert len(starts) == 5  # each has numbers of its own


def test_a_resnet_20_has_its_layers() -> None:
    network = build({"kind": "resnet"}, Input((32, 32, 3), 10, 1))
    products = [layer for _, layer in network.walk() if layer.products]
    assert len(products) == 20 + 2  # two shortcuts widen
    assert sum(p.size for _, layer in network.walk() for p in layer.params.values()) == 272_474


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kind": "mpl"}, "did you mean mlp"),
        ({"kind": "mlp", "hiden": [3]}, "did you mean hidden"),
        ({"kind": "mlp", "hidden": [0]}, "hidden = [0]"),
        ({"kind": "resnet", "depth": 21}, "6n + 2"),
        ({"kind": "cnn", "width": 3}, "key of model cnn"),
        ({"kind": "lstm"}, "takes text"),
        ({"kind": "transformer"}, "takes text"),
        ({"kind": "mlp", "function": "rellu"}, "did you mean relu"),
    ],
)
def test_bad_models_are_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(Error, match=message.replace("[", r"\[").replace("+", r"\+")):
        build(table, Input((8, 8, 3), 10, 1))


def test_every_kind_of_layer_is_known() -> None:
    """To recipes, which select layers by it."""
    layers = [x for name in nn.__all__ if isinstance(x := getattr(nn, name), type) and issubclass(x, nn.Layer)]
    assert {x.kind for x in layers} - {"layer", "sequential"} == {*nn.KINDS}
