"""Run a command with some programs off PATH: without.py ghdl,iverilog COMMAND..."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


def shown(folder: Path, hidden: set[str], stand_in: Path) -> Path:
    """The folder; where it has one of the hidden programs, another one that starts all its other programs."""
    programs = [p for p in folder.glob("*") if p.is_file() and os.access(p, os.X_OK)]
    if hidden.isdisjoint(p.name for p in programs):
        return folder
    stand_in.mkdir()
    for program in (p for p in programs if p.name not in hidden):
        script = stand_in / program.name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(str(program))} "$@"\n')
        script.chmod(0o755)
    return stand_in


def main(names: str, *command: str) -> int:
    """The exit status of the command, run without the programs of these names."""
    with tempfile.TemporaryDirectory() as work:
        folders = [Path(f) for f in os.environ["PATH"].split(os.pathsep) if f]
        path = [shown(f, set(names.split(",")), Path(work, str(i))) for i, f in enumerate(folders)]
        environment = {**os.environ, "PATH": os.pathsep.join(map(str, path))}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
