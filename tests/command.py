"""The command line as a process, for the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]


def run(*args: str, stdin: str | bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [sys.executable, "-m", "softfloat_ref", *args],
        input=data,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def ok(*args: str, **more: object) -> str:
    done = run(*args, **more)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*args: str, **more: object) -> str:
    """The one line that bad input gets."""
    done = run(*args, **more)  # type: ignore[arg-type]
    assert done.returncode == 2, (args, done.returncode, done.stderr)
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr
