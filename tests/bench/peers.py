"""What the benchmarks compare with: other libraries, where installed, and reimplementations of their methods."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Peers = dict[str, Callable[[], Any]]
BLOCK: Final = 32


def installed(module: str) -> bool:
    """Whether a peer is installed."""
    return importlib.util.find_spec(module) is not None


def torch_module() -> Any:
    """torch on one thread; None if it is not installed."""
    if not installed("torch"):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
    torch.set_num_threads(1)
    return torch


def casts(x: NDArray[np.float32]) -> dict[str, Peers]:
    """Conversions of float32 to E4M3, to it and back, to it stochastically and back, to BF16, FP16 and FP64."""
    import numpy as np

    peers: dict[str, Peers] = {"e4m3": {}, "back": {}, "sr": {}, "bf16": {}, "fp16": {}, "fp64": {}}
    wide = np.empty(x.size)
    peers["fp64"]["numpy"] = lambda: np.copyto(wide, x)
    peers["fp16"]["numpy"] = lambda: x.astype(np.float16)
    torch = torch_module()
    if torch is not None:
        t = torch.from_numpy(x)
        peers["e4m3"]["torch"] = lambda: t.to(torch.float8_e4m3fn)
        peers["back"]["torch"] = lambda: t.to(torch.float8_e4m3fn).to(torch.float32)
        peers["bf16"]["torch"] = lambda: t.to(torch.bfloat16)
        peers["fp16"]["torch"] = lambda: t.to(torch.float16)
        quantize = _qtorch()
        if quantize is not None:
            peers["back"]["qtorch"] = lambda: quantize(t, 4, 3, rounding="nearest")
            peers["sr"]["qtorch"] = lambda: quantize(t, 4, 3, rounding="stochastic")
    if installed("ml_dtypes"):
        import ml_dtypes

        peers["e4m3"]["ml_dtypes"] = lambda: x.astype(ml_dtypes.float8_e4m3fn)
    return peers


def _qtorch() -> Any:
    """qtorch's float_quantize; it compiles itself when it is imported, which may fail."""
    if not installed("qtorch"):
        return None
    try:
        from qtorch.quant import float_quantize
    except Exception:  # a peer that does not build is left out
        return None
    return float_quantize


def blocks(x: NDArray[np.float32]) -> dict[str, Peers]:
    """Rows to MXFP8 E4M3 and to MXFP4."""
    peers: dict[str, Peers] = {"mxfp8": {}, "mxfp4": {}}
    torch = torch_module()
    if torch is None:
        return peers
    rows = torch.from_numpy(x)
    peers["mxfp8"]["microxcaling's method"] = lambda: microxcaling(torch, rows, 3, 8, 448.0)
    peers["mxfp4"]["microxcaling's method"] = lambda: microxcaling(torch, rows, 1, 2, 6.0)
    if installed("torchao"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from torchao.prototype.mx_formats.mx_tensor import to_mx
        peers["mxfp8"]["torchao"] = lambda: to_mx(rows, torch.float8_e4m3fn, BLOCK)
        peers["mxfp4"]["torchao"] = lambda: to_mx(rows, torch.float4_e2m1fn_x2, BLOCK)
    return peers


def microxcaling(torch: Any, x: Any, mantissa_bits: int, emax: int, largest: float) -> Any:
    """The values of MX blocks, step by step as Microsoft's microxcaling does it with tensors."""
    blocks = x.reshape(-1, BLOCK)
    amax = blocks.abs().amax(dim=-1, keepdim=True)
    shared = torch.floor(torch.log2(amax + torch.finfo(torch.float32).tiny * (amax == 0))) - emax
    shared = torch.clamp(shared, min=-127)
    scaled = blocks / 2**shared
    private = torch.floor(torch.log2(scaled.abs() + (scaled == 0))).clip(min=2 - 2 ** (emax.bit_length() - 1))
    unit = 2 ** (mantissa_bits - private)
    whole = torch.sign(scaled) * torch.floor(torch.abs(scaled * unit) + 0.5)
    return (torch.clamp(whole / unit, -largest, largest) * 2**shared).reshape(x.shape)
