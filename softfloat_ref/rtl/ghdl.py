"""GHDL: find it, build a VHDL test bench with it and run the bench."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.bench_runs import RUN_TIMEOUT_S, BenchRun, Build, Tool, prepare

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
        timeout_s: float = RUN_TIMEOUT_S,
    ) -> BenchRun:
        """Build the entity `top` from the sources, given in the order of their use, and run it in `work_dir`.

        Returns a BenchRun for a bench that ran, whatever its outcome. Raises Error if it did not build or end in time.
        """
        files, folder = prepare(sources, top, work_dir)
        library = folder / f"{top}.{self.name}"
        ghdl, options = str(self.executable), ["--std=08", f"--workdir={library}"]
        steps = ([ghdl, "-a", *options, *map(str, files)], [ghdl, "-e", *options, top])
        command = [ghdl, "-r", *options, top, *_overrides(generics or {})]
        return Build(self, top, folder, steps, command, library).make_and_run(timeout_s=timeout_s)

    def first_error(self, log: str) -> str:
        """The first line with a source location that is not a warning."""
        match = _ERROR.search(log)
        return match[0].strip() if match else super().first_error(log)


def _overrides(generics: Mapping[str, object]) -> list[str]:
    for key in generics:
        if not _GENERIC.fullmatch(key):
            raise Error(f"{key!r} is not the name of a generic")
    return [f"-g{key}={value}" for key, value in generics.items()]


def find_ghdl() -> Ghdl:
    """The GHDL on PATH. Raises Error if there is none."""
    executable = shutil.which("ghdl")
    if executable is None:
        raise Error("ghdl is not installed: apt-get install ghdl")
    return Ghdl(Path(executable))
