"""`vectors generate --resume`: after kill -9 at any moment the set is finished, with the bytes of an uninterrupted run.

`SOFTFLOAT_KILLS=34 pytest tests/test_resume.py -k killed` kills a hundred times; CI does it once for each command.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command import TOP, ok, refused

from softfloat_ref.base.errors import Error
from softfloat_ref.golden import parts
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.journal import UNFINISHED, Journal
from softfloat_ref.golden.kinds.base import LINES
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle.policies import Policy

pytestmark = pytest.mark.usefixtures("nothing_kept")  # so that commands take as long as they can
KILLS = int(os.environ.get("SOFTFLOAT_KILLS", "1"))
COMMANDS = {
    "in bulk": ("--op", "mul", "--fmt", "fp16", "-n", "1000000", "--format", "tv,csv,npz"),
    "line by line": ("--op", "maximum", "--fmt", "fp128", "-n", "40000", "--format", "memh,csv,jsonl"),
    "by processes": ("--op", "minimum", "--fmt", "fp128", "-n", "40000", "--jobs", "2"),
}


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def start(folder: Path, args: tuple[str, ...]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "softfloat_ref", "vectors", "generate", *args, "-o", "v", "--resume"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def kill_when_it_writes(process: subprocess.Popen[bytes], folder: Path, more: float) -> bool:
    """Kill -9, with its worker processes, so long after it began to write; whether it was still running."""
    while process.poll() is None and not (folder / "v" / UNFINISHED / "journal.jsonl").exists():
        time.sleep(0.01)
    time.sleep(more)
    running = process.poll() is None
    os.killpg(process.pid, signal.SIGKILL) if running else None
    process.communicate()
    if running:
        assert not (folder / "v" / "manifest.json").exists()  # so nothing looks finished
    return running


@pytest.mark.full
@pytest.mark.parametrize("args", COMMANDS.values(), ids=[x.replace(" ", "_") for x in COMMANDS])
def test_killed_at_random_moments(args: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "once").mkdir()
    began = time.monotonic()
    ok("vectors", "generate", *args, "-o", "v", cwd=tmp_path / "once")
    span = time.monotonic() - began
    whole = contents(tmp_path / "once" / "v")
    draw = random.Random(len(args))
    for turn in range(KILLS):
        folder, killed = tmp_path / str(turn), False
        folder.mkdir()
        while not killed or draw.random() < 0.5:  # and once more, while it goes on
            if kill_when_it_writes(start(folder, args), folder, draw.uniform(0, span / 2)):
                killed = True
            else:
                shutil.rmtree(folder / "v")
                span, killed = span / 2, False  # too late
        process = start(folder, args)
        _, shown = process.communicate()
        assert process.returncode == 0, shown
        assert contents(folder / "v") == whole
        shutil.rmtree(folder)


# -- what is trusted ---------------------------------------------------------------------------------------------------

SET = VectorSet.make("convert", "fp16", 3000, out="fp4_e2m1", seed=5, policy=Policy(nan_missing="error"))


class Killed(BaseException):
    """As a process that ends in the middle."""


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "CASES_A_PART", 100)


def stop_after(count: int, monkeypatch: pytest.MonkeyPatch, folder: Path, vectors: VectorSet = SET) -> None:
    """Leave behind what a process that is killed after so many lines does."""
    line, calls = VectorSet.line, 0

    def some(self: VectorSet, inputs: tuple[int, ...]) -> tuple[int, ...] | None:
        nonlocal calls
        calls += 1
        if calls > count:
            raise Killed
        return line(self, inputs)

    with monkeypatch.context() as patch:
        patch.setattr(VectorSet, "line", some)
        with pytest.raises(Killed):
            generate(vectors, folder, formats=LINES, resume=True)
    assert [p.name for p in folder.iterdir()] == [UNFINISHED]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many lines were made."""
    line, calls = VectorSet.line, 0

    def one(self: VectorSet, inputs: tuple[int, ...]) -> tuple[int, ...] | None:
        nonlocal calls
        calls += 1
        return line(self, inputs)

    monkeypatch.setattr(VectorSet, "line", one)
    return lambda: calls


@pytest.mark.usefixtures("small_parts")
def test_what_is_whole_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: Callable[[], int]
) -> None:
    generate(SET, tmp_path / "once", formats=LINES)
    before = counted()
    stop_after(1234, monkeypatch, tmp_path / "v")
    generate(SET, tmp_path / "v", formats=LINES, resume=True)
    assert counted() - before - 1234 == 3000 - 1100  # eleven parts stood; of the twelfth it was not said
    assert contents(tmp_path / "v") == contents(tmp_path / "once")
    before = counted()
    generate(SET, tmp_path / "v", formats=LINES, resume=True)  # finished: nothing is made again
    assert counted() == before
    assert verify(tmp_path / "v").passed


@pytest.mark.usefixtures("small_parts")
def test_killed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: Callable[[], int]) -> None:
    """A journal whose end was damaged, and that went on, is as good as any."""
    generate(SET, tmp_path / "once", formats=LINES)
    stop_after(1234, monkeypatch, tmp_path / "v")
    path = tmp_path / "v" / UNFINISHED / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-3], b"{}\n", *lines[-2:], b'{"part": 9']))
    stop_after(1000, monkeypatch, tmp_path / "v")
    before = counted()
    generate(SET, tmp_path / "v", formats=LINES, resume=True)
    assert counted() - before == 3000 - 800 - 900
    assert contents(tmp_path / "v") == contents(tmp_path / "once")


@pytest.mark.full(keep=4)
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    "name", [f"{key}.0" for key in ("tv", "memh", "svpkg", "c", "csv", "jsonl", "npz")] + ["npz.2", "runs", "left_out"]
)
@pytest.mark.parametrize("how", ["changed", "cut", "longer", "missing"])
def test_what_is_not_whole_is_made_again(name: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generate(SET, tmp_path / "once", formats=LINES)
    stop_after(1234, monkeypatch, tmp_path / "v")
    path = tmp_path / "v" / UNFINISHED / name
    data = path.read_bytes()
    place = len(data) // 2
    if how == "missing":
        path.unlink()
    else:
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        path.write_bytes({"changed": changed, "cut": data[:place], "longer": data + b"0\n"}[how])
    generate(SET, tmp_path / "v", formats=LINES, resume=True)
    assert contents(tmp_path / "v") == contents(tmp_path / "once")


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    "how",
    [
        lambda lines: [*lines[:-1], lines[-1][:-20]],  # cut in the middle of an entry
        lambda lines: [*lines, b"{}\n"],
        lambda lines: [*lines[:5], b"\xff\x00\n", *lines[5:]],
        lambda lines: [*lines[:4], *lines[5:]],
        lambda lines: lines[:1],
        lambda lines: [],
        lambda lines: [*lines[:-1], json.dumps({"part": 5, "cases": 0, "lines": 0, "streams": []}).encode() + b"\n"],
    ],
    ids=["cut", "empty_entry", "no_json", "one_less", "none", "empty", "no_streams"],
)
def test_a_journal_that_is_damaged(
    how: Callable[[list[bytes]], list[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(SET, tmp_path / "once", formats=LINES)
    stop_after(1234, monkeypatch, tmp_path / "v")
    path = tmp_path / "v" / UNFINISHED / "journal.jsonl"
    path.write_bytes(b"".join(how(path.read_bytes().splitlines(keepends=True))))
    generate(SET, tmp_path / "v", formats=LINES, resume=True)
    assert contents(tmp_path / "v") == contents(tmp_path / "once")


@pytest.mark.usefixtures("small_parts")
def test_another_request_is_refused_and_without_resume_leftovers_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(1234, monkeypatch, tmp_path / "v")
    with pytest.raises(Error, match="holds parts of a different request or version; omit --resume"):
        generate(dataclasses.replace(SET, seed=6), tmp_path / "v", formats=LINES, resume=True)
    with pytest.raises(Error, match="a different request"):
        generate(SET, tmp_path / "v", formats=("tv",), resume=True)
    assert [p.name for p in (tmp_path / "v").iterdir()] == [UNFINISHED]  # still there for the right one
    generate(dataclasses.replace(SET, seed=6), tmp_path / "v")
    generate(dataclasses.replace(SET, seed=6), tmp_path / "once")
    assert contents(tmp_path / "v") == contents(tmp_path / "once")


def test_killed_while_the_files_get_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over an older set of the same name: at no moment does a manifest vouch for files that are not its own."""
    generate(SET, tmp_path / "once", formats=LINES)
    replace = os.replace
    for count in range(len(LINES) + 2):
        folder = tmp_path / str(count)
        generate(dataclasses.replace(SET, count=50), folder, formats=LINES)
        left = count

        def some(source: object, target: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            replace(source, target)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", some)
            patch.setattr(Journal, "remove", Journal.close)
            if count <= len(LINES):  # the files and the manifest
                with pytest.raises(Killed):
                    generate(SET, folder, formats=LINES, resume=True)
                assert not (folder / "manifest.json").exists()
            else:
                generate(SET, folder, formats=LINES, resume=True)
        generate(SET, folder, formats=LINES, resume=True)
        assert contents(folder) == contents(tmp_path / "once")


def test_two_processes_do_not_write_the_same_folder(tmp_path: Path) -> None:
    args = ("--op", "minimum", "--fmt", "fp128", "-n", "1000000")
    first, journal = start(tmp_path, args), tmp_path / "v" / UNFINISHED / "journal.jsonl"
    try:
        while not (journal.exists() and journal.read_bytes()):  # it locks the folder before it writes a line
            assert first.poll() is None
            time.sleep(0.01)
        os.killpg(first.pid, signal.SIGSTOP)  # or it may have ended before the second one looks
        shown = refused("vectors", "generate", *args, "-o", "v", cwd=tmp_path)
        assert shown == f"softfloat-ref: v/{UNFINISHED}: another process is writing to this folder\n"
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
    ok("vectors", "generate", *args[:-1], "100", "-o", "v", cwd=tmp_path)
    assert verify(tmp_path / "v").passed


def test_interrupted_is_removed_but_with_resume(tmp_path: Path) -> None:
    """Ctrl-C: without --resume nothing stays, with it the parts do."""
    args = ("--op", "minimum", "--fmt", "fp128", "-n", "1000000")
    for resume in (True, False):
        folder = tmp_path / str(resume)
        folder.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-m", "softfloat_ref", "vectors", "generate", *args, "-o", "v"] + ["--resume"] * resume,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(TOP)},
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        journal = folder / "v" / UNFINISHED / "journal.jsonl"
        while not (journal.exists() and journal.read_bytes().count(b"\n") > 2):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[1] == b""
        assert process.returncode == 130
        assert [p.name for p in folder.glob("v/*")] == [UNFINISHED] * resume
