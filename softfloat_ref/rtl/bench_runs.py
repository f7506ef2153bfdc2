"""Programs that build and run test benches, each step with a log and a time limit, and the output of their benches."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text
from softfloat_ref.base.trees import read_json
from softfloat_ref.rtl.build_logs import ANY, LogErrors
from softfloat_ref.rtl.reading import DesignReading, ReadFile, list_changes

RUN_TIMEOUT_S: Final = 300  # for building a bench and running it
_PASS = re.compile(r"^PASS: ([1-9][0-9]*) of \1 vectors\s*$", re.MULTILINE)
_LOGGED = re.compile(r"^LOGGED: ([1-9][0-9]*) of \1 vectors, ", re.MULTILINE)
_FAIL = re.compile(r"^FAIL\b", re.MULTILINE)
_ENDED = (  # how simulators and designs say why they end, the clearest first
    re.compile(r"%Fatal|^FATAL|\(assertion failure\)", re.MULTILINE),
    re.compile(r"%Error|^ERROR|\berror:|\$finish|\$stop", re.MULTILINE),
)
_SHOWN = 20  # lines of a log


@dataclass(frozen=True)
class BenchRun:
    """The outcome of a bench: its exit code and output. ended: why it ended before its verdict, in the simulator's
    words, if it did; flying: the first operation without a result then, and how many there were in flight, if that is
    known."""

    returncode: int
    output: str
    ended: str = ""
    flying: tuple[int, int] | None = None

    @property
    def passed(self) -> bool:
        """True only if the bench printed "PASS: N of N vectors" with N > 0, printed no FAIL, and ended with code 0."""
        return self._ended_with(_PASS)

    @property
    def logged(self) -> bool:
        """The same of "LOGGED: N of N vectors", of a bench whose log of results remains to be judged."""
        return self._ended_with(_LOGGED)

    @property
    def has_verdict(self) -> bool:
        """Whether it printed a verdict, whatever that is."""
        return any(pattern.search(self.output) for pattern in (_PASS, _LOGGED, _FAIL))

    @property
    def last_words(self) -> str:
        """The line that says why it ended; the signal or exit code that ended it, without one."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        for pattern in _ENDED:
            if said := [line for line in lines if pattern.search(line)]:
                return said[-1]
        if self.returncode < 0:
            return f"it was ended by {signal.Signals(-self.returncode).name}"
        if self.returncode == 0:
            return "it ended by itself, as by $finish"
        return lines[-1] if lines else f"it ended with code {self.returncode}"

    def _ended_with(self, verdict: re.Pattern[str]) -> bool:
        return self.returncode == 0 and bool(verdict.search(self.output)) and not _FAIL.search(self.output)


class ToolError(Error):
    """A program that failed to build, or was stopped. reason: without the log's path; shown: lines of the log."""

    def __init__(self, reason: str, log: Path, shown: Sequence[str] = ()) -> None:
        super().__init__(f"{reason} (full log: {log})")
        self.reason, self.shown = reason, tuple(shown)


class EndedError(Error):
    """A simulation that ended before its inputs did. line: what ended it, in the simulator's words."""

    def __init__(self, message: str, line: str) -> None:
        super().__init__(message)
        self.line = line


class TimeLimitError(ToolError):
    """A program that was stopped."""


@dataclass(frozen=True)
class Tool:
    """A program on this machine that builds and runs benches."""

    name: ClassVar[str]
    log_errors: ClassVar[LogErrors] = ANY
    executable: Path

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that it needs."""
        return {}

    def _environment(self) -> dict[str, str]:
        """This process's environment, without the variables that an outer make passes to the make of the build."""
        own = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        return own | self.variables

    def execute(self, command: list[str], log: Path, deadline: float, doing: str, folder: Path | None = None) -> int:
        """Run a command in a folder, by default the log's, with its output in a file; after a timeout, end it and all
        its child processes."""
        with log.open("wb") as sink:
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    cwd=folder or log.parent,
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
                    last = _text(log).splitlines()[-_SHOWN:]
                    raise TimeLimitError(
                        f"{self.name}: {doing} exceeded its time limit and was stopped", log, last
                    ) from None
                raise

    def files_read(self, build: Build) -> Iterable[Path] | None:
        """The files that a build has read, beyond those that can be known before it; None if that is unknown."""
        return ()

    def failure(self, doing: str, log: Path) -> ToolError:
        """What the log of a build that failed says."""
        errors = self.log_errors.messages(_text(log))
        lines = [line for message in errors for line in message]
        reason = lines[0] if lines else "it printed nothing"
        return ToolError(f"{self.name} cannot build {doing}: {reason}", log, lines[:_SHOWN] if len(lines) > 1 else ())


@dataclass(frozen=True)
class Build:
    """A bench to be built and run: the steps that build it, the command that runs it, both in `folder`, where the logs
    stay, and the folder that a build fills. run_in: the folder that it runs in, if another: the relative paths of
    $readmemh in the design mean this one."""

    tool: Tool
    top: str
    folder: Path
    steps: tuple[list[str], ...]
    command: list[str]
    output: Path
    run_in: Path | None = None

    def is_current(self) -> bool:
        """Whether the same steps have built it before, from files with the contents that they have now, and none at the
        paths that were absent. Memory files are read by each run."""
        try:
            stamp = read_json(self._stamp, limits.SOURCE)
            return stamp["build"] == self._steps() and not any(list_changes(stamp["reading"]))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return False

    def make(self, reading: DesignReading | None = None, timeout_s: float = RUN_TIMEOUT_S) -> None:
        """Build it. `reading` is what `is_current` compares, with the files that the program says it read. Raises Error
        if it does not build in time."""
        deadline = time.monotonic() + timeout_s
        log = self.folder / f"{self.top}.{self.tool.name}.build.log"
        shutil.rmtree(self.output, ignore_errors=True)  # an earlier build may have been stopped halfway
        self.output.mkdir()
        build = self._steps()
        for step in self.steps:
            code = self.tool.execute(step, log, deadline, f"building {self.top}")
            if code or self.tool.log_errors.ignored(_text(log)):
                raise self.tool.failure(self.top, log)
        read = self.tool.files_read(self)
        if reading is not None and read is not None:
            more = reading.adding(ReadFile.of(path, "build") for path in read)
            self._stamp.write_text(json.dumps({"build": build, "reading": more.table()}), encoding="utf-8")

    def run(self, plusargs: Iterable[str] = (), timeout_s: float = RUN_TIMEOUT_S) -> BenchRun:
        """Run it. Raises Error if it does not end in time."""
        log = self.folder / f"{self.top}.{self.tool.name}.run.log"
        deadline = time.monotonic() + timeout_s
        command = [*self.command, *plusargs]
        return BenchRun(self.tool.execute(command, log, deadline, f"running {self.top}", self.run_in), _text(log))

    def make_and_run(self, plusargs: Iterable[str] = (), timeout_s: float = RUN_TIMEOUT_S) -> BenchRun:
        """Build and run it within one time limit."""
        start = time.monotonic()
        self.make(timeout_s=timeout_s)
        return self.run(plusargs, timeout_s - (time.monotonic() - start))

    def shell(self, plusargs: Iterable[str] = ()) -> list[str]:
        """Lines of shell that build and run it, in any folder and environment."""
        lines = [shlex.join(["cd", str(self.folder)]), shlex.join(["mkdir", "-p", str(self.output)])]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in self.tool.variables.items()]
        lines += [shlex.join(step) for step in self.steps]
        lines += [shlex.join(["cd", str(self.run_in)])] if self.run_in not in (None, self.folder) else []
        return [*lines, shlex.join([*self.command, *plusargs])]

    @property
    def _stamp(self) -> Path:
        return self.output / "built.json"

    def _steps(self) -> dict[str, Any]:
        """The program and its arguments."""
        program = self.tool.executable.stat()
        return {"steps": [list(step) for step in self.steps], "program": [program.st_size, program.st_mtime_ns]}


def _text(log: Path) -> str:
    return read_text(log, limits.SOURCE, errors="replace")


def prepare(sources: Iterable[str | Path], top: str, work_dir: str | Path) -> tuple[list[Path], Path]:
    """The sources and the working folder, which is created, as absolute paths. Raises Error."""
    files = source_files(sources)
    if not re.fullmatch(r"[A-Za-z_]\w*", top):
        raise Error(f"{top!r} is not the name of a module")
    folder = Path(work_dir).resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise Error(f"{folder}: {failure.strerror}; choose another working folder") from None
    return files, folder


def source_files(sources: Iterable[str | Path]) -> list[Path]:
    """Source files as absolute paths. Raises Error if one is missing."""
    files = [Path(source).resolve() for source in sources]
    for file in files:
        if not file.is_file():
            raise Error(f"{file}: no such source file")
    return files
