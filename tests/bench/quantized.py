"""Quantized arrays beside what a user would run instead, and beside this project's own fastest format; one thread.

Printed by `bench arrays`. Each line's works take turns, so that a disturbance of the machine affects all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .peers import Peers, installed, torch_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Work = Callable[[], Any]
SIDE: Final = 1024  # of the square matrix that is quantized
TILE: Final = 128
FEW: Final = 256  # values of a small array
CALLS: Final = 200  # of a small array at a time
PRODUCT: Final = (128, 1024, 128)  # of the matrices that are multiplied
UNITS: Final = (
    ("nvidia-h100", "fp16"),
    ("nvidia-a100", "bf16"),
    ("nvidia-h100-fp8-wgmma", "fp8_e4m3"),
    ("amd-cdna3", "fp16"),
    ("fp32-sequential", "bf16"),
)
WIDE: Final = ("tf32", "i32", "u32", "s1e11m20")


class Goal(NamedTuple):
    """A line: what is measured, per how many values, the peers, and our own work that it is a multiple of."""

    name: str
    values: int
    ours: Work
    peers: Peers
    against: tuple[str, Work] | None = None


def report(each: Callable[..., list[float]]) -> Iterator[str]:
    """The lines. each: from works to their seconds, measured in turns."""
    import numpy as np

    x = np.random.default_rng(4).standard_normal((SIDE, SIDE)).astype(np.float32)
    for goal in (*_scales(x), *_affine(x), *_stochastic(x), *_small(x), *_wide(x)):
        ours, *others = each(goal.ours, *goal.peers.values(), *([goal.against[1]] if goal.against else []))
        text = f"{goal.name:40}{ours / goal.values * 1e9:>9.2f} ns a value"
        if goal.against:
            text += f", {ours / others.pop():.2f} x {goal.against[0]}"
        for name, seconds in zip(goal.peers, others, strict=True):
            text += f", {name} {seconds / goal.values * 1e9:.2f}, ratio {seconds / ours:.2f}"
        yield text
    yield from _products(each)


def _scales(x: NDArray[np.float32]) -> Iterator[Goal]:
    """Scales of FP32 and BF16, NVFP4, and blocks along the other axis."""
    from softfloat_ref.arrays import blocks

    against = "mxfp8", _into(x, "mxfp8_e4m3")
    steps = _torch_steps(x)
    for name in ("fp8_e4m3@fp32/axis", "fp8_e4m3@fp32/tensor", "fp8_e4m3@fp32/128", "int8@fp32/axis"):
        yield Goal(name, x.size, _into(x, name), steps.get(name, {}), against)
    yield Goal("fp8_e4m3@bf16/128", x.size, _into(x, "fp8_e4m3@bf16/128"), {}, against)
    count = SIDE // TILE
    tiles = x.reshape(count, TILE, count, TILE)

    def squares() -> Any:
        flat = tiles.swapaxes(1, 2).reshape(-1, TILE * TILE)
        return blocks.encode(flat, "fp8_e4m3@fp32/axis")

    yield Goal("fp8_e4m3@fp32, 128 x 128, moved first", x.size, squares, steps.get("square", {}), against)
    yield Goal("nvfp4, its tensor scale found too", x.size, _into(x, "nvfp4"), _nvfp4(x), ("mxfp4", _into(x, "mxfp4")))
    for name in ("mxfp8_e4m3", "nvfp4", "fp8_e4m3@fp32/128"):
        yield Goal(f"{name}, axis 0", x.size, _into(x, name, 0), {}, ("the last axis", _into(x, name)))


def _into(x: NDArray[np.float32], name: str, axis: int = -1, *arguments: Any) -> Work:
    """Quantization into the arrays of an earlier result."""
    from softfloat_ref.arrays import blocks

    out = blocks.encode(x, name, *arguments, axis=axis)
    return lambda: blocks.encode(x, name, *arguments, axis=axis, out=out)


def _torch_steps(x: NDArray[np.float32]) -> dict[str, Peers]:
    """Largest magnitude, scale, division and cast, as a user writes them with torch; roundings may differ."""
    torch = torch_module()
    if torch is None:
        return {}
    t = torch.from_numpy(x)

    def cast(values: Any, dims: Any) -> Any:
        scale = values.abs().amax(dim=dims, keepdim=True) / 448.0
        return (values / scale).to(torch.float8_e4m3fn), scale

    count = SIDE // TILE
    return {
        "fp8_e4m3@fp32/axis": {"torch": lambda: cast(t, 1)},
        "fp8_e4m3@fp32/tensor": {"torch": lambda: cast(t, (0, 1))},
        "fp8_e4m3@fp32/128": {"torch": lambda: cast(t.reshape(SIDE, count, TILE), 2)},
        "square": {"torch": lambda: cast(t.reshape(count, TILE, count, TILE), (1, 3))},
    }


def _nvfp4(x: NDArray[np.float32]) -> Peers:
    torch = torch_module()
    if torch is None or not installed("torchao"):
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale
    t = torch.from_numpy(x)
    return {"torchao": lambda: nvfp4_quantize(t, 16, per_tensor_amax_to_scale(t.abs().amax()))}


def _affine(x: NDArray[np.float32]) -> Iterator[Goal]:
    from softfloat_ref.arrays import affine

    peers = _torch_affine(x)
    whole, rows = affine.encode(x, "qint8"), affine.encode(x, "qint8", axis=0)
    yield Goal("qint8, its parameters found too", x.size, lambda: affine.encode(x, "qint8"), peers.get("whole", {}))
    yield Goal("qint8, axis 0", x.size, lambda: affine.encode(x, "qint8", axis=0), peers.get("rows", {}))
    yield Goal("qint8 to values", x.size, whole.decode, peers.get("whole back", {}))
    yield Goal("qint8 to values, axis 0", x.size, rows.decode, peers.get("rows back", {}))


def _torch_affine(x: NDArray[np.float32]) -> dict[str, Peers]:
    """torch's quantized tensors, which it calls deprecated, with parameters that are given."""
    torch = torch_module()
    if torch is None:
        return {}
    t, zeros = torch.from_numpy(x), torch.zeros(SIDE, dtype=torch.int64)
    scales = torch.full((SIDE,), 0.03, dtype=torch.float64)

    def whole() -> Any:
        return torch.quantize_per_tensor(t, 0.03, 0, torch.qint8)

    def rows() -> Any:
        return torch.quantize_per_channel(t, scales, zeros, 0, torch.qint8)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        works: dict[str, Work] = {"whole back": whole().dequantize, "rows back": rows().dequantize}
    works |= {"whole": _quiet(whole), "rows": _quiet(rows)}
    return {name: {"torch": work} for name, work in works.items()}


def _quiet(work: Work) -> Work:
    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()

    return run


def _stochastic(x: NDArray[np.float32]) -> Iterator[Goal]:
    """With words in an array, and drawn by Philox, whose ten rounds for each four words take most of the time."""
    import numpy as np

    from softfloat_ref.oracle.policies import Policy
    from softfloat_ref.oracle.sources import Philox

    policy = Policy(rounding="sr", sr_bits=8)  # type: ignore[arg-type]
    words = np.random.default_rng(5).integers(0, 256, x.shape, np.uint32)
    for name in ("mxfp8_e4m3", "nvfp4", "fp8_e4m3@fp32/128"):
        for how, words_or_source in (("words in an array", words), ("Philox", Philox(1))):
            ours = _into(x, name, -1, policy, words_or_source)
            yield Goal(f"{name}, sr, {how}", x.size, ours, {}, ("rne", _into(x, name)))


def _wide(x: NDArray[np.float32]) -> Iterator[Goal]:
    """Formats of more than 16 bits: float64 to one and back."""
    import numpy as np

    from softfloat_ref.arrays import convert
    from softfloat_ref.oracle.formats import get_format

    x64 = x.astype(np.float64)
    for name in WIDE:
        values, to = np.empty(x.shape, convert.value_dtype(get_format(name))), convert.encode(x64, name)
        back = lambda name=name, values=values: convert.quantize(x64, name, out=values)  # noqa: E731
        there = "its codes alone", lambda name=name, to=to: convert.encode(x64, name, out=to)
        yield Goal(f"float64 to {name} and back", x.size, back, {}, there)


def _small(x: NDArray[np.float32]) -> Iterator[Goal]:
    """Many calls, so that the microseconds of a call are the nanoseconds of a line divided by four."""
    from softfloat_ref.arrays import affine, blocks, convert

    few = x.reshape(-1)[:FEW].copy()
    ways: dict[str, Work] = {name: _calls(blocks.encode, few, name) for name in ("mxfp8", "nvfp4", "fp8_e4m3@fp32/128")}
    ways["qint8"] = _calls(affine.encode, few, "qint8")
    ways["fp8_e4m3"] = _calls(convert.encode, few, "fp8_e4m3")
    torch = torch_module()
    for name, ours in ways.items():
        peers: Peers = {}
        if torch is not None and name == "fp8_e4m3":
            peers = {"torch": _calls(torch.from_numpy(few).to, torch.float8_e4m3fn)}
        yield Goal(f"{name}, arrays of {FEW}", FEW * CALLS, ours, peers)


def _calls(function: Callable[..., Any], *arguments: Any) -> Work:
    return lambda: [function(*arguments) for _ in range(CALLS)]


def _products(each: Callable[..., list[float]]) -> Iterator[str]:
    """Exact matrix products by the models of tensor cores; the peer's bits are those of its own order of additions."""
    import numpy as np

    from softfloat_ref.arrays import blocks, convert

    m, k, n = PRODUCT
    rng, torch = np.random.default_rng(6), torch_module()
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)

    def in_order() -> Any:
        total = np.zeros((m, n), np.float32)
        for at in range(k):
            total += a[:, at, np.newaxis] * b[at]
        return total

    peers: Peers = {"numpy, float32": lambda: a @ b, "a loop of numpy": in_order}
    if torch is not None:
        left, right = (torch.from_numpy(v).to(torch.bfloat16) for v in (a, b))
        peers["torch, bfloat16"] = lambda: left @ right
    for unit, fmt in UNITS:
        x, y = convert.encode(a, fmt), convert.encode(b, fmt)
        ours, *others = each(lambda unit=unit, fmt=fmt, x=x, y=y: blocks.matmul(x, y, unit, fmt=fmt), *peers.values())
        text = f"matmul {unit} {fmt:24}{m * k * n / ours / 1e9:.3f} G MAC/s"
        for name, seconds in zip(peers, others, strict=True):
            text += f", {name} {m * k * n / seconds / 1e9:.1f}, ratio {seconds / ours:.4f}"
        yield text
