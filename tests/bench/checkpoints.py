"""Reading quantized checkpoints: all values of a weight, from its file, against a copy of these values; one thread."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .rates import Row, median_seconds, show

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHAPE: Final = (4096, 4096)


def run() -> None:
    """Print a line for each layout."""
    import numpy as np

    from softfloat_ref import read_model

    rng = np.random.default_rng(1)
    rows, length = SHAPE

    def codes(*shape: int) -> NDArray[Any]:
        return rng.integers(0, 256, shape, dtype=np.uint8)

    scales = rng.integers(1, 120, (rows, length // 16), dtype=np.uint8)
    layouts: dict[str, dict[str, NDArray[Any]]] = {
        "MXFP4 of gpt-oss": {"w_blocks": codes(rows, length // 32, 16), "w_scales": codes(rows, length // 32)},
        "NVFP4 of modelopt": {
            "w.weight": codes(rows, length // 2),
            "w.weight_scale": scales.view("V1"),
            "w.weight_scale_2": np.array(0.0123, np.float32),
        },
        "FP8 in blocks of 128 x 128": {
            "w.weight": codes(rows, length).view("V1"),
            "w.weight_scale_inv": rng.random((rows // 128, length // 128)).astype(np.float32),
        },
    }
    copied = np.ones(SHAPE, np.float32)
    copy = median_seconds(lambda: copied.copy())
    with tempfile.TemporaryDirectory() as folder:
        for name, arrays in layouts.items():
            path = Path(folder, "m.npz")
            np.savez(path, **arrays)  # type: ignore[arg-type]
            stored = ["fp8_e4m3"] if any(x.dtype.kind == "V" for x in arrays.values()) else []
            (tensor,) = read_model(path, stored=stored).values()
            seconds = median_seconds(tensor.values)
            show(Row(f"values of {name}", copied.size / seconds, "values/s", "a copy", copied.size / copy))
