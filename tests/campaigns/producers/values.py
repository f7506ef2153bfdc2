"""What producers are given: matrices of a model, blocks whose largest magnitudes are near thresholds, blocks of
specials."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
COLUMNS: Final = 512
OWN: Final = Path(__file__).parents[3] / "vectors" / "tensors" / "char_weights.npy"


def weights(model: Path | None, count: int) -> Array:
    """About `count` weights in rows of 512: of the matrices of an .onnx or .safetensors file, or of our small model,
    whose 98,304 weights are repeated, each time times another power of two and with other last bits."""
    flat = _own(count) if model is None else _of_file(model)
    rows = flat[:count].size // COLUMNS
    return np.ascontiguousarray(flat[: rows * COLUMNS].reshape(rows, COLUMNS), np.float32)


def _own(count: int) -> Array:
    w = np.load(OWN).reshape(-1)
    rng = np.random.default_rng(31)
    turns = -(-count // w.size)
    copies = [w * np.float32(2.0 ** int(rng.integers(-5, 5))) * rng.uniform(0.9, 1.1, w.size) for _ in range(turns)]
    return np.concatenate(copies).astype(np.float32)


def _of_file(path: Path) -> Array:
    if path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        tensors = list(load_file(path).values())
    else:
        import onnx
        from onnx import numpy_helper

        tensors = [numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer]
    matrices = [t.reshape(-1) for t in tensors if t.ndim > 1 and t.dtype in (np.float32, np.float16)]
    return np.concatenate(matrices).astype(np.float32)


def of_bf16(x: Array) -> Array:
    """The first 100,000 values or so, rounded to BF16: under these, two scales often have the same error."""
    from softfloat_ref import arrays

    return arrays.quantize(x[: 99_840 // COLUMNS], "bf16")


def integers(count: int) -> Array:
    """Integers from -12 to 12, so many, but 100,000 or so at most: for the same reason."""
    rows = min(count, 99_840) // COLUMNS
    return np.random.default_rng(8).integers(-12, 13, (rows, COLUMNS)).astype(np.float32)


def near_thresholds(largest: float, mantissa_bits: int, size: int) -> Array:
    """A block for each FP32 binade and threshold of a scale rule, within 2 ulp: rows of 512 values. The other elements
    are at and beside ties of E2M1 and random."""
    tops = [0, 1 << 22, int((2 - 2.0 ** -(mantissa_bits + 1) - 1) * 2**23), 3 << 21]
    tops.append(int((largest / 2.0 ** int(np.floor(np.log2(largest))) - 1) * 2**23))
    fields = np.repeat(np.arange(1, 254), len(tops) * 5)
    offsets = np.tile((np.array(tops)[:, None] + np.arange(-2, 3)).reshape(-1), 253)
    amax = np.clip((fields << 23) + offsets, 1, 0x7F7FFFFF).astype(np.uint32).view(np.float32)
    rng = np.random.default_rng(7)
    ties = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 0.125, 0.375, 6.0, 1.0625, 448.0])
    some = rng.choice(ties, (amax.size, size)) * (1 + rng.integers(-1, 2, (amax.size, size)) * 2.0**-23)
    down = rng.integers(0, 9, (amax.size, size))
    unit = np.exp2(np.floor(np.log2(amax.astype(np.float64))))[:, None]
    x = some * unit * np.exp2(-down) * rng.choice([-1.0, 1.0], some.shape)
    x = np.where(np.abs(x) > amax[:, None], 0.0, x).astype(np.float32)
    x[np.arange(amax.size), rng.integers(0, size, amax.size)] = amax * rng.choice([-1.0, 1.0], amax.size)
    rows = x.size // COLUMNS
    return np.ascontiguousarray(x.reshape(-1)[: rows * COLUMNS].reshape(rows, COLUMNS))


NAN, INF = np.float32(np.nan), np.float32(np.inf)
TOP: Final = float(np.finfo(np.float32).max)
SPECIALS: Final[dict[str, list[list[float]]]] = {
    "zeros": [[0.0], [-0.0], [0.0, -0.0]],
    "zeros beside numbers": [[-0.0, 1.0], [0.0, -1.0, -0.0]],
    "negative underflow": [[6.0, -1e-9], [448.0, -1e-30, 1e-30], [1.0, -(2.0**-149), 2.0**-149]],
    "subnormals": [[2.0**-127, -(2.0**-149)], [2.0**-149], [2.0**-126, 2.0**-140], [2.0**-120, 2.0**-148]],
    "largest": [[TOP, -1.0], [TOP, TOP / 2, -TOP / 3], [2.0**127, 2.0**100]],
    "Inf": [[float("inf"), 1.0, -2.0], [-float("inf"), 3.0, 0.0, -0.0], [float("inf")]],
    "NaN": [[float("nan"), 1.0, -2.0], [float("nan")], [float("nan"), float("inf")]],
}


def special(kind: str, size: int) -> Array:
    """Blocks of a kind in rows of their own, their other values zero."""
    rows = np.zeros((len(SPECIALS[kind]), size), np.float32)
    for row, values in zip(rows, SPECIALS[kind], strict=True):
        row[: len(values)] = values
    return rows
