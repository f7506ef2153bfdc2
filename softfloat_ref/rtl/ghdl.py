"""GHDL: find it, build a VHDL test bench with it and run the bench."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from softfloat_ref.errors import Error
from softfloat_ref.rtl.simulators import Run, Tool, ToolError, first_error, prepared

_GENERIC = re.compile(r"[A-Za-z]\w*")
_ERROR = re.compile(r"^.+?:\d+:\d+:(?!\s*(?:warning|note)\b).*$", re.MULTILINE)


@dataclass(frozen=True)
class Ghdl(Tool):
    """GHDL with any code generator; VHDL-2008."""

    name = "ghdl"

    def run(
        self,
        sources: Iterable[str | Path],
        top: str,
        work_dir: str | Path,
        generics: Mapping[str, object] | None = None,
        timeout_s: float = 300,
    ) -> Run:
        """Build the entity `top` from the sources, given in the order of their use, and run it in `work_dir`.

        A bench that runs, however it ends, gives a Run; an Error says that it did not build or not end in time.
        """
        files, folder = prepared(sources, top, work_dir)
        library = folder / f"{top}.{self.name}"
        shutil.rmtree(library, ignore_errors=True)  # an earlier build may have been stopped halfway
        library.mkdir()
        deadline = time.monotonic() + timeout_s
        options = ["--std=08", f"--workdir={library}"]
        self._build([["-a", *options, *map(str, files)], ["-e", *options, top]], top, folder, deadline)
        log = folder / f"{top}.{self.name}.run.log"
        command = [str(self.executable), "-r", *options, top, *_overrides(generics or {})]
        returncode = self.execute(command, log, deadline, f"running {top}")
        return Run(returncode, log.read_text(encoding="utf-8", errors="replace"))

    def _build(self, steps: list[list[str]], top: str, folder: Path, deadline: float) -> None:
        log = folder / f"{top}.{self.name}.build.log"
        for step in steps:
            if self.execute([str(self.executable), *step], log, deadline, f"building {top}"):
                raise ToolError(f"{self.name} cannot build {top}: {_first_error(log)}", log)


def _first_error(log: Path) -> str:
    """The line of a build's log that says why it failed: the first with a place that is no warning."""
    found = _ERROR.search(log.read_text(encoding="utf-8", errors="replace"))
    return found[0].strip() if found else first_error(log)


def _overrides(generics: Mapping[str, object]) -> list[str]:
    for key in generics:
        if not _GENERIC.fullmatch(key):
            raise Error(f"{key!r} is not the name of a generic")
    return [f"-g{key}={value}" for key, value in generics.items()]


def find_ghdl() -> Ghdl:
    """The GHDL on PATH. Raises Error where there is none."""
    executable = shutil.which("ghdl")
    if executable is None:
        raise Error("ghdl is not installed: apt-get install ghdl")
    return Ghdl(Path(executable))
