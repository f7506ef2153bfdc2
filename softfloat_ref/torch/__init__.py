"""Fake quantization in PyTorch, with the bits of the rest of the library: `fake_quantize` for tensors, and linear and
convolution layers whose products are quantized forward and backward by the roles of a training recipe.

`import softfloat_ref` does not import this package, which needs torch: pip install 'softfloat-ref[torch]'.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401  (the package torch, not this one: imports are absolute)
except ImportError:
    raise ImportError("softfloat_ref.torch needs torch: pip install 'softfloat-ref[torch]'") from None

from softfloat_ref.torch.functions import fake_quantize
from softfloat_ref.torch.layers import QuantConv2d, QuantLinear, register_linear
from softfloat_ref.torch.models import quantized, write_trace
from softfloat_ref.torch.onnx_translations import onnx_translations

__all__ = [
    "QuantConv2d",
    "QuantLinear",
    "fake_quantize",
    "onnx_translations",
    "quantized",
    "register_linear",
    "write_trace",
]


def __dir__() -> list[str]:
    return __all__
