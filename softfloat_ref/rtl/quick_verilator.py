"""Verilator for short simulations: its runtime and its headers are compiled once, and a model without optimization.

`verilator --binary` compiles the runtime anew for each bench, for about eight seconds. That pays for long runs; a model
that runs for some thousand cycles is built here in half a second. Verilator's own optimizations are off: with them,
version 5.48 loses some nonblocking assignments beside blocking ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from softfloat_ref.base import disk_cache, limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_bytes
from softfloat_ref.rtl.simulators import MESSAGE_OPTIONS, Verilator, first_line

PREFIX: Final = "Vmodel"  # of the classes that Verilator writes
_COMPILERS: Final = ("c++", "g++", "clang++")
_RUNTIME: Final = ("verilated", "verilated_random", "verilated_threads", "verilated_timing")
_LIBRARY: Final = "libverilated.a"
_HEADER: Final = "headers.h"
_HEADERS: Final = '#include "verilated.h"\n#include "verilated_timing.h"\n'
_FLAGS: Final = ("-std=c++20", "-fcoroutines", "-DVERILATOR=1", "-w")
_COMPILE_S: Final = 300
# Toggles `tick`; delays in the design pass before the next toggle.
_MAIN: Final = f"""\
#include "{PREFIX}.h"
int main(int argc, char** argv) {{
    VerilatedContext context;
    context.commandArgs(argc, argv);
    {PREFIX} bench{{&context}};
    uint64_t now = 0;
    while (!context.gotFinish()) {{
        bench.tick = !bench.tick;
        bench.eval();
        now += 1000000000;
        while (!context.gotFinish() && bench.eventsPending() && bench.nextTimeSlot() < now) {{
            context.time(bench.nextTimeSlot());
            bench.eval();
        }}
        context.time(now);
    }}
    bench.final();
    return 0;
}}
"""


@dataclass(frozen=True)
class QuickVerilator(Verilator):
    """Builds a bench whose only port is the input `tick`, which changes again and again until $finish."""

    def _steps(self, top: str, output: Path, options: list[str], files: list[str]) -> tuple[list[str], ...]:
        runtime, include = _runtime(self, disk_cache.folder() or Path(_of_process().name)), self._include
        model = [str(self.executable), "--cc", "-O0", "--timing", *MESSAGE_OPTIONS]
        model += ["--x-assign", "unique", "--x-initial", "unique"]
        model += ["--top-module", top, "--Mdir", str(output), "--prefix", PREFIX, *options, *files]
        main, whole = shlex.quote(_MAIN), shlex.quote(str(output / "model.cpp"))
        texts = f'for f in {shlex.quote(str(output))}/{PREFIX}*.cpp; do echo "#include \\"$f\\""; done'
        compiler = [*_compiler(include), "-O0", f"-I{output}", "-include", str(runtime / _HEADER)]
        return (
            model,
            ["sh", "-c", f"{{ printf %s {main}; {texts}; }} > {whole}"],
            [*compiler, "-c", str(output / "model.cpp"), "-o", str(output / "model.o")],
            [_program(), str(output / "model.o"), str(runtime / _LIBRARY), "-o", str(output / "bench"), "-pthread"],
        )

    @property
    def _include(self) -> Path:
        if self.root is not None:
            return self.root / "include"
        return Path(first_line([str(self.executable), "--getenv", "VERILATOR_ROOT"])) / "include"


@cache
def _of_process() -> tempfile.TemporaryDirectory[str]:
    """A folder that is deleted when this process ends, for a process without a cache."""
    return tempfile.TemporaryDirectory(prefix="softfloat_ref_")


def _program() -> str:
    return next(filter(None, map(shutil.which, _COMPILERS)), _COMPILERS[0])


def _compiler(include: Path) -> list[str]:
    return [_program(), *_FLAGS, f"-I{include}", f"-I{include}/vltstd"]


def _runtime(verilator: QuickVerilator, folder: Path) -> Path:
    """The compiled runtime and headers, a folder in `folder`; compiled if need be. Raises Error."""
    include = verilator._include
    names = [f"{name}.cpp" for name in _RUNTIME]
    versions = first_line([_program(), "--version"])
    texts = [read_bytes(include / name, limits.SOURCE) for name in (*names, "verilated_config.h")]
    key = hashlib.sha256(json.dumps([versions, _FLAGS, [hashlib.sha256(t).hexdigest() for t in texts]]).encode())
    runtime = folder / f"verilator-{key.hexdigest()[:16]}"
    if not (runtime / _LIBRARY).exists():
        folder.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=folder))
        try:
            _compile_runtime(scratch, include)
            with suppress(OSError):  # another process was faster
                os.replace(scratch, runtime)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return runtime


def _compile_runtime(folder: Path, include: Path) -> None:
    (folder / _HEADER).write_text(_HEADERS, encoding="utf-8")
    compiler = [*_compiler(include), "-O0"]
    with_headers = [*compiler, "-include", _HEADER, "-c"]
    for step in (
        [*compiler, "-x", "c++-header", _HEADER, "-o", f"{_HEADER}.gch"],
        *([*with_headers, str(include / f"{name}.cpp"), "-o", f"{name}.o"] for name in _RUNTIME),
        ["ar", "rcs", _LIBRARY, *(f"{name}.o" for name in _RUNTIME)],
    ):
        done = subprocess.run(step, cwd=folder, capture_output=True, text=True, timeout=_COMPILE_S, check=False)
        if done.returncode:
            message = (done.stderr.strip() or "it printed nothing").splitlines()[0]
            raise Error(f"verilator's runtime does not compile: {message}")
