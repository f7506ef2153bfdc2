"""Tensors as arrays and back. The work is done on the CPU: a tensor of another device is copied there and back."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch._subclasses import FakeTensor
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from softfloat_ref.base.errors import Error

Array = NDArray[Any]
NARROW: Final = (torch.float32, torch.bfloat16, torch.float16)  # float32 holds their values
FLOATS: Final = (*NARROW, torch.float64)


def check(x: Any, what: str, dtypes: tuple[Any, ...] = FLOATS) -> None:
    """Raise Error for what is not a dense tensor of such floats, with values, and where torch records operations: its
    graph would hold the values of this one input."""
    if not isinstance(x, torch.Tensor):
        raise Error(f"{what}: {type(x).__name__} is not a torch tensor")
    if torch.jit.is_tracing() or any(isinstance(m, ProxyTorchDispatchMode) for m in _get_current_dispatch_mode_stack()):
        raise Error(f"{what}: torch.jit.trace, make_fx and export cannot record quantization; run the model itself")
    if x.dtype not in dtypes:
        names = ", ".join(str(d).removeprefix("torch.") for d in dtypes)
        raise Error(f"{what}: a tensor of {str(x.dtype).removeprefix('torch.')}; use one of {names}")
    if isinstance(x, FakeTensor) or torch._C._functorch.is_functorch_wrapped_tensor(x):
        raise Error(f"{what}: a tensor of torch.export, torch.func or vmap, which has no values here; leave them out")
    if x.is_meta or x.is_nested or x.layout is not torch.strided:
        layout = "nested" if x.is_nested else x.layout
        kind = "of the meta device, which has no values" if x.is_meta else f"of layout {layout}"
        raise Error(f"{what}: a tensor {kind}; use a dense tensor with values")


def _plain(x: Any) -> Any:
    """The tensor without its history, on the CPU, contiguous."""
    return x.detach().cpu().resolve_neg().contiguous()


def exact(x: Any, what: str) -> Any:
    """What the array layer takes: an array in the tensor's own type, which may share its memory; or, of bfloat16, the
    tensor."""
    check(x, what)
    plain = _plain(x)
    return plain if plain.dtype == torch.bfloat16 else plain.numpy()


def float32(x: Any, what: str) -> Array:
    """The values as a float32 array, which may share the tensor's memory."""
    check(x, what, NARROW)
    array: Array = _plain(x).float().numpy()
    return array


def like(values: Array, x: Any) -> Any:
    """An array as a tensor of x's type, to nearest even where that is narrower, on x's device."""
    return torch.from_numpy(np.asarray(values, order="C")).to(device=x.device, dtype=x.dtype)
