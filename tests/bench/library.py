"""`bench library`: the functions of an exported C library, beside those of Berkeley SoftFloat 3e."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from softfloat_ref.base.errors import Error

from .rates import Row, show

COUNT: Final = 200_000
PEER: Final = "SOFTFLOAT_3"
_BUILD: Final = Path("build", "Linux-x86_64-GCC", "softfloat.a")


def run() -> None:
    """Measure and print; without the peer, our rates alone. Its FP16 stands beside our FP8, which it has not."""
    place = os.environ.get(PEER)
    archive = None if place is None else Path(place) / _BUILD
    if archive is None or not archive.exists():
        missing = f"{archive} does not exist: run make there" if archive else f"{PEER} is not set"
        print(f"beside SoftFloat: not measured, {missing}")
        archive = None
    with tempfile.TemporaryDirectory() as folder:
        output = subprocess.run([_built(Path(folder), archive)], capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        work, ours, theirs = line.split(",")
        peer = COUNT / float(theirs) if archive else None
        show(Row(work, COUNT / float(ours), "results/s", "SoftFloat 3e", peer))


def _built(folder: Path, archive: Path | None) -> Path:
    """The program: calls as SoftFloat's makefile compiles them, loops with the vectors that this processor has."""
    from softfloat_ref.export.library import library_files, specialization, write_library
    from softfloat_ref.oracle.formats import get_format

    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise Error("no C compiler is installed: apt-get install gcc")
    formats = [get_format(f) for f in ("fp16", "fp32", "fp64", "fp8_e4m3")]
    write_library(folder / "our", library_files(formats, specialization("8086-SSE"), "our_"))
    sources = sorted(x for x in (folder / "our").glob("*.c") if not x.name.startswith("test_"))
    command = [compiler, "-O2", "-w", f"-I{folder / 'our'}", f"-DCOUNT={COUNT}"]
    objects = []
    for source in [*sources, Path(__file__).with_suffix(".c")]:
        objects.append(folder / f"{source.stem}.o")
        vectors = ["-O3", "-march=native"] if source.stem.endswith("_n") else []
        peer = ["-DPEER", f"-I{archive.parents[2] / 'source' / 'include'}"] if archive else []
        own = peer if source.stem == "library" else vectors
        subprocess.run([*command, *own, "-c", str(source), "-o", str(objects[-1])], check=True)
    program = folder / "bench"
    subprocess.run([compiler, *map(str, objects), *([str(archive)] if archive else []), "-o", str(program)], check=True)
    return program
