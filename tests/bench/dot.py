"""`bench dot`: matrix products beside the peers that are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .peers import installed, torch_module
from .rates import Row, median_rate, one_thread, show

if TYPE_CHECKING:
    import numpy as np

SIZE: Final = 512
FUSED_SIZE: Final = 128


def run() -> None:
    """Measure and print, with one thread each."""
    one_thread()
    rows = [_blocks(fmt) for fmt in ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp4_e2m1")]
    rows += [_fused(acc, fmt) for acc, fmt in (("nvidia-h100", "bf16"), ("nvidia-ada-fp8", "fp8_e4m3"))]
    show(*rows, _fused("exact", "fp8_e4m3"), _fused("fp32-sequential", "bf16"))


def _blocks(fmt: str) -> Row:
    """mx-fp32 on blocks; beside it, torch's FP32 product of the dequantized operands, as torchao emulates it."""
    import numpy as np

    from softfloat_ref.arrays import blocks

    rng = np.random.default_rng(1)
    a, b = (blocks.encode(rng.standard_normal((SIZE, SIZE)).astype(np.float32), fmt, axis=i) for i in (1, 0))
    ours = median_rate(SIZE**3, lambda: blocks.matmul(a, b))
    theirs = None
    if (torch := torch_module()) is not None:
        theirs = median_rate(SIZE**3, lambda: torch.from_numpy(a.decode()) @ torch.from_numpy(b.decode()))
    return Row(f"{fmt} mx-fp32, {SIZE}^3, bit exact", ours, "MAC/s", "torch, dequantized, any order", theirs)


def _fused(acc: str, fmt: str) -> Row:
    import numpy as np

    from softfloat_ref.arrays import blocks, convert

    n = FUSED_SIZE
    rng = np.random.default_rng(1)
    a, b = (convert.encode(rng.standard_normal((n, n)).astype(np.float32), fmt) for _ in range(2))
    ours = median_rate(n**3, lambda: blocks.matmul(a, b, acc, fmt=fmt))
    return Row(f"{fmt} {acc}, {n}^3", ours, "MAC/s", "mmasim", _mmasim(acc, a, b))


def _mmasim(acc: str, a: np.ndarray, b: np.ndarray) -> float | None:
    """MMA-Sim's rate on one tile of the same unit, or None if it is not installed or not compared."""
    units = {"nvidia-h100": ("Hopper", "m16n8k16.f32.bf16.bf16.f32", "bfloat16"),
             "nvidia-ada-fp8": ("Ada Lovelace", "m16n8k32.f32.e4m3.e4m3.f32", "float8_e4m3fn")}  # fmt: skip
    if acc not in units or not (installed("torch") and installed("mmasim")):
        return None
    arch, shape, kind = units[acc]
    torch = torch_module()
    from mmasim.nv_ptx import MMA

    k = int(shape.split("k")[1].split(".")[0])
    unit, dtype = MMA(arch, shape), getattr(torch, kind)
    left = torch.from_numpy(a[:16, :k].copy()).view(dtype)
    right = torch.from_numpy(b[:k, :8].copy()).view(dtype)
    zero = torch.zeros((16, 8))
    return median_rate(16 * 8 * k, lambda: unit(left, right, zero))
