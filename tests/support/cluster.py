"""A Dask cluster on this machine, for the tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest
from command import TOP

SEARCHED: Final = os.pathsep.join(map(str, (TOP, *(TOP / "tests" / name for name in ("base", "support")))))


@contextmanager
def cluster(folder: Path, count: int) -> Iterator[tuple[Path, list[subprocess.Popen[bytes]]]]:
    """The scheduler's file; and the scheduler and so many workers, each a process of its own."""
    pytest.importorskip("distributed")
    file = folder / "scheduler.json"
    env = {**os.environ, "PYTHONPATH": SEARCHED}
    common = ["--no-dashboard", "--scheduler-file", str(file)]
    with ExitStack() as stack, open(folder / "log", "wb") as log:

        def launch(kind: str, *args: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", "distributed.cli.dask_" + kind, *common, *args]
            process = subprocess.Popen(command, stdout=log, stderr=log, env=env, cwd=folder)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        scheduler = launch("scheduler", "--host", "127.0.0.1", "--port", "0")
        for _ in range(600):
            if file.exists():
                break
            time.sleep(0.05)
        yield file, [scheduler] + [launch("worker", "--nthreads", "1", "--no-nanny") for _ in range(count)]
