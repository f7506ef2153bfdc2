"""The FP32 path of every layer against PyTorch, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from softfloat_ref.nn import layers as nn
from softfloat_ref.nn.numerics import Numerics

pytestmark = pytest.mark.extra("torch")
Array = np.ndarray[Any, Any]


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(ours: Array, theirs: Any, what: str = "") -> None:
    """Within a few units in the last place of the largest: sums in another order."""
    expected = theirs.detach().numpy()
    assert ours.dtype == np.float32, what
    assert ours.shape == expected.shape, what
    np.testing.assert_allclose(
        ours, expected, rtol=2e-5, atol=4e-6 * max(float(np.abs(expected).max()), 1e-3), err_msg=what
    )


def both(layer: nn.Layer, module: Any, x: Array, to: Any = None, back: Any = None) -> None:
    """Outputs, input gradients and parameters' gradients agree; to, back: between their order of axes and ours."""
    import torch

    to, back = to or (lambda t: t), back or (lambda t: t)
    theirs = to(torch.tensor(x)).clone().requires_grad_()
    expected = back(module(theirs))
    found = layer.forward(x)
    close(found, expected, "output")
    dy = draw(*found.shape, seed=9)
    expected.backward(torch.tensor(dy))
    close(layer.backward(dy), back(theirs.grad) if x.ndim == 4 else theirs.grad, "input gradient")


def nchw(t: Any) -> Any:
    return t.permute(0, 3, 1, 2)


def nhwc(t: Any) -> Any:
    return t.permute(0, 2, 3, 1) if t.ndim == 4 else t


def test_linear() -> None:
    import torch

    layer, module = nn.Linear(37, 21), torch.nn.Linear(37, 21)
    module.weight.data, module.bias.data = (torch.tensor(layer.params[k]) for k in ("weight", "bias"))
    both(layer, module, draw(16, 37))
    close(layer.grads["weight"], module.weight.grad)
    close(layer.grads["bias"], module.bias.grad)


@pytest.mark.parametrize(("kernel", "stride", "padding"), [(3, 1, 1), (3, 2, 1), (1, 2, 0), (5, 1, 2), (2, 2, 0)])
def test_conv(kernel: int, stride: int, padding: int) -> None:
    import torch

    layer = nn.Conv2d(5, 7, kernel, stride, padding)
    module = torch.nn.Conv2d(5, 7, kernel, stride, padding)
    module.weight.data = torch.tensor(layer.params["weight"]).permute(0, 3, 1, 2).contiguous()
    module.bias.data = torch.tensor(layer.params["bias"])
    both(layer, module, draw(3, 9, 8, 5), nchw, nhwc)
    close(layer.grads["weight"], module.weight.grad.permute(0, 2, 3, 1))
    close(layer.grads["bias"], module.bias.grad)


@pytest.mark.parametrize(("kernel", "stride", "padding"), [(4, 2, 1), (4, 1, 0), (3, 2, 1), (2, 2, 0)])
def test_transposed_conv(kernel: int, stride: int, padding: int) -> None:
    import torch

    layer = nn.ConvTranspose2d(5, 7, kernel, stride, padding)
    module = torch.nn.ConvTranspose2d(5, 7, kernel, stride, padding)
    module.weight.data = torch.tensor(layer.params["weight"]).permute(0, 3, 1, 2).contiguous()
    module.bias.data = torch.tensor(layer.params["bias"])
    both(layer, module, draw(3, 4, 5, 5), nchw, nhwc)
    close(layer.grads["weight"], module.weight.grad.permute(0, 2, 3, 1))
    close(layer.grads["bias"], module.bias.grad)


def test_batch_norm() -> None:
    import torch

    layer, module = nn.BatchNorm(6), torch.nn.BatchNorm2d(6)
    layer.params["weight"][:], layer.params["bias"][:] = draw(6, seed=3), draw(6, seed=4)
    module.weight.data, module.bias.data = (torch.tensor(layer.params[k]) for k in ("weight", "bias"))
    both(layer, module, draw(4, 5, 5, 6) + 2, nchw, nhwc)
    close(layer.grads["weight"], module.weight.grad)
    close(layer.grads["bias"], module.bias.grad)
    close(layer.buffers["mean"], module.running_mean)
    close(layer.buffers["variance"], module.running_var)
    module.eval()
    layer.numerics.run.training = False
    both(layer, module, draw(4, 5, 5, 6, seed=5), nchw, nhwc)


def test_layer_norm() -> None:
    import torch

    layer, module = nn.LayerNorm(31), torch.nn.LayerNorm(31)
    both(layer, module, draw(4, 6, 31) + 1)
    close(layer.grads["weight"], module.weight.grad)
    close(layer.grads["bias"], module.bias.grad)


def test_rms_norm() -> None:
    import torch

    layer, module = nn.RMSNorm(31), torch.nn.RMSNorm(31, eps=1e-5)
    layer.params["weight"][:] = draw(31, seed=3)
    module.weight.data = torch.tensor(layer.params["weight"])
    both(layer, module, draw(4, 6, 31) + 1)
    close(layer.grads["weight"], module.weight.grad)


@pytest.mark.parametrize("heads", [1, 4])
def test_attention(heads: int) -> None:
    import torch

    layer, module = nn.Attention(32, heads), torch.nn.MultiheadAttention(32, heads)
    pairs = {
        ("inputs", "weight"): module.in_proj_weight,
        ("inputs", "bias"): module.in_proj_bias,
        ("output", "weight"): module.out_proj.weight,
        ("output", "bias"): module.out_proj.bias,
    }
    for (part, key), parameter in pairs.items():
        parameter.data = torch.tensor(getattr(layer, part).params[key])
    mask = torch.full((9, 9), -torch.inf).triu(1)
    both(layer, lambda x: module(x, x, x, attn_mask=mask, need_weights=False)[0], draw(9, 3, 32))
    for (part, key), parameter in pairs.items():
        close(getattr(layer, part).grads[key], parameter.grad, f"{part} {key}")


@pytest.mark.parametrize("count", [1, 2, 4])
def test_lstm(count: int) -> None:
    """PyTorch has two biases, and the same order of gates."""
    import torch

    sizes = [11] + [13] * count
    ours = nn.Sequential({str(i): nn.LSTM(sizes[i], 13, name=str(i)) for i in range(count)})
    module = torch.nn.LSTM(11, 13, count)
    for i, layer in enumerate(ours.layers.values()):
        for theirs, mine in (("weight_ih", "input_weight"), ("weight_hh", "state_weight"), ("bias_ih", "bias")):
            getattr(module, f"{theirs}_l{i}").data = torch.tensor(layer.params[mine])
        getattr(module, f"bias_hh_l{i}").data.zero_()
    both(ours, lambda x: module(x)[0], draw(9, 4, 11))
    for i, layer in enumerate(ours.layers.values()):
        for theirs, mine in (("weight_ih", "input_weight"), ("weight_hh", "state_weight"), ("bias_ih", "bias")):
            close(layer.grads[mine], getattr(module, f"{theirs}_l{i}").grad, f"{mine} of layer {i}")


def test_embedding() -> None:
    import torch

    layer, module = nn.Embedding(12, 5), torch.nn.Embedding(12, 5)
    module.weight.data = torch.tensor(layer.params["weight"])
    indices, dy = np.array([[1, 3, 1], [11, 0, 1]]), draw(2, 3, 5)
    expected = module(torch.tensor(indices))
    close(layer.forward(indices), expected)
    expected.backward(torch.tensor(dy))
    layer.backward(dy)
    close(layer.grads["weight"], module.weight.grad)


@pytest.mark.parametrize("name", ["ReLU", "Tanh", "Sigmoid", "GELU", "SiLU"])
def test_activation_functions(name: str) -> None:
    import torch

    both(getattr(nn, name)(), getattr(torch.nn, name)(), 3 * draw(16, 33))


def test_gelu_by_tanh() -> None:
    import torch

    both(nn.GELUTanh(), torch.nn.GELU(approximate="tanh"), 3 * draw(16, 33))


@pytest.mark.parametrize(("ours", "theirs"), [("MaxPool", "MaxPool2d"), ("AvgPool", "AvgPool2d")])
def test_pooling(ours: str, theirs: str) -> None:
    import torch

    x = np.maximum(draw(3, 7, 6, 4), 0)  # with ties
    both(getattr(nn, ours)(2), getattr(torch.nn, theirs)(2), x, nchw, nhwc)


def test_global_average() -> None:
    import torch

    both(nn.GlobalAvgPool(), lambda t: torch.nn.AdaptiveAvgPool2d(1)(t)[:, :, 0, 0], draw(3, 7, 6, 4), nchw, nhwc)


def test_residual_addition() -> None:
    both(nn.Residual(nn.Tanh()), lambda t: t.tanh() + t, draw(4, 8))


def test_dropout_in_inference_is_nothing() -> None:
    import torch

    layer, module = nn.Dropout(0.5), torch.nn.Dropout(0.5).eval()
    layer.numerics.run.training = False
    both(layer, module, draw(4, 8))


def test_softmax_cross_entropy() -> None:
    import torch

    logits, targets = 5 * draw(20, 10), np.arange(20) % 10
    theirs = torch.tensor(logits, requires_grad=True)
    expected = torch.nn.functional.cross_entropy(theirs, torch.tensor(targets))
    expected.backward()
    found = nn.softmax_cross_entropy(logits, targets, Numerics())
    assert found.value == pytest.approx(float(expected.detach()), rel=1e-6)
    close(found.gradient, theirs.grad)


@pytest.mark.parametrize(
    ("table", "theirs", "keywords"),
    [
        ({"momentum": 0.9, "weight_decay": 5e-4}, "SGD", {"momentum": 0.9, "weight_decay": 5e-4}),
        ({"momentum": 0.9, "nesterov": True}, "SGD", {"momentum": 0.9, "nesterov": True}),
        ({"kind": "adam", "weight_decay": 0.01}, "Adam", {"weight_decay": 0.01}),
        ({"kind": "adam", "beta1": 0.5, "epsilon": 1e-3}, "Adam", {"betas": (0.5, 0.999), "eps": 1e-3}),
        ({"kind": "adamw", "beta2": 0.95, "weight_decay": 0.1}, "AdamW", {"betas": (0.9, 0.95), "weight_decay": 0.1}),
    ],
)
def test_optimizers(table: dict[str, Any], theirs: str, keywords: dict[str, Any]) -> None:
    import torch

    from softfloat_ref.nn.optimizers import Updates, read_optimizer

    weight, updates = draw(7, 5), Updates(read_optimizer({"rate": 0.1, **table}))
    tensor = torch.tensor(weight.copy(), requires_grad=True)
    optimizer = getattr(torch.optim, theirs)([tensor], lr=0.1, **keywords)
    for i in range(20):
        gradient = draw(7, 5, seed=i)
        tensor.grad = torch.tensor(gradient.copy())
        optimizer.step()
        updates.begin()
        updates.update("w", weight, gradient, 1.0, Numerics())
        close(weight, tensor)
