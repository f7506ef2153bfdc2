"""Linear layers of other libraries: the bits of torch.nn.Linear with the same weight."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import softfloat_ref as sf

pytestmark = pytest.mark.extra("torch")
torch = pytest.importorskip("torch")
st: Any = pytest.importorskip("softfloat_ref.torch")
nn = torch.nn
BY_ROLE = {"weight": "mxfp4", "activation": "mxfp8", "error": "mxfp8_e5m2"}


class Conv1D(nn.Module):  # type: ignore[misc]
    """As transformers has it: a linear layer with (inputs, outputs)."""

    __module__ = "transformers.pytorch_utils"
    __qualname__ = "Conv1D"

    def __init__(self, outputs: int, inputs: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(inputs, outputs)), nn.Parameter(torch.randn(outputs))

    def forward(self, x: Any) -> Any:
        return x @ self.weight + self.bias


class Plain(nn.Module):  # type: ignore[misc]
    def __init__(self, outputs: int, inputs: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(outputs, inputs)), None

    def forward(self, x: Any) -> Any:
        return x @ self.weight.t()


class Own(nn.Linear):  # type: ignore[misc]
    """A subclass of torch's, which is refused until it is registered."""


st.register_linear(Plain)
st.register_linear(Own)


def same(layer: Any) -> Any:
    """torch's layer with a layer's parameters."""
    linear = nn.Linear(64, 8, bias=layer.bias is not None)
    weight = layer.weight.t() if type(layer) is Conv1D else layer.weight
    with torch.no_grad():
        linear.weight.copy_(weight)
        if layer.bias is not None:
            linear.bias.copy_(layer.bias)
    return linear


LAYERS = {"Conv1D": lambda: Conv1D(8, 64), "own": lambda: Plain(8, 64), "a subclass": lambda: Own(64, 8)}


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_forward_and_gradients_are_those_of_linear(make: Any) -> None:
    torch.manual_seed(0)
    plain, x = make(), torch.randn(3, 5, 64)
    ours, torchs = (st.quantized(nn.Sequential(m, nn.ReLU()), BY_ROLE) for m in (plain, same(plain)))
    y, expected = ours(x), torchs(x)
    assert torch.equal(y, expected)
    assert not torch.equal(y, nn.Sequential(plain, nn.ReLU())(x))
    for result in (y, expected):
        result.square().sum().backward()
    gradient = ours[0].weight.grad
    assert torch.equal(gradient.t() if type(plain) is Conv1D else gradient, torchs[0].weight.grad)
    assert ours.state_dict().keys() == nn.Sequential(plain).state_dict().keys()
    program = torch.export.export(ours.eval(), (x,)).module()
    assert torch.equal(program(x + 1), torchs.eval()(x + 1))


def model() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(Plain(64, 64), nn.ReLU(), nn.Linear(64, 4))


def test_copies_and_files() -> None:
    tuned, x = st.quantized(model(), BY_ROLE), torch.randn(3, 64)
    assert "mxfp4" in repr(tuned[0])
    for other in (copy.deepcopy(tuned), pickle.loads(pickle.dumps(tuned))):
        assert torch.equal(other(x), tuned(x))
        assert type(other[0]) is type(tuned[0])
    assert type(st.quantized(model(), BY_ROLE, exempt=("first",))[0]) is Plain


@pytest.mark.parametrize(("kind", "message"), [(Plain, "quantized already"), (nn.Linear, "already"), (3, "3 is not")])
def test_what_cannot_be_registered(kind: Any, message: str) -> None:
    with pytest.raises(sf.Error, match=message):
        st.register_linear(kind)
