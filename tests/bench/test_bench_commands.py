"""The command line of the benchmarks: their names, and one line for what cannot be measured."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
NAMES = [
    "arrays",
    "blocks",
    "checkpoints",
    "dot",
    "export",
    "functions",
    "library",
    "quantize",
    "scalar",
    "serve",
    "train",
]


def run(*args: str, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": path} if path else None
    command = [sys.executable, "-m", "tests.bench", *args]
    return subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)


def test_the_benchmarks_are_listed() -> None:
    listed = run("--help").stdout.partition("Commands:\n")[2]
    assert [line.split()[0] for line in listed.splitlines() if line[2:3].isalpha()] == NAMES
    assert "..." not in listed


def test_what_cannot_be_measured_is_one_line(tmp_path: Path) -> None:
    done = run("export", path=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "bench: no C compiler is installed: apt-get install gcc\n"


@pytest.mark.parametrize("name", ["arrays", "blocks", "dot", "export", "functions", "library", "train"])
def test_benchmarks_with_a_module_of_their_own(name: str) -> None:
    assert callable(importlib.import_module(f"bench.{name}").run)
