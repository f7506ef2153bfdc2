"""The same vectors under another numpy: `python tests/compare_numpy.py OTHER_PYTHON` makes sets of every kind with
this interpreter and with that one, and compares every file's bytes, manifests included.

OTHER_PYTHON needs numpy, numba and click, of any versions that pyproject.toml allows:

    python -m venv other && other/bin/pip install numpy==1.26.4 numba==0.60.0 click
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).parents[2]
ALL = "tv,memh,csv,jsonl,npz"
SETS = (
    ("--op", "add", "--fmt", "fp16", "-n", "300000", "--format", ALL),
    ("--op", "fma", "--fmt", "fp32", "-n", "200000", "--policy", "riscv", "--format", ALL),
    ("--op", "mul", "--fmt", "fp64", "-n", "100000", "--format", ALL),
    ("--op", "div", "--fmt", "bf16", "-n", "3000", "--intermediate", "--format", f"{ALL},svpkg,c"),
    ("--op", "convert", "--fmt", "fp32", "--out", "fp8_e4m3", "--round", "sr", "--sr-bits", "8", "-n", "200000"),
    ("--op", "convert", "--fmt", "fp64", "--out", "fp128", "-n", "3000", "--format", f"{ALL},c"),
    ("--op", "quantize", "--fmt", "nvfp4", "-n", "1000", "--format", f"{ALL},svpkg,c"),
    ("--op", "dequantize", "--fmt", "mxfp6_e2m3", "-n", "1000", "--format", ALL),
    ("--op", "dot", "--fmt", "mxfp8", "-n", "500", "--format", ALL),
    ("--op", "matmul", "--fmt", "mxfp4", "--m", "8", "--n", "8", "--k", "32", "-n", "2"),
    ("riscv-zfh", "-n", "300"),
)


def make(python: str, folder: Path) -> dict[str, bytes]:
    """What that interpreter writes."""
    for number, args in enumerate(SETS):
        subprocess.run(
            [python, "-m", "softfloat_ref", "vectors", "generate", *args, "-o", str(number)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(TOP)},
            stderr=subprocess.DEVNULL,
            check=True,
        )
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def versions(python: str) -> str:
    """What that interpreter has."""
    code = "import numba, numpy; print('numpy', numpy.__version__, 'numba', numba.__version__)"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def main(other: str) -> int:
    found = []
    for python in (sys.executable, other):
        with tempfile.TemporaryDirectory() as folder:
            found.append(make(python, Path(folder)))
        print(f"{versions(python)}: {len(found[-1])} files, {sum(map(len, found[-1].values()))} bytes")
    first, second = found
    different = [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)]
    print("the same bytes" if not different else f"DIFFERENT: {', '.join(sorted(different)[:20])}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
