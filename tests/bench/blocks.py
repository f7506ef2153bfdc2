"""`bench blocks`: block quantizers and dequantizers of an exported C library, beside the compiled loops of arrays."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.errors import Error

from .rates import Row, median_seconds, show

COUNT: Final = 1 << 20
FORMATS: Final = ("mxfp8_e4m3", "mxfp6_e3m2", "mxfp4_e2m1", "mxint8", "nvfp4")
_TENSOR: Final = 0x3A800000  # the FP32 code of 2^-10


def run() -> None:
    """Measure and print: rates by the time of the processor, one thread each, with the vectors that it has."""
    import numpy as np

    from softfloat_ref.arrays import blocks

    with tempfile.TemporaryDirectory() as folder:
        library = ctypes.CDLL(str(_built(Path(folder))))
    x = np.random.default_rng(1).standard_normal(COUNT).astype(np.float32)
    for name in FORMATS:
        factor: dict[str, Any] = {"tensor_scale": 2.0**-10} if name == "nvfp4" else {}
        array = blocks.encode(x, name, threads=1, **factor)
        scales, codes = np.zeros(array.scales.size, np.uint8), np.zeros(COUNT, np.uint8)
        flags, values = np.zeros(COUNT, np.uint8), np.zeros(COUNT, np.float32)
        tensor = [ctypes.c_uint32(_TENSOR)] if factor else []
        work = {
            "": _call(library, f"f32_to_{name}", x, *tensor, scales, codes, None),
            " with flags": _call(library, f"f32_to_{name}", x, *tensor, scales, codes, flags),
        }
        theirs = median_seconds(lambda name=name, factor=factor: blocks.encode(x, name, threads=1, **factor))  # type: ignore[misc]
        for what, call in work.items():
            show(Row(f"{name} quantize{what}", COUNT / median_seconds(call), "values/s", "arrays", COUNT / theirs))
        if not (codes == array.codes.view(np.uint8)).all():
            raise Error(f"{name}: the library's codes are not those of arrays")
        back = _call(library, f"{name}_to_f32", scales, codes, *tensor, values)
        row = (f"{name} dequantize", COUNT / median_seconds(back), "values/s", "arrays")
        show(Row(*row, COUNT / median_seconds(array.decode)))


def _call(library: Any, name: str, *arguments: Any) -> Callable[[], object]:
    """A call with arrays: a structure of 32 bits is passed as an integer."""
    passed = [x.ctypes.data_as(ctypes.c_void_p) if hasattr(x, "ctypes") else x for x in arguments]
    return lambda: getattr(library, name)(ctypes.c_size_t(COUNT), *passed)


def _built(folder: Path) -> Path:
    from softfloat_ref.export.library import library_files, library_policy, write_library
    from softfloat_ref.oracle.blocks.formats import any_format

    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise Error("no C compiler is installed: apt-get install gcc")
    write_library(folder / "library", library_files([any_format(x) for x in ("fp32", *FORMATS)], library_policy({})))
    sources = [str(folder / "library" / f"{x}.c") for x in ("softfloat_state", *FORMATS)]
    options = ["-w", "-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, *sources, "-o", str(folder / "blocks.so")], check=True)
    return folder / "blocks.so"
