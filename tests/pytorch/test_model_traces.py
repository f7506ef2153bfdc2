"""Golden traces of a model's forward pass: verified, and with the bits of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.verify import verify

pytestmark = pytest.mark.extra("torch")
torch = pytest.importorskip("torch")
st: Any = pytest.importorskip("softfloat_ref.torch")

SR = {"rounding": "sr", "sr_bits": 8}
RECIPES: dict[str, Any] = {
    "one format": "mxfp8",
    "two levels of scales": {"weight": "nvfp4", "activation": "nvfp4"},
    "an accumulator": {"weight": "mxfp4", "activation": "mxfp8", "accumulator": "fp32-sequential"},
    "affine": {"weight": {"format": "qint8_sym", "axis": 0}, "activation": "qint8"},
    "functions": {"weight": "fp16", "activation": "fp16", "function": "fp16", "vector": "fp16"},
    "stochastic": {"weight": {"format": "fp8_e4m3", "policy": SR}, "activation": {"format": "mxfp4", "policy": SR}},
}


def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(100, 20, bias=False),
        torch.nn.Tanh(),
        torch.nn.Linear(20, 3),
    )


def image(seed: int = 1) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((3, 2, 5, 5)).astype(np.float32))


@pytest.mark.parametrize("name", RECIPES)
def test_a_trace_verifies_and_has_the_model_s_output(name: str, tmp_path: Path) -> None:
    tuned = st.quantized(model(), RECIPES[name]).eval()
    y, plain = st.write_trace(tuned, tmp_path / "trace", image()), tuned(image())
    assert torch.allclose(y, plain, rtol=1e-5, atol=1e-6)
    if "accumulator" in RECIPES[name]:
        assert torch.equal(y, plain)
    report = verify(tmp_path / "trace", every=True)
    assert report.passed, report.problems
    codes = (tmp_path / "trace" / "5.forward.biased.memh").read_text().splitlines()[2:]
    if name != "functions":  # whose results have a format of their own
        assert [int(x, 16) for x in codes] == y.numpy().view(np.uint32).reshape(-1).tolist()


def test_a_changed_scale_of_a_tensor_is_found(tmp_path: Path) -> None:
    st.write_trace(st.quantized(model(), "nvfp4").eval(), tmp_path / "trace", image())
    path = tmp_path / "trace" / "3.forward.weight_tensor_scale.memh"
    *head, code = path.read_text().splitlines()
    path.write_text("\n".join([*head, f"{int(code, 16) + 1:08x}"]) + "\n")
    problems = verify(tmp_path / "trace").problems
    assert any(x.startswith("3.forward.weight_tensor_scale.memh") for x in problems)


def test_a_model_may_run_a_layer_twice_and_trains_on(tmp_path: Path) -> None:
    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            return self.layer(torch.relu(self.layer(x)))

    tuned = st.quantized(Twice(), {"weight": "mxfp8", "activation": "mxfp8", "error": "mxfp8"}).eval()
    st.write_trace(tuned, tmp_path / "trace", torch.ones(2, 8))
    assert verify(tmp_path / "trace").passed
    assert (tmp_path / "trace" / "layer.input.2.memh").exists()
    tuned.train()(torch.ones(2, 8)).sum().backward()
    assert tuned.layer.weight.grad is not None


def test_a_trace_of_nothing_is_an_error(tmp_path: Path) -> None:
    """Neither the call nor the files: the case was a transformer's fused kernels."""
    folder = tmp_path / "trace"
    attention = st.quantized(
        torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 1),
        {"weight": "fp4_e2m1", "activation": "fp4_e2m1"},
        exempt=("*self_attn*",),
    ).eval()
    x = torch.ones(1, 3, 8)
    y = st.write_trace(attention, folder, x)
    assert torch.allclose(y, attention(x), atol=1e-6)
    names = {path.name.split(".")[2] for path in folder.glob("layers.*.memh")}
    assert names == {"linear1", "linear2"}
    assert verify(folder).passed

    class Skips(torch.nn.Sequential):
        def forward(self, x: Any) -> Any:
            return x

    skips = st.quantized(Skips(torch.nn.Linear(8, 8)), "fp4_e2m1").eval()
    with pytest.raises(Error, match="used none of its quantized layers"):
        st.write_trace(skips, tmp_path / "other", x)
    empty = st.quantized(torch.nn.Sequential(torch.nn.Linear(8, 8)), "fp4_e2m1").eval()
    with pytest.raises(Error, match="a trace without operations"):
        st.write_trace(empty, tmp_path / "other", torch.ones(0, 8))
    assert not (tmp_path / "other").exists()
    empty.append(st.QuantLinear(8, 8, recipe="fp4_e2m1").eval())
    with pytest.raises(Error, match="layers of several quantized models"):
        st.write_trace(empty, tmp_path / "other", x)
    assert not (tmp_path / "other").exists()


def test_refused(tmp_path: Path) -> None:
    tuned = st.quantized(model(), "mxfp8")
    with pytest.raises(Error, match="training mode; call its eval"):
        st.write_trace(tuned, tmp_path / "trace", image())
    with pytest.raises(Error, match="with no quantized layers"):
        st.write_trace(model().eval(), tmp_path / "trace", image())
    st.write_trace(tuned.eval(), tmp_path / "trace", image())
    with pytest.raises(Error, match="already holds vectors"):
        st.write_trace(tuned, tmp_path / "trace", image())
    with pytest.raises(Error, match="an input of shape"):
        st.write_trace(tuned, tmp_path / "other", torch.ones(3))
    assert not (tmp_path / "other").exists()
    assert tuned(image()).requires_grad
