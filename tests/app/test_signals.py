"""Ctrl-C, SIGTERM, SIGHUP, a closed pipe and kill -9, while each of the long commands is at work: the usual exit codes,
no traceback, no processes and no files left behind, nothing that looks finished.

`SOFTFLOAT_KILLS=100 pytest tests/test_signals.py -k kill` kills more often than CI does; so does tests/test_resume.py.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command import ENVIRONMENT as COMMON
from command import HANDLED, ok
from processes import all_end, children, needs_proc

from softfloat_ref.app.main import main
from softfloat_ref.base import disk_cache
from softfloat_ref.golden import journal
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet

KILLS = int(os.environ.get("SOFTFLOAT_KILLS", "3"))
ENVIRONMENT = COMMON | {disk_cache.VARIABLE: "off"}  # with kept results, commands end before the signal comes
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
VALUES = 1 << 28  # of a file that has no blocks on disk
DEVICE = """
import os, sys
open("pid", "w").write(str(os.getpid()))
for line in sys.stdin:
    print("00000000")
    sys.stdout.flush()
"""


def start(args: str, folder: Path, **more: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "softfloat_ref", *args.split()]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=pipe, stderr=pipe, start_new_session=True, **more
    )  # type: ignore[call-overload, no-any-return]


def wait_for(what: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while not what() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()
    assert what()


def stopped(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Ctrl-C reaches the whole group, other signals the process alone."""
    workers = children(process.pid)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (CODES[number], b"")
    assert all_end(workers)


def sparse(folder: Path) -> None:
    np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (VALUES,)).flush()


@pytest.mark.full(keep=1)
@needs_proc
@pytest.mark.parametrize("number", CODES)
def test_vectors_by_processes(number: signal.Signals, tmp_path: Path) -> None:
    process = start("vectors generate --op minimum --fmt fp128 -n 1000000 --jobs 2 -o v", tmp_path)
    wait_for(lambda: children(process.pid) and list(tmp_path.glob("v/.unfinished/*")), process)
    stopped(process, number)
    assert not list(tmp_path.iterdir())


def test_a_streamed_array(tmp_path: Path) -> None:
    """As tests/test_streaming.py has it for the other signals."""
    sparse(tmp_path)
    process = start("quantize --fmt mxfp8 -i x.npy -o y.npy", tmp_path)
    wait_for(lambda: list(tmp_path.glob(".y.npy.*")), process)
    stopped(process, signal.SIGHUP)
    assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("args", ["eval add --fmt fp16 -", "eval --serve"])
def test_a_conversation(args: str, number: signal.Signals, tmp_path: Path) -> None:
    process = start(args, tmp_path, stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"3c00 3c00\n" if "--serve" not in args else b"open add --fmt fp16\n")
    process.stdin.flush()
    assert process.stdout.readline()
    process.send_signal(number)
    process.wait(60)
    assert (process.returncode, process.communicate()[1]) == (CODES[number], b"")


@pytest.mark.full(keep=1)
@needs_proc
@pytest.mark.parametrize("number", CODES)
def test_a_device(number: signal.Signals, tmp_path: Path) -> None:
    """The device is in a group of its own, and ends too."""
    (tmp_path / "device.py").write_text(DEVICE)
    dut = f"{sys.executable} device.py"
    command = [sys.executable, "-m", "softfloat_ref", "check", "add", "--fmt", "fp32", "-n", "100000000", "--dut", dut]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), process)
    stopped(process, number)
    assert all_end([int((tmp_path / "pid").read_text())])


@pytest.mark.full
@pytest.mark.parametrize("args", ["coverage report v", "vectors verify v --every"])
def test_reports(args: str, tmp_path: Path) -> None:
    ok("vectors", "generate", "--op", "minimum", "--fmt", "fp128", "-n", "400000", "-o", "v", cwd=tmp_path)
    process = start(args, tmp_path)
    time.sleep(1)  # of four or more
    stopped(process, signal.SIGTERM)


def test_what_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As nohup and a script's background have it."""

    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    process = start("eval add --fmt fp16 -", tmp_path, stdin=subprocess.PIPE, preexec_fn=ignore)
    assert process.stdin is not None
    assert process.stdout is not None
    for _ in range(2):
        process.stdin.write(b"3c00 3c00\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"3C00 3C00 4000 00\n"
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
    assert process.communicate()[1] == b""
    assert process.returncode == 0


def test_a_second_interrupt_does_not_cut_the_cleaning_short(tmp_path: Path) -> None:
    process = start("vectors generate --op minimum --fmt fp128 -n 1000000 -o v", tmp_path)
    wait_for(lambda: list(tmp_path.glob("v/.unfinished/*")), process)
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        time.sleep(0.005)
    assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == 130
    assert not list(tmp_path.iterdir())


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    "line",
    [
        "vectors generate --op add --fmt fp16 -n 1000000 -o -",
        "vectors generate --op maximum --fmt fp128 -n 1000000 --operands -o -",
        "formats table fp16",
    ],
)
def test_a_closed_pipe(line: str, tmp_path: Path) -> None:
    shell(f"X {line} | head -1; echo ${{PIPESTATUS[0]}}", "141", tmp_path)


def test_a_closed_pipe_behind_a_stream(tmp_path: Path) -> None:
    shell("yes 3c00 3c00 | X eval add --fmt fp16 - | head -1; echo ${PIPESTATUS[1]}", "141", tmp_path)
    shell(
        "yes 1.5 | head -40000 | X quantize --fmt fp16 --as value -i - | head -1; echo ${PIPESTATUS[2]}",
        "141",
        tmp_path,
    )


def shell(line: str, last: str, folder: Path) -> None:
    command = line.replace("X ", f"{sys.executable} -m softfloat_ref ")
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == last
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == ""


def test_kills_leave_nothing_that_looks_finished(tmp_path: Path) -> None:
    """kill -9 at random moments: only a temporary name stays, and the next run does not mind it."""
    sparse(tmp_path)
    draw, seen = random.Random(5), 0
    for _ in range(KILLS):
        process = start("quantize --fmt mxfp8 -i x.npy -o y.npy", tmp_path)
        wait_for(lambda: list(tmp_path.glob(".y.npy.*")), process)
        time.sleep(draw.uniform(0, 0.1))
        process.kill()
        process.communicate()
        left = [p.name for p in tmp_path.iterdir() if p.name != "x.npy"]
        assert all(name.startswith(".y.npy.") and name.endswith(".part") for name in left)
        seen += bool(left)
        for name in left:
            (tmp_path / name).unlink()
    assert seen


def test_a_signal_that_another_thread_takes_waits_too(tmp_path: Path) -> None:
    """While workers are started: the main thread blocks signals, a library's thread does not."""
    (tmp_path / "x.py").write_text(
        "import os, signal, sys, threading, time\n"
        "from softfloat_ref.base.executors import _interrupts_wait\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "with _interrupts_wait():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(0.2)\n"
        "    print('inside', flush=True)\n"
        "print('after')\n"
    )
    done = subprocess.run([sys.executable, "x.py"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"inside\n", b"")


@pytest.mark.parametrize("name", ["open", "_lock", "_start"])
def test_a_signal_while_the_files_are_opened(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing stays, whichever step it interrupts."""

    class Stopped(BaseException):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    where = journal.Journal if name == "_start" else journal
    monkeypatch.setattr(where, name, stop, raising=False)
    with pytest.raises(Stopped):
        generate(VectorSet.make("add", "fp16", 10), tmp_path / "v")
    assert not list(tmp_path.iterdir())


def ended(run: str, folder: Path) -> tuple[int, bytes, bytes]:
    """Exit code and output of a command that does this."""
    lines = "".join(f"    {line}\n" for line in run.splitlines())
    (folder / "x.py").write_text(
        f"import ctypes, os, signal, time\nfrom softfloat_ref.app import main\n"
        f"def run(args):\n{lines}\nmain._run = run\nmain.main(['formats'])\n"
    )
    done = subprocess.run([sys.executable, "x.py"], cwd=folder, env=ENVIRONMENT, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_signal_while_a_module_is_imported(tmp_path: Path) -> None:
    """Python 3.11 makes a RuntimeError of what is raised while it makes a class."""
    run = (
        "class Name:\n"
        "    def __set_name__(self, owner, name):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "type('Made', (), {'x': Name()})\n"
    )
    assert ended(run, tmp_path) == (143, b"", b"")


DROPPED = {
    "destructor": "class Kill:\n    def __del__(self):\n        os.kill(os.getpid(), signal.SIGHUP)\nKill()\n",
    "callback": "ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGHUP))()\n",
    "handler": "try:\n    os.kill(os.getpid(), signal.SIGHUP)\n    time.sleep(1)\nexcept BaseException:\n    pass\n",
}


@pytest.mark.parametrize("where", DROPPED)
def test_a_signal_that_is_dropped_comes_again(where: str, tmp_path: Path) -> None:
    """Python drops what a destructor raises or what C has called; so does LLVM's compiler while it asks its cache."""
    run = DROPPED[where] + "print('dropped', flush=True)\ntime.sleep(60)\nprint('lost')\n"
    assert ended(run, tmp_path) == (129, b"dropped\n", b"")


def test_what_comes_again_does_not_cut_the_cleaning_short(tmp_path: Path) -> None:
    """Nor where the cleaning raises and handles errors of its own."""
    run = (
        "try:\n    os.kill(os.getpid(), signal.SIGHUP)\n    time.sleep(60)\n"
        "finally:\n"
        "    try:\n        os.unlink('none')\n"
        "    except OSError:\n        time.sleep(0.5)\n        print('cleaned')\n"
        "    time.sleep(0.5)\n    print('all')\n"
    )
    assert ended(run, tmp_path) == (129, b"cleaned\nall\n", b"")


def test_a_program_that_calls_the_command_line_keeps_its_handlers() -> None:
    """And its timer; what it starts afterwards inherits nothing."""
    before = [signal.getsignal(x) for x in HANDLED]
    mine = signal.signal(signal.SIGALRM, lambda *_: rang.append(1))
    rang: list[int] = []
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    hook = sys.unraisablehook
    for args in (["formats", "list"], ["formats", "nothing"], ["nothing"]):
        with pytest.raises(SystemExit):
            main(args)
    while not rang:
        time.sleep(0.01)
    signal.signal(signal.SIGALRM, mine)
    assert [signal.getsignal(x) for x in HANDLED] == before
    assert sys.unraisablehook is hook
