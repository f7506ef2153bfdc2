"""Modules of `quantized` in torch: tensors of other types, copies, stored states, graphs, hooks, compiled models."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
from test_quantized_layers import SR, draw, network

pytestmark = pytest.mark.extra("torch")
torch = pytest.importorskip("torch")
st: Any = pytest.importorskip("softfloat_ref.torch")


STOCHASTIC = {
    "weight": {"format": "s1e4m3", "policy": SR},
    "activation": {"format": "qint8", "observer": "moving-average"},
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_tensors_are_taken_exactly_and_rounded_once(dtype: Any) -> None:
    model = network(recipe="mxfp8").to(dtype)
    wide = copy.deepcopy(model).float()
    x = torch.from_numpy(draw(5, 24)).to(dtype)
    layer, exact = model[0], wide[0]
    y, expected = layer(x), exact(x.float())
    assert y.dtype == dtype
    assert torch.equal(y, expected.to(dtype))
    dy = torch.from_numpy(draw(5, 32, seed=2)).to(dtype)
    y.backward(dy)
    expected.backward(dy.float())
    assert layer.weight.grad.dtype == dtype
    assert torch.equal(layer.weight.grad, exact.weight.grad.to(dtype))


def test_autocast_changes_nothing() -> None:
    model, x = network(recipe="mxfp8"), torch.from_numpy(draw(5, 24))
    expected = model(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = model(x)
    assert y.dtype == torch.float32
    assert torch.equal(y, expected)


def test_views_and_expanded_gradients() -> None:
    model = network(recipe="mxfp8")
    x = torch.from_numpy(draw(24, 5)).T
    y = model(x)
    assert torch.equal(y, model(x.contiguous()))
    y.sum().backward()
    gradient = model[0].weight.grad.clone()
    model.zero_grad()
    model(x.contiguous()).backward(torch.ones(5, 4))
    assert torch.equal(model[0].weight.grad, gradient)


def test_the_model_itself_stays_plain() -> None:
    plain = network()
    before = copy.deepcopy(plain.state_dict())
    model = st.quantized(plain, "mxfp4")
    assert type(plain[0]) is torch.nn.Linear
    assert isinstance(model[0], st.QuantLinear)
    assert isinstance(model[0], torch.nn.Linear)
    model[0].weight.data.add_(1)
    assert all(torch.equal(v, before[k]) for k, v in plain.state_dict().items())
    assert model.state_dict().keys() == before.keys()
    model.load_state_dict(before)
    plain.load_state_dict(model.state_dict())


def test_shared_weights_and_hooks_stay() -> None:
    plain = network()
    plain.append(plain[2])
    plain[2] = torch.nn.Identity()
    seen: list[int] = []
    plain[0].register_forward_hook(lambda *_: seen.append(1))
    table = torch.nn.Embedding(24, 32)
    table.weight = torch.nn.Parameter(plain[0].weight.detach().T.contiguous())
    tied = torch.nn.ModuleDict({"a": plain, "b": plain[0]})
    model = st.quantized(tied, "mxfp8")
    assert model["a"][0] is model["b"]
    model["b"](torch.zeros(1, 24))
    assert seen == [1]


def test_a_copy_goes_on_alone_and_with_the_same_bits() -> None:
    model, x = network(recipe=STOCHASTIC), torch.from_numpy(draw(5, 24))
    model(x)
    other = copy.deepcopy(model)
    first, second = model(x), model(x)
    assert not torch.equal(first, second)
    assert torch.equal(other(x), first)
    assert torch.equal(other(x), second)


def test_a_stored_state_goes_on_with_the_same_bits() -> None:
    model, x = network(recipe=STOCHASTIC), torch.from_numpy(draw(5, 24))
    model(x)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = network(recipe=STOCHASTIC)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(3 * x), model(3 * x))
    model.eval()
    other.eval()
    assert torch.equal(other(x), model(x))
    assert torch.equal(other(x), model(x))
    extra = set(model.state_dict()) - set(network().state_dict())
    assert extra == {f"{i}.numerics.{k}" for i in (0, 2) for k in ("activation/low", "activation/high", "step")}
    other.load_state_dict(network().state_dict())  # a plain model's
    with pytest.raises(RuntimeError, match=r"Unexpected key.*0\.numerics\.error/low"):
        other.load_state_dict({**model.state_dict(), "0.numerics.error/low": torch.tensor(0.0)})


def test_the_seed_chooses_the_bits() -> None:
    x = torch.from_numpy(draw(5, 24))
    outputs = [network(recipe=STOCHASTIC, seed=s)(x) for s in (1, 1, 2)]
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_a_graph_outlives_later_steps() -> None:
    """Backward belongs to its forward: neither evaluation nor other calls between change it."""
    recipe = {"weight": "mxfp4", "error": {"format": "s1e4m3", "policy": SR}}
    gradients = []
    for between in (False, True):
        model, x = network(recipe=recipe), torch.from_numpy(draw(5, 24))
        y = model(x)
        if between:
            model.eval()(2 * x)
            model.train()(2 * x)
        y.sum().backward()
        gradients.append(model[0].weight.grad)
    assert torch.equal(*gradients)


def test_changes_in_place_before_backward_are_refused() -> None:
    model, x = network(recipe="mxfp8"), torch.from_numpy(draw(5, 24))
    y = model(x)
    with torch.no_grad():
        model[2].weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("name", ["ReLU", "Tanh", "Sigmoid"])
def test_outputs_may_be_changed_in_place(name: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(24, 32), getattr(torch.nn, name)())
    model, x = st.quantized(model, {"weight": "mxfp8", "function": "bf16"}), torch.from_numpy(draw(5, 24))
    gradients = []
    for change in (False, True):
        model.zero_grad()
        y = model(x)
        (y.add_(3) if change else y).sum().backward()
        gradients.append(model[0].weight.grad.clone())
    assert torch.equal(*gradients)
    assert gradients[0].any()


def test_a_retained_graph_gives_the_same_again() -> None:
    model, x = st.QuantConv2d(3, 4, 3, recipe="mxfp8"), torch.from_numpy(draw(2, 3, 6, 6))
    y = model(x).sum()
    y.backward(retain_graph=True)
    first = model.weight.grad.clone()
    model.zero_grad()
    y.backward()
    assert torch.equal(model.weight.grad, first)


def test_backward_twice_is_refused() -> None:
    model, x = network(recipe="mxfp8"), torch.from_numpy(draw(5, 24)).requires_grad_()
    (dx,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        dx.sum().backward()


@pytest.mark.filterwarnings("ignore")
def test_compiled_models_have_the_same_bits() -> None:
    plain, x = network(recipe=STOCHASTIC), torch.from_numpy(draw(5, 24))
    model = copy.deepcopy(plain)
    compiled = torch.compile(model, backend="eager")
    for _ in range(3):
        y, expected = compiled(x), plain(x)
        assert torch.equal(y, expected)
        y.sum().backward()
        expected.sum().backward()
        assert all(torch.equal(a.grad, b.grad) for a, b in zip(model.parameters(), plain.parameters(), strict=True))


def test_frozen_parameters_get_no_gradient() -> None:
    model, x = network(recipe="mxfp8"), torch.from_numpy(draw(5, 24))
    model[0].weight.requires_grad_(False)
    model(x).sum().backward()
    assert model[0].weight.grad is None
    assert model[0].bias.grad is not None
