"""Graphs in ONNX, computed by onnx' own reference, have the values of a plain call; what ONNX cannot say is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import softfloat_ref as sf

pytestmark = [pytest.mark.extra("torch", "onnx", "onnxscript"), pytest.mark.filterwarnings("ignore"), pytest.mark.full]
torch = pytest.importorskip("torch")
st: Any = pytest.importorskip("softfloat_ref.torch")
nn = torch.nn
FORMATS = ("fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz", "fp16", "bf16", "fp32")
# Every bfloat16 but NaNs, and values near the ties of FP16 and bfloat16.
WORDS = np.concatenate([
    np.arange(0, 0x7F81, dtype=np.uint32) << 16,
    (np.arange(0x33000, 0x48000, 7, dtype=np.uint32) << 12) + np.tile(np.array([0, 1, 0xFFF], np.uint32), 4096)[:12288],
])  # fmt: skip
VALUES = np.concatenate([WORDS, WORDS | 0x80000000]).view(np.float32)


def of_onnx(module: Any, x: Any) -> Any:
    """What onnx' reference computes of the exported module."""
    from onnx.reference import ReferenceEvaluator

    table = st.onnx_translations()
    options = {"dynamo": True, "opset_version": 23, "custom_translation_table": table, "verbose": False}
    program = torch.onnx.export(module.eval(), (x,), **options)
    return torch.from_numpy(ReferenceEvaluator(program.model_proto).run(None, {"v": x.numpy()})[0])


class FakeQuantize(nn.Module):  # type: ignore[misc]
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        self.args, self.options = args, options

    def forward(self, v: Any) -> Any:
        return st.fake_quantize(v, *self.args, **self.options)


@pytest.mark.parametrize("overflow", [None, "sat-none", "sat-finite"])
@pytest.mark.parametrize("fmt", FORMATS)
def test_values(fmt: str, overflow: str | None) -> None:
    policy = None if overflow is None else {"overflow": overflow}
    x = torch.from_numpy(VALUES)
    module = FakeQuantize(fmt, policy=policy)
    if overflow == "sat-finite" and fmt in ("fp16", "bf16", "fp32"):
        with pytest.raises(Exception, match="ONNX cannot say this policy"):
            of_onnx(module, x)
        return
    y, expected = of_onnx(module, x), module(x)
    same = (y.view(torch.int32) == expected.view(torch.int32)) | (y.isnan() & expected.isnan())
    assert same.all(), (x[~same][:5], y[~same][:5], expected[~same][:5])


class Model(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.a, self.b = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Linear(128, 16), nn.Linear(16, 4)

    def forward(self, v: Any) -> Any:
        return self.b(torch.relu(self.a(torch.relu(self.conv(v)).flatten(1))))


@pytest.mark.parametrize(
    "recipe", ["fp8_e4m3", "fp16", {"weight": "fp8_e5m2", "vector": "bf16"}, {"activation": "fp8_e4m3"}]
)
def test_models(recipe: Any) -> None:
    """Sums are in another order: the next code of a result at most."""
    torch.manual_seed(0)
    tuned, x = st.quantized(Model(), recipe).eval(), torch.randn(5, 3, 8, 8)
    y, expected = of_onnx(tuned, x), tuned(x)
    assert torch.allclose(y, expected, rtol=2.0**-3 if recipe == "fp8_e4m3" else 2.0**-7, atol=1e-3)
    assert (y == expected).float().mean() > 0.5 or recipe == {"weight": "fp8_e5m2", "vector": "bf16"}
    assert not torch.allclose(y, Model()(x), rtol=2.0**-7)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (FakeQuantize("mxfp8"), "no QuantizeLinear to mxfp8_e4m3"),
        (FakeQuantize("fp8_e4m3", round="rtz"), "ONNX cannot say this policy"),
        (FakeQuantize("qint8", scale=0.1, zero_point=0), "qint8 with zero_point, scale has no form"),
        (st.quantized(nn.Sequential(nn.Linear(64, 4)), "mxfp8"), "0: weight: ONNX has no|0: activation: ONNX has no"),
        (
            st.quantized(nn.Sequential(nn.Linear(64, 4)), {"weight": "fp16", "accumulator": "mx-fp32"}),
            "ONNX has no accumulators",
        ),
    ],
)
def test_what_onnx_cannot_say(module: Any, message: str) -> None:
    with pytest.raises(Exception, match=message) as e:
        of_onnx(module, torch.ones(2, 64))
    causes = [e.value]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    assert isinstance(causes[-1], sf.Error)
