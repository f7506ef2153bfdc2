"""Verilator for short simulations: its runtime and its headers are compiled once, and a model without optimization.

`verilator --binary` compiles the runtime anew for each bench, for about eight seconds. That pays for long runs; a model
that runs for some thousand cycles is built here in half a second.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

from softfloat_ref.base import disk_cache, limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_bytes
from softfloat_ref.rtl.simulators import MESSAGE_OPTIONS, Simulator, Verilator, first_line

SHORT_RUN: Final = 100_000  # vectors; of more, an optimized bench is faster, its build included
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
class ShortVerilator(Verilator):
    """Builds a bench as `verilator --binary` does, for a short run."""

    def _steps(self, top: str, output: Path, options: list[str], files: list[str]) -> tuple[list[str], ...]:
        model = ["--cc", "--exe", "--main", "--timing", "--assert", "--top-module", top, "--Mdir", str(output)]
        return self._compiled(output, [*model, *options, *files])

    def _compiled(self, output: Path, model: list[str], main: str = "") -> tuple[list[str], ...]:
        """The steps that make a bench of what Verilator writes with some options. main: its main function, unless that
        is written, too."""
        runtime, include = self.make_runtime(), self._include
        whole = shlex.quote(str(output / "model.cpp"))
        texts = f'for f in {shlex.quote(str(output))}/V*.cpp; do echo "#include \\"$f\\""; done'
        compiler = [*_compiler(include), "-O0", f"-I{output}", "-include", str(runtime / _HEADER)]
        return (
            [str(self.executable), *MESSAGE_OPTIONS, *model],
            ["sh", "-c", f"{{ printf %s {shlex.quote(main)}; {texts}; }} > {whole}"],
            [*compiler, "-c", str(output / "model.cpp"), "-o", str(output / "model.o")],
            [_program(), str(output / "model.o"), str(runtime / _LIBRARY), "-o", str(output / "bench"), "-pthread"],
        )

    def make_runtime(self) -> Path:
        """The folder of the runtime, compiled if need be. Raises Error."""
        return _runtime(self._include, disk_cache.folder() or Path(_of_process().name))

    @property
    def _include(self) -> Path:
        if self.root is not None:
            return self.root / "include"
        return Path(first_line([str(self.executable), "--getenv", "VERILATOR_ROOT"])) / "include"


@dataclass(frozen=True)
class QuickVerilator(ShortVerilator):
    """Builds a bench whose only port is the input `tick`, which changes again and again until $finish.

    Verilator's own optimizations are off: with them, version 5.48 loses some nonblocking assignments beside blocking
    ones.
    """

    def _steps(self, top: str, output: Path, options: list[str], files: list[str]) -> tuple[list[str], ...]:
        model = ["--cc", "-O0", "--timing", "--x-assign", "unique", "--x-initial", "unique"]
        model += ["--top-module", top, "--Mdir", str(output), "--prefix", PREFIX]
        return self._compiled(output, [*model, *options, *files], _MAIN)


def for_short_runs(simulator: Simulator) -> Simulator:
    """A simulator of the same benches that builds them sooner and runs them more slowly, if there is one here."""
    if not isinstance(simulator, Verilator):
        return simulator
    short = ShortVerilator(simulator.executable, root=simulator.root)
    try:
        short.make_runtime()
    except (Error, OSError, subprocess.SubprocessError):  # such as another version's, of other files
        return simulator
    return short


@cache
def _of_process() -> tempfile.TemporaryDirectory[str]:
    """A folder that is deleted when this process ends, for a process without a cache."""
    return tempfile.TemporaryDirectory(prefix="softfloat_ref_")


def _program() -> str:
    return next(filter(None, map(shutil.which, _COMPILERS)), _COMPILERS[0])


def _compiler(include: Path) -> list[str]:
    return [_program(), *_FLAGS, f"-I{include}", f"-I{include}/vltstd"]


def _runtime(include: Path, folder: Path) -> Path:
    """The compiled runtime and headers, a folder in `folder`; compiled if need be. Raises Error."""
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
    _run([[*compiler, "-x", "c++-header", _HEADER, "-o", f"{_HEADER}.gch"]], folder)
    _run([[*with_headers, str(include / f"{name}.cpp"), "-o", f"{name}.o"] for name in _RUNTIME], folder)
    _run([["ar", "rcs", _LIBRARY, *(f"{name}.o" for name in _RUNTIME)]], folder)


def _run(commands: Sequence[list[str]], folder: Path) -> None:
    """Run commands side by side. Raises Error."""
    with ThreadPoolExecutor(len(commands)) as pool:
        for done in pool.map(partial(_completed, folder=folder), commands):
            if done.returncode:
                message = (done.stderr.strip() or "it printed nothing").splitlines()[0]
                raise Error(f"verilator's runtime does not compile: {message}")


def _completed(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_COMPILE_S, check=False)
