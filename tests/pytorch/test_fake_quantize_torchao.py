"""Fake quantization against torchao 0.18.0, where it follows the same rule: MX blocks of numbers, without NaN and Inf,
whose scales are above 2^-127 (tests/peers lists where torchao leaves its rule)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.extra("torchao")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch = pytest.importorskip("torch")
    torchao = pytest.importorskip("torchao")
    st: Any = pytest.importorskip("softfloat_ref.torch")
    if torchao.__version__.split("+")[0] != "0.18.0":
        pytest.skip("needs torchao 0.18.0", allow_module_level=True)
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.prototype.qat.mx import MXFakeQuantizeConfig, MXFakeQuantizedLinear

ELEMENTS = {"mxfp8_e4m3": torch.float8_e4m3fn, "mxfp8_e5m2": torch.float8_e5m2, "mxfp4": torch.float4_e2m1fn_x2}
RULES = ("floor", "ceil", "even", "rceil")


def draw(*shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-20, 20, (*shape[:-1], 1))
    return torch.from_numpy(x.astype(np.float32))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_values_are_torchaos(name: str, rule: str, dtype: Any) -> None:
    x = draw(500, 128).to(dtype)
    expected = MXTensor.to_mx(x, ELEMENTS[name], 32, ScaleCalculationMode(rule)).dequantize()
    values = st.fake_quantize(x, name, profile=f"torchao-{rule}")
    assert values.dtype == expected.dtype
    assert torch.equal(values, expected)


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp4"])
def test_a_linear_layer_has_torchaos_operands(name: str) -> None:
    """Its forward pass has ours' operands; the sums of its product, in FP32 too, are in another order. Its backward
    takes the operands of the forward pass, whose blocks do not run along the axes that those products reduce."""
    torch.manual_seed(0)
    plain = torch.nn.Linear(128, 64, bias=False)
    config = MXFakeQuantizeConfig(ELEMENTS[name], 32, ScaleCalculationMode.RCEIL)
    theirs = MXFakeQuantizedLinear.from_linear(plain, config, config)
    mx = {"format": name, "profile": "torchao-rceil"}
    ours = st.quantized(plain, {"weight": mx, "activation": mx})
    x = torch.randn(48, 128)
    operands = [st.fake_quantize(v, name, profile="torchao-rceil") for v in (x, plain.weight)]
    exact = operands[0].double() @ operands[1].double().T
    for y in (ours(x), theirs(x)):
        torch.testing.assert_close(y.double(), exact, rtol=0, atol=1e-5)
    assert (exact - (x @ plain.weight.T).double()).abs().max() > 0.01
